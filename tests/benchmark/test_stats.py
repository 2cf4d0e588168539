import math

import numpy as np
import pytest
from scipy import stats as reference

from iot2.benchmark import stats
from iot2.benchmark.stats import median_interval, summarise
from iot2.errors import ParameterError


def test_figures_agree_with_numpy_and_scipy() -> None:
    samples = np.random.default_rng(3).lognormal(1, 0.4, 501)
    s = summarise(samples)
    assert s.count == 501
    assert s.mean == pytest.approx(samples.mean())
    assert s.sd == pytest.approx(reference.tstd(samples))
    assert (s.p5, s.median, s.p95) == pytest.approx(np.percentile(samples, [5, 50, 95]))
    assert s.median_low < s.median < s.median_high


@pytest.mark.parametrize("n", [2, 3, 10, 51, 400])
def test_the_interval_is_that_of_plain_resampling(n: int) -> None:
    samples = np.random.default_rng(n).lognormal(0, 1, n)
    rng = np.random.default_rng(9)
    medians = np.median(samples[rng.integers(0, n, (40_000, n))], axis=1)
    # Ends of a bootstrap interval are compared by their rank among the resampled medians.
    for end, rank in zip(median_interval(samples), (0.025, 0.975), strict=True):
        below, upto = np.mean(medians < end), np.mean(medians <= end)
        assert below - 0.006 <= rank <= upto + 0.006


def test_the_interval_covers_the_true_median() -> None:
    rng = np.random.default_rng(5)
    hits = 0
    for seed in range(400):
        low, high = median_interval(rng.exponential(1.0, 101), seed=seed)
        hits += low <= math.log(2) <= high
    assert 0.91 <= hits / 400 <= 0.985


def test_the_interval_is_the_same_every_time_and_another_seed_gives_another() -> None:
    samples = np.random.default_rng(1).random(100)
    assert median_interval(samples) == median_interval(samples[::-1])
    assert len({median_interval(samples, seed=seed) for seed in range(5)}) > 1


def test_a_single_sample_has_no_spread() -> None:
    s = summarise(np.array([4.0]))
    assert (s.count, s.mean, s.median, s.median_low, s.median_high) == (1, 4, 4, 4, 4)
    assert math.isnan(s.sd)
    assert s.outliers == 0


def test_outliers_are_counted_by_the_outer_fences_and_kept() -> None:
    inside = np.arange(1, 102, dtype=float)  # quartiles 26 and 76: fences at -124 and 226
    assert summarise(inside).outliers == 0
    s = summarise(np.array([*inside, 225.9, -123.9]))
    assert s.outliers == 0
    s = summarise(np.array([*inside, 1000.0, -1000.0]))
    assert (s.outliers, s.count) == (2, 103)


@pytest.mark.parametrize("samples", [[], [float("nan")], [1.0, float("inf")], [[1.0]]])
def test_what_is_no_list_of_samples_is_refused(samples) -> None:
    with pytest.raises(ParameterError):
        summarise(np.array(samples))


def test_five_thousand_samples_need_no_matrix_of_resamples(monkeypatch) -> None:
    # 10,000 resamples of 5,000 would be 400 MB; only two ranks each are drawn.
    drawn = []
    generator = np.random.default_rng(0)

    class Counting:
        def beta(self, a, b, size):
            drawn.append(size)
            return generator.beta(a, b, size)

    monkeypatch.setattr(stats.np.random, "default_rng", lambda seed: Counting())
    median_interval(np.arange(5000.0))
    assert drawn == [stats.RESAMPLES] * 2
