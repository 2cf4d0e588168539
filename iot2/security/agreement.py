"""Whether the stored samples agree with the exact laws: χ² tests with their p-values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from iot2.errors import DataError
from iot2.security.bayes import observed
from iot2.security.convolution import RatioSum, SumLaw
from iot2.security.curves import LAWS, pushed
from iot2.security.samples import (
    FIGURE_BITS,
    FOURTH_POWER,
    NO_FOURTH_POWER,
    Plan,
    read_posterior,
    read_sampling,
)
from iot2.security.sampling import law
from iot2.security.stats import Agreement, chi_squared_test

LEAST_P_VALUE = 0.001
"""Below it the samples and the laws are said to disagree."""


def sampling_agreement(counts: NDArray[np.int64], bits: int, which: str = "w") -> Agreement:
    """Draws of S_ℓ against its exact law, as they are or as |w| or w⁴."""
    exact = pushed(which, law(len(counts), bits))
    return chi_squared_test(pushed(which, counts), exact / (1 << bits))


def posterior_agreement(
    trajectories: pd.DataFrame, modulus: int, bits: int, z: int, transfers: int
) -> Agreement:
    """The log-odds of trajectories after T transfers against the exact law of their sum.

    Each of up to 20 intervals of log-odds that are equally likely under the law, and
    ±∞, is a cell, for each choice.
    """
    seen = trajectories[trajectories["transfers"] == transfers]
    sums = RatioSum(observed(modulus, bits, z))
    counts, probabilities = [], []
    for choice in (0, 1):
        values = seen.loc[seen["choice"] == choice, "log_odds_nats"].to_numpy()
        found, expected = _cells(values, sums.law(transfers, choice), choice)
        counts.append(found)
        probabilities.append(expected * len(values) / len(seen))
    return chi_squared_test(np.concatenate(counts), np.concatenate(probabilities))


def _cells(
    values: NDArray[np.float64], sums: SumLaw, choice: int, cells: int = 20
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Counts and probabilities in intervals of Λ between its values, ±∞ in a cell of its own."""
    # Rounding moves equal values apart; what is nearer than 1e-7 counts as one value.
    first = np.concatenate(([True], np.diff(sums.values) > 1e-7))
    starts = np.flatnonzero(first)
    points, mass = sums.values[starts], np.add.reduceat(sums.mass, starts)
    cumulated = np.cumsum(mass)
    cuts = np.unique(np.searchsorted(cumulated, cumulated[-1] * np.arange(1, cells) / cells))
    cuts = cuts[cuts + 1 < len(points)]
    # Between two values, since rounding must not move one across an edge.
    edges = (points[cuts] + points[cuts + 1]) / 2
    probabilities = np.diff(np.concatenate(([0.0], cumulated[cuts], [cumulated[-1]])))
    finite = np.isfinite(values)
    certain = values == (np.inf if choice else -np.inf)
    if not np.all(finite | certain):
        raise DataError("a log-odds of infinity favours the choice that was not made")
    between = np.bincount(np.searchsorted(edges, values[finite]), minlength=len(probabilities))
    counts = np.array([*between, np.sum(certain)], dtype=np.float64)
    expected = np.array([*probabilities, sums.certain], dtype=np.float64)
    return counts, expected / expected.sum()


def all_agreements(folder: Path | str, modulus: int) -> pd.DataFrame:
    """Every stored sample against its law: a row a test, with its p-value."""
    rows = []
    for bits in FIGURE_BITS:
        counts = read_sampling(folder, modulus, bits).frame["count"].to_numpy()
        for which in LAWS:
            rows.append((f"law of {which}, l = {bits}", sampling_agreement(counts, bits, which)))
    bits = Plan().posterior_bits
    for z in (FOURTH_POWER, NO_FOURTH_POWER):
        frame = read_posterior(folder, modulus, bits, z).frame
        # The control knows almost every choice after the first transfer.
        T = int(frame["transfers"].max()) if z == FOURTH_POWER else 1
        agreement = posterior_agreement(frame, modulus, bits, z, T)
        rows.append((f"log-odds, l = {bits}, z = {z}, T = {T}", agreement))
    return pd.DataFrame(
        {
            "samples": [name for name, _ in rows],
            "draws": [agreement.draws for _, agreement in rows],
            "chi_squared": [agreement.statistic for _, agreement in rows],
            "freedom": [agreement.freedom for _, agreement in rows],
            "p_value": [agreement.p_value for _, agreement in rows],
        }
    )


def require_agreement(tests: pd.DataFrame) -> pd.DataFrame:
    """The tests as they came, if no p-value is below `LEAST_P_VALUE`.

    Raises:
        DataError: samples and laws disagree.
    """
    bad = tests[tests["p_value"] < LEAST_P_VALUE]
    if len(bad):
        first = bad.iloc[0]
        raise DataError(
            f"{first['samples']}: the samples do not follow the exact law, "
            f"p = {first['p_value']:.2g}"
        )
    return tests
