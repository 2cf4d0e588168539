"""Frames, hashes and pads: byte for byte, and no two inputs in one frame."""

from __future__ import annotations

import hashlib

import pytest
from gmpy2 import mpz
from hypothesis import given
from hypothesis import strategies as st

from iot2.protocol import framing
from iot2.protocol.framing import H, H_of_many, X, encode, framed, key_frame, pad, root_key, xor

parts = st.lists(st.binary(max_size=20), max_size=5)


def test_a_frame_by_hand() -> None:
    assert framed("key/six", b"ab", b"") == b"iot2/v1/key/six\0" + b"\0\0\0\2ab" + b"\0\0\0\0"
    assert framed("proof") == b"iot2/v1/proof\0"


@given(first=parts, second=parts)
def test_two_lists_of_parts_never_have_one_frame(first: list[bytes], second: list[bytes]) -> None:
    assert (framed("t", *first) == framed("t", *second)) == (first == second)


@given(parts)
def test_hashes_are_of_the_frame(many: list[bytes]) -> None:
    frame = framed("tag", *many)
    assert H("tag", *many) == hashlib.sha256(frame).digest()
    assert H_of_many("tag", iter(many)) == H("tag", *many)
    assert X("tag", 50, *many) == hashlib.shake_256(frame).digest(50)


def test_the_labels_are_all_different() -> None:
    labels = (
        framing.FINGERPRINT,
        framing.PROOF,
        framing.KEY_COMPACT,
        framing.KEY_SIX,
        framing.DIGEST_SIX,
        framing.REJECT_COMPACT,
        framing.REJECT_SIX,
        framing.PAD,
    )
    assert labels == (
        "fingerprint", "proof", "key/compact", "key/six", "digest/six", "reject", "reject/six",
        "pad",
    )  # fmt: skip
    assert len({H(label) for label in labels}) == len(labels)


@given(root=st.integers(1, 10**30), index=st.integers(0, 2**64 - 1))
def test_a_prepared_frame_hashes_to_the_same_key(root: int, index: int) -> None:
    modulus = mpz(10**30 + 57)
    fp, sid = b"f" * 32, b"s" * 16
    before, after = key_frame("key/compact", fp, sid, modulus)
    expected = root_key("key/compact", fp, sid, index, mpz(root), modulus)
    absolute = encode(min(mpz(root), modulus - root), modulus)
    assert hashlib.sha256(before + index.to_bytes(8) + after + absolute).digest() == expected
    assert root_key("key/compact", fp, sid, index, modulus - root, modulus) == expected
    assert root_key("key/six", fp, sid, index, mpz(root), modulus) != expected


@pytest.mark.parametrize("length", [1, 31, 32, 33, 64, 100])
def test_a_pad_is_the_key_cut_or_stretched(length: int) -> None:
    key = bytes(range(32))
    stretched = hashlib.shake_256(b"iot2/v1/pad\0\0\0\0\x20" + key).digest(length)
    assert pad(key, length) == (key[:length] if length <= 32 else stretched)


@given(st.binary(max_size=50), st.data())
def test_xor_is_its_own_inverse(a: bytes, data: st.DataObject) -> None:
    b = data.draw(st.binary(min_size=len(a), max_size=len(a)))
    assert xor(a, b) == bytes(x ^ y for x, y in zip(a, b, strict=True))
    assert xor(xor(a, b), b) == a
    if len(a) > 0:
        with pytest.raises(OverflowError):
            xor(a[:-1], b"\1" + b[1:])
