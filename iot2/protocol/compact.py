"""The compact variant, step by step (specification, section 5).

| phase    | who   | what                                                                    |
|----------|-------|-------------------------------------------------------------------------|
| offline  | R     | w <- uniform, x = w^2, u_0 = x^2, u_j = u_0 z_j, k = key(x)             |
| online 1 | R -> S | (i, y = u_b)                                                            |
| online 2 | S -> R | c_0 = m_0 ^ pad(key(s)), c_j = m_j ^ pad(key(s rho_j^-1)), s = sqrt(y) |
| online   | R     | m_b = c_b ^ pad(k)                                                      |

x is a square, hence, up to sign, the root that the sender finds: no digest
and no search. `fp` is the key's fingerprint, `sid` the session, `index` the i.
"""

from __future__ import annotations

from collections.abc import Sequence

from gmpy2 import mpz

from iot2.arithmetic.blum import BlumModulus
from iot2.protocol.framing import (
    KEY_BYTES,
    KEY_COMPACT,
    REJECT_COMPACT,
    X,
    encode,
    pad,
    root_key,
    u64,
    xor,
)


def receiver_offline(w: mpz, z: Sequence[mpz], modulus: mpz) -> tuple[mpz, list[mpz]]:
    """(x, [u_0, ..., u_(c-1)]) with x = w^2, u_0 = x^2, u_j = u_0 z_j (mod N)."""
    x = w * w % modulus
    u_0 = x * x % modulus
    residues = [u_0]
    for z_j in z:
        residues.append(u_0 * z_j % modulus)
    return x, residues


def key(fp: bytes, sid: bytes, index: int, root: mpz, modulus: mpz) -> bytes:
    """key(root) = H("key/compact"; fp, sid, u64(i), |root|)."""
    return root_key(KEY_COMPACT, fp, sid, index, root, modulus)


def sender_keys(
    secret: BlumModulus,
    rho_inverse: Sequence[mpz],
    reject_seed: bytes,
    fp: bytes,
    sid: bytes,
    index: int,
    y: mpz,
) -> list[bytes]:
    """The c keys of y: those of s and s rho_j^-1, or pseudorandom ones if y is no square.

    Both lists are made whatever y is, and one is taken, so that the time does
    not tell whether y was a square.
    """
    N = secret.N
    s = secret.sqrt(y)
    roots = [s, *(s * inverse % N for inverse in rho_inverse)]
    opened = [key(fp, sid, index, root, N) for root in roots]
    y_bytes = encode(y, N)
    rejected = [
        X(REJECT_COMPACT, KEY_BYTES, reject_seed, fp, sid, u64(index), y_bytes, bytes([j]))
        for j in range(len(roots))
    ]
    return (rejected, opened)[s * s % N == y]


def encrypt(keys: Sequence[bytes], messages: Sequence[bytes]) -> tuple[bytes, ...]:
    """c_j = m_j ^ pad(k_j), for messages of one length."""
    return tuple(xor(m, pad(k, len(m))) for k, m in zip(keys, messages, strict=True))


def decrypt(key_b: bytes, ciphertext: bytes) -> bytes:
    """m_b = c_b ^ pad(k)."""
    return xor(ciphertext, pad(key_b, len(ciphertext)))
