"""What all messages with a header have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Message:
    """One message with a header: its bytes and, decoded once, its index."""

    KIND: ClassVar[int]
    NAME: ClassVar[str]

    encoded: bytes
    index: int = field(compare=False)

    @property
    def sid(self) -> bytes:
        """The 16-byte session identifier."""
        return self.encoded[2:18]

    def to_bytes(self) -> bytes:
        """The bytes that travel."""
        return self.encoded

    @classmethod
    def trusted(cls, encoded: bytes, index: int) -> Self:
        """A message around bytes that this side has just made or checked itself."""
        message = new_message(cls)
        set_encoded(message, encoded)
        set_index(message, index)
        return message

    def __repr__(self) -> str:
        name, size = type(self).__name__, len(self.encoded)
        return f"{name}(sid={self.sid.hex()[:8]}..., index={self.index}, {size} bytes)"


new_message = object.__new__
# The slots' own setters: what a frozen dataclass's __init__ does, without the detour.
set_encoded = Message.__dict__["encoded"].__set__
set_index = Message.__dict__["index"].__set__
