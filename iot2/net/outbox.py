"""Frames that wait for a client to read, and how many bytes they hold.

The library keeps them in a queue of its own for each client, which it reads
from all at once: what waits there, and as much again, is what a client that
does not read may cost.
"""

from __future__ import annotations

import asyncio
from typing import Any


class Outbox(asyncio.Queue[Any]):
    """A queue of the library's packets that knows their bytes.

    Attributes:
        size: bytes of the packets that wait.
    """

    def __init__(self) -> None:
        super().__init__()
        self.size = 0

    def _put(self, item: Any) -> None:
        self.size += _size(item)
        super()._put(item)

    def _get(self) -> Any:
        item = super()._get()
        self.size -= _size(item)
        return item


def _size(packet: Any) -> int:
    """Of a packet's text (a character is taken for a byte) or attachment."""
    data = getattr(packet, "data", None)
    return len(data) if isinstance(data, (str, bytes)) else 0
