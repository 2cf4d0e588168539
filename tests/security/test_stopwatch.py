"""The observer with a stopwatch, on times whose leaks are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats as reference

from iot2.errors import ParameterError
from iot2.security import stopwatch

Times = NDArray[np.int64]


def labelled(count: int, *, seed: int, leak_ns: float = 0.0) -> tuple[Times, Times]:
    """Times like a machine's: a floor, a long tail, and `leak_ns` more for label 1."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    times = 3000 + rng.gamma(4, 20, count) + leak_ns * labels
    times[rng.random(count) < 0.01] += rng.exponential(50_000, count)[:1]
    return times.astype(np.int64), labels


def test_every_test_is_welchs_of_scipy() -> None:
    times, labels = labelled(3000, seed=1, leak_ns=3)
    result = stopwatch.dudect(times, labels)
    assert len(result.tests) == 102
    ones, zeros = times[labels == 1], times[labels == 0]
    by_name = {test.name: test for test in result.tests}
    expected = reference.ttest_ind(ones, zeros, equal_var=False).statistic
    assert by_name[stopwatch.WHOLE].t == pytest.approx(expected, rel=1e-9)
    assert by_name[stopwatch.WHOLE].difference == pytest.approx(ones.mean() - zeros.mean())
    for percentile in stopwatch.PERCENTILES:
        test = by_name[f"below {percentile:.3%}"]
        kept = times < np.quantile(times, percentile)
        expected = reference.ttest_ind(
            times[kept & (labels == 1)], times[kept & (labels == 0)], equal_var=False
        ).statistic
        assert test.t == pytest.approx(expected, rel=1e-7, abs=1e-9)
        assert test.kept == kept.sum()
    squares = [(group - group.mean()) ** 2 for group in (ones, zeros)]
    expected = reference.ttest_ind(*squares, equal_var=False).statistic
    assert by_name[stopwatch.SECOND_ORDER].t == pytest.approx(expected, rel=1e-6)


def test_percentiles_are_dudects() -> None:
    assert len(stopwatch.PERCENTILES) == 100
    assert stopwatch.PERCENTILES[0] == pytest.approx(1 - 0.5**0.1)
    assert stopwatch.PERCENTILES[-1] == pytest.approx(1 - 0.5**10)


def test_a_leak_is_found_and_its_absence_is_not() -> None:
    times, labels = labelled(20_000, seed=2, leak_ns=10)
    result = stopwatch.dudect(times, labels)
    assert result.found
    assert result.worst.t > stopwatch.THRESHOLD
    assert not stopwatch.dudect(*labelled(20_000, seed=3)).found
    # The other direction, and a leak in the spread alone.
    assert stopwatch.dudect(times, 1 - labels).worst.t < -stopwatch.THRESHOLD
    rng = np.random.default_rng(4)
    wide = np.where(labels == 1, rng.normal(1000, 60, 20_000), rng.normal(1000, 50, 20_000))
    assert stopwatch.dudect(wide.astype(np.int64), labels).found


def test_the_detectable_difference_is_detected() -> None:
    times, labels = labelled(20_000, seed=5)
    least = stopwatch.dudect(times, labels).detectable_ns
    assert 0 < least < 20
    leaking = times + np.where(labels == 1, round(1.5 * least), 0)
    assert stopwatch.dudect(leaking, labels).found
    assert stopwatch.dudect(times, labels).count == 20_000


def test_constant_times_differ_in_nothing() -> None:
    labels = np.arange(200) % 2
    result = stopwatch.dudect(np.full(200, 7), labels)
    assert not result.found
    shifted = stopwatch.dudect(7 + labels, labels)
    assert shifted.worst.t == math.inf


def test_shuffled_labels_are_a_null_even_of_a_leak() -> None:
    times, labels = labelled(5000, seed=6, leak_ns=40)
    assert stopwatch.dudect(times, labels).found
    null = stopwatch.null(times, labels, shuffles=10)
    assert (null.shuffles, null.found) == (10, 0)
    assert 1 < null.largest < stopwatch.THRESHOLD
    assert sorted(stopwatch.shuffled(labels, seed=1)) == sorted(labels)


def test_densities_are_the_shares_of_the_times() -> None:
    times = np.array([10] * 30 + [20] * 30 + [30] * 40)
    labels = np.array([0] * 25 + [1] * 5 + [0] * 15 + [1] * 15 + [0] * 10 + [1] * 30)
    density = stopwatch.fit(times, labels, bins=10)
    assert density.zero.sum() == pytest.approx(1)
    ratio = density.log_ratio(np.array([10, 20, 30, 1, 99]))
    assert ratio[0] < 0 < ratio[2]
    assert ratio[1] == pytest.approx(0, abs=0.05)
    # Faster than anything seen: the empty bin says nothing.
    assert ratio[3] == pytest.approx(0, abs=0.05)
    assert ratio[4] == ratio[2]
    places = np.searchsorted(density.edges, times, side="right")
    for label, law in ((0, density.zero), (1, density.one)):
        counts = np.bincount(places[labels == label], minlength=len(law)) + 0.5
        assert law.tolist() == pytest.approx((counts / counts.sum()).tolist())


def test_the_observer_of_two_known_laws() -> None:
    # Exactly two times: label 1 is slow with 3/4, label 0 with 1/4. The best observer is right
    # with 3/4 and gains 1 - h(1/4) bits.
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 2, 40_000)
    slow = rng.random(40_000) < np.where(labels == 1, 0.75, 0.25)
    observer = stopwatch.observe(np.where(slow, 200, 100), labels)
    accuracy, low, high = observer.accuracy()
    assert low < 0.75 < high
    assert high - low < 0.02
    bits, bits_low, bits_high = observer.information()
    h = -(0.25 * math.log2(0.25) + 0.75 * math.log2(0.75))
    assert bits_low < 1 - h < bits_high
    assert bits == pytest.approx(1 - h, abs=0.02)
    wider = observer.accuracy(stopwatch.THRESHOLD)
    assert wider[0] == accuracy
    assert wider[1] < low


def test_more_observations_tell_more() -> None:
    times, labels = labelled(20_000, seed=8, leak_ns=30)
    frame = stopwatch.observe(times, labels).after([1, 4, 16, 64])
    assert frame["posterior"].is_monotonic_increasing
    assert frame["accuracy"].iloc[-1] > 0.97
    first = frame.iloc[0]
    assert first["low"] < first["accuracy"] < first["high"]
    assert first["posterior_low"] < first["posterior"] < first["posterior_high"]
    assert first["groups"] == 10_000


def test_nothing_is_learnt_from_what_tells_nothing() -> None:
    times, labels = labelled(20_000, seed=9)
    observer = stopwatch.observe(times, labels)
    _, low, high = observer.accuracy(stopwatch.THRESHOLD)
    assert low < 0.5 < high
    assert observer.information()[0] < 0.001
    frame = observer.after([1, 16])
    assert (frame["posterior"] - 0.5).abs().max() < 0.05


def test_groups_too_few_to_judge_are_left_out() -> None:
    times, labels = labelled(400, seed=10)
    frame = stopwatch.observe(times, labels).after([1, 2, 1000])
    assert frame["observations"].tolist() == [1, 2]


def test_one_half_is_fitted_and_the_other_judged() -> None:
    # Labels that each time tells by itself, and no two alike: judged on what it was fitted to,
    # an observer would be right; on the other half it cannot be.
    rng = np.random.default_rng(11)
    times, labels = rng.permutation(2000) * 1000, rng.integers(0, 2, 2000)
    density = stopwatch.fit(times, labels, bins=2000)
    fitted = np.sign(density.log_ratio(times)) == np.where(labels == 1, 1, -1)
    assert fitted.mean() > 0.99
    _, low, high = stopwatch.observe(times, labels).accuracy()
    assert low < 0.5 < high


@pytest.mark.parametrize(
    ("times", "labels", "text"),
    [
        (np.arange(30), np.zeros(29, int), "a label"),
        (np.arange(30), np.arange(30), "0 or 1"),
        (np.arange(30), np.zeros(30, int), "at least 10"),
    ],
)
def test_times_without_labels(times: Times, labels: Times, text: str) -> None:
    for look in (stopwatch.dudect, stopwatch.fit, stopwatch.observe, stopwatch.null):
        with pytest.raises(ParameterError, match=text):
            look(times, labels)
