"""Toy moduli, honest and hostile, small enough to count every case; and real-size ones.

An honest modulus has the shape of section 1 of the specification: two distinct
primes ≡ 3 (mod 4). A hostile one has what a receiver must not have to rule out:
primes ≡ 1 (mod 4), prime powers, small factors.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, prod

from gmpy2 import is_prime

from iot2.arithmetic.blum import blum_primes
from iot2.arithmetic.uniform import RandBytes
from iot2.errors import ParameterError


@dataclass(frozen=True, slots=True)
class ToyModulus:
    """N with its prime factors, repeated as often as they divide it."""

    factors: tuple[int, ...]

    def __post_init__(self) -> None:
        for factor in self.factors:
            if factor < 2 or not is_prime(factor):
                raise ParameterError(f"expected prime factors, got {factor}")

    @property
    def N(self) -> int:
        """The modulus."""
        return prod(self.factors)

    @property
    def honest(self) -> bool:
        """Whether N = p·q with p ≠ q, both ≡ 3 (mod 4)."""
        return len(set(self.factors)) == len(self.factors) == 2 and all(
            factor % 4 == 3 for factor in self.factors
        )

    def units(self) -> list[int]:
        """Every x in {1 … N − 1} with gcd(x, N) = 1."""
        return [x for x in range(1, self.N) if gcd(x, self.N) == 1]

    def unit_powers(self, exponent: int) -> list[int]:
        """Every σ^exponent mod N, σ a unit, in ascending order."""
        return sorted({pow(sigma, exponent, self.N) for sigma in self.units()})

    def __str__(self) -> str:
        return f"{self.N} = {'·'.join(map(str, self.factors))}"


HONEST = tuple(
    ToyModulus(factors)
    for factors in (
        (3, 7),
        (7, 11),
        (3, 43),
        (11, 19),
        (11, 23),
        (19, 23),
        (7, 71),
        (23, 43),
        (31, 43),
        (11, 131),
    )
)
"""Both primes ≡ 3 (mod 4)."""

HOSTILE = tuple(
    ToyModulus(factors)
    for factors in (
        (5, 13),
        (3, 5),
        (5, 7),
        (13, 17),
        (17, 41),
        (29, 37),
        (5, 5),
        (7, 7),
        (3, 3, 3),
        (3, 3, 5),
        (3, 5, 7),
        (5, 13, 17),
        (101,),
        (2, 5, 13),
    )
)
"""Primes ≡ 1 (mod 4), prime powers, small factors, a prime, an even number."""

FIGURE_MODULUS = ToyModulus((23, 43))
"""N = 989, just under 2^10: ℓ − log2 N is near an integer, and r differs for each ℓ."""

REAL_SIZES = (2048, 3072, 4096)


def real_modulus(bits: int, randbytes: RandBytes) -> int:
    """An N made as a sender's key makes it; its factors are forgotten here."""
    p, q = blum_primes(bits, randbytes)
    return int(p * q)


def honest_between(low: int, high: int) -> list[ToyModulus]:
    """Every honest modulus with low ≤ N < high, by ascending N."""
    primes = [p for p in range(3, high // 3 + 1, 4) if is_prime(p)]
    found = [
        ToyModulus((p, q))
        for i, p in enumerate(primes)
        for q in primes[i + 1 :]
        if low <= p * q < high
    ]
    return sorted(found, key=lambda modulus: modulus.N)
