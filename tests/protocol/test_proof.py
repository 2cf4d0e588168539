"""The proof of section 2: complete, bit for bit as specified, and of the stated law."""

from __future__ import annotations

from collections import Counter

import pytest
from adversaries import sender_key
from gmpy2 import mpz

from iot2.protocol import proof
from iot2.protocol.framing import X, encode
from iot2.security.moduli import ToyModulus


@pytest.mark.parametrize("name", ["iot2_512", "iot2_512_1of5", "iot2_1024"])
def test_the_challenge_and_the_responses_fit_as_section_2_says(name: str) -> None:
    public = sender_key(name).public
    N, z, e, c = public.modulus, public.z, public.challenge, public.choices
    assert len(e) == 16 * (c - 1)
    commitments = []
    for i, s in enumerate(public.responses):
        t = pow(s, 4, N)
        for j in range(1, c):
            k = i * (c - 1) + (j - 1)
            if (e[k // 8] >> (k % 8)) & 1:
                t = t * pow(z[j - 1], -1, N) % N
        commitments.append(t)
    joined = [b"".join(encode(x, N) for x in many) for many in ((N,), z, commitments)]
    assert X("proof", 16 * (c - 1), *joined) == e


@pytest.mark.parametrize("choices", [2, 3, 9, 256])
def test_challenge_bits_come_lowest_first(choices: int) -> None:
    size = proof.challenge_size(choices)
    e = bytes((7 * k + 1) % 256 for k in range(size))
    number = int.from_bytes(e, "little")
    rows = proof.challenge_bits(e, choices)
    assert [bit for row in rows for bit in row] == [(number >> k) & 1 for k in range(8 * size)]
    assert {len(row) for row in rows} == {choices - 1}
    assert len(rows) == 128


def test_a_response_has_the_law_of_a_random_one_whatever_the_bit() -> None:
    """So the proof shows nothing of sigma: |r| and |r sigma| are one law, counted over every r."""
    toy = ToyModulus((7, 11))
    N = toy.N
    laws = []
    for factor in (1, *toy.units()[:6]):
        laws.append(Counter(min(r * factor % N, -r * factor % N) for r in toy.units()))
    assert all(law == laws[0] for law in laws)


def test_a_proof_made_twice_differs() -> None:
    key = sender_key()
    N = key.public.modulus
    first, second = (
        proof.prove(N, key.sigma, key.public.z, [mpz(k + 2) for k in range(start, start + 128)])
        for start in (0, 1)
    )
    assert first != second
    for e, responses in (first, second):
        proof.check_proof(N, key.public.z, e, responses)
