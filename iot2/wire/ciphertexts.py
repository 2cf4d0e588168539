"""A reply of ciphertexts: kind 3, and the replies of the baseline and of pre-computed OT."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Self

from iot2.errors import MessageError, ParameterError
from iot2.wire.header import VERSION, check_length, check_start, header
from iot2.wire.message import Message, new_message, set_encoded, set_index

CIPHERTEXTS = struct.Struct(">BB16xQHI")
"""header (its sid passed over), c, L."""

MOST = 256
"""Ciphertexts in one message."""


def common_length(name: str, ciphertexts: tuple[bytes, ...]) -> int:
    """The one length L >= 1 of the ciphertexts of a message, or `ParameterError`."""
    lengths = {len(c) for c in ciphertexts}
    if len(lengths) != 1 or not 1 <= (length := lengths.pop()) < 1 << 32:
        raise ParameterError(
            f"the ciphertexts of a {name} must have one length, from 1 to 2^32 - 1"
        )
    return length


def split(data: bytes, start: int, length: int, count: int) -> tuple[bytes, ...]:
    """`count` pieces of `length` bytes each, the first at `start`."""
    return tuple(data[start + k * length : start + (k + 1) * length] for k in range(count))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class CiphertextsMessage(Message):
    """header, c (2 bytes), L (4 bytes), c_0 ... c_(c-1).

    Attributes:
        choices: c, 2 to 256.
        length: L >= 1, the bytes of each ciphertext.
    """

    choices: int = field(compare=False)
    length: int = field(compare=False)

    def __init__(self, sid: bytes, index: int, ciphertexts: tuple[bytes, ...]) -> None:
        choices = len(ciphertexts)
        if not 2 <= choices <= MOST:
            raise ParameterError(f"a {self.NAME} carries 2 to {MOST} ciphertexts, got {choices}")
        length = common_length(self.NAME, ciphertexts)
        start = header(self.KIND, sid, index) + struct.pack(">HI", choices, length)
        set_encoded(self, start + b"".join(ciphertexts))
        set_index(self, index)
        _set_choices(self, choices)
        _set_length(self, length)

    @property
    def ciphertexts(self) -> tuple[bytes, ...]:
        """c_0 ... c_(c-1), L bytes each."""
        return split(self.encoded, CIPHERTEXTS.size, self.length, self.choices)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Parse one message; `MessageError` unless the bytes are exactly that."""
        try:
            version, kind, index, choices, length = _unpack(data)
        except (struct.error, TypeError):
            version = kind = index = choices = length = 0
        if version != VERSION or kind != cls.KIND or type(data) is not bytes:
            check_start(data, cls.KIND, cls.NAME, CIPHERTEXTS.size)
        if not 2 <= choices <= MOST:
            raise MessageError(f"a {cls.NAME} carries 2 to {MOST} ciphertexts, got {choices}")
        if len(data) != CIPHERTEXTS.size + choices * length:
            check_length(data, cls.NAME, CIPHERTEXTS.size + choices * length)
        if not length:
            raise MessageError(f"the ciphertexts of a {cls.NAME} must have at least 1 byte")
        message = new_message(cls)
        set_encoded(message, data)
        set_index(message, index)
        _set_choices(message, choices)
        _set_length(message, length)
        return message


_unpack = CIPHERTEXTS.unpack_from
_set_choices = CiphertextsMessage.__dict__["choices"].__set__
_set_length = CiphertextsMessage.__dict__["length"].__set__
