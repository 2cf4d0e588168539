"""The proof that every z_j is a fourth power (specification, section 2).

A receiver whose z were only a square could be read by the sender wherever
p = 1 (mod 4): w^4 and w^4 z then lie in different cosets. With fourth powers
both have the same law, for *every* N, so the receiver need not trust N.
"""

from __future__ import annotations

from collections.abc import Sequence

from gmpy2 import gcd, invert, mpz, powmod

from iot2.arithmetic.blum import absolute
from iot2.errors import ProofError
from iot2.protocol.framing import PROOF, X, encode

ROUNDS = 128
"""Responses in a proof: a false one passes with probability 2^-128 per hash query."""


def challenge_size(choices: int) -> int:
    """16 (c - 1): one bit for each round and each z_j."""
    return ROUNDS // 8 * (choices - 1)


def _challenge(modulus: mpz, z: Sequence[mpz], commitments: Sequence[mpz]) -> bytes:
    """e = X("proof", 16 (c - 1); N, z_1 || ... || z_(c-1), t_0 || ... || t_127)."""
    joined = (b"".join(encode(x, modulus) for x in many) for many in ((modulus,), z, commitments))
    return X(PROOF, challenge_size(len(z) + 1), *joined)


def challenge_bits(e: bytes, choices: int) -> list[list[int]]:
    """e_(i,j) as 128 rows of c - 1: bit i (c - 1) + (j - 1), the lowest of a byte first."""
    bits = [(byte >> k) & 1 for byte in e for k in range(8)]
    width = choices - 1
    return [bits[i * width : (i + 1) * width] for i in range(ROUNDS)]


def prove(
    modulus: mpz, sigma: Sequence[mpz], z: Sequence[mpz], r: Sequence[mpz]
) -> tuple[bytes, tuple[mpz, ...]]:
    """(e, s_0 ... s_127), with s_i = |r_i prod_j sigma_j^e_(i,j)| for 128 random units r_i."""
    e = _challenge(modulus, z, [powmod(unit, 4, modulus) for unit in r])
    responses = []
    for unit, row in zip(r, challenge_bits(e, len(z) + 1), strict=True):
        s = unit
        for bit, sigma_j in zip(row, sigma, strict=True):
            if bit:  # a public bit: it is sent in e
                s = s * sigma_j % modulus
        responses.append(absolute(s, modulus))
    return e, tuple(responses)


def check_proof(modulus: mpz, z: Sequence[mpz], e: bytes, responses: Sequence[mpz]) -> None:
    """Every check of section 2 on (N, z_j, e, s_i) but the size of N.

    Raises:
        ProofError: naming the check that failed.
    """
    if modulus < 3 or modulus % 2 == 0:
        raise ProofError("N must be odd and at least 3, and is not")
    for j, z_j in enumerate(z, 1):
        if not 0 < z_j < modulus:
            raise ProofError(f"z_{j} must satisfy 0 < z < N, and does not")
    if len(responses) != ROUNDS:
        raise ProofError(f"the proof must have {ROUNDS} responses, has {len(responses)}")
    if len(e) != challenge_size(len(z) + 1):
        expected = challenge_size(len(z) + 1)
        raise ProofError(f"the challenge must have {expected} bytes, has {len(e)}")
    product = mpz(1)
    for i, s in enumerate(responses):
        if not 0 < 2 * s < modulus:
            raise ProofError(f"response s_{i} must satisfy 0 < s < N/2, and does not")
        product = product * s % modulus
    for z_j in z:
        product = product * z_j % modulus
    if gcd(product, modulus) != 1:
        raise ProofError("the responses and every z_j must be units mod N, and one is not")
    inverses = [invert(z_j, modulus) for z_j in z]
    commitments = []
    for s, row in zip(responses, challenge_bits(e, len(z) + 1), strict=True):
        t = powmod(s, 4, modulus)
        for bit, inverse in zip(row, inverses, strict=True):
            if bit:
                t = t * inverse % modulus
        commitments.append(t)
    if _challenge(modulus, z, commitments) != e:
        raise ProofError("the proof does not show that every z_j is a fourth power mod N")
