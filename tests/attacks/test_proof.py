"""Proofs that prove nothing (specification, section 2)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from adversaries import (
    SID,
    forged,
    hostile_primes,
    made_public,
    no_fourth_power,
    no_square,
    non_residue,
    reads_every_choice,
    residue,
    sender_key,
    some_unit,
)
from gmpy2 import invert, mpz, next_prime, powmod
from weakening import weakened

from iot2 import MessageError, ProofError, PublicKey, Receiver
from iot2.arithmetic.blum import absolute
from iot2.protocol import proof
from iot2.wire import public_key

KEY = sender_key()
THREE = sender_key("iot2_512_1of5")
N, Z, E, S = KEY.public.modulus, KEY.public.z, KEY.public.challenge, KEY.public.responses

COMPARISON = "if _challenge(modulus, z, commitments) != e:"
UNCOMPARED = public_key, "check_proof", (COMPARISON, "if False:")


def verify(challenge: bytes, responses: Sequence[mpz]) -> None:
    made_public(N, Z, challenge, responses).verify()


def test_the_proof_as_it_is_passes() -> None:
    verify(E, S)


def test_a_proof_with_one_response_changed() -> None:
    def changed(i: int) -> list[mpz]:
        return [absolute(s * 3 % N, N) if k == i else s for k, s in enumerate(S)]

    with weakened(*UNCOMPARED):
        verify(E, changed(0))
    for i in range(proof.ROUNDS):
        with pytest.raises(ProofError, match="does not show"):
            verify(E, changed(i))
    swapped = [S[1], S[0], *S[2:]]
    with pytest.raises(ProofError, match="does not show"):
        verify(E, swapped)


def test_a_proof_with_one_response_negated() -> None:
    """N - s_i has the same fourth power: a second spelling of the proof."""

    def negated(i: int) -> list[mpz]:
        return [N - s if k == i else s for k, s in enumerate(S)]

    with weakened(public_key, "check_proof", ("if not 0 < 2 * s < modulus:", "if not 0 < s:")):
        verify(E, negated(5))
    for i in (0, 5, 127):
        with pytest.raises(ProofError, match=f"response s_{i} must satisfy 0 < s < N/2"):
            verify(E, negated(i))


def test_a_proof_with_one_bit_changed() -> None:
    def flipped(k: int) -> bytes:
        return bytes(byte ^ (1 << k % 8 if k // 8 == i else 0) for i, byte in enumerate(E))

    with weakened(*UNCOMPARED):
        verify(flipped(100), S)
    for k in range(proof.ROUNDS):
        with pytest.raises(ProofError, match="does not show"):
            verify(flipped(k), S)


def test_a_response_of_zero() -> None:
    """0^4 z^-e = 0 whatever e is: with s_i = 0 throughout, any z has a proof."""
    z = N - 4
    e = proof._challenge(N, [z], [mpz(0)] * proof.ROUNDS)
    public = made_public(N, [z], e, [0] * proof.ROUNDS)

    def read() -> bool:
        return reads_every_choice(public, lambda y: no_square(y, KEY.secret.p))

    in_range = ("if not 0 < 2 * s < modulus:", "if not 0 <= 2 * s < modulus:")
    with weakened(public_key, "check_proof", in_range, ("if gcd(product, modulus) != 1:", "if 0:")):
        assert read()
    with pytest.raises(ProofError, match="s_0 must satisfy 0 < s < N/2"):
        read()
    one_zero = made_public(N, Z, E, [*S[:-1], 0])
    with pytest.raises(ProofError, match="s_127 must satisfy 0 < s < N/2"):
        one_zero.verify()


def test_responses_sharing_a_factor_with_N() -> None:
    """With s_i = 0 mod p, the proof speaks of z mod q alone, and z mod p is free."""
    p, q = hostile_primes(512)
    modulus = p * q
    sigma = mpz(3)
    bad = non_residue(p) ** 2
    z = bad + p * ((powmod(sigma, 4, q) - bad) * invert(p, q) % q)  # bad mod p, a power mod q
    units = [p * some_unit(q) for _ in range(proof.ROUNDS)]
    e = proof._challenge(modulus, [z], [powmod(r, 4, modulus) for r in units])
    responses = [
        absolute(r * (sigma if bit else 1) % modulus, modulus)
        for r, (bit,) in zip(units, proof.challenge_bits(e, 2), strict=True)
    ]
    public = made_public(modulus, [z], e, responses)

    def read() -> bool:
        return reads_every_choice(public, lambda y: no_fourth_power(y, p))

    with weakened(public_key, "check_proof", ("if gcd(product, modulus) != 1:", "if False:")):
        assert read()
    with pytest.raises(ProofError, match="must be units mod N"):
        read()
    one = made_public(N, Z, E, [*S[:-1], min(KEY.secret.p, KEY.secret.q)])
    with pytest.raises(ProofError, match="must be units mod N"):
        one.verify()


@pytest.mark.parametrize("part", ["N", "z", "order of z"])
def test_a_proof_for_another_key(part: str) -> None:
    other = THREE.public
    hostile = {
        "N": lambda: made_public(next_prime(N), Z, E, S),
        "z": lambda: made_public(N, [N - 4], E, S),
        "order of z": lambda: made_public(
            other.modulus, other.z[::-1], other.challenge, other.responses
        ),
    }[part]
    with weakened(*UNCOMPARED):
        hostile().verify()
    with pytest.raises(ProofError, match="does not show"):
        hostile().verify()


def test_a_proof_with_one_bad_z_among_good_ones() -> None:
    """Every z_j is proved, not their product: one that is no fourth power is not carried along."""
    public = THREE.public
    modulus, sigma = public.modulus, THREE.sigma
    for j in range(4):
        z = [modulus - x if k == j else x for k, x in enumerate(public.z)]
        units = [some_unit(modulus) for _ in range(proof.ROUNDS)]
        hostile = made_public(modulus, z, *proof.prove(modulus, sigma, z, units))
        with weakened(*UNCOMPARED):
            hostile.verify()
        with pytest.raises(ProofError, match="does not show"):
            hostile.verify()


GRINDING = 600
FEW = 6


def ground(count: int, z: mpz) -> PublicKey:
    """The first of `GRINDING` forgeries whose challenge comes out as guessed, else the last."""
    guess = [k % 2 for k in range(count)]
    for _ in range(GRINDING):
        e, responses, bits = forged(N, z, guess, count=count)
        if bits == guess:
            break
    return made_public(N, [z], e, responses)


def test_too_few_responses() -> None:
    z = N - 4
    few = ground(FEW, z)
    # 6 responses are forged in some 2^6 tries, if 6 are enough.
    rules = (
        ("if len(responses) != ROUNDS:", "if False:"),
        ("challenge_bits(e, len(z) + 1), strict=True)", "challenge_bits(e, 2), strict=False)"),
    )
    with weakened(public_key, "check_proof", *rules):
        few.verify()
    with pytest.raises(ProofError, match=f"must have 128 responses, has {FEW}"):
        few.verify()
    with pytest.raises(ProofError, match="must have 128 responses, has 127"):
        verify(E, S[:-1])
    with pytest.raises(ProofError, match="must have 128 responses, has 129"):
        verify(E, [*S, S[0]])
    with pytest.raises(MessageError, match="must have exactly"):
        PublicKey.from_bytes(KEY.public.to_bytes()[: -KEY.public.size], insecure=True)
    with pytest.raises(MessageError, match="must have exactly"):
        PublicKey.from_bytes(KEY.public.to_bytes() + residue(KEY.public, 3), insecure=True)


def test_a_challenge_that_is_too_short() -> None:
    def shortened() -> None:
        made_public(N, Z, E[:1], S).verify()

    # Only the first 8 responses would then answer to a challenge.
    rules = (
        ("if len(e) != challenge_size(len(z) + 1):", "if False:"),
        ("challenge_bits(e, len(z) + 1), strict", f"challenge_bits(e + {E[1:]!r}, 2), strict"),
        (COMPARISON, "if not _challenge(modulus, z, commitments).startswith(e):"),
    )
    with weakened(public_key, "check_proof", *rules):
        shortened()
    with pytest.raises(ProofError, match="the challenge must have 16 bytes, has 1"):
        shortened()


def test_grinding_of_proof_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forger that guesses the challenge needs 2^rounds tries: 128 of them are out of reach."""
    z = N - 4

    def read(count: int) -> bool:
        public = ground(count, z)
        public.verify()
        receiver = Receiver(public, SID)
        receiver.precompute(1)
        return no_square(mpz.from_bytes(receiver.choose(1).residue, "big"), KEY.secret.p) == 1

    with monkeypatch.context() as patch:
        patch.setattr(proof, "ROUNDS", 8)
        assert read(8)
    with pytest.raises(ProofError, match="does not show"):
        read(proof.ROUNDS)


def test_a_commitment_chosen_after_the_challenge() -> None:
    """What the hash leaves out, a forger chooses last: here the commitments."""
    z = N - 4
    responses = [absolute(some_unit(N), N) for _ in range(proof.ROUNDS)]
    rule = ("for many in ((modulus,), z, commitments)", "for many in ((modulus,), z, ())")
    with weakened(proof, "_challenge", rule):
        e = proof._challenge(N, [z], [])
        public = made_public(N, [z], e, responses)
        assert reads_every_choice(public, lambda y: no_square(y, KEY.secret.p))
    with pytest.raises(ProofError, match="does not show"):
        Receiver(public, SID)
