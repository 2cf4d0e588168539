"""What every message begins with: version, kind, sid, index (specification, section 10)."""

from __future__ import annotations

import struct
from typing import Final

from iot2.errors import MessageError, ParameterError
from iot2.protocol.framing import INDEX_LIMIT, SID_BYTES

VERSION: Final = 1

PUBLIC_KEY: Final = 1
QUERY: Final = 2
REPLY: Final = 3
OFFER: Final = 4
SIX_QUERY: Final = 5
SIX_REPLY: Final = 6
SESSION: Final = 7

HEADER = struct.Struct(">BB16sQ")
"""version, kind, sid, index: 26 bytes."""


def header(kind: int, sid: bytes, index: int) -> bytes:
    """The 26 bytes before the body of a message of this kind.

    Raises:
        ParameterError: the sid is not 16 bytes or the index no u64.
    """
    check_sid(sid)
    if not isinstance(index, int) or not 0 <= index < INDEX_LIMIT:
        raise ParameterError(f"an index must be an integer from 0 to 2^64 - 1, got {index!r}")
    return HEADER.pack(VERSION, kind, sid, index)


def check_sid(sid: bytes) -> None:
    """Raise `ParameterError` unless `sid` is 16 bytes."""
    if not isinstance(sid, bytes) or len(sid) != SID_BYTES:
        came = f"{len(sid)} bytes" if isinstance(sid, bytes) else type(sid).__name__
        raise ParameterError(f"a sid must be {SID_BYTES} bytes, got {came}")


def article(name: str) -> str:
    """The name of a message with its article, as errors say it."""
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def check_start(data: bytes, kind: int, name: str, least: int) -> None:
    """Raise `MessageError` unless `data` has `least` bytes, our version and this kind."""
    if not isinstance(data, bytes):
        raise MessageError(f"{article(name)} must be bytes, got {type(data).__name__}")
    if len(data) < least:
        raise MessageError(f"{article(name)} must have at least {least} bytes, got {len(data)}")
    if data[0] != VERSION or data[1] != kind:
        raise MessageError(
            f"{article(name)} must begin with version {VERSION} and kind {kind}, "
            f"got version {data[0]} and kind {data[1]}"
        )


def check_length(data: bytes, name: str, expected: int) -> None:
    """Raise `MessageError` unless `data` has exactly `expected` bytes."""
    if len(data) != expected:
        raise MessageError(f"this {name} must have exactly {expected} bytes, got {len(data)}")
