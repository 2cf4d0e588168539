import numpy as np
import pytest

from iot2.benchmark.platform_record import Machine
from iot2.benchmark.stability import restless_machine, unstable_steps

QUIET = Machine("x", "x", 1, 1, "performance", None, None, None, "x")


def test_steady_samples_give_no_warning() -> None:
    samples = np.random.default_rng(1).normal(2e6, 2e4, 100).astype(np.int64)
    assert unstable_steps({"a": samples}) == []


@pytest.mark.parametrize(
    ("samples", "word"),
    [
        ([2_000_000, 3_000_000] * 10, "deviation"),
        ([2_000_000] * 99 + [3_100_000], "maximum"),
        ([2_000_000] * 99 + [900_000], "minimum"),
        ([2_000_000] * 2, "too few"),
    ],
)
def test_each_criterion_of_pyperf_warns(samples: list[int], word: str) -> None:
    (warning,) = unstable_steps({"a": np.array(samples)})
    assert word in warning
    assert warning.startswith("a: ")


def test_short_samples_are_judged_by_means_that_fill_a_millisecond() -> None:
    # One sample in a hundred is 50 times too long; over 1 ms that evens out.
    samples = np.full(100_000, 1000)
    samples[::100] = 50_000
    assert unstable_steps({"a": samples}) == []
    assert unstable_steps({"a": samples * 1000}) != []
    (warning,) = unstable_steps({"a": samples[:1000]})
    assert "too few" in warning


def test_a_step_that_does_not_exist_is_not_judged() -> None:
    assert unstable_steps({"a": np.zeros(10, dtype=np.int64)}) == []


def test_the_machine_is_judged_too() -> None:
    powersave = Machine("x", "x", 1, 1, "powersave", None, None, None, "x")
    assert restless_machine(QUIET, (0.1, 0.0, 0.0), pinned=True) == []
    assert "powersave" in restless_machine(powersave, None, pinned=True)[0]
    assert "0.90" in restless_machine(QUIET, (0.9, 0.0, 0.0), pinned=True)[0]
    assert "pinned" in restless_machine(QUIET, None, pinned=False)[0]
