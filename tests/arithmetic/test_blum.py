"""Principal roots, counted on toy moduli and checked on real ones; and what is refused."""

from __future__ import annotations

import itertools
import threading

import pytest
from adversaries import prime, sender_key, some_unit, source
from gmpy2 import gcd, is_prime, jacobi, mpz

from iot2 import ParameterError
from iot2.arithmetic.blum import BlumModulus, absolute, blum_prime, blum_primes, far_apart
from iot2.security.moduli import HONEST, ToyModulus
from iot2.security.stream import SeededBytes

KEY = sender_key()


@pytest.mark.parametrize("toy", HONEST[:6], ids=str)
def test_the_principal_root_of_every_square_is_the_one_that_is_a_square(toy: ToyModulus) -> None:
    blum = BlumModulus(*map(mpz, toy.factors))
    N = toy.N
    squares = {x * x % N for x in toy.units()}
    for y in squares:
        s = blum.sqrt(mpz(y))
        assert s * s % N == y
        assert s in squares
        other = blum.other_root(s)
        roots = {x for x in range(N) if x * x % N == y}
        assert {s, N - s, other, N - other} == roots
    for y in set(range(N)) - {x * x % N for x in range(N)}:
        assert blum.sqrt(mpz(y)) ** 2 % N != y


@pytest.mark.parametrize("toy", HONEST[:4], ids=str)
def test_squares_of_a_blum_integer_are_fourth_powers(toy: ToyModulus) -> None:
    assert toy.unit_powers(2) == toy.unit_powers(4)


def test_a_unit_is_what_shares_no_factor() -> None:
    blum = BlumModulus(mpz(7), mpz(11))
    assert [y for y in range(77) if blum.is_unit(mpz(y))] == [
        y for y in range(77) if gcd(y, 77) == 1
    ]


def test_blinding_changes_with_every_root_and_never_the_root() -> None:
    blum, N = KEY.secret, KEY.public.modulus
    y = some_unit(N) ** 2 % N
    pairs = [blum.next_blinding() for _ in range(5)]
    assert len(set(pairs)) == 5
    for (fourth, inverse), (eighth, inverse_fourth) in itertools.pairwise(pairs):
        assert fourth * inverse**2 % N == 1
        assert (eighth, inverse_fourth) == (fourth**2 % N, inverse**2 % N)
    assert len({blum.sqrt(y) for _ in range(20)}) == 1


def test_every_thread_has_a_blinding_of_its_own() -> None:
    pairs = [KEY.secret.next_blinding()]
    roots = []
    y = mpz(81)

    def work() -> None:
        pairs.append(KEY.secret.next_blinding())
        roots.extend(KEY.secret.sqrt(y) for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(pairs)) == 5
    assert {absolute(root, KEY.public.modulus) for root in roots} == {9}


def test_the_root_of_what_a_receiver_sends_is_what_it_holds() -> None:
    N = KEY.public.modulus
    for _ in range(10):
        x = mpz(source.getrandbits(512)) ** 2 % N
        assert absolute(KEY.secret.sqrt(x * x % N), N) == absolute(x, N)


def test_absolute_is_the_smaller_of_both() -> None:
    assert [absolute(mpz(x), mpz(7)) for x in range(1, 7)] == [1, 2, 3, 3, 2, 1]


@pytest.mark.parametrize("bits", [8, 16, 17, 64, 250])
def test_primes_have_their_two_top_bits_and_remainder(bits: int) -> None:
    p = blum_prime(bits, SeededBytes(1, "prime"))
    assert is_prime(p)
    assert p % 4 == 3
    assert p >> (bits - 2) == 3
    assert p.bit_length() == bits


def test_primes_are_drawn_again_until_far_apart() -> None:
    """A source that repeats gives one prime twice; the next block ends it."""
    once = SeededBytes(1, "prime")
    p = blum_prime(64, once)
    blocks = [p.to_bytes(8, "big")] * 3 + [blum_prime(64, once).to_bytes(8, "big")]
    first, second = blum_primes(128, lambda count: blocks.pop(0))
    assert (first, blocks) == (p, [])
    assert second != p


@pytest.mark.parametrize(
    ("difference", "apart"), [(0, False), (4, False), (16, False), (20, True), (1 << 100, True)]
)
def test_how_far_apart(difference: int, apart: bool) -> None:
    # 2^(208/2 - 100) = 16
    p = mpz(1) << 104
    assert far_apart(p, p + difference, 208) == apart
    assert far_apart(p + difference, p, 208) == apart


@pytest.mark.parametrize(
    ("p", "q", "text"),
    [
        (13, 7, "p must be a prime"),
        (7, 13, "q must be a prime"),
        (15, 7, "p must be a prime"),
        (7, 15, "q must be a prime"),
        (1, 7, "p must be a prime"),
        (0, 7, "p must be a prime"),
        (-7, 11, "p must be a prime"),
        (2, 7, "p must be a prime"),
        (7, 7, "p and q must differ"),
    ],
)
def test_factors_that_are_refused(p: int, q: int, text: str) -> None:
    with pytest.raises(ParameterError, match=text):
        BlumModulus(mpz(p), mpz(q))


def test_a_strong_pseudoprime_is_no_prime() -> None:
    """3215031751 passes Miller-Rabin to the bases 2, 3, 5 and 7; it is 3 (mod 4)."""
    assert 3215031751 == 151 * 751 * 28351
    assert 3215031751 % 4 == 3
    with pytest.raises(ParameterError, match="p must be a prime"):
        BlumModulus(mpz(3215031751), mpz(7))


def test_minus_one_is_no_square_of_symbol_one() -> None:
    p, q = prime(64, 3), prime(64, 3)
    assert jacobi(-1 % (p * q), p * q) == 1
    assert BlumModulus(p, q).sqrt(p * q - 1) ** 2 % (p * q) != p * q - 1
