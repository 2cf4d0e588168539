"""The Bayesian observer, against the enumeration of everything that it can see."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iot2.errors import ParameterError
from iot2.security import bayes, sampling
from iot2.security.convolution import RatioSum
from iot2.security.moduli import HONEST, ToyModulus, honest_between

N = 77
TOY = ToyModulus((7, 11))


def seen(modulus: int, ell: int, z: int, b: int) -> list[Fraction]:
    """Pr[y | b] by drawing every U."""
    law = [Fraction(0)] * modulus
    for u in range(1 << ell):
        law[pow(u % modulus, 4, modulus) * pow(z, b) % modulus] += Fraction(1, 1 << ell)
    return law


@pytest.mark.parametrize("z", [1, 4, 2, 15, 76])
@pytest.mark.parametrize("ell", [4, 6, 7, 9])
def test_posterior_and_advantage_by_enumeration(ell: int, z: int) -> None:
    zero, one = seen(N, ell, z, 0), seen(N, ell, z, 1)
    channel = bayes.observed(N, ell, z)
    posterior = channel.posterior()
    P = zero
    for y in range(N):
        shifted = P[y * pow(z, -1, N) % N]
        assert shifted == one[y]
        if P[y] + shifted:
            assert posterior[y] == pytest.approx(float(shifted / (P[y] + shifted)), rel=1e-14)
        else:
            assert math.isnan(posterior[y])
    # The best of all observers: of every set of y, the one that favours b = 1.
    best = sum(max(a, b) for a, b in zip(zero, one, strict=True)) - 1
    assert channel.advantage() == best
    assert channel.bayes_error() == sum(map(min, zero, one)) / 2


def test_no_observer_does_better() -> None:
    # Every deterministic observer on a law small enough to try them all.
    zero, one = np.array([3, 0, 2, 1]), np.array([1, 1, 2, 2])
    channel = bayes.Channel.of_laws(zero, one)
    gains = [
        abs(sum(one[y] - zero[y] for y in says_1))
        for size in range(5)
        for says_1 in itertools.combinations(range(4), size)
    ]
    assert channel.advantage() == Fraction(int(max(gains)), 6)


def test_probability_zero_gives_the_choice_away() -> None:
    channel = bayes.Channel.of_laws(np.array([2, 0, 6, 0]), np.array([0, 4, 4, 0]))
    assert channel.posterior()[:3].tolist() == [0.0, 1.0, 0.4]
    assert math.isnan(channel.posterior()[3])
    ratios = channel.log_ratios()
    assert ratios[0] == -math.inf
    assert ratios[1] == math.inf
    assert ratios[2] == pytest.approx(math.log(4 / 6))
    assert [cell.log_ratio for cell in channel.cells] == [math.inf, -math.inf, math.log(4 / 6)]
    assert channel.common() == Fraction(6, 8)
    assert channel.affinity() == pytest.approx(math.sqrt(24) / 8)


def test_channels_that_are_none() -> None:
    with pytest.raises(ParameterError, match="same"):
        bayes.Channel.of_laws(np.array([1, 2]), np.array([2, 2]))
    with pytest.raises(ParameterError, match="same"):
        bayes.Channel.of_laws(np.array([1, 2]), np.array([1, 1, 1]))
    with pytest.raises(ParameterError, match="unit"):
        bayes.observed(77, 8, 7)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(HONEST), st.integers(0, 5), st.data())
def test_one_observation_stays_under_both_bounds(
    modulus: ToyModulus, margin: int, data: st.DataObject
) -> None:
    ell = modulus.N.bit_length() + margin - 1
    z = data.draw(st.sampled_from(modulus.unit_powers(4)))
    advantage = bayes.observed(modulus.N, ell, z).advantage()
    bounds = bayes.Bounds(modulus.N, ell)
    assert advantage <= bounds.linear(1)
    assert advantage**2 <= bounds.square(1)


@pytest.mark.parametrize("modulus", HONEST[:6], ids=str)
@pytest.mark.parametrize("transfers", [1, 2, 8, 64, 512])
def test_many_observations_stay_under_both_bounds(modulus: ToyModulus, transfers: int) -> None:
    ell = modulus.N.bit_length() + 3
    bounds = bayes.Bounds(modulus.N, ell)
    for z in modulus.unit_powers(4)[1:4]:
        exact = 1 - 2 * RatioSum(bayes.observed(modulus.N, ell, z)).bayes_error(transfers)
        assert exact <= float(bounds.linear(transfers)) + 1e-12
        assert exact <= math.sqrt(bounds.square(transfers)) + 1e-12
        assert exact <= bounds.advantage(transfers) + 1e-12


def test_the_bound_needs_z_to_be_a_fourth_power() -> None:
    bounds = bayes.Bounds(N, 20)
    assert float(bayes.observed(N, 20, 2).advantage()) > bounds.advantage(1)


def test_bounds_of_real_size_agree_with_their_logarithms() -> None:
    modulus = (0xD3 << 3064) + 987654321
    for margin in (64, 128):
        bounds = bayes.Bounds(modulus, 3072 + margin)
        for power in (0, 20, 60):
            T = 1 << power
            assert bounds.log2_linear(T) == pytest.approx(bounds.log2_linear(1) + power)
            assert bounds.log2_root(T) == pytest.approx(bounds.log2_root(1) + power / 2)
            smaller = min(bounds.log2_linear(T), bounds.log2_root(T))
            assert bounds.log2_advantage(T) == min(0, smaller)
            assert bounds.advantage(T) == pytest.approx(2.0 ** bounds.log2_advantage(T), rel=1e-9)
    assert bayes.Bounds(modulus, 3072 + 128).log2_advantage(1 << 60) < -67
    assert bayes.Bounds(modulus, 4096 + 3072).advantage(1) == 0.0


def test_the_bound_on_the_error_is_a_lower_one() -> None:
    bounds = bayes.Bounds(989, 12)
    assert bounds.bayes_error(1) <= float(bayes.observed(989, 12, 16).bayes_error())
    assert bounds.bayes_error(10**9) == 0.0


def test_the_two_laws_all_but_agree_at_half() -> None:
    ell = 11

    def remainder(m: ToyModulus) -> float:
        return sampling.split(m.N, ell).r / m.N

    honest = honest_between(512, 1024)
    near = {f: min(honest, key=lambda m: abs(remainder(m) - f)) for f in (0.25, 0.5, 0.75)}
    assert all(abs(remainder(m) - f) < 0.02 for f, m in near.items())
    worst = {
        f: max(bayes.observed(m.N, ell, z).advantage() for z in m.unit_powers(4))
        for f, m in near.items()
    }
    err = {f: sampling.error(m.N, ell) for f, m in near.items()}
    # ERR is largest where the distance of the two laws is smallest.
    assert err[0.5] > max(err[0.25], err[0.75])
    assert worst[0.5] < min(worst[0.25], worst[0.75]) / 10


def test_the_positive_control_is_what_non_unit_w_leave() -> None:
    # 11 is a square mod 43 and none mod 23: only w = 0 mod 23 hides the choice.
    channel = bayes.observed(989, 11, 11)
    multiples = int(sampling.law(989, 11)[::23].sum())
    assert channel.common() == Fraction(multiples, 1 << 11)
    overlap = sum(min(c.zeros, c.ones) for c in channel.cells)
    assert channel.bayes_error() == Fraction(overlap, 2 << 11)
    assert 0 < channel.bayes_error() <= channel.common() / 2
    assert bayes.observed_units(989, 11, 11).bayes_error() == 0
    assert bayes.observed_units(989, 11, 16).bayes_error() > Fraction(2, 5)


def test_the_chernoff_exponent_is_the_slope_of_the_error() -> None:
    channel = bayes.observed(989, 11, 16)
    exponent = channel.chernoff_exponent()
    sums = RatioSum(channel)
    slopes = [
        math.log(sums.bayes_error(T) / sums.bayes_error(2 * T)) / T for T in (1024, 2048, 4096)
    ]
    # From above, as the error is (a power of T) * e^(-C T).
    assert exponent < slopes[2] < slopes[1] < slopes[0]
    assert slopes[2] == pytest.approx(exponent, rel=0.2)
    for T in (1, 16, 1024):
        assert sums.bayes_error(T) <= bayes.chernoff_bound(channel, T)


def test_the_chernoff_exponent_of_known_pairs() -> None:
    # Binary symmetric: ln of 2 sqrt(p q), s = 1/2 by symmetry.
    symmetric = bayes.Channel.of_laws(np.array([3, 1]), np.array([1, 3]))
    assert symmetric.chernoff_exponent() == pytest.approx(-math.log(2 * math.sqrt(3) / 4))
    disjoint = bayes.Channel.of_laws(np.array([1, 0]), np.array([0, 1]))
    assert disjoint.chernoff_exponent() == math.inf
    assert bayes.chernoff_bound(disjoint, 1) == 0
    equal = bayes.Channel.of_laws(np.array([1, 1]), np.array([1, 1]))
    assert equal.chernoff_exponent() == pytest.approx(0, abs=1e-9)
    # One y only under b = 0 (a Z-channel): the error is 2^-T / 2, reached as s -> 1.
    one_sided = bayes.Channel.of_laws(np.array([1, 1]), np.array([0, 2]))
    assert one_sided.chernoff_exponent() == pytest.approx(math.log(2), rel=1e-6)


def test_the_advantage_grows_like_the_root_of_t_while_small() -> None:
    sums = RatioSum(bayes.observed(989, 14, 16))
    advantages = [1 - 2 * sums.bayes_error(T) for T in (16, 64, 256)]
    for small, large in itertools.pairwise(advantages):
        assert large / small == pytest.approx(2, rel=0.06)


def test_information_of_known_channels() -> None:
    assert bayes.information(
        bayes.Channel.of_laws(np.array([1, 0]), np.array([0, 1]))
    ) == pytest.approx(1)
    assert bayes.information(
        bayes.Channel.of_laws(np.array([2, 2]), np.array([2, 2]))
    ) == pytest.approx(0)
    h = -(0.25 * math.log2(0.25) + 0.75 * math.log2(0.75))
    assert bayes.information(
        bayes.Channel.of_laws(np.array([3, 1]), np.array([1, 3]))
    ) == pytest.approx(1 - h)
