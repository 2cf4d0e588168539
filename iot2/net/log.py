"""The server's log: one JSON object a line, on standard error.

Lines carry a time, a level, an event, and of the protocol only the first four
bytes of a sid, an index, a code and milliseconds. Messages, keys, roots and
choices never get here: no field for them exists, and what the libraries below
would log (they print the text frames that they handle) is reduced to the name
of what went wrong.

A line that cannot be written (a full disk, a pipe that nobody reads from any
more) is dropped: serving goes before logging.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import time
from typing import Any, Final, TextIO

LEVELS: Final = ("debug", "info", "warning", "error")

_FIELDS: Final = frozenset(
    {
        "address", "bits", "code", "commits", "connections", "count", "cpu_s", "durable",
        "fingerprint", "index", "limit", "ms", "peer", "seconds", "sessions", "sid", "stall_ms",
        "text", "transfers", "variant", "what", "commit_cpu_us", "commit_ms", "slowest_commit_ms",
        "compute_us", "memory_bytes", "operations",
    }
)  # fmt: skip
"""Every name that a line may have: a new one is a decision, not an accident."""


class Log:
    """Structured lines of one server.

    Args:
        level: the least that is written, one of `LEVELS`.
        stream: where to.
    """

    def __init__(self, level: str = "warning", stream: TextIO | None = None) -> None:
        self._least = LEVELS.index(level)
        # None where the process was started without a standard error.
        self._stream: TextIO | None = stream if stream is not None else sys.stderr
        self._descriptor = _descriptor(self._stream)
        self.debugging = self._least == 0

    def debug(self, event: str, **values: Any) -> None:
        """Each event of each connection."""
        self._write(0, event, values)

    def info(self, event: str, **values: Any) -> None:
        """Connections, sessions, start and end."""
        self._write(1, event, values)

    def warning(self, event: str, **values: Any) -> None:
        """What the operator should know of."""
        self._write(2, event, values)

    def error(self, event: str, **values: Any) -> None:
        """What the operator must act on."""
        self._write(3, event, values)

    def _write(self, level: int, event: str, values: dict[str, Any]) -> None:
        if level < self._least:
            return
        unknown = values.keys() - _FIELDS
        if unknown:
            raise KeyError(f"a log line has no field {', '.join(sorted(unknown))}")
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        line = {"time": stamp, "level": LEVELS[level], "event": event, **values}
        text = json.dumps(line, separators=(",", ":")) + "\n"
        # What a closed stream raises is a ValueError.
        with contextlib.suppress(OSError, ValueError):
            # One write for the whole line: threads and processes may share the stream.
            if self._descriptor is not None:
                os.write(self._descriptor, text.encode())
            elif self._stream is not None:
                self._stream.write(text)
                self._stream.flush()


def _descriptor(stream: TextIO | None) -> int | None:
    """Where the stream's lines go past its buffer.

    A buffer would keep the line that could not be written, and fail once more
    when the interpreter ends, which then exits with a status of its own.
    """
    try:
        return None if stream is None else stream.fileno()
    except (OSError, ValueError, AttributeError):
        return None


def sid_prefix(sid: bytes) -> str:
    """What a log shows of a session."""
    return sid[:4].hex()


class _LibraryHandler(logging.Handler):
    """Reduces a library's record to its logger and the class of its exception."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.ERROR)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        what = type(error).__name__ if error is not None else "message"
        self._log.warning("library", what=what, text=record.name)


def library_logger(name: str, log: Log | None = None) -> logging.Logger:
    """A logger to hand to a library: silent below errors, and never verbatim.

    Args:
        name: of the library.
        log: where its troubles are counted; nowhere by default.
    """
    logger = logging.getLogger(f"iot2.net.{name}")
    logger.setLevel(logging.ERROR)
    logger.propagate = False
    logger.handlers[:] = [logging.NullHandler() if log is None else _LibraryHandler(log)]
    return logger
