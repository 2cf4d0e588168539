"""What a sender sees, counted over every w on toy moduli (specification, section 6).

The law of y is the same for both choices if and only if z is a fourth power
of a unit: whatever N is, honest or hostile.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from gmpy2 import gcd, mpz
from weakening import weakened

from iot2.protocol import compact
from iot2.security import sampling
from iot2.security.moduli import HONEST, HOSTILE, ToyModulus

ALL = pytest.mark.parametrize("toy", HONEST + HOSTILE, ids=str)
SMALL = [toy for toy in HONEST + HOSTILE if toy.N < 300]


def laws_of_y(N: int, zs: list[int]) -> list[Counter[mpz]]:
    """The law of u_0, and of every u_j, as the receiver computes them from each of the N w."""
    laws: list[Counter[mpz]] = [Counter() for _ in range(len(zs) + 1)]
    for w in range(N):
        _, residues = compact.receiver_offline(mpz(w), [mpz(z) for z in zs], mpz(N))
        for law, u in zip(laws, residues, strict=True):
            law[u] += 1
    return laws


def hiding(N: int) -> list[int]:
    """Every z in {0 ... N - 1} for which y has one law, whatever the choice."""
    first, *others = laws_of_y(N, list(range(N)))
    return [z for z, law in enumerate(others) if law == first]


@pytest.mark.parametrize("toy", SMALL, ids=str)
def test_the_law_of_y_is_the_same_for_both_choices_iff_z_is_a_fourth_power(
    toy: ToyModulus,
) -> None:
    assert hiding(toy.N) == toy.unit_powers(4)


@ALL
def test_the_same_by_convolved_counts(toy: ToyModulus) -> None:
    """The larger moduli too, by the exact laws of the security analysis."""
    N = toy.N
    fourth = sampling.power_law(sampling.uniform_law(N), 4)
    same = [z for z in range(N) if np.array_equal(sampling.product_law(fourth, z), fourth)]
    assert same == toy.unit_powers(4)


def test_squares_would_do_on_honest_moduli_alone() -> None:
    """There squares are fourth powers; on the hostile ones that are here some are not."""
    assert all(toy.unit_powers(2) == toy.unit_powers(4) for toy in HONEST)
    gaps = [toy for toy in HOSTILE if toy.unit_powers(2) != toy.unit_powers(4)]
    assert ToyModulus((5, 13)) in gaps
    assert len(gaps) >= 8


def test_a_receiver_that_sent_squares_would_be_hidden_by_squares() -> None:
    """The count sees the exponent: with y = w^2 z^b other z are enough, and -1 mod 5 is one."""
    N = 65
    with weakened(compact, "receiver_offline", ("u_0 = x * x % modulus", "u_0 = x")):
        assert hiding(N) == ToyModulus((5, 13)).unit_powers(2)
    assert hiding(N) == ToyModulus((5, 13)).unit_powers(4)
    assert len(ToyModulus((5, 13)).unit_powers(2)) == 4 * len(ToyModulus((5, 13)).unit_powers(4))


def test_a_square_mod_65_that_is_no_fourth_power_shows_the_choice_of_every_unit() -> None:
    N, z = 65, 4
    first, second = laws_of_y(N, [z])
    both = {y for y in first if y in second}
    assert all(gcd(y, N) != 1 for y in both), "the laws overlap where y is no unit"
    fourth = sampling.power_law(sampling.uniform_law(N), 4)
    assert sampling.distance(fourth, sampling.product_law(fourth, z)) >= Fraction(48, 65)


@pytest.mark.parametrize("toy", SMALL, ids=str)
def test_both_opening_roots_hide_the_choice_too(toy: ToyModulus) -> None:
    """(y, both opening roots) has one law if and only if rho is a square: (w sigma)^2 = w^2 rho."""
    N = mpz(toy.N)

    def hides(rho: mpz) -> bool:
        inverse = pow(rho, -1, N)
        seen: list[Counter[tuple[mpz, mpz, mpz]]] = [Counter(), Counter()]
        for w in range(toy.N):
            x, (u_0, u_1) = compact.receiver_offline(mpz(w), [rho * rho % N], N)
            seen[0][(u_0, x, x * inverse % N)] += 1
            seen[1][(u_1, x * rho % N, x)] += 1
        return seen[0] == seen[1]

    some = toy.units()[:: max(1, toy.N // 40)]
    assert [rho for rho in some if hides(mpz(rho))] == sorted({*some} & {*toy.unit_powers(2)})


@pytest.mark.parametrize("toy", SMALL, ids=str)
def test_an_offer_of_the_six_message_variant_hides_the_choice_iff_it_is_a_square(
    toy: ToyModulus,
) -> None:
    N = toy.N
    square = sampling.power_law(sampling.uniform_law(N), 2)
    same = [z for z in range(N) if np.array_equal(sampling.product_law(square, z), square)]
    assert same == toy.unit_powers(2)
