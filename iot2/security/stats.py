"""Intervals and tests that the analysis uses more than once."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from iot2.errors import ParameterError

Z_95: Final = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""

_LEAST_EXPECTED = 5.0


def wilson(successes: float, trials: int, z: float = Z_95) -> tuple[float, float]:
    """The Wilson score interval of a probability; `successes` may hold halves (ties).

    >>> [round(x, 4) for x in wilson(50, 100)]
    [0.4038, 0.5962]
    """
    if trials < 1 or not 0 <= successes <= trials:
        raise ParameterError(f"expected 0 to {trials} successes of at least 1, got {successes}")
    share = successes / trials
    centre = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z / (1 + z * z / trials) * sqrt(share * (1 - share) / trials + (z / (2 * trials)) ** 2)
    # At the ends the interval closes exactly, whatever rounding makes of it.
    low = max(0.0, centre - half) if successes else 0.0
    return low, min(1.0, centre + half) if successes < trials else 1.0


@dataclass(frozen=True, slots=True)
class Agreement:
    """A χ² test of counts against a law.

    Attributes:
        statistic: Pearson's χ².
        freedom: degrees of freedom.
        p_value: the probability of a statistic at least as large, if the law holds.
        draws: how many counts were compared.
    """

    statistic: float
    freedom: int
    p_value: float
    draws: int

    def __str__(self) -> str:
        return (
            f"χ² = {self.statistic:.1f} with {self.freedom} degrees of freedom "
            f"({self.draws:,} draws), p = {self.p_value:.3f}"
        )


def chi_squared_test(counts: NDArray[Any], probabilities: NDArray[Any]) -> Agreement:
    """Pearson's χ² test of counts against a law given cell by cell.

    Cells whose expected count is below 5 are taken together with their neighbours. A
    count in a cell of probability 0 makes the p-value 0.

    Args:
        counts: how often each cell was seen.
        probabilities: what the law gives each cell; they sum to 1.
    """
    counts = np.asarray(counts, dtype=float)
    probabilities = np.asarray(probabilities, dtype=float)
    if counts.shape != probabilities.shape or abs(probabilities.sum() - 1) > 1e-9:
        raise ParameterError(
            f"expected a probability for each of {len(counts)} cells that sum to 1, got "
            f"{len(probabilities)} that sum to {probabilities.sum():.6g}"
        )
    draws = int(counts.sum())
    if np.any(counts[probabilities == 0]):
        return Agreement(float("inf"), 0, 0.0, draws)
    seen, expected = _pooled(counts, probabilities * draws)
    if len(seen) < 2:
        raise ParameterError(f"{draws} draws are too few to fill two cells")
    statistic = float(np.sum((seen - expected) ** 2 / expected))
    freedom = len(seen) - 1
    return Agreement(statistic, freedom, float(stats.chi2.sf(statistic, freedom)), draws)


def _pooled(
    counts: NDArray[Any], expected: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Neighbouring cells joined until each expects enough."""
    seen: list[float] = []
    awaited: list[float] = []
    count = await_ = 0.0
    for one, other in zip(counts, expected, strict=True):
        count, await_ = count + one, await_ + other
        if await_ >= _LEAST_EXPECTED:
            seen.append(count)
            awaited.append(await_)
            count = await_ = 0.0
    if seen:
        seen[-1] += count
        awaited[-1] += await_
    return np.array(seen), np.array(awaited)
