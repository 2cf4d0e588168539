"""The public key: its bytes, its limits, and every refusal of parsing and checking."""

from __future__ import annotations

import dataclasses
import struct

import pytest
from adversaries import made_public, sender_key, vector
from gmpy2 import mpz

from iot2 import MessageError, ParameterError, ProofError, PublicKey
from iot2.protocol.framing import H, encode
from iot2.protocol.proof import ROUNDS
from iot2.wire.public_key import STRENGTH, SUPPORTED_BITS, check_size

KEY = sender_key().public
ENCODED = KEY.to_bytes()


def test_the_layout_of_kind_1() -> None:
    public = sender_key("iot2_512_1of5").public
    n = public.size
    encoded = public.to_bytes()
    assert n == 64
    assert encoded[:6] == b"\1\1\2\0\0\5"
    assert len(encoded) == 6 + 5 * n + 64 + ROUNDS * n
    assert encoded[6 : 6 + n] == int(public.modulus).to_bytes(n)
    assert encoded[6 + n : 6 + 2 * n] == int(public.z[0]).to_bytes(n)
    assert encoded[6 + 5 * n :][:64] == public.challenge
    assert encoded[-n:] == int(public.responses[-1]).to_bytes(n)
    again = PublicKey.from_bytes(encoded, insecure=True)
    assert again == public
    assert (again.bits, again.choices, again.size) == (512, 5, n)


def test_the_fingerprint_is_the_hash_of_N_and_every_z() -> None:
    public = sender_key("iot2_512_1of5").public
    parts = [encode(x, public.modulus) for x in (public.modulus, *public.z)]
    assert public.fingerprint == H("fingerprint", *parts)
    assert public.fingerprint.hex() == vector("iot2_512_1of5")["fingerprint"]


def test_the_proof_is_no_part_of_the_fingerprint() -> None:
    other = dataclasses.replace(KEY, challenge=bytes(16))
    assert other.fingerprint == KEY.fingerprint
    assert other != KEY


@pytest.mark.parametrize("bits", [1024, 2048, 3072, 4096])
def test_nominal_strength(bits: int) -> None:
    assert STRENGTH[bits] == {1024: 80, 2048: 112, 3072: 128, 4096: 128}[bits]
    assert (bits in SUPPORTED_BITS) == (bits != 1024)
    check_size(bits, insecure=True)


def test_an_insecure_size_is_asked_for() -> None:
    with pytest.raises(MessageError, match=r"with insecure=True \(--insecure on the command"):
        PublicKey.from_bytes(ENCODED)
    public = PublicKey.from_bytes(ENCODED, insecure=True)
    public.verify()
    strict = dataclasses.replace(public, insecure=False)
    with pytest.raises(ProofError, match="has 512"):
        strict.verify()


@pytest.mark.parametrize(
    ("start", "text"),
    [
        ((1, 1, 512, 0), "2 to 256 choices, got 0"),
        ((1, 1, 512, 1), "2 to 256 choices, got 1"),
        ((1, 1, 512, 257), "2 to 256 choices, got 257"),
        ((1, 1, 512, 65535), "2 to 256 choices, got 65535"),
        ((1, 1, 0, 2), "at least 2 bits, 0 are stated"),
        ((1, 1, 1, 2), "at least 2 bits, 1 are stated"),
        ((1, 1, 504, 2), "must have exactly"),
        ((1, 1, 520, 2), "must have exactly"),
        ((1, 1, 511, 2), "the 511 bits stated, has 512"),
        ((1, 1, 505, 2), "the 505 bits stated, has 512"),
        ((1, 1, 512, 3), "must have exactly"),
        ((2, 1, 512, 2), "version 1 and kind 1, got version 2"),
        ((0, 1, 512, 2), "version 1 and kind 1, got version 0"),
        ((1, 2, 512, 2), "got version 1 and kind 2"),
    ],
)
def test_starts_that_are_refused(start: tuple[int, int, int, int], text: str) -> None:
    data = struct.pack(">BBHH", *start) + ENCODED[6:]
    with pytest.raises(MessageError, match=text):
        PublicKey.from_bytes(data, insecure=True)


@pytest.mark.parametrize("place", [1, 2, 10, 100])
def test_a_value_not_below_N_is_refused(place: int) -> None:
    """z_1, or a response: at each place the largest residue is taken and N itself is not."""
    at = 6 + 64 * place + (16 if place > 1 else 0)
    for value, fits in ((KEY.modulus - 1, True), (KEY.modulus, False), (mpz(2) ** 512 - 1, False)):
        data = ENCODED[:at] + value.to_bytes(64, "big") + ENCODED[at + 64 :]
        if fits:
            assert PublicKey.from_bytes(data, insecure=True).to_bytes() == data
        else:
            with pytest.raises(MessageError, match="must be below N, and one is not"):
                PublicKey.from_bytes(data, insecure=True)


def test_what_parses_may_still_fail_its_check() -> None:
    """Zeros are residues: the check, not the parser, refuses them."""
    zeros = ENCODED[:70] + bytes(len(ENCODED) - 70)
    with pytest.raises(ProofError, match="z_1 must satisfy"):
        PublicKey.from_bytes(zeros, insecure=True).verify()


@pytest.mark.parametrize(
    ("modulus", "z", "text"),
    [
        (1, [], "2 to 256 choices, got 1"),
        (15, [4] * 256, "2 to 256 choices, got 257"),
        (1, [0], "2 to 65535 bits"),
        (0, [0], "2 to 65535 bits"),
        pytest.param(1 << 65535, [0], "2 to 65535 bits", id="65536 bits"),
        (15, [15], "at least 0 and below N"),
        (15, [-1], "at least 0 and below N"),
    ],
)
def test_what_the_constructor_refuses(modulus: int, z: list[int], text: str) -> None:
    with pytest.raises(ParameterError, match=text):
        made_public(modulus, z)


@pytest.mark.parametrize("modulus", [2, 14, 6])
def test_an_even_modulus_has_no_proof(modulus: int) -> None:
    with pytest.raises(ProofError, match="odd and at least 3"):
        made_public(modulus, [1]).verify()


def test_the_proof_does_not_show_in_a_repr() -> None:
    shown = repr(KEY)
    assert "challenge" not in shown
    assert "responses" not in shown
