"""What travelled, frame by frame, in the words of the specification.

    trace = Trace()
    with Client(url, options, observer=trace) as client:
        client.transfer(1)
    trace

A trace shows itself as a table in a notebook, and prints as text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

_ENGINE: Final = {"0": "open", "1": "close", "2": "ping", "3": "pong", "6": "noop"}
_SOCKET: Final = {"0": "connect", "1": "disconnect", "2": "event", "3": "answer", "4": "refusal",
                  "5": "event", "6": "answer"}  # fmt: skip
_KINDS: Final = {
    1: "public key (kind 1)",
    2: "query (kind 2): index and y",
    3: "reply (kind 3): the ciphertexts",
    4: "offer (kind 4): index and z_i",
    5: "six-query (kind 5): index and y",
    6: "six-reply (kind 6): four ciphertexts, four digests",
    7: "session (kind 7): variant, sid, fingerprint",
}
_EVENT = re.compile(r'4[25](?:1-)?([0-9]*)\["([a-z]+)"')
_ANSWER = re.compile(r"4[36](?:1-)?([0-9]+)\[")
_SHOWN: Final = 16

HEADINGS: Final = ("frame", "way", "bytes", "what", "begins with")


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of Engine.IO: a text, or the bytes of an attachment."""

    way: str
    size: int
    what: str
    start: str


@dataclass(slots=True)
class Trace:
    """An observer for a client, which keeps what it sees.

    Attributes:
        frames: in the order in which they left or came.
    """

    frames: list[Frame] = field(default_factory=list)
    _asked: dict[str, str] = field(default_factory=dict, repr=False)
    _latest: dict[str, str] = field(default_factory=dict, repr=False)

    def __call__(self, way: str, frame: Any) -> None:
        """Keep one frame."""
        if isinstance(frame, bytes):
            what = _binary(frame, self._latest.get(way, ""))
            self.frames.append(Frame(way, len(frame), what, frame[:_SHOWN].hex(" ")))
            return
        if found := _EVENT.match(frame):
            event = found[2]
            self._asked[found[1]] = event
        elif found := _ANSWER.match(frame):
            event = self._asked.get(found[1], "")
        else:
            event = ""
        self._latest[way] = event
        self.frames.append(
            Frame(way, len(frame.encode()), _text(frame, event), frame[: 3 * _SHOWN])
        )

    def total(self, way: str) -> int:
        """Bytes of all frames in one direction."""
        return sum(frame.size for frame in self.frames if frame.way == way)

    def rows(self) -> list[tuple[str, ...]]:
        """The table's cells, under `HEADINGS`."""
        arrows = {"up": "→ server", "down": "← server"}
        return [
            (str(number), arrows[frame.way], str(frame.size), frame.what, frame.start)
            for number, frame in enumerate(self.frames, 1)
        ]

    def table(self) -> Table:
        """The frames, for a notebook or a terminal."""
        return Table(HEADINGS, self.rows())

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under headings, which show themselves in a notebook or a terminal."""

    headings: tuple[str, ...]
    rows: list[tuple[str, ...]]

    def __str__(self) -> str:
        table = [self.headings, *self.rows]
        widths = [max(len(row[k]) for row in table) for k in range(len(self.headings) - 1)]
        return "\n".join(
            "  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[-1]])
            for row in table
        )

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(text)}</th>" for text in self.headings)
        cells = (
            "".join(f"<td><code>{html.escape(cell)}</code></td>" for cell in row)
            for row in self.rows
        )
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def log_table(lines: Sequence[dict[str, Any]]) -> Table:
    """A server's log lines, one a row, as `LocalServer.log` gives them."""
    names = ("event", "sid", "index", "code", "ms", "compute_us")
    rows = [tuple(str(line.get(name, "")) for name in names) for line in lines]
    return Table(names, rows)


def _text(frame: str, asked: str) -> str:
    if frame[:1] != "4":
        return f"Engine.IO {_ENGINE.get(frame[:1], 'frame')}"
    kind = _SOCKET.get(frame[1:2], "frame")
    if kind == "event":
        return f"{asked or 'event'}: its name and argument"
    if kind == "answer":
        return f"answer to {asked}"
    return f"Socket.IO {kind}"


def _binary(frame: bytes, asked: str) -> str:
    if asked == "offer" and len(frame) == 24:
        return "attachment: sid and index"
    kind = _KINDS.get(frame[1], "bytes") if len(frame) > 1 and frame[0] == 1 else "bytes"
    return f"attachment: {kind}" + (" and more" if asked == "batch" else "")
