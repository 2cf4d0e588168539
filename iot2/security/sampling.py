"""S_ℓ, what a device with ℓ random bits really samples (specification, section 8).

S_ℓ = U mod N with U uniform on {0 … 2^ℓ − 1}. With 2^ℓ = aN + r, 0 ≤ r < N,

    Pr[S_ℓ = v] = (a + 1)/2^ℓ for v < r, else a/2^ℓ.

Laws are arrays of exact counts out of 2^ℓ, indexed by the value; distances are
exact rationals, for moduli of every size.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import frexp, inf, log1p, log2
from typing import Any

import numpy as np
from gmpy2 import mpz
from numpy.typing import NDArray

from iot2.arithmetic.uniform import RandBytes, draw, residue_size, uniform_mod
from iot2.errors import ParameterError

Counts = NDArray[Any]
"""Exact counts, indexed by value: int64, or Python integers where those would overflow."""

TOY_LIMIT = 1 << 22
"""Largest modulus whose values are counted one by one."""

_INT64_BITS = 62
_LN2 = 0.6931471805599453


@dataclass(frozen=True, slots=True)
class Split:
    """2^ℓ = aN + r, 0 ≤ r < N."""

    a: int
    r: int


def split(modulus: int, bits: int) -> Split:
    """The a and r of 2^ℓ = aN + r, for ℓ = `bits`.

    >>> split(989, 11)
    Split(a=2, r=70)
    """
    if modulus < 2:
        raise ParameterError(f"a modulus of at least 2 is needed, got {modulus}")
    if bits < 0:
        raise ParameterError(f"a device draws at least 0 bits, not {bits}")
    a, r = divmod(1 << bits, int(modulus))
    return Split(a, r)


def law(modulus: int, bits: int) -> Counts:
    """The law of S_ℓ: of the 2^ℓ values of U, how many fall on each v in {0 … N − 1}.

    >>> law(5, 3).tolist()
    [2, 2, 2, 1, 1]
    """
    toy(modulus)
    parts = split(modulus, bits)
    dtype: Any = np.int64 if bits <= _INT64_BITS else object
    counts = np.full(int(modulus), parts.a, dtype=dtype)
    counts[: parts.r] += 1
    return counts


def uniform_law(modulus: int) -> Counts:
    """The law that S_ℓ tends to: every value once, out of N."""
    toy(modulus)
    return np.ones(int(modulus), dtype=np.int64)


def absolute_law(counts: Counts) -> Counts:
    """The law of |w| = min(w, N − w), for w of the given law."""
    values = np.arange(len(counts))
    return _pushed(counts, np.minimum(values, (len(counts) - values) % len(counts)))


def power_law(counts: Counts, exponent: int) -> Counts:
    """The law of w^exponent mod N, for w of the given law."""
    if exponent < 1:
        raise ParameterError(f"an exponent of at least 1 is needed, got {exponent}")
    modulus = len(counts)
    values = np.arange(modulus)
    power = values
    for _ in range(exponent - 1):
        power = power * values % modulus
    return _pushed(counts, power)


def product_law(counts: Counts, factor: int) -> Counts:
    """The law of w·factor mod N, for w of the given law."""
    modulus = len(counts)
    return _pushed(counts, np.arange(modulus) * (int(factor) % modulus) % modulus)


def _pushed(counts: Counts, image: NDArray[Any]) -> Counts:
    """The law of f(w), where `image` lists f(0) … f(N − 1)."""
    pushed = np.zeros_like(counts)
    np.add.at(pushed, image, counts)
    return pushed


def distance(first: Counts, second: Counts) -> Fraction:
    """The total variation distance of two laws, exact; their totals may differ.

    >>> distance(law(5, 3), uniform_law(5)), error(5, 3)
    (Fraction(3, 20), Fraction(3, 20))
    """
    totals = total(first), total(second)
    if (totals[0] * totals[1]).bit_length() >= _INT64_BITS:
        first, second = first.astype(object), second.astype(object)
    scaled = first * totals[1] - second * totals[0]
    return Fraction(int(np.abs(scaled).sum()), 2 * totals[0] * totals[1])


def total(counts: Counts) -> int:
    """The number of equally likely cases that a law counts."""
    return int(counts.sum())


def error(modulus: int, bits: int) -> Fraction:
    """ERR(S_ℓ) = r(N − r)/(N·2^ℓ), the total variation distance from uniform, exact."""
    r = split(modulus, bits).r
    return Fraction(r * (int(modulus) - r), int(modulus) << bits)


def error_bound(modulus: int, bits: int) -> Fraction:
    """N/2^(ℓ+2), which ERR never exceeds."""
    split(modulus, bits)
    return Fraction(int(modulus), 1 << (bits + 2))


def chi_squared(modulus: int, bits: int) -> Fraction:
    """χ² = r(N − r)/2^(2ℓ), the chi-squared divergence of S_ℓ from uniform, exact."""
    r = split(modulus, bits).r
    return Fraction(r * (int(modulus) - r), 1 << (2 * bits))


def excess(modulus: int, bits: int) -> float:
    """ℓ − log2 N."""
    return -log2_exact(Fraction(int(modulus), 1 << bits))


def log2_exact(value: Fraction) -> float:
    """log2 of an exact rational, to a float's precision however large or small it is.

    >>> log2_exact(Fraction(1, 2**5000)), log2_exact(Fraction(0))
    (-5000.0, -inf)
    """
    if value < 0:
        raise ParameterError("a logarithm needs a value of at least 0, got a negative one")
    if value == 0:
        return -inf
    if Fraction(1, 2) < value < 2:
        # Here log2(1 + d) is near 0, and d itself is what must be rounded once.
        return log1p(float(value - 1)) / _LN2
    numerator, denominator = value.numerator, value.denominator
    shift = numerator.bit_length() - denominator.bit_length()
    scaled = value / (1 << shift) if shift >= 0 else value * (1 << -shift)
    mantissa, exponent = frexp(float(scaled))
    return shift + exponent + log2(mantissa)


def toy(modulus: int) -> int:
    """The modulus, where it is small enough to count over all its values."""
    if not 2 <= modulus <= TOY_LIMIT:
        raise ParameterError(f"exact counts need a modulus from 2 to {TOY_LIMIT}, got {modulus}")
    return int(modulus)


class PoorSource:
    """A source of randomness for `uniform_mod` that has only ℓ random bits per draw.

    However many bytes are asked for, they hold a uniform ℓ-bit integer, big-endian:
    the protocol's own routine then samples S_ℓ.
    """

    def __init__(self, bits: int, randbytes: RandBytes) -> None:
        if bits < 1:
            raise ParameterError(f"a sampler needs at least 1 bit, got {bits}")
        self._size = (bits + 7) // 8
        self._mask = (1 << bits) - 1
        self._randbytes = randbytes

    def __call__(self, count: int) -> bytes:
        """`count` bytes, big-endian, that hold ℓ random bits."""
        drawn = int.from_bytes(draw(self._randbytes, self._size)) & self._mask
        try:
            return drawn.to_bytes(count)
        except OverflowError:
            raise ParameterError(
                f"{count} bytes do not hold the {self._mask.bit_length()} bits of a draw"
            ) from None


def sample(modulus: int, bits: int, count: int, randbytes: RandBytes) -> NDArray[np.int64]:
    """`count` independent draws of S_ℓ, each made by the routine that the protocol uses.

    Args:
        modulus: a toy N, below 2^63.
        bits: ℓ, at most 8(n + 16), the bits that the routine asks for.
        count: how many draws.
        randbytes: the source.
    """
    N = mpz(modulus)
    if modulus >= 1 << 63:
        raise ParameterError(f"samples are stored as int64; got a modulus of {N.bit_length()} bits")
    most = 8 * (residue_size(N) + 16)
    if bits > most:
        raise ParameterError(f"the routine takes at most {most} bits for this N, got {bits}")
    source = PoorSource(bits, randbytes)
    return np.fromiter((int(uniform_mod(N, source)) for _ in range(count)), np.int64, count)
