"""Many messages of one length as one byte string, read as rows of an array.

numpy is imported on first use, so that a receiver of single transfers never
loads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, overload

from iot2.errors import MessageError
from iot2.wire.ciphertexts import CIPHERTEXTS, CiphertextsMessage
from iot2.wire.header import HEADER, VERSION, check_start
from iot2.wire.message import Message
from iot2.wire.messages import Query, Reply

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BODY = CIPHERTEXTS.size
"""Where the ciphertexts of a reply begin."""

_M = TypeVar("_M", bound=Message)
_C = TypeVar("_C", bound=CiphertextsMessage)


@dataclass(frozen=True, slots=True, repr=False)
class Batch(Sequence[_M], Generic[_M]):
    """Messages of one kind and one length, concatenated in the order of the transfers.

    Attributes:
        encoded: the concatenated messages.
        stride: the bytes of each.
    """

    MESSAGE: ClassVar[Any]
    LEAST: ClassVar[int]

    encoded: bytes
    stride: int

    def __post_init__(self) -> None:
        name = f"batch of messages of kind {self.MESSAGE.KIND}"
        if not isinstance(self.encoded, bytes) or not self.encoded:
            raise MessageError(f"a {name} must be bytes, at least one message")
        if self.stride < self.LEAST or len(self.encoded) % self.stride:
            raise MessageError(
                f"a {name} must be whole messages of {self.stride} bytes, has {len(self.encoded)}"
            )
        if not (self.rows[:, :2] == (VERSION, self.MESSAGE.KIND)).all():
            raise MessageError(f"a message in this {name} has another version or kind")

    @property
    def rows(self) -> NDArray[np.uint8]:
        """The messages as a read-only array, shape (count, stride), uint8."""
        import numpy as np

        return np.frombuffer(self.encoded, np.uint8).reshape(-1, self.stride)

    @property
    def indexes(self) -> NDArray[np.uint64]:
        """The index of each message, shape (count,), uint64."""
        import numpy as np

        return self.rows[:, 18 : HEADER.size].copy().view(">u8")[:, 0].astype(np.uint64)

    def starts_with(self, start: bytes) -> bool:
        """Whether every message begins with these bytes (version, kind, sid)."""
        import numpy as np

        return bool((self.rows[:, : len(start)] == np.frombuffer(start, np.uint8)).all())

    def to_bytes(self) -> bytes:
        """The concatenated messages."""
        return self.encoded

    def __len__(self) -> int:
        return len(self.encoded) // self.stride

    @overload
    def __getitem__(self, position: int) -> _M: ...
    @overload
    def __getitem__(self, position: slice) -> Self: ...
    def __getitem__(self, position: int | slice) -> _M | Self:
        """The message at `position`, or the batch of a slice."""
        if isinstance(position, slice):
            return type(self)(self.rows[position].tobytes(), self.stride)
        at = range(len(self))[position] * self.stride
        message: _M = self.MESSAGE.from_bytes(self.encoded[at : at + self.stride])
        return message

    def __iter__(self) -> Iterator[_M]:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} messages of {self.stride} bytes)"


class QueryBatch(Batch[Query]):
    """Concatenated messages of kind 2."""

    __slots__ = ()
    MESSAGE: ClassVar[Any] = Query
    LEAST: ClassVar[int] = HEADER.size + 1

    @classmethod
    def from_bytes(cls, data: bytes, stride: int) -> Self:
        """Parse queries of `stride` = 26 + n bytes each; `MessageError` where they are not."""
        return cls(data, stride)


class CiphertextsBatch(Batch[_C]):
    """Concatenated messages of one kind, all with the same c and L."""

    __slots__ = ()
    LEAST: ClassVar[int] = BODY + 2

    def __post_init__(self) -> None:
        super().__post_init__()
        first = self.MESSAGE.from_bytes(self.encoded[: self.stride])
        if not (self.rows[:, HEADER.size : BODY] == self.rows[0, HEADER.size : BODY]).all():
            raise MessageError(
                f"every reply of a batch must carry {first.choices} ciphertexts "
                f"of {first.length} bytes as the first does, and one does not"
            )

    @property
    def choices(self) -> int:
        """c."""
        return int.from_bytes(self.encoded[26:28])

    @property
    def length(self) -> int:
        """L, the bytes of each ciphertext."""
        return int.from_bytes(self.encoded[28:32])

    @property
    def ciphertexts(self) -> NDArray[np.uint8]:
        """Shape (count, c, L), uint8, read-only."""
        body = self.rows[:, BODY:]
        return body.reshape(len(self), self.choices, self.length)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Parse replies; the first tells c and L; `MessageError` where they are not whole."""
        check_start(data, cls.MESSAGE.KIND, "batch of replies", BODY)
        choices, length = int.from_bytes(data[26:28]), int.from_bytes(data[28:32])
        return cls(data, BODY + choices * length)


class ReplyBatch(CiphertextsBatch[Reply]):
    """Concatenated messages of kind 3, all with the same c and L."""

    __slots__ = ()
    MESSAGE: ClassVar[Any] = Reply
