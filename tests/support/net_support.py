"""What the tests of the network share: keys, a raw client, a proxy that lies."""

import asyncio
import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from iot2 import Receiver, Session, SixReceiver
from iot2.net.links import Endpoint, SyncLink
from iot2.wire.public_key import PublicKey

HELLO = {"version": 1, "variant": "compact", "known": []}


class Peer:
    """A client written from the specification alone, one event at a time."""

    def __init__(self, url: str) -> None:
        self.link = SyncLink(Endpoint(url), 1, 10.0, None)

    def ask(self, event: str, data: Any = None) -> Any:
        return self.link.ask(event, data, 20.0)

    def code(self, event: str, data: Any = None) -> str:
        answer = self.ask(event, data)
        assert set(answer) <= {"error", "text", "retry_after_ms"}, answer
        assert isinstance(answer["text"], str)
        return str(answer["error"])

    def hello(self, **more: Any) -> PublicKey:
        answer = self.ask("hello", {**HELLO, **more})
        assert "error" not in answer, answer
        self.welcome = answer
        self.key = PublicKey.from_bytes(answer["key"], insecure=True)
        return self.key

    def open(self, request: dict[str, Any], **more: Any) -> Receiver:
        """hello and session, compact."""
        self.hello(**more)
        self.session = Session.from_bytes(self.ask("session", request))
        return Receiver(self.key, self.session.sid)

    def open_six(self, request: dict[str, Any]) -> SixReceiver:
        self.hello(variant="six")
        self.session = Session.from_bytes(self.ask("session", request))
        return SixReceiver(self.key, self.session.sid)

    def close(self) -> None:
        self.link.close()


class RawSocket:
    """A WebSocket on which anything can be said."""

    def __init__(self, url: str, *, join: bool = True) -> None:
        address = url.replace("http", "ws", 1) + "/socket.io/?EIO=4&transport=websocket"
        self.socket: ClientConnection = connect(
            address, max_size=None, compression=None
        ).__enter__()
        assert str(self.socket.recv(10)).startswith("0")
        if join:
            self.socket.send("40")
            assert str(self.socket.recv(10)).startswith("40")

    def event(self, name: str, data: Any, number: int = 1) -> None:
        """Emit an event; bytes go as an attachment."""
        if isinstance(data, bytes):
            place = {"_placeholder": True, "num": 0}
            self.socket.send(f"451-{number}" + json.dumps([name, place]))
            self.socket.send(data)
        else:
            self.socket.send(f"42{number}" + json.dumps([name, data]))

    def answer(self, timeout: float = 10.0) -> Any:
        """The next acknowledgement without an attachment, or the next event."""
        while True:
            frame = self.socket.recv(timeout)
            if isinstance(frame, str) and frame[:2] in ("43", "42"):
                return json.loads(frame[frame.index("[") :])
            if isinstance(frame, str) and frame == "2":
                self.socket.send("3")

    def ended(self, timeout: float = 10.0) -> bool:
        """Whether the server closes the connection, whatever it says before."""
        try:
            while True:
                self.socket.recv(timeout)
        except TimeoutError:
            return False
        except Exception:
            return True


@contextlib.contextmanager
def deaf_socket(url: str) -> Iterator[socket.socket]:
    """A client that joined, and reads nothing from then on."""
    host, port = url.removeprefix("http://").split(":")
    request = (
        "GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.settimeout(20)
        deaf.connect((host, int(port)))
        deaf.sendall(request.encode())
        assert b" 101 " in deaf.recv(4096)
        deaf.sendall(masked("40"))
        time.sleep(0.2)
        yield deaf


def masked(text: str) -> bytes:
    """A client's text frame with a mask of zeros."""
    data = text.encode()
    short = len(data) <= 125
    size = bytes((0x80 | len(data),)) if short else b"\xfe" + len(data).to_bytes(2)
    return b"\x81" + size + bytes(4) + data


Verdict = Sequence[bytes] | None
"""Frames to pass on in place of one, or None to cut the connection."""
Policy = Callable[[str, int, bytes], Verdict]
"""(direction, number of the frame on this connection and direction, frame) -> verdict."""


@dataclass
class Proxy:
    """A proxy that understands WebSocket frames, and treats them as `policy` says."""

    target: str
    policy: Policy
    connections: int = 0
    delay_s: float = 0.0
    port: int = 0
    _ready: threading.Event = field(default_factory=threading.Event)
    _loop: asyncio.AbstractEventLoop | None = None

    def __enter__(self) -> "Proxy":
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        assert not self._thread.is_alive()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def _accept(self, near: asyncio.StreamReader, near_out: asyncio.StreamWriter) -> None:
        self.connections += 1
        port = int(self.target.rsplit(":", 1)[1])
        try:
            far, far_out = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            near_out.close()
            return
        pumps = [
            asyncio.create_task(self._pump("up", near, far_out)),
            asyncio.create_task(self._pump("down", far, near_out)),
        ]
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        for pump in pumps:
            pump.cancel()
        for writer in (near_out, far_out):
            writer.transport.abort()

    async def _pump(
        self, direction: str, source: asyncio.StreamReader, target: asyncio.StreamWriter
    ) -> None:
        try:
            target.write(await source.readuntil(b"\r\n\r\n"))
            number = 0
            while True:
                frame = await read_frame(source)
                number += 1
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                verdict = self.policy(direction, number, frame)
                if verdict is None:
                    return
                for part in verdict:
                    target.write(part)
                await target.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return


async def read_frame(source: asyncio.StreamReader) -> bytes:
    """One whole WebSocket frame, header and mask included."""
    head = await source.readexactly(2)
    length = head[1] & 0x7F
    if length >= 126:
        size = 2 if length == 126 else 8
        more = await source.readexactly(size)
        head += more
        length = struct.unpack(">H" if size == 2 else ">Q", more)[0]
    if head[1] & 0x80:
        head += await source.readexactly(4)
    return head + await source.readexactly(length)


def write_items(path: Path, count: int, choices: int = 2) -> dict[str, tuple[str, ...]]:
    """A messages file with `count` rows of different lengths."""
    rows = {f"item{k}": tuple(f"{j}/{'x' * (j * k % 7)}{k}" for j in range(choices))
            for k in range(count)}  # fmt: skip
    lines = [",".join(["item", *(f"m{j}" for j in range(choices))])]
    lines += [",".join((name, *row)) for name, row in rows.items()]
    path.write_text("\n".join(lines) + "\n")
    return rows
