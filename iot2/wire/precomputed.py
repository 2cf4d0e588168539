"""The online messages of pre-computed OT, framed as those of the specification, section 10.

| kind | message          | direction | body after the header                         |
|------|------------------|-----------|-----------------------------------------------|
| 0x91 | Correction       | R -> S    | d (1 byte)                                    |
| 0x92 | PrecomputedReply | S -> R    | c (2 bytes), L (4 bytes), e_0 ... e_(c-1)     |

sid and index are those of the transfer that was run offline.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from iot2.errors import ParameterError
from iot2.wire.batch import Batch, CiphertextsBatch
from iot2.wire.ciphertexts import CiphertextsMessage
from iot2.wire.header import HEADER, check_length, check_start, header
from iot2.wire.message import Message, set_encoded, set_index

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CORRECTION: Final = 0x91
PRECOMPUTED_REPLY: Final = 0x92

CORRECTION_SIZE: Final = HEADER.size + 1


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Correction(Message):
    """Kind 0x91, R -> S: header, d = b - gamma (mod c)."""

    KIND: ClassVar[int] = CORRECTION
    NAME: ClassVar[str] = "correction"

    def __init__(self, sid: bytes, index: int, d: int) -> None:
        if not isinstance(d, int) or not 0 <= d < 256:
            raise ParameterError(f"a correction must be an integer from 0 to 255, got {d!r}")
        set_encoded(self, header(CORRECTION, sid, index) + bytes((d,)))
        set_index(self, index)

    @property
    def d(self) -> int:
        """b - gamma (mod c)."""
        return self.encoded[-1]

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Parse kind 0x91; `MessageError` unless the bytes are exactly one correction.

        That d is below c is checked by the sender.
        """
        check_start(data, CORRECTION, "correction", CORRECTION_SIZE)
        check_length(data, "correction", CORRECTION_SIZE)
        return cls.trusted(data, int.from_bytes(data[18:26]))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class PrecomputedReply(CiphertextsMessage):
    """Kind 0x92, S -> R: header, c, L, e_0 ... e_(c-1)."""

    KIND: ClassVar[int] = PRECOMPUTED_REPLY
    NAME: ClassVar[str] = "pre-computed reply"


class CorrectionBatch(Batch[Correction]):
    """Concatenated messages of kind 0x91, 27 bytes each."""

    __slots__ = ()
    MESSAGE: ClassVar[Any] = Correction
    LEAST: ClassVar[int] = CORRECTION_SIZE

    @property
    def d(self) -> NDArray[np.uint8]:
        """Shape (count,), uint8, read-only."""
        return self.rows[:, -1]

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Parse corrections; `MessageError` where they are not whole."""
        return cls(data, CORRECTION_SIZE)


class PrecomputedReplyBatch(CiphertextsBatch[PrecomputedReply]):
    """Concatenated messages of kind 0x92, all with the same c and L."""

    __slots__ = ()
    MESSAGE: ClassVar[Any] = PrecomputedReply
