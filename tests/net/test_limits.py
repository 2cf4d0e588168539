"""Every limit: what crosses it is told its name, and the server stays as it was."""

import asyncio
import contextlib
import json
import socket
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from net_support import HELLO, Peer, RawSocket, deaf_socket, masked, write_items
from websockets.exceptions import ConnectionClosed

from iot2 import Query
from iot2.errors import Iot2Error, ParameterError
from iot2.net import AsyncClient, Client, Options, RemoteError
from iot2.net.limits import Bucket, Limits
from iot2.net.local import LocalServer


@pytest.fixture(scope="module")
def tight(start_once: Any, key_file: Path) -> LocalServer:
    limits = (
        "frame_bytes=4000", "batch=3", "transfers_per_session=5", "sessions_per_peer=4",
        "connections_per_peer=6", "handshake_s=1", "idle_s=1.5", "session_idle_s=1",
        "stalled_s=1", "outbox=20",
    )  # fmt: skip
    arguments = [part for limit in limits for part in ("--limit", limit)]
    return start_once("--key", str(key_file), "--log-level", "info", *arguments)


def refused(peer: Peer, event: str, data: object, name: str) -> None:
    answer = peer.ask(event, data)
    assert answer["error"] == "LIMIT"
    assert answer["text"].startswith(name), answer


def test_frames(tight: LocalServer) -> None:
    peer = Peer(tight.url)
    peer.open({"count": 1})
    refused(peer, "query", bytes(4001), "frame_bytes")
    refused(peer, "batch", {"queries": bytes(4001)}, "frame_bytes")
    refused(peer, "session", {"items": ["x" * 250] * 20}, "frame_bytes")
    assert peer.code("query", bytes(4000)) == "MALFORMED", "at the limit it is parsed"
    assert peer.ask("close", {}) == {}, "the connection lives"
    peer.close()


@pytest.mark.parametrize(
    "frame", [bytes(8001), "42" + "1" * 8000, bytes(5_000_000)], ids=["bytes", "text", "huge"]
)
def test_frames_beyond_the_buffer_end_the_connection_with_a_code(
    tight: LocalServer, frame: str | bytes
) -> None:
    raw = RawSocket(tight.url)
    raw.socket.send(frame)
    assert raw.answer(3) == ["closing", "LIMIT"]
    assert raw.ended(3)
    assert raw.socket.protocol.close_rcvd is not None
    assert raw.socket.protocol.close_rcvd.code == 1009
    assert "8000" in raw.socket.protocol.close_rcvd.reason, "the bound is named"


def test_fragments_add_up(tight: LocalServer) -> None:
    raw = RawSocket(tight.url)
    with contextlib.suppress(ConnectionClosed):  # the server may be quicker than the last one
        raw.socket.send(bytes(2000) for _ in range(5))
    assert raw.answer(3) == ["closing", "LIMIT"]
    assert raw.ended(3)


def test_a_client_says_so_before_it_sends(tight: LocalServer) -> None:
    with pytest.raises(ParameterError, match=r"transfers_per_session.*5.*6"):
        Client(tight.url, Options(count=6, insecure=True)).connect()
    with Client(tight.url, Options(count=2, insecure=True)) as client:
        conversation = client.conversation
        with pytest.raises(ParameterError, match=r"frame_bytes.*4000"):
            client._run(conversation._once("query", bytes(4001)))


def test_batches_and_sessions(tight: LocalServer) -> None:
    peer = Peer(tight.url)
    receiver = peer.open({"count": 5})
    receiver.precompute(4)
    queries = b"".join(receiver.choose(0).to_bytes() for _ in range(4))
    refused(peer, "batch", {"queries": queries}, "batch")
    refused(peer, "session", {"count": 6}, "transfers_per_session")
    for _ in range(3):
        assert isinstance(peer.ask("session", {"count": 1}), bytes)
    refused(peer, "session", {"count": 1}, "sessions_per_peer")
    assert peer.ask("close", {}) == {}
    assert isinstance(peer.ask("session", {"count": 1}), bytes)
    assert peer.ask("close", {}) == {}
    peer.close()


def test_connections(tight: LocalServer) -> None:
    peers = [Peer(tight.url) for _ in range(6)]
    with pytest.raises(RemoteError, match="connections_per_peer") as caught:
        Peer(tight.url)
    assert caught.value.code == "LIMIT"
    for peer in peers:
        peer.close()
    time.sleep(0.3)
    Peer(tight.url).close()


def test_handshake_in_time(tight: LocalServer) -> None:
    raw = RawSocket(tight.url)
    assert raw.answer() == ["closing", "LIMIT"]
    assert raw.ended(3)
    assert RawSocket(tight.url, join=False).ended(4), "no Socket.IO connection was made"
    host, port = tight.url.removeprefix("http://").split(":")
    for said in (b"", b"GET / HT", b"GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nA: "):
        with socket.create_connection((host, int(port)), timeout=5) as silent:
            silent.sendall(said)
            silent.settimeout(4)
            assert silent.recv(100) == b""


def test_idle(tight: LocalServer) -> None:
    raw = RawSocket(tight.url)
    raw.event("hello", HELLO)
    start = time.monotonic()
    assert raw.answer() == ["closing", "LIMIT"]
    assert 1 < time.monotonic() - start < 4
    assert raw.ended(3)


def test_a_session_left_alone_ends(tight: LocalServer) -> None:
    peer = Peer(tight.url)
    peer.open({"count": 1})
    peer.close()
    time.sleep(2.5)
    again = Peer(tight.url)
    again.hello()
    assert again.code("resume", peer.session.to_bytes()) == "UNKNOWN_SESSION"
    again.close()


def test_a_client_that_never_reads(tight: LocalServer) -> None:
    process = psutil.Process(tight.process.pid)
    with deaf_socket(tight.url) as deaf:
        event = masked('421["hello",' + json.dumps(HELLO) + "]")
        before = process.memory_info().rss
        sent, start_s = 0, time.monotonic()
        with pytest.raises(ConnectionError):  # noqa: PT012
            while time.monotonic() - start_s < 20:
                deaf.sendall(event * 20)
                sent += 20
                time.sleep(0.01)
        assert sent > 40
    assert process.memory_info().rss - before < 40 << 20
    Peer(tight.url).close()


def test_queries_per_second(start: Any, key_file: Path) -> None:
    server = start(
        "--key", str(key_file), "--limit", "queries_per_second=20", "--limit", "query_burst=5"
    )
    peer = Peer(server.url)
    peer.open({"count": 1})
    answers = [peer.ask("query", bytes(90)) for _ in range(20)]
    limited = [a for a in answers if a["error"] == "LIMIT"]
    assert limited
    assert all("queries_per_second" in a["text"] and 0 < a["retry_after_ms"] < 1000
               for a in limited)  # fmt: skip
    peer.close()
    start_s = time.monotonic()
    with Client(server.url, Options(count=12, insecure=True, demo=(1, 2))) as client:
        assert [client.transfer(1)[-1] for _ in range(12)] == [2] * 12
    assert time.monotonic() - start_s > 0.3, "the client waited as it was told"


def test_a_full_queue_makes_clients_wait(start: Any, key_file: Path) -> None:
    server = start("--key", str(key_file), "--limit", "queue=1", "--workers", "1")
    frames: list[Any] = []

    async def run() -> list[int]:
        options = Options(count=60, demo=(1, 2), insecure=True)
        observer = lambda way, frame: frames.append(frame) if way == "down" else None  # noqa: E731
        async with AsyncClient(server.url, options, observer=observer) as client:
            return [m[-1] for m in await asyncio.gather(*(client.transfer(1) for _ in range(60)))]

    assert asyncio.run(run()) == [2] * 60
    busy = [f for f in frames if isinstance(f, str) and '"error":"BUSY"' in f]
    assert busy
    assert all("retry_after_ms" in frame for frame in busy)


def test_events_in_flight(start: Any, key_file: Path) -> None:
    server = start("--key", str(key_file), "--limit", "in_flight=2")
    raw = RawSocket(server.url)
    raw.event("hello", HELLO, 1)
    for number in range(2, 40):
        raw.event("session", {"count": 1}, number)
    acknowledged = busy = 0
    while acknowledged < 39:
        frame = raw.socket.recv(10)
        if isinstance(frame, str):
            acknowledged += frame.startswith("4")
            busy += "in_flight" in frame
    assert 0 < busy < 38
    raw.socket.close()


def test_message_length_is_checked_before_anything_is_served(
    start: Any, key_file: Path, tmp_path: Path
) -> None:
    write_items(tmp_path / "m.csv", 8)
    with pytest.raises(Iot2Error, match=r"line 5.*message_bytes"):
        start(
            "--key", str(key_file), "--messages", str(tmp_path / "m.csv"),
            "--limit", "message_bytes=9",
        )  # fmt: skip


def test_the_server_tells_its_limits(tight: LocalServer) -> None:
    peer = Peer(tight.url)
    peer.hello()
    told = peer.welcome["limits"]
    assert told["frame_bytes"] == 4000
    assert told["durable"] is False
    assert set(Limits.__slots__) < set(told)
    peer.close()


def test_limits_are_parsed() -> None:
    assert Limits.from_pairs(["batch=7", "idle_s=1.5"]) == Limits(batch=7, idle_s=1.5)
    for bad in (
        "batch",
        "batch=x",
        "batch=0",
        "batch=1.5",
        "nothing=1",
        "idle_s=nan",
        "idle_s=inf",
    ):
        with pytest.raises(ParameterError):
            Limits.from_pairs([bad])


def test_bucket_lets_a_large_batch_through_and_then_slows_it() -> None:
    now = [0.0]
    bucket = Bucket(10, 5, lambda: now[0])
    assert bucket.take(8) == 0.0
    assert bucket.take(1) == pytest.approx(0.4)
    now[0] = 0.4
    assert bucket.take(1) == 0.0
    assert not bucket.full
    now[0] = 10
    assert bucket.full


def test_an_index_beyond_the_session(tight: LocalServer) -> None:
    peer = Peer(tight.url)
    peer.open({"count": 2})
    query = Query(peer.session.sid, 2, (5).to_bytes(64))
    assert peer.code("query", query.to_bytes()) == "RANGE"
    peer.close()
