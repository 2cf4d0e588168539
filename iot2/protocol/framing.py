"""Hashes, keys and pads, each under its own domain label (specification, sections 1 and 3)."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from hashlib import sha256, shake_256

from gmpy2 import mpz

from iot2.arithmetic.blum import absolute
from iot2.arithmetic.uniform import residue_size

FINGERPRINT = "fingerprint"
PROOF = "proof"
KEY_COMPACT = "key/compact"
KEY_SIX = "key/six"
DIGEST_SIX = "digest/six"
REJECT_COMPACT = "reject"
REJECT_SIX = "reject/six"
PAD = "pad"

KEY_BYTES = 32
"""Length of a key and of a digest: SHA-256's."""

SID_BYTES = 16
"""Length of a session identifier."""

len32 = struct.Struct(">I").pack
u64 = struct.Struct(">Q").pack

INDEX_LIMIT = 1 << 64
"""Indexes are u64."""


def framed(tag: str, *parts: bytes) -> bytes:
    """The label "iot2/v1/tag", a zero byte, and each part after its len32: unambiguous."""
    head = b"iot2/v1/" + tag.encode("ascii") + b"\0"
    return head + b"".join(len32(len(part)) + part for part in parts)


def H(tag: str, *parts: bytes) -> bytes:
    """SHA-256 of `framed`: 32 bytes."""
    return sha256(framed(tag, *parts)).digest()


def H_of_many(tag: str, parts: Iterable[bytes]) -> bytes:
    """H of parts that are hashed one by one, so that they never stand in memory together."""
    state = sha256(framed(tag))
    for part in parts:
        state.update(len32(len(part)) + part)
    return state.digest()


def X(tag: str, length: int, *parts: bytes) -> bytes:
    """The first `length` bytes of SHAKE-256 of `framed`."""
    return shake_256(framed(tag, *parts)).digest(length)


def encode(x: mpz, modulus: mpz) -> bytes:
    """An integer mod N as exactly n bytes, big-endian."""
    return x.to_bytes(residue_size(modulus), "big")


def key_frame(tag: str, fp: bytes, sid: bytes, modulus: mpz) -> tuple[bytes, bytes]:
    """What stands before and after the index in every frame of `root_key` for one session.

    A party hashes `before + u64(i) + after + |root|`, without building the
    same 100 bytes again for each transfer.
    """
    before = framed(tag, fp, sid) + len32(8)
    return before, len32(residue_size(modulus))


def root_key(tag: str, fp: bytes, sid: bytes, index: int, root: mpz, modulus: mpz) -> bytes:
    """H(tag; fp, sid, u64(i), |root|), 32 bytes: `key` or, for another tag, `digest`."""
    return H(tag, fp, sid, u64(index), encode(absolute(root, modulus), modulus))


def pad(key: bytes, length: int) -> bytes:
    """The first `length` bytes of the key, or for more than 32 of X("pad", length; key)."""
    return key[:length] if length <= KEY_BYTES else X(PAD, length, key)


def xor(a: bytes, b: bytes) -> bytes:
    """a XOR b, for two byte strings of one length."""
    return (int.from_bytes(a) ^ int.from_bytes(b)).to_bytes(len(a))
