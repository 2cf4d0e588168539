"""Intervals and the χ² test."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as reference

from iot2.errors import ParameterError
from iot2.security.stats import chi_squared_test, wilson


@pytest.mark.parametrize(("k", "n"), [(0, 10), (1, 10), (5, 10), (10, 10), (4321, 10_000)])
def test_wilson_is_scipys(k: int, n: int) -> None:
    expected = reference.binomtest(k, n).proportion_ci(0.95, method="wilson")
    assert wilson(k, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_wilson_takes_halves_and_closes_at_the_ends() -> None:
    low, high = wilson(4.5, 10)
    assert wilson(4, 10)[0] < low < wilson(5, 10)[0]
    assert wilson(0, 7)[0] == 0.0
    assert wilson(7, 7)[1] == 1.0
    assert high < 1
    for bad in ((1, 0), (-1, 3), (4, 3)):
        with pytest.raises(ParameterError):
            wilson(*bad)


def test_chi_squared_is_scipys_where_no_cell_is_small() -> None:
    counts = np.array([30, 40, 50, 80])
    law = np.array([0.2, 0.2, 0.2, 0.4])
    expected = reference.chisquare(counts, law * 200)
    got = chi_squared_test(counts, law)
    assert (got.statistic, got.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    assert (got.freedom, got.draws) == (3, 200)
    assert f"p = {expected.pvalue:.3f}" in str(got)


def test_small_cells_are_taken_together() -> None:
    law = np.array([0.01, 0.02, 0.47, 0.49, 0.005, 0.005])
    got = chi_squared_test(np.array([1, 2, 47, 49, 1, 0]), law)
    # 0.01 + 0.02 + 0.47, then 0.49 with the rest.
    assert got.freedom == 1
    assert got.statistic == pytest.approx(0)


def test_what_cannot_happen_has_p_value_0() -> None:
    got = chi_squared_test(np.array([50, 49, 1]), np.array([0.5, 0.5, 0.0]))
    assert got.p_value == 0


def test_chi_squared_refuses_what_is_no_law() -> None:
    with pytest.raises(ParameterError, match=r"sum to 0\.9"):
        chi_squared_test(np.array([5, 5]), np.array([0.5, 0.4]))
    with pytest.raises(ParameterError, match="2 cells"):
        chi_squared_test(np.array([5, 5]), np.array([1.0]))
    with pytest.raises(ParameterError, match="too few"):
        chi_squared_test(np.array([1, 1]), np.array([0.5, 0.5]))


def test_p_values_are_uniform_under_the_law() -> None:
    rng = np.random.default_rng(3)
    law = np.array([0.1, 0.2, 0.3, 0.4])
    values = [chi_squared_test(rng.multinomial(2000, law), law).p_value for _ in range(400)]
    assert reference.kstest(values, "uniform").pvalue > 0.001
