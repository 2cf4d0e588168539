"""Every formula of section 8 on S_ℓ, against counting."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from gmpy2 import mpz
from hypothesis import given
from hypothesis import strategies as st

from iot2.arithmetic.uniform import residue_size, uniform_mod
from iot2.errors import ParameterError
from iot2.security import sampling
from iot2.security.stream import SeededBytes

moduli = st.integers(2, 400)
bits = st.integers(0, 12)


def counted(modulus: int, ell: int) -> list[int]:
    counts = [0] * modulus
    for u in range(1 << ell):
        counts[u % modulus] += 1
    return counts


@given(moduli, bits)
def test_the_law_is_what_counting_every_u_gives(modulus: int, ell: int) -> None:
    assert sampling.law(modulus, ell).tolist() == counted(modulus, ell)


@given(moduli, bits)
def test_err_is_the_distance_from_uniform(modulus: int, ell: int) -> None:
    by_hand = sum(abs(Fraction(c, 1 << ell) - Fraction(1, modulus)) for c in counted(modulus, ell))
    assert sampling.error(modulus, ell) == by_hand / 2
    assert (
        sampling.distance(sampling.law(modulus, ell), sampling.uniform_law(modulus)) == by_hand / 2
    )


@given(moduli, bits)
def test_chi_squared_is_the_divergence_from_uniform(modulus: int, ell: int) -> None:
    by_hand = sum(
        (Fraction(c, 1 << ell) - Fraction(1, modulus)) ** 2 * modulus for c in counted(modulus, ell)
    )
    assert sampling.chi_squared(modulus, ell) == by_hand


@given(st.integers(2, 1 << 600), st.integers(0, 1000))
def test_err_stays_under_its_bound(modulus: int, ell: int) -> None:
    assert sampling.error(modulus, ell) <= sampling.error_bound(modulus, ell)


def test_the_bound_is_nearly_met_at_half() -> None:
    # 2^10 mod 683 = 341 = (683 - 1)/2: nothing smaller would be a bound for every N.
    ratio = sampling.error(683, 10) / sampling.error_bound(683, 10)
    assert 1 - Fraction(1, 683**2) == ratio


@given(st.integers(3, 200), st.integers(1, 10), st.integers(1, 5))
def test_powers_and_absolute_values_against_counting(modulus: int, ell: int, exponent: int) -> None:
    power, absolute = [0] * modulus, [0] * modulus
    for v, count in enumerate(counted(modulus, ell)):
        power[pow(v, exponent, modulus)] += count
        absolute[min(v, (modulus - v) % modulus)] += count
    law = sampling.law(modulus, ell)
    assert sampling.power_law(law, exponent).tolist() == power
    assert sampling.absolute_law(law).tolist() == absolute


@given(st.integers(3, 200), st.integers(1, 10), st.integers(0, 500))
def test_a_multiple_against_counting(modulus: int, ell: int, factor: int) -> None:
    product = [0] * modulus
    for v, count in enumerate(counted(modulus, ell)):
        product[v * factor % modulus] += count
    assert sampling.product_law(sampling.law(modulus, ell), factor).tolist() == product


def test_counts_beyond_int64_are_exact() -> None:
    law = sampling.law(7, 100)
    assert sampling.total(law) == 1 << 100
    assert sampling.distance(law, sampling.uniform_law(7)) == sampling.error(7, 100)
    assert sampling.total(sampling.power_law(law, 4)) == 1 << 100


@pytest.mark.parametrize("size", [2048, 3072, 4096])
@pytest.mark.parametrize("margin", [64, 128])
def test_real_sizes_neither_underflow_nor_round(size: int, margin: int) -> None:
    N = (0xC5 << (size - 8)) + 1234567
    err = sampling.error(N, size + margin)
    log2 = sampling.log2_exact(err)
    assert float(err) > 0 or margin + size > 1000
    assert -margin - 20 < log2 < -margin - 1
    # 2^log2 brackets ERR to a float's precision, checked with integers alone.
    low, high = math.floor((log2 - 1e-9) * 2**20), math.ceil((log2 + 1e-9) * 2**20)
    assert Fraction(2) ** (low // 2**20) <= err <= Fraction(2) ** (high // 2**20 + 1)
    assert abs(log2 - (math.log2(err * 2 ** (margin + 2)) - margin - 2)) < 1e-9


@given(
    st.fractions(min_value=Fraction(1, 10**6), max_value=10**6).filter(bool),
    st.integers(-4000, 4000),
)
def test_log2_scales_exactly(value: Fraction, shift: int) -> None:
    expected = math.log2(value) + shift
    got = sampling.log2_exact(value * Fraction(2) ** shift)
    assert got == pytest.approx(expected, rel=1e-13, abs=1e-13)


def test_log2_near_one_keeps_its_digits() -> None:
    tiny = Fraction(1, 1 << 80)
    assert sampling.log2_exact(1 + tiny) == pytest.approx(float(tiny) / math.log(2), rel=1e-15)
    assert sampling.log2_exact(1 - tiny) == pytest.approx(-float(tiny) / math.log(2), rel=1e-15)
    assert sampling.log2_exact(Fraction(1)) == 0
    assert sampling.log2_exact(Fraction(0)) == -math.inf
    with pytest.raises(ParameterError, match="at least 0"):
        sampling.log2_exact(Fraction(-1))


def test_the_sampler_is_the_routine_of_the_protocol() -> None:
    # With all the bits that the routine asks for, the two read the same stream alike.
    N = mpz(989)
    ell = 8 * (residue_size(N) + 16)
    own, protocol = SeededBytes(5, "same"), SeededBytes(5, "same")
    assert sampling.sample(989, ell, 50, own).tolist() == [
        uniform_mod(N, protocol) for _ in range(50)
    ]


@given(st.integers(2, 300), st.integers(1, 9))
def test_the_sampler_takes_each_u_to_u_mod_n(modulus: int, ell: int) -> None:
    # A source that counts through all values of U instead of drawing them.
    size = (ell + 7) // 8
    values = iter(range(1 << ell))
    drawn = sampling.sample(modulus, ell, 1 << ell, lambda count: next(values).to_bytes(size))
    assert np.bincount(drawn, minlength=modulus).tolist() == counted(modulus, ell)


def test_a_poor_source_ignores_the_bits_it_does_not_have() -> None:
    source = sampling.PoorSource(11, lambda count: b"\xff" * count)
    assert source(5) == (2**11 - 1).to_bytes(5)
    with pytest.raises(ParameterError, match="do not hold"):
        source(1)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: sampling.split(1, 5), "at least 2"),
        (lambda: sampling.split(7, -1), "at least 0 bits"),
        (lambda: sampling.law(1 << 40, 5), "exact counts"),
        (lambda: sampling.power_law(sampling.law(7, 3), 0), "exponent"),
        (lambda: sampling.PoorSource(0, bytes), "at least 1 bit"),
        (lambda: sampling.sample(1 << 70, 80, 1, bytes), "int64"),
        (lambda: sampling.sample(989, 1000, 1, bytes), "at most 144 bits"),
    ],
)
def test_arguments_outside_their_domain(call: object, text: str) -> None:
    with pytest.raises(ParameterError, match=text):
        call()  # type: ignore[operator]
