"""What a server must bear: a log that nobody takes, and clients that send what costs most."""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from engineio.packet import MESSAGE, PING, Packet
from net_support import HELLO, Peer, RawSocket, deaf_socket, masked

from iot2.net import AsyncClient, Options, RemoteError
from iot2.net.outbox import Outbox
from iot2.net.server import _guarded


def test_a_log_that_nobody_reads_any_more(key_file: Path) -> None:
    reading, writing = os.pipe()
    limits = ("--limit", "connections=1", "--limit", "handshake_s=1")
    process = subprocess.Popen(
        [sys.executable, "-m", "iot2", "serve", "-p", "0", "--key", str(key_file),
         "--log-level", "debug", *limits],
        stdout=subprocess.PIPE, stderr=writing, text=True,
    )  # fmt: skip
    os.close(writing)
    try:
        assert process.stdout is not None
        url = next(line for line in process.stdout if "ready on" in line).split()[-1]
        os.close(reading)
        peer = Peer(url)
        receiver = peer.open({"count": 1})
        receiver.precompute(1)
        assert isinstance(peer.ask("query", receiver.choose(0).to_bytes()), bytes)
        assert peer.code("query", b"") == "MALFORMED"
        with pytest.raises(RemoteError, match="connections: at most 1"):
            Peer(url)
        peer.close()
        time.sleep(0.3)
        assert RawSocket(url).ended(4), "time limits are kept"
        process.terminate()
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close() if process.stdout else None


@pytest.mark.parametrize("text", ["3", '42["query"]', '42["nothing"]'])
def test_others_have_their_turn_while_frames_wait(text: str) -> None:
    turns = read = 0

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.receive", "text": text}

    async def app(scope: Any, checked: Any, send: Any) -> None:
        nonlocal read
        for _ in range(1000):
            assert (await checked())["text"] == text
            read += 1

    async def others(flood: asyncio.Task[None]) -> None:
        nonlocal turns
        while not flood.done():
            turns += 1
            await asyncio.sleep(0)

    async def work() -> None:
        guarded = _guarded(app)
        flood = asyncio.ensure_future(guarded({"type": "websocket"}, receive, None))
        await others(flood)

    asyncio.run(work())
    assert read == 1000
    assert turns > 25


@pytest.mark.parametrize(
    "text",
    [
        '421["nothing"]',
        "421{",
        '421["hello"]',
        '421["session",{"a":1}]',
        '421["batch"]',
        '421["close",1]',
        '421["query","' + "x" * 3000 + '"]',
    ],
    ids=["unknown", "broken", "hello", "session", "batch", "close", "large"],
)
def test_what_is_malformed_counts_as_well(start: Any, key_file: Path, text: str) -> None:
    limits = ("queries_per_second=2", "query_burst=5", "frame_bytes=2000")
    arguments = [part for limit in limits for part in ("--limit", limit)]
    raw = RawSocket(start("--key", str(key_file), *arguments).url)
    for _ in range(8):
        raw.socket.send(text)
    answers = [raw.answer()[0] for _ in range(8)]
    assert all(a["error"] in ("MALFORMED", "LIMIT") for a in answers)
    slowed = [a["text"].startswith("queries_per_second") for a in answers]
    assert slowed[:5] == [False] * 5
    assert slowed[6:] == [True] * 2
    assert 0 < answers[-1]["retry_after_ms"] <= 1000
    raw.socket.close()


def test_a_flood_of_broken_frames_whose_answers_nobody_reads(start: Any, key_file: Path) -> None:
    server = start("--key", str(key_file), "--limit", "outbox=20", "--log-level", "info")

    def given_up() -> bool:
        return any('"text":"outbox:' in line for line in server.errors)

    with deaf_socket(server.url) as deaf:
        event = masked('421["nothing"]')
        for _ in range(200):
            deaf.sendall(event * 1000)
            if given_up():
                break
            time.sleep(0.02)
        until = time.monotonic() + 30
        while not given_up() and time.monotonic() < until:
            time.sleep(0.1)
        assert given_up()
    assert "key" in Peer(server.url).ask("hello", HELLO)


def test_frames_that_come_faster_than_they_are_parsed_wait_outside(
    start: Any, key_file: Path
) -> None:
    server = start("--key", str(key_file))
    process = psutil.Process(server.process.pid)
    flood = masked('42["nothing","' + "a" * 40_000 + '"]') * 8
    with deaf_socket(server.url) as raw:
        raw.settimeout(0.2)
        before, most, sent = process.memory_info().rss, 0, 0
        until = time.monotonic() + 3
        while time.monotonic() < until and sent < 400 << 20:
            with contextlib.suppress(TimeoutError):
                sent += raw.send(flood[sent % len(flood) :])
            most = max(most, process.memory_info().rss)
    assert sent > 10 << 20, "the server reads on"
    assert most < before + (64 << 20)
    assert "key" in Peer(server.url).ask("hello", HELLO)


def test_a_handshake_that_does_not_parse_ends_in_time(start: Any, key_file: Path) -> None:
    server = start("--key", str(key_file), "--limit", "handshake_s=1")
    host, port = server.url.removeprefix("http://").split(":")
    request = (
        "GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: x\r\n"
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nX-Long: {'a' * 9000}\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), timeout=8) as raw:
        raw.sendall(request.encode())
        with contextlib.suppress(ConnectionResetError):
            while raw.recv(1 << 16):
                pass


@contextlib.asynccontextmanager
async def slow_link(url: str, bytes_per_s: float) -> AsyncIterator[str]:
    """A way to the server on which its answers travel slowly."""
    host, port = url.removeprefix("http://").split(":")

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter, rate: float) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(16384):
                await asyncio.sleep(len(data) / rate)
                sink.write(data)
                await sink.drain()
        sink.close()

    async def accept(near: asyncio.StreamReader, near_out: asyncio.StreamWriter) -> None:
        inner = socket.socket()
        inner.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        inner.setblocking(False)
        await asyncio.get_running_loop().sock_connect(inner, (host, int(port)))
        far, far_out = await asyncio.open_connection(sock=inner, limit=16384)
        await asyncio.gather(pump(near, far_out, 1e12), pump(far, near_out, bytes_per_s))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


def test_a_slow_link_waits_for_long_answers(start: Any, key_file: Path, tmp_path: Path) -> None:
    names = tuple(f"item{k}" for k in range(60))
    rows = [f"{name},{'a' * 60_000},{'b' * 60_000}" for name in names]
    (tmp_path / "m.csv").write_text("\n".join(["item,m0,m1", *rows]))
    server = start(
        "--key", str(key_file), "--messages", str(tmp_path / "m.csv"), "--log-level", "info",
        "--limit", "outbox_bytes=200000",
    )  # fmt: skip

    async def run() -> list[bytes]:
        async with slow_link(server.url, 3e6) as url:
            client = AsyncClient(url, Options(items=names, insecure=True, timeout_s=30))
            async with client:
                return await asyncio.gather(*(client.transfer(1) for _ in names))

    assert asyncio.run(run()) == [b"b" * 60_000] * len(names)
    refused = [line for line in server.log() if line["event"] == "refused"]
    busy = [line for line in refused if line["text"].startswith("outbox_bytes: at most 200000 ")]
    assert busy
    assert {line["code"] for line in refused} == {"BUSY"}, "the connection lived"


def test_an_outbox_knows_its_bytes() -> None:
    async def work() -> None:
        outbox = Outbox()
        for packet in (Packet(MESSAGE, "1234"), Packet(MESSAGE, b"123"), Packet(PING), None):
            await outbox.put(packet)
        assert (outbox.size, outbox.qsize()) == (7, 4)
        sizes = []
        while not outbox.empty():
            outbox.get_nowait()
            sizes.append(outbox.size)
        assert sizes == [3, 0, 0, 0]

    asyncio.run(work())
