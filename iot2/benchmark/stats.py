"""What a column of raw samples amounts to.

Nothing is dropped: outliers are counted by a named rule and stay in every
figure.
"""

from dataclasses import dataclass
from math import nan
from typing import Final

import numpy as np
from numpy.typing import NDArray

from iot2.errors import ParameterError

SEED: Final = 20260601
"""Of every bootstrap interval, so that the same samples give the same interval."""

RESAMPLES: Final = 10_000
CONFIDENCE: Final = 0.95

OUTLIER_RULE: Final = "Tukey's outer fences: more than 3 interquartile ranges outside the quartiles"


@dataclass(frozen=True, slots=True)
class Summary:
    """Of one series, all but the counts in the series' own unit."""

    count: int
    mean: float
    sd: float
    """With n − 1; NaN for a single sample."""
    median: float
    median_low: float
    median_high: float
    """The 95 % bootstrap interval of the median."""
    p5: float
    p95: float
    outliers: int
    """By `OUTLIER_RULE`."""


def summarise(values: NDArray[np.float64]) -> Summary:
    """Mean, spread, median with its interval, percentiles and outliers of samples.

    Args:
        values: at least one finite sample.
    """
    samples = _samples(values)
    p5, q1, median, q3, p95 = (float(v) for v in np.percentile(samples, [5, 25, 50, 75, 95]))
    low, high = median_interval(samples)
    fence = 3 * (q3 - q1)
    outside = (samples < q1 - fence) | (samples > q3 + fence)
    return Summary(
        count=samples.size,
        mean=float(samples.mean()),
        sd=float(samples.std(ddof=1)) if samples.size > 1 else nan,
        median=median,
        median_low=low,
        median_high=high,
        p5=p5,
        p95=p95,
        outliers=int(outside.sum()),
    )


def median_interval(values: NDArray[np.float64], *, seed: int = SEED) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of the median.

    A resample's median is an order statistic of n draws with replacement, and
    the k-th smallest of n draws of {1 … n} is ⌈n·U⌉ with U ~ Beta(k, n − k + 1),
    the k-th smallest of n uniform numbers. So its rank is drawn directly: the
    same law as drawing all n, at 1/n of the work. For even n the median is the
    mean of the k-th and the next, and the next of the uniform numbers lies
    Beta(1, n − k) of the way from the k-th to 1.

    Args:
        values: at least one finite sample.
        seed: of the resampling.

    Returns:
        The lower and upper end, in the unit of the samples.
    """
    ordered = np.sort(_samples(values))
    n = ordered.size
    if n == 1:
        return float(ordered[0]), float(ordered[0])
    rng = np.random.default_rng(seed)
    k = (n + 1) // 2
    lower = rng.beta(k, n - k + 1, RESAMPLES)
    medians = ordered[_ranks(lower, n)]
    if n % 2 == 0:
        upper = lower + (1 - lower) * rng.beta(1, n - k, RESAMPLES)
        medians = (medians + ordered[_ranks(upper, n)]) / 2
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(medians, [tail, 1 - tail])
    return float(low), float(high)


def _ranks(uniform: NDArray[np.float64], n: int) -> NDArray[np.intp]:
    return np.clip(np.ceil(uniform * n).astype(np.intp) - 1, 0, n - 1)


def _samples(values: NDArray[np.float64]) -> NDArray[np.float64]:
    samples = np.asarray(values, dtype=np.float64)
    if samples.ndim != 1 or samples.size == 0 or not np.isfinite(samples).all():
        raise ParameterError("expected a list of at least one finite sample")
    return samples
