"""Keys for tests, made once, and what hostile receivers and senders do with them."""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gmpy2 import invert, jacobi, legendre, mpz, next_prime, powmod

from iot2 import PublicKey, Query, Receiver, Reply, Sender, SenderKey
from iot2.arithmetic.blum import absolute
from iot2.protocol import compact, proof

VECTORS = Path(__file__).parents[1] / "vectors"
SID = bytes(range(16))
OTHER_SID = bytes(16)
M0 = b"the message no 0"
M1 = b"the message no 1"
MESSAGES = (M0, M1)
CHOICES = [0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 0, 0]

source = random.Random(20260201)  # attacks need no secret randomness, and are to be repeatable


def vector(name: str) -> dict[str, Any]:
    """One of the stored vectors."""
    content: dict[str, Any] = json.loads((VECTORS / f"{name}.json").read_text())
    return content


@functools.cache
def sender_key(name: str = "iot2_512") -> SenderKey:
    """The key of a vector: 512 bits for 1-out-of-2 by default."""
    v = vector(name)
    p, q = (int(x, 16) for x in v["primes"])
    sigma = [int(x, 16) for x in v["sigma"]]
    return SenderKey.from_primes(p, q, sigma, bytes.fromhex(v["reject_seed"]), insecure=True)


def residue(public: PublicKey, y: int | mpz) -> bytes:
    """y as the n bytes that travel."""
    return int(y).to_bytes(public.size, "big")


def some_unit(modulus: mpz, symbol: int | None = None) -> mpz:
    """A random unit mod N, of the given Jacobi symbol."""
    while True:
        x = mpz(source.randrange(1, int(modulus)))
        if (found := jacobi(x, modulus)) and symbol in (None, found):
            return x


def is_square(key: SenderKey, x: mpz) -> bool:
    """What a residuosity oracle would tell, known here from p and q."""
    return bool(legendre(x, key.secret.p) == 1 == legendre(x, key.secret.q))


def hostile_query(
    public: PublicKey, index: int, w: int | mpz, b: int, *, sid: bytes = SID
) -> Query:
    """The query of a receiver that knows w and keeps none of the rules of `Receiver`."""
    _, residues = compact.receiver_offline(mpz(w), public.z, public.modulus)
    return Query(sid, index, residue(public, residues[b]))


def open_with(public: PublicKey, reply: Reply, j: int, root: int | mpz) -> bytes:
    """c_j ^ pad(key(root)): what a receiver that knows a root reads in the j-th ciphertext."""
    key = compact.key(public.fingerprint, reply.sid, reply.index, mpz(root), public.modulus)
    return compact.decrypt(key, reply.ciphertexts[j])


def ask(key: SenderKey, y: bytes, *, index: int = 0) -> Reply:
    """What a fresh sender, with `MESSAGES`, answers to these bytes."""
    return Sender(key, SID).answer(Query(SID, index, y), MESSAGES)


# Hostile senders.


def made_public(
    modulus: int | mpz,
    z: Sequence[int | mpz],
    challenge: bytes | None = None,
    responses: Sequence[int | mpz] | None = None,
) -> PublicKey:
    """A public key of these parts, with a made-up proof where none is given."""
    N = mpz(modulus)
    return PublicKey(
        N,
        tuple(mpz(x) for x in z),
        bytes(proof.challenge_size(len(z) + 1)) if challenge is None else challenge,
        tuple(mpz(s) for s in responses or [1] * proof.ROUNDS),
        insecure=True,
    )


def proved(modulus: mpz, sigma: Sequence[mpz]) -> PublicKey:
    """A public key with z_j = sigma_j^4 and its true proof, whatever the modulus is."""
    z = [powmod(x, 4, modulus) for x in sigma]
    units = [some_unit(modulus) for _ in range(proof.ROUNDS)]
    return made_public(modulus, z, *proof.prove(modulus, sigma, z, units))


def proved_square(modulus: mpz, rho: mpz) -> PublicKey:
    """A public key with z = rho^2, and a proof by squares, not fourth powers, that it is one."""
    z = [rho * rho % modulus]
    units = [some_unit(modulus) for _ in range(proof.ROUNDS)]
    e = proof._challenge(modulus, z, [r * r % modulus for r in units])
    rows = proof.challenge_bits(e, 2)
    responses = [
        absolute(r * (rho if bit else 1) % modulus, modulus)
        for r, (bit,) in zip(units, rows, strict=True)
    ]
    return made_public(modulus, z, e, responses)


def prime(bits: int, remainder: int) -> mpz:
    """A prime = remainder (mod 4) of exactly `bits` bits, its two top bits set."""
    p = next_prime(mpz(source.getrandbits(bits)) | (mpz(3) << (bits - 2)))
    while p % 4 != remainder:
        p = next_prime(p)
    assert p.bit_length() == bits
    return p


@functools.cache
def hostile_primes(bits: int = 2048) -> tuple[mpz, mpz]:
    """Two primes = 1 (mod 4), of half the size each."""
    return prime(bits // 2, 1), prime(bits // 2, 1)


def non_residue(p: mpz) -> mpz:
    """The least x that is no square mod p."""
    return next(x for x in map(mpz, range(2, 1000)) if legendre(x, p) == -1)


def no_fourth_power(y: int | mpz, p: mpz) -> int:
    """1 unless y is a fourth power mod p = 1 (mod 4): the b that a hostile sender reads in y."""
    return int(powmod(y, (p - 1) // 4, p) != 1)


def no_square(y: int | mpz, p: mpz) -> int:
    """1 unless y is a square mod p."""
    return int(legendre(y, p) != 1)


def reads_every_choice(public: PublicKey, guess: Callable[[mpz], int]) -> bool:
    """Whether a sender that sees the queries of a `Receiver` names all of its choices."""
    receiver = Receiver(PublicKey.from_bytes(public.to_bytes(), insecure=True), SID)
    receiver.precompute(len(CHOICES))
    queries = [receiver.choose(b) for b in CHOICES]
    return [guess(mpz.from_bytes(query.residue, "big")) for query in queries] == CHOICES


def forged(
    modulus: mpz, z: mpz, guess: Sequence[int], *, count: int = proof.ROUNDS
) -> tuple[bytes, list[mpz], list[int]]:
    """A proof that is right where the challenge is as guessed: (e, s_i, bits of e)."""
    responses = [absolute(some_unit(modulus), modulus) for _ in range(count)]
    inverse = invert(z, modulus)
    commitments = [
        powmod(s, 4, modulus) * (inverse if bit else 1) % modulus
        for s, bit in zip(responses, guess, strict=True)
    ]
    e = proof._challenge(modulus, [z], commitments)
    return e, responses, [row[0] for row in proof.challenge_bits(e, 2)][:count]
