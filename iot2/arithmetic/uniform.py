"""Uniform residues modulo N (specification, sections 1 and 8)."""

from __future__ import annotations

from collections.abc import Callable

from gmpy2 import gcd, mpz

from iot2.errors import ParameterError

RandBytes = Callable[[int], bytes]
"""A source of randomness: count of bytes -> that many bytes."""

EXTRA_BYTES = 16
"""Bytes drawn beyond the n of the modulus: the bias stays under 2^-128."""


def draw(randbytes: RandBytes, count: int) -> bytes:
    """Take exactly `count` bytes from `randbytes`, or say that it gave another number."""
    drawn = randbytes(count)
    if not isinstance(drawn, bytes) or len(drawn) != count:
        gave = len(drawn) if isinstance(drawn, bytes) else type(drawn).__name__
        raise ParameterError(f"randbytes({count}) must give {count} bytes, gave {gave}")
    return drawn


def residue_size(modulus: mpz) -> int:
    """n = ceil(bits / 8), the bytes of an integer mod N."""
    return (modulus.bit_length() + 7) // 8


def uniform_mod(modulus: mpz, randbytes: RandBytes) -> mpz:
    """U mod N for U of n + 16 bytes, big-endian: uniform up to a bias under 2^-128."""
    return mpz.from_bytes(draw(randbytes, residue_size(modulus) + EXTRA_BYTES), "big") % modulus


def unit(modulus: mpz, randbytes: RandBytes) -> mpz:
    """A uniform unit mod N: `uniform_mod`, redrawn until gcd(x, N) = 1."""
    while True:
        candidate = uniform_mod(modulus, randbytes)
        if gcd(candidate, modulus) == 1:
            return candidate
