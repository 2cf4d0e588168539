"""The baseline's messages, framed as those of the specification, section 10.

| kind | message        | direction | body after the header                              |
|------|----------------|-----------|----------------------------------------------------|
| 0x81 | SimplestOffer  | S -> R    | A (fresh split only)                               |
| 0x82 | SimplestQuery  | R -> S    | B                                                  |
| 0x83 | SimplestReply  | S -> R    | c = 2 (2 bytes), L (4 bytes), c_0, c_1             |

Points stay bytes here, 32 (ristretto255) or 33 (secp256k1) of them: only a
party knows the group in which they must be valid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Self

from iot2.errors import MessageError, ParameterError
from iot2.simplest.groups import RISTRETTO255_BYTES, SECP256K1_BYTES
from iot2.wire.ciphertexts import CiphertextsMessage
from iot2.wire.header import HEADER, VERSION, check_start, header
from iot2.wire.message import Message

SIMPLEST_OFFER: Final = 0x81
SIMPLEST_QUERY: Final = 0x82
SIMPLEST_REPLY: Final = 0x83

POINT_SIZES: Final = (RISTRETTO255_BYTES, SECP256K1_BYTES)
_SIZES: Final = tuple(HEADER.size + size for size in POINT_SIZES)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class PointMessage(Message):
    """header, one point of 32 or 33 bytes."""

    START: ClassVar[bytes]

    def __init__(self, sid: bytes, index: int, point: bytes) -> None:
        if not isinstance(point, bytes) or len(point) not in POINT_SIZES:
            raise ParameterError(f"the point of a {self.NAME} must be 32 or 33 bytes")
        object.__setattr__(self, "encoded", header(self.KIND, sid, index) + point)
        object.__setattr__(self, "index", index)

    @property
    def point(self) -> bytes:
        """A or B, encoded."""
        return self.encoded[HEADER.size :]

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Parse one message; `MessageError` unless kind and length fit.

        That the point is valid in the group of the session is checked by the
        party that receives it.
        """
        if type(data) is not bytes or len(data) not in _SIZES or data[:2] != cls.START:
            check_start(data, cls.KIND, cls.NAME, HEADER.size)
            raise MessageError(
                f"a {cls.NAME} must end in a point of 32 or 33 bytes, got {len(data) - HEADER.size}"
            )
        return cls.trusted(data, int.from_bytes(data[18:26]))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class SimplestOffer(PointMessage):
    """Kind 0x81, S -> R: header, A = aG of one transfer."""

    KIND: ClassVar[int] = SIMPLEST_OFFER
    START: ClassVar[bytes] = bytes((VERSION, SIMPLEST_OFFER))
    NAME: ClassVar[str] = "simplest offer"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class SimplestQuery(PointMessage):
    """Kind 0x82, R -> S: header, B = xG + bA."""

    KIND: ClassVar[int] = SIMPLEST_QUERY
    START: ClassVar[bytes] = bytes((VERSION, SIMPLEST_QUERY))
    NAME: ClassVar[str] = "simplest query"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class SimplestReply(CiphertextsMessage):
    """Kind 0x83, S -> R: header, c = 2, L, c_0, c_1."""

    KIND: ClassVar[int] = SIMPLEST_REPLY
    NAME: ClassVar[str] = "simplest reply"
