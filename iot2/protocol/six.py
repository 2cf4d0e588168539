"""The six-message variant, step by step (specification, section 4).

| phase      | who    | what                                                            |
|------------|--------|-----------------------------------------------------------------|
| offline    | S      | a <- unit, z_i = a^2                                            |
| offline    | R      | x <- uniform, u = x^2, h = digest(x), k = key(x)                |
| online 1   | S -> R | z_i                                                             |
| online 2   | R -> S | y = u if b = 0, u z_i if b = 1: both computed, then selected    |
| online 3-6 | S -> R | four ciphertexts and four digests: m0 under the two roots of y, |
|            |        | m1 under the two roots of y / z_i                               |
| online     | R      | find h among the digests of pair b; m_b = that one ^ pad(k)     |

It trusts the sender to follow it (semi-honest), and needs no proof.
"""

from __future__ import annotations

from gmpy2 import mpz

from iot2.arithmetic.blum import BlumModulus, absolute
from iot2.protocol.framing import (
    DIGEST_SIX,
    KEY_BYTES,
    KEY_SIX,
    REJECT_SIX,
    H,
    X,
    encode,
    pad,
    u64,
    xor,
)

Slot = tuple[bytes, bytes]
"""(key, digest) of one root."""


def key_and_digest(fp: bytes, sid: bytes, index: int, root: mpz, modulus: mpz) -> Slot:
    """(H("key/six"; ...), H("digest/six"; ...)), both of fp, sid, u64(i), |root|."""
    parts = fp, sid, u64(index), encode(absolute(root, modulus), modulus)
    return H(KEY_SIX, *parts), H(DIGEST_SIX, *parts)


def sender_slots(
    secret: BlumModulus,
    reject_seed: bytes,
    fp: bytes,
    sid: bytes,
    index: int,
    y: mpz,
    a_inverse: mpz,
) -> list[Slot]:
    """The slots of s, s', s a^-1, s' a^-1, or four pseudorandom ones if y is no square.

    Both lists are made whatever y is, and one is taken.
    """
    N = secret.N
    s = secret.sqrt(y)
    other = secret.other_root(s)
    roots = (s, other, s * a_inverse % N, other * a_inverse % N)
    opened = [key_and_digest(fp, sid, index, root, N) for root in roots]
    y_bytes = encode(y, N)
    rejected = []
    for b, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
        # One part of two bytes, as in the vectors: docs/errata.md.
        parts = (reject_seed, fp, sid, u64(index), y_bytes, bytes([b, j]))
        both = X(REJECT_SIX, 2 * KEY_BYTES, *parts)
        rejected.append((both[:KEY_BYTES], both[KEY_BYTES:]))
    return (rejected, opened)[s * s % N == y]


def arrange(slots: list[Slot], swaps: int) -> list[Slot]:
    """The two pairs in the order they are sent: bit 0 of `swaps` swaps that of m0, bit 1 of m1."""
    a, b, c, d = slots
    return [*((b, a) if swaps & 1 else (a, b)), *((d, c) if swaps & 2 else (c, d))]


def encrypt(slots: list[Slot], m0: bytes, m1: bytes) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """(four ciphertexts, four digests) of the arranged slots: m0 twice, then m1 twice."""
    ciphertexts = tuple(
        xor(m, pad(k, len(m))) for (k, _), m in zip(slots, (m0, m0, m1, m1), strict=True)
    )
    return ciphertexts, tuple(digest for _, digest in slots)
