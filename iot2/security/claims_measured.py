"""How many times less a receiver of ours takes than SimplestOT's, from a platform's samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from iot2.benchmark.schema import Kind
from iot2.benchmark.stats import CONFIDENCE, SEED
from iot2.benchmark.storage import Platform

BITS: Final = 3072
RESAMPLES: Final = 1000

COMPARED: Final[tuple[tuple[Kind, str, str, bool], ...]] = (
    ("six", "fresh", "online", True),
    ("compact", "known_key", "online", True),
    ("compact", "known_key", "total", False),
)
"""Variant, split of section 9, step, and whether a factor of 10 is published for it."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """SimplestOT's median over ours, in one split and group.

    Attributes:
        variant: ours.
        split: of the specification, section 9.
        step: "online" or "total".
        group: SimplestOT's.
        bits: our modulus.
        ours_us: our median.
        theirs_us: theirs.
        low: the lower end of the ratio's 95 % bootstrap interval.
        high: the upper end.
        published: whether the published factor is claimed for this comparison.
    """

    variant: str
    split: str
    step: str
    group: str
    bits: int
    ours_us: float
    theirs_us: float
    low: float
    high: float
    published: bool

    @property
    def value(self) -> float:
        """Theirs over ours."""
        return self.theirs_us / self.ours_us


def ratios(platform: Platform) -> Iterator[Ratio]:
    """Every fair comparison that a platform has the samples for."""
    if not platform.has("simplest"):
        return
    rivals = platform.table("simplest")
    for variant, split, step, published in COMPARED:
        if not platform.has(variant, BITS):
            continue
        column = f"receiver_{step}_ns"
        ours = _by_index(platform.table(variant, BITS))[column].to_numpy(dtype=float)
        same = rivals[rivals["split"] == split]
        for group, samples in _by_index(same).groupby("group"):
            theirs = samples[column].to_numpy(dtype=float)
            low, high = ratio_interval(theirs, ours)
            yield Ratio(
                variant=variant,
                split=split.replace("_", " "),
                step=step,
                group=str(group),
                bits=BITS,
                ours_us=float(np.median(ours)) / 1000,
                theirs_us=float(np.median(theirs)) / 1000,
                low=low,
                high=high,
                published=published,
            )


def _by_index(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["selection"] == "index"]


def ratio_interval(above: NDArray[np.float64], below: NDArray[np.float64]) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of the ratio of two medians, seeded."""
    rng = np.random.Generator(np.random.PCG64(SEED))
    medians = [
        np.array([np.median(rng.choice(values, len(values))) for _ in range(RESAMPLES)])
        for values in (above, below)
    ]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(medians[0] / medians[1], [tail, 1 - tail])
    return float(low), float(high)
