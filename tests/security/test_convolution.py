"""The sum over T transfers: the transform, the direct sum and the enumeration agree."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iot2.errors import ParameterError
from iot2.security import convolution
from iot2.security.bayes import Channel, observed
from iot2.security.convolution import RatioSum, direct_error, direct_sum, lattice
from iot2.security.moduli import HONEST


def enumerated_error(channel: Channel, transfers: int) -> Fraction:
    """½ Σ min over every sequence of T values of y."""
    total = Fraction(0)
    for path in itertools.product(range(len(channel.law_0)), repeat=transfers):
        zero = math.prod(int(channel.law_0[y]) for y in path)
        one = math.prod(int(channel.law_1[y]) for y in path)
        total += min(zero, one)
    return total / (2 * channel.total**transfers)


@st.composite
def channels(draw: st.DrawFn) -> Channel:
    size = draw(st.integers(2, 5))
    law = draw(st.lists(st.integers(0, 4), min_size=size, max_size=size).filter(any))
    return Channel.of_laws(np.array(law), np.array(draw(st.permutations(law))))


@settings(deadline=None)
@given(channels(), st.integers(0, 3))
def test_the_direct_sum_is_the_enumeration(channel: Channel, transfers: int) -> None:
    assert direct_error(channel, transfers) == enumerated_error(channel, transfers)


@settings(deadline=None)
@given(channels(), st.integers(0, 6))
def test_the_transform_is_the_direct_sum(channel: Channel, transfers: int) -> None:
    try:
        sums = RatioSum(channel)
    except ParameterError:
        # No common y, or no small lattice: then the direct sum alone serves.
        return
    expected = float(direct_error(channel, transfers))
    assert sums.bayes_error(transfers) == pytest.approx(expected, rel=1e-11, abs=1e-15)


@pytest.mark.parametrize("modulus", HONEST, ids=str)
def test_every_honest_modulus_has_a_small_lattice(modulus: object) -> None:
    N = modulus.N  # type: ignore[attr-defined]
    for margin in (0, 1, 2):
        for z in modulus.unit_powers(4)[1:3]:  # type: ignore[attr-defined]
            channel = observed(N, N.bit_length() + margin, z)
            sums = RatioSum(channel)
            for transfers in (1, 2, 7):
                expected = float(direct_error(channel, transfers))
                assert sums.bayes_error(transfers) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("z", [16, 11])
@pytest.mark.parametrize("transfers", [1, 3, 20])
def test_the_law_of_the_sum(transfers: int, z: int) -> None:
    channel = observed(989, 11, z)
    exact = direct_sum(channel, transfers)
    cases = channel.total**transfers
    sums = RatioSum(channel)
    laws = [sums.law(transfers, choice) for choice in (0, 1)]
    for choice, law in enumerate(laws):
        assert np.all(np.diff(law.values) >= 0)
        for ratio, counted in exact.items():
            near = np.abs(law.values - math.log(ratio)) < 1e-9
            expected = float(Fraction(counted[choice], cases))
            assert law.mass[near].sum() == pytest.approx(expected, rel=1e-11, abs=1e-15)
        kept = float(channel.common() ** transfers)
        assert law.mass.sum() == pytest.approx(kept, rel=1e-12)
        assert law.certain == pytest.approx(1 - kept, rel=1e-11, abs=1e-13)
    # The observer who says 1 if the sum is positive, and tosses a coin if it is 0.
    wrong = [
        law.mass[sign * law.values > 1e-9].sum() + law.mass[np.abs(law.values) <= 1e-9].sum() / 2
        for sign, law in zip((1, -1), laws, strict=True)
    ]
    assert sum(wrong) / 2 == pytest.approx(float(direct_error(channel, transfers)), rel=1e-10)


def test_a_long_sum_through_its_window_agrees_with_the_whole_lattice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sums = RatioSum(observed(989, 11, 16))
    windowed = sums.bayes_error(600)
    monkeypatch.setattr(convolution, "_span", lambda reach, transfers: 2 * reach * transfers)
    assert sums.bayes_error(600) == pytest.approx(windowed, rel=1e-11)


def test_errors_far_below_a_float_s_unit_keep_their_digits() -> None:
    # Binary symmetric with p = 1/4: the error over T is a binomial tail, exact with integers.
    channel = Channel.of_laws(np.array([3, 1]), np.array([1, 3]))
    T = 501
    wrong = sum(math.comb(T, k) * 3 ** (T - k) for k in range(T // 2 + 1, T + 1))
    expected = Fraction(wrong, 4**T)
    got = RatioSum(channel).bayes_error(T)
    assert got < 1e-30
    assert got == pytest.approx(float(expected), rel=1e-10)


def test_the_error_never_grows() -> None:
    sums = RatioSum(observed(989, 12, 16))
    errors = [sums.bayes_error(T) for T in (0, 1, 2, 4, 16, 256, 1024)]
    assert errors[0] == 0.5
    assert all(later <= earlier + 1e-15 for earlier, later in itertools.pairwise(errors))


def test_what_a_lattice_cannot_hold() -> None:
    apart = Channel.of_laws(np.array([1, 0]), np.array([0, 1]))
    with pytest.raises(ParameterError, match="every y tells"):
        RatioSum(apart)
    with pytest.raises(ParameterError, match="cells"):
        RatioSum(observed(989, 11, 16)).bayes_error(1 << 20)
    with pytest.raises(ParameterError, match="at least 0"):
        RatioSum(observed(989, 11, 16)).bayes_error(-1)
    with pytest.raises(ParameterError, match="0 or 1"):
        RatioSum(observed(989, 11, 16)).law(1, 2)
    with pytest.raises(ParameterError, match="no product"):
        lattice([Fraction(4), Fraction(8)])


@settings(deadline=None)
@given(
    st.lists(
        st.fractions(min_value=Fraction(1, 50), max_value=50, max_denominator=10**9),
        min_size=1,
        max_size=5,
    )
)
def test_a_lattice_multiplies_back(ratios: list[Fraction]) -> None:
    try:
        basis, points = lattice(ratios)
    except ParameterError:
        return
    for ratio, point in zip(ratios, points, strict=True):
        assert math.prod(b**e for b, e in zip(basis, point, strict=True)) == ratio
