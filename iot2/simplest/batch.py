"""Many of the baseline's messages as one byte string."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from iot2.simplest.messages import SimplestQuery, SimplestReply
from iot2.wire.batch import Batch, CiphertextsBatch
from iot2.wire.header import HEADER


class SimplestQueryBatch(Batch[SimplestQuery]):
    """Concatenated messages of kind 0x82."""

    __slots__ = ()
    MESSAGE: ClassVar[Any] = SimplestQuery
    LEAST: ClassVar[int] = HEADER.size + 32

    @classmethod
    def from_bytes(cls, data: bytes, stride: int) -> Self:
        """Parse queries of `stride` = 58 or 59 bytes each; `MessageError` where they are not."""
        return cls(data, stride)


class SimplestReplyBatch(CiphertextsBatch[SimplestReply]):
    """Concatenated messages of kind 0x83, all with the same c and L."""

    __slots__ = ()
    MESSAGE: ClassVar[Any] = SimplestReply
