"""Random bytes that a seed determines, for samples that a rerun must repeat.

For the analysis alone: what a seed determines is no secret.
"""

from __future__ import annotations

from hashlib import shake_256

_BLOCK_BYTES = 1 << 16


class SeededBytes:
    """A `RandBytes` that a seed and a label determine.

    It gives the blocks SHAKE-256("iot2/security/" ‖ label ‖ 0x00 ‖ seed ‖ i), i = 0, 1, …

    The stream of bytes is the same however the reads are grouped.

    >>> source = SeededBytes(1, "example")
    >>> source(2) + source(3) == SeededBytes(1, "example")(5)
    True
    """

    def __init__(self, seed: int, label: str) -> None:
        self._prefix = b"iot2/security/" + label.encode() + b"\0" + seed.to_bytes(16)
        self._next_block = 0
        self._buffer = b""
        self._position = 0

    def __call__(self, count: int) -> bytes:
        """The next `count` bytes."""
        end = self._position + count
        while end > len(self._buffer):
            self._buffer = self._buffer[self._position :] + self._block()
            end -= self._position
            self._position = 0
        drawn = self._buffer[self._position : end]
        self._position = end
        return drawn

    def _block(self) -> bytes:
        block = shake_256(self._prefix + self._next_block.to_bytes(8)).digest(_BLOCK_BYTES)
        self._next_block += 1
        return block
