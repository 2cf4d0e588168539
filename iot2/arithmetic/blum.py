"""Blum integers: N = p q with p, q = 3 (mod 4), and their principal square roots."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field

from gmpy2 import invert, is_prime, mpz, powmod

from iot2.arithmetic.exponentiation import PairedPowers, paired_powers
from iot2.arithmetic.uniform import RandBytes, draw, unit
from iot2.errors import ParameterError

_PRIMALITY_ROUNDS = 40  # of Miller-Rabin; a composite passes with probability below 4^-40


def absolute(x: mpz, modulus: mpz) -> mpz:
    """|x| = min(x, N - x), the same for a root and its negative."""
    other = modulus - x
    return x if x < other else other


def blum_prime(bits: int, randbytes: RandBytes) -> mpz:
    """A random prime = 3 (mod 4) of exactly `bits` bits, its two top bits set."""
    size = (bits + 7) // 8
    ends = (mpz(3) << (bits - 2)) | 3
    while True:
        candidate = (mpz.from_bytes(draw(randbytes, size), "big") % (mpz(1) << bits)) | ends
        if is_prime(candidate, _PRIMALITY_ROUNDS):
            return candidate


def far_apart(p: mpz, q: mpz, bits: int) -> bool:
    """|p - q| > 2^(bits/2 - 100), against Fermat's factoring."""
    return bool(abs(p - q) << 100 > mpz(1) << (bits // 2))


def blum_primes(bits: int, randbytes: RandBytes) -> tuple[mpz, mpz]:
    """Two primes p, q = 3 (mod 4) of bits/2 bits each, so that p q has exactly `bits` bits."""
    p = blum_prime(bits // 2, randbytes)
    while True:
        q = blum_prime(bits // 2, randbytes)
        if far_apart(p, q, bits):
            return p, q


class _Blinding(threading.local):
    """(g^4, g^-2) of this thread, squared after each use (specification, section 1)."""

    pair: tuple[mpz, mpz] | None = None


@dataclass(slots=True, repr=False, eq=False)
class BlumModulus:
    """The factors of N, and the roots that only they give.

    Shared between threads freely: each has a blinding and a workspace of its own.
    """

    p: mpz
    q: mpz
    N: mpz = field(init=False)
    powers: PairedPowers = field(init=False)
    _q_inverse: mpz = field(init=False)
    _blinding: _Blinding = field(init=False)

    def __post_init__(self) -> None:
        for name, prime in (("p", self.p), ("q", self.q)):
            if prime % 4 != 3 or not is_prime(prime, _PRIMALITY_ROUNDS):
                raise ParameterError(f"{name} must be a prime = 3 (mod 4), and is not")
        if self.p == self.q:
            raise ParameterError("p and q must differ, and are the same")
        self.N = self.p * self.q
        # (p + 1) / 4 and (q + 1) / 4, since both are 3 (mod 4).
        d_p, d_q = (mpz(1) + (prime >> 2) for prime in (self.p, self.q))
        self.powers = paired_powers(self.p, self.q, d_p, d_q)
        self._q_inverse = invert(self.q, self.p)
        self._blinding = _Blinding()

    def join(self, s_p: mpz, s_q: mpz) -> mpz:
        """The s mod N with s = s_p (mod p) and s = s_q (mod q), by the CRT."""
        return s_q + self.q * ((s_p - s_q) * self._q_inverse % self.p)

    def is_unit(self, y: mpz) -> bool:
        """gcd(y, N) = 1, seen from y mod p and y mod q."""
        return bool(y % self.p) and bool(y % self.q)

    def next_blinding(self) -> tuple[mpz, mpz]:
        """A pair (g^4, g^-2) for a unit g; the next call gives (g^8, g^-4)."""
        pair = self._blinding.pair
        if pair is None:
            g = unit(self.N, os.urandom)
            pair = powmod(g, 4, self.N), powmod(g, -2, self.N)
        self._blinding.pair = pair[0] * pair[0] % self.N, pair[1] * pair[1] % self.N
        return pair

    def sqrt(self, y: mpz) -> mpz:
        """sqrt(y): the principal root, which is itself a square; s^2 != y where y is no square.

        The power is taken of y g^4 and the root multiplied by g^-2: the same
        value, while the base of the secret power is unknown to who chose y.
        """
        fourth, inverse_square = self.next_blinding()
        blinded = y * fourth % self.N
        s = self.join(*self.powers(blinded % self.p, blinded % self.q))
        return s * inverse_square % self.N

    def other_root(self, s: mpz) -> mpz:
        """s', equal to s mod p and to -s mod q."""
        return self.join(s % self.p, -s % self.q)
