"""Toy moduli, and the law of y on each of them."""

from __future__ import annotations

from math import gcd

import pytest
from gmpy2 import is_prime

from iot2.errors import ParameterError
from iot2.security import moduli
from iot2.security.bayes import observed_uniform
from iot2.security.stream import SeededBytes


def test_honest_moduli_have_the_honest_shape() -> None:
    assert all(modulus.honest for modulus in moduli.HONEST)
    assert not any(modulus.honest for modulus in moduli.HOSTILE)
    remainders = sorted((1 << 10) % m.N / m.N for m in moduli.honest_between(500, 1024))
    assert remainders[0] < 0.05
    assert remainders[-1] > 0.9


def test_hostile_moduli_cover_what_a_receiver_need_not_rule_out() -> None:
    shapes = [modulus.factors for modulus in moduli.HOSTILE]
    assert any(all(p % 4 == 1 for p in f) and len(set(f)) == 2 for f in shapes)
    assert any(len(set(f)) == 1 and len(f) > 1 for f in shapes)
    assert any(3 in f for f in shapes)
    assert any(len(f) == 1 for f in shapes)


@pytest.mark.parametrize("modulus", moduli.HONEST + moduli.HOSTILE, ids=str)
def test_equal_laws_if_and_only_if_z_is_a_fourth_power(modulus: moduli.ToyModulus) -> None:
    fourth = set(modulus.unit_powers(4))
    assert 1 in fourth
    for z in modulus.units():
        channel = observed_uniform(modulus.N, z)
        equal = (channel.law_0 == channel.law_1).all()
        assert equal == (z in fourth), (modulus, z)
        assert (channel.advantage() == 0) == equal


def test_a_square_is_not_enough_on_65() -> None:
    toy = moduli.ToyModulus((5, 13))
    squares = set(toy.unit_powers(2)) - set(toy.unit_powers(4))
    assert squares
    for z in squares:
        assert observed_uniform(65, z).advantage() > 0


@pytest.mark.parametrize("modulus", moduli.HONEST, ids=str)
def test_squares_of_a_blum_integer_are_fourth_powers(modulus: moduli.ToyModulus) -> None:
    assert modulus.unit_powers(2) == modulus.unit_powers(4)


def test_units_and_powers_against_their_definition() -> None:
    toy = moduli.ToyModulus((3, 3, 5))
    assert toy.N == 45
    assert toy.units() == [x for x in range(45) if gcd(x, 45) == 1]
    assert toy.unit_powers(4) == sorted({x**4 % 45 for x in toy.units()})
    assert str(toy) == "45 = 3·3·5"
    with pytest.raises(ParameterError, match="prime factors"):
        moduli.ToyModulus((4, 5))


def test_honest_between_finds_every_one() -> None:
    primes = [p for p in range(3, 200) if p % 4 == 3 and is_prime(p)]
    expected = sorted(p * q for p in primes for q in primes if p < q and 100 <= p * q < 300)
    assert [m.N for m in moduli.honest_between(100, 300)] == expected


def test_a_real_modulus_is_the_seeds() -> None:
    make = moduli.real_modulus
    N = make(512, SeededBytes(1, "m"))
    assert N.bit_length() == 512
    assert make(512, SeededBytes(1, "m")) == N
    assert make(512, SeededBytes(2, "m")) != N
    assert N % 4 == 1
