"""The observer with a stopwatch: whether times tell their labels, and how much of them.

Two looks at the same times (specification, section 8):

- Welch's t as dudect uses it (Reparaz, Balasch, Verbauwhede 2017): on all times, on the
  times below each of 100 percentiles, and on squared deviations; a |t| above 4.5
  anywhere is a leak.
- A density of the time for each label, fitted on one half of the times and judged on
  the other: the accuracy of the Bayesian observer, with its interval, and the posterior
  of the truth after several observations of one choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from iot2.errors import ParameterError
from iot2.security.stats import Z_95, wilson

THRESHOLD: Final = 4.5
"""dudect: a |t| above it is a leak."""

PERCENTILES: Final = tuple(1 - 0.5 ** (10 * (i + 1) / 100) for i in range(100))
"""dudect's cropping: times at or above each of these quantiles are left out in turn."""

SECOND_ORDER: Final = "squared deviation"
WHOLE: Final = "all times"

_FEWEST = 10
"""Times of each label below which a cropped test says nothing."""

Times = NDArray[Any]
Labels = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Test:
    """One of dudect's tests.

    Attributes:
        name: `WHOLE`, `SECOND_ORDER`, or the percentile below which times were kept.
        t: Welch's statistic, label 1 minus label 0.
        difference: of the two means (ns; ns² for the second order).
        standard_error: of that difference.
        kept: how many times took part.
    """

    name: str
    t: float
    difference: float
    standard_error: float
    kept: int


@dataclass(frozen=True, slots=True)
class Dudect:
    """All of dudect's tests on one set of labelled times."""

    tests: tuple[Test, ...]

    @property
    def worst(self) -> Test:
        """The test with the largest |t|."""
        return max(self.tests, key=lambda test: abs(test.t))

    @property
    def found(self) -> bool:
        """Whether some |t| is above the threshold."""
        return abs(self.worst.t) > THRESHOLD

    @property
    def detectable_ns(self) -> float:
        """The difference of means that the sharpest first-order test would just have found."""
        first_order = [test for test in self.tests if test.name != SECOND_ORDER]
        sharpest = min(test.standard_error for test in first_order if test.kept * 2 >= self.count)
        return THRESHOLD * sharpest

    @property
    def count(self) -> int:
        """How many times there are."""
        return max(test.kept for test in self.tests)


def dudect(times: Times, labels: Labels) -> Dudect:
    """Welch's t between the times of label 1 and of label 0, in dudect's 102 ways.

    Args:
        times: ns.
        labels: 0 or 1 for each.
    """
    _check(times, labels)
    return _Sorted.of(times).tests(labels)


@dataclass(frozen=True, slots=True)
class _Sorted:
    """Times in ascending order, with dudect's cuts: what does not change with the labels."""

    order: NDArray[np.intp]
    values: NDArray[np.float64]
    cuts: NDArray[np.intp]

    @classmethod
    def of(cls, times: Times) -> _Sorted:
        order = np.argsort(times, kind="stable")
        ordered = times[order].astype(float)
        cuts = np.searchsorted(ordered, np.quantile(ordered, PERCENTILES), side="left")
        # Deviations, since sums of squares of the times themselves would lose digits.
        return cls(order, ordered - np.median(ordered), np.append(len(ordered), cuts))

    def tests(self, labels: Labels) -> Dudect:
        """Every test, from running sums: one pass over the times serves all cuts."""
        ones = labels[self.order] == 1
        tests = []
        names = (WHOLE, *(f"below {percentile:.3%}" for percentile in PERCENTILES))
        sums = [_running_sums(self.values * side, side)[:, self.cuts] for side in (ones, ~ones)]
        for k, name in enumerate(names):
            first, second = sums[0][:, k], sums[1][:, k]
            if min(first[0], second[0]) >= _FEWEST:
                tests.append(_welch(name, first, second))
        means = np.where(ones, self.values[ones].mean(), self.values[~ones].mean())
        squares = (self.values - means) ** 2
        centred = squares - squares.mean()
        last = [_running_sums(centred * side, side)[:, -1] for side in (ones, ~ones)]
        tests.append(_welch(SECOND_ORDER, *last))
        return Dudect(tuple(tests))


def _running_sums(values: NDArray[np.float64], side: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Count, sum and sum of squares of the first k values of one side, k = 0, 1, …, n."""
    sums = np.zeros((3, len(values) + 1))
    np.cumsum(side, out=sums[0, 1:])
    np.cumsum(values, out=sums[1, 1:])
    np.cumsum(values * values, out=sums[2, 1:])
    return sums


def _welch(name: str, first: NDArray[np.float64], second: NDArray[np.float64]) -> Test:
    """Welch's test from (count, sum, sum of squares) of either side."""
    means, variances = [], []
    for count, summed, squares in (first, second):
        means.append(summed / count)
        variances.append(max(0.0, squares - summed * summed / count) / (count - 1) / count)
    difference, error = float(means[0] - means[1]), sqrt(sum(variances))
    if error:
        t = difference / error
    else:
        t = 0.0 if difference == 0 else float(np.copysign(np.inf, difference))
    return Test(name, t, difference, error, int(first[0] + second[0]))


@dataclass(frozen=True, slots=True)
class Density:
    """Pr[time | label] by bins, and so Pr[label = 1 | time] at prior 1/2.

    Attributes:
        edges: between neighbouring bins, ns; the first and last bin are open.
        zero: the probability of each bin under label 0.
        one: under label 1.
    """

    edges: NDArray[np.float64]
    zero: NDArray[np.float64]
    one: NDArray[np.float64]

    @property
    def posterior(self) -> NDArray[np.float64]:
        """Pr[label = 1 | the time is in this bin] at prior 1/2."""
        return np.asarray(self.one / (self.zero + self.one), dtype=np.float64)

    def log_ratio(self, times: Times) -> NDArray[np.float64]:
        """ln(Pr[time | 1]/Pr[time | 0]) of each time."""
        bins = np.searchsorted(self.edges, times, side="right")
        return np.asarray(np.log(self.one / self.zero)[bins], dtype=np.float64)


def fit(times: Times, labels: Labels, *, bins: int = 40) -> Density:
    """A density for each label, over bins that hold about as many times each.

    Half a time is added to each bin, so that no time is ever impossible.
    """
    _check(times, labels)
    inner = np.quantile(times, np.arange(1, bins) / bins)
    edges = np.unique(inner)
    places = np.searchsorted(edges, times, side="right")
    laws = []
    for label in (0, 1):
        counts = np.bincount(places[labels == label], minlength=len(edges) + 1) + 0.5
        laws.append(counts / counts.sum())
    return Density(edges, *laws)


@dataclass(frozen=True, slots=True)
class Observer:
    """The Bayesian observer of one set of labelled times.

    Attributes:
        density: as fitted on one half.
        log_ratios: of each time of the other half.
        labels: of the other half.
    """

    density: Density
    log_ratios: NDArray[np.float64]
    labels: Labels

    @property
    def favours_truth(self) -> NDArray[np.float64]:
        """The log-odds of the true label, for each time of the judged half."""
        return np.where(self.labels == 1, self.log_ratios, -self.log_ratios)

    def accuracy(self, z: float = Z_95) -> tuple[float, float, float]:
        """(share of labels guessed right, with its Wilson interval), one time each.

        Each label counts for one half, however many times have it.

        Args:
            z: the interval's normal quantile; 95 % by default.
        """
        return _share_right(self.favours_truth, self.labels, z)

    def information(self) -> tuple[float, float, float]:
        """(bits, with a 95 % interval) that one time tells of its label.

        The mean of 1 + log2 Pr[true label | time] over the judged half: what this
        observer really gains, below the mutual information and negative where the
        fitted density misleads.
        """
        gains = 1 - np.logaddexp(0, -self.favours_truth) / log(2)
        half = Z_95 * gains.std(ddof=1) / sqrt(len(gains))
        mean = gains.mean()
        return float(mean), float(mean - half), float(mean + half)

    def after(self, observations: Sequence[int]) -> pd.DataFrame:
        """The observer who sees several times of one choice.

        Returns:
            For each number of observations: `posterior` (the mean of Pr[true label | times])
            with `posterior_low`, `posterior_high`, `accuracy` with `low`, `high`, and
            `groups`, how many such observers there were.
        """
        rows = []
        for count in observations:
            sums, labels = [], []
            for label in (0, 1):
                values = self.favours_truth[self.labels == label]
                groups = len(values) // count
                sums.append(values[: groups * count].reshape(groups, count).sum(axis=1))
                labels.append(np.full(groups, label))
            if min(len(part) for part in sums) < _FEWEST:
                break
            joined, whose = np.concatenate(sums), np.concatenate(labels)
            posterior = 1 / (1 + np.exp(-np.clip(joined, -700, 700)))
            half = Z_95 * posterior.std(ddof=1) / sqrt(len(posterior))
            share, low, high = _share_right(joined, whose)
            rows.append(
                {
                    "observations": count,
                    "posterior": posterior.mean(),
                    "posterior_low": posterior.mean() - half,
                    "posterior_high": posterior.mean() + half,
                    "accuracy": share,
                    "low": low,
                    "high": high,
                    "groups": len(joined),
                }
            )
        return pd.DataFrame(rows)


def observe(times: Times, labels: Labels, *, seed: int = 0) -> Observer:
    """Fit on a random half of the times, judge on the other."""
    _check(times, labels)
    order = np.random.Generator(np.random.PCG64(seed)).permutation(len(times))
    fitted, judged = order[: len(order) // 2], order[len(order) // 2 :]
    density = fit(times[fitted], labels[fitted])
    return Observer(density, density.log_ratio(times[judged]), labels[judged])


def shuffled(labels: Labels, *, seed: int) -> Labels:
    """The same labels in random order: what times cannot tell, the null."""
    return np.random.Generator(np.random.PCG64(seed)).permutation(labels)


@dataclass(frozen=True, slots=True)
class Null:
    """What dudect says of shuffled labels.

    Attributes:
        shuffles: how many times they were shuffled.
        largest: the largest |t| of any test of any shuffle.
        found: in how many shuffles some |t| was above the threshold.
    """

    shuffles: int
    largest: float
    found: int

    @property
    def too_often(self) -> bool:
        """Whether more than one shuffle in twenty was found; chance finds one in thousands."""
        return self.found * 20 > self.shuffles


def null(times: Times, labels: Labels, *, shuffles: int = 20, seed: int = 1) -> Null:
    """dudect's verdict on `shuffles` random orders of the labels."""
    _check(times, labels)
    ordered = _Sorted.of(times)
    results = [ordered.tests(shuffled(labels, seed=seed + k)) for k in range(shuffles)]
    return Null(
        shuffles,
        max(abs(result.worst.t) for result in results),
        sum(result.found for result in results),
    )


def _share_right(
    favours: NDArray[np.float64], labels: Labels, z: float = Z_95
) -> tuple[float, float, float]:
    right = [
        float(np.sum(favours[labels == label] > 0) + np.sum(favours[labels == label] == 0) / 2)
        for label in (0, 1)
    ]
    sizes = [int(np.sum(labels == label)) for label in (0, 1)]
    share = (right[0] / sizes[0] + right[1] / sizes[1]) / 2
    total = sum(sizes)
    return (share, *wilson(share * total, total, z))


def _check(times: Times, labels: Labels) -> None:
    if times.shape != labels.shape or not np.isin(labels, (0, 1)).all():
        raise ParameterError(
            f"expected a label 0 or 1 for each of {len(times)} times, got {len(labels)} labels"
        )
    if min(np.count_nonzero(labels == label) for label in (0, 1)) < _FEWEST:
        raise ParameterError(f"at least {_FEWEST} times of each label are needed")
