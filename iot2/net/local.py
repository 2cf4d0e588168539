"""A server in a process of its own, for notebooks, tests and measurements.

    with local_server("--messages", "items.csv") as server:
        ...  # server.url, server.fingerprint

Works with or without a running event loop. The process ends with the block.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from iot2.errors import Iot2Error

_READY = re.compile(r"ready on (\S+)")
_FINGERPRINT = re.compile(r"fingerprint ([0-9a-f]{64})")
_START_S: Final = 120.0
_STOP_S: Final = 30.0


@dataclass(slots=True)
class LocalServer:
    """A running `iot2 serve`.

    Attributes:
        url: for clients on this machine.
        fingerprint: of its key.
        process: for those who would stop it otherwise.
        output: what it printed, line by line.
        errors: what it wrote on standard error: warnings and its log.
    """

    url: str
    fingerprint: bytes
    process: subprocess.Popen[str] = field(repr=False)
    output: list[str] = field(repr=False)
    errors: list[str] = field(repr=False)
    _readers: Sequence[threading.Thread] = field(repr=False, default=())

    def log(self) -> list[dict[str, Any]]:
        """The lines of its log so far, parsed."""
        return [json.loads(line) for line in list(self.errors) if line.startswith("{")]

    def stop(self) -> int:
        """End it as an operator would, and return its exit status."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            status = self.process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        for reader in self._readers:
            reader.join(_STOP_S)
        return status


def start_server(
    *arguments: str, port: int = 0, command: Sequence[str] = (), user: int | None = None
) -> LocalServer:
    """Start `iot2 serve` on this machine and wait until it is ready.

    Args:
        arguments: of `iot2 serve`, beside the port.
        port: where it listens; a free one by default.
        command: what runs in place of `python -m iot2`.
        user: whose process it is; this one's by default.

    Raises:
        Iot2Error: it ended, or is not ready in time; the text holds what it said.
    """
    program = command or (sys.executable, "-m", "iot2")
    process = subprocess.Popen(
        [*program, "serve", "-p", str(port), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        user=user,
    )
    output: list[str] = []
    errors: list[str] = []
    readers = [
        threading.Thread(target=_collect, args=(process.stdout, output), daemon=True),
        threading.Thread(target=_collect, args=(process.stderr, errors), daemon=True),
    ]
    for reader in readers:
        reader.start()
    server = LocalServer("", b"", process, output, errors, readers)
    deadline = time.monotonic() + _START_S
    while True:
        ended = process.poll() is not None
        text = "\n".join(list(output))
        ready, fingerprint = _READY.search(text), _FINGERPRINT.search(text)
        if ready and fingerprint:
            server.url, server.fingerprint = ready[1], bytes.fromhex(fingerprint[1])
            return server
        if ended or time.monotonic() > deadline:
            server.stop()
            said = " ".join(errors) or "nothing"
            raise Iot2Error(f"expected a server that is ready, came: {said}")
        time.sleep(0.02)


@contextlib.contextmanager
def local_server(*arguments: str) -> Iterator[LocalServer]:
    """A server for the length of a `with` block; `arguments` are those of `iot2 serve`.

    Raises:
        Iot2Error: it does not start.
    """
    server = start_server(*arguments)
    try:
        yield server
    finally:
        server.stop()


def _collect(stream: Iterator[str] | None, lines: list[str]) -> None:
    for line in stream or ():
        lines.append(line.rstrip("\n"))
