"""What a server must bear: a log that nobody takes, and clients that send what costs most."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from net_support import HELLO, Peer, RawSocket, deaf_socket, masked

from iot2.net import RemoteError
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
        return any(line.get("text", "").startswith("outbox:") for line in server.log())

    with deaf_socket(server.url) as deaf:
        event = masked('421["nothing"]')
        for _ in range(200):
            deaf.sendall(event * 200)
            if given_up():
                break
            time.sleep(0.02)
        assert given_up()
    assert "key" in Peer(server.url).ask("hello", HELLO)
