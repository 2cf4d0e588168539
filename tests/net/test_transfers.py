"""Whole transfers between processes: both clients, both variants, every grouping."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import socketio
from net_support import HELLO, Peer, write_items

from iot2 import Query, Reply, Session, SixReply
from iot2.net import AsyncClient, Client, Options
from iot2.net.local import LocalServer
from iot2.protocol.framing import u64

SMALL: dict[str, Any] = {"insecure": True}


def number(message: bytes) -> int:
    assert len(message) == 8
    return int.from_bytes(message)


@pytest.mark.parametrize("variant", ["compact", "six"])
@pytest.mark.parametrize("masked", [False, True])
def test_sync_client_gets_what_it_chose(demo: LocalServer, variant: str, masked: bool) -> None:
    options = Options(variant=variant, count=6, demo=(100, 20000), masked=masked, **SMALL)
    with Client(demo.url, options) as client:
        got = [number(client.transfer(b)) for b in (0, 1, 1)]
        got += map(number, client.transfer_many([1, 0, 1]))
        assert client.fingerprint == demo.fingerprint
    assert got == [100, 20000, 20000, 20000, 100, 20000]


@pytest.mark.parametrize("variant", ["compact", "six"])
def test_async_client_transfers_side_by_side(demo: LocalServer, variant: str) -> None:
    async def run() -> list[int]:
        options = Options(variant=variant, count=30, demo=(1, 2), **SMALL)
        async with AsyncClient(demo.url, options) as client:
            single = await asyncio.gather(*(client.transfer(k % 2) for k in range(20)))
            return list(map(number, [*single, *await client.transfer_many([1, 0] * 5)]))

    assert asyncio.run(run()) == [1, 2] * 10 + [2, 1] * 5


@pytest.mark.parametrize("variant", ["compact", "six"])
def test_threads_that_share_a_client_never_take_one_tuple(
    start: Any, key_file: Path, variant: str
) -> None:
    server = start("--key", str(key_file))
    asked: list[bytes] = []

    def observe(way: str, frame: Any) -> None:
        if way == "up" and isinstance(frame, bytes) and frame[:2] in (b"\1\2", b"\1\5"):
            asked.append(frame[18:26])

    options = Options(variant=variant, count=400, demo=(1, 2), **SMALL)
    switched = sys.getswitchinterval()
    with Client(server.url, options, observer=observe) as client, ThreadPoolExecutor(8) as pool:
        sys.setswitchinterval(1e-6)
        try:
            got = list(pool.map(client.transfer, [k % 2 for k in range(400)]))
        finally:
            sys.setswitchinterval(switched)
    assert [number(m) for m in got] == [1 + k % 2 for k in range(400)]
    assert len(set(asked)) == len(asked) == 400, "an index has one query"


def test_batches_are_cut_to_what_the_server_allows(start: Any, key_file: Path) -> None:
    server = start("--key", str(key_file), "--limit", "batch=8", "--limit", "frame_bytes=16000")
    with Client(server.url, Options(count=50, batch=40, demo=(5, 6), **SMALL)) as client:
        assert [number(m) for m in client.transfer_many([0, 1] * 25)] == [5, 6] * 25


def test_replies_that_would_not_fit_come_in_smaller_batches(
    start: Any, key_file: Path, tmp_path: Path
) -> None:
    lines = [f"item{k},{k}{'a' * 900},{k}{'b' * 900}" for k in range(16)]
    (tmp_path / "m.csv").write_text("item,m0,m1\n" + "\n".join(lines) + "\n")
    server = start(
        "--key", str(key_file), "--messages", str(tmp_path / "m.csv"),
        "--limit", "frame_bytes=9000",
    )  # fmt: skip
    names = tuple(f"item{k}" for k in range(16))
    with Client(server.url, Options(items=names, batch=16, **SMALL)) as client:
        assert client.transfer_many([1] * 16) == [f"{k}{'b' * 900}".encode() for k in range(16)]


def test_every_message_of_five(start: Any, key_of_5: Path, tmp_path: Path) -> None:
    rows = write_items(tmp_path / "m.csv", 5, choices=5)
    server = start("--key", str(key_of_5), "--messages", str(tmp_path / "m.csv"))
    with Client(server.url, Options(items=tuple(rows), **SMALL)) as client:
        got = [client.transfer(j).decode() for j in range(5)]
    assert got == [row[j] for j, row in enumerate(rows.values())]


def test_demonstration_keys_of_every_size(start: Any) -> None:
    server = start()

    async def run(bits: int) -> int:
        options = Options(count=1, bits=bits, demo=(3, 4), insecure=bits == 1024)
        async with AsyncClient(server.url, options) as client:
            assert client.conversation.key is not None
            assert client.conversation.key.bits == bits
            return number(await client.transfer(1))

    async def run_all() -> list[int]:
        # Two ask for one size at once: it is made once.
        return await asyncio.gather(*map(run, (1024, 1024, 2048, 3072, 4096)))

    assert asyncio.run(run_all()) == [4] * 5
    assert Peer(server.url).code("hello", {**HELLO, "bits": 5000}) == "RANGE"


def test_a_stock_client_with_the_specification_alone(demo: LocalServer) -> None:
    """Default transports (long polling first), the page's events, nothing of iot2.net."""
    client = socketio.SimpleClient()
    client.connect(demo.url)
    try:
        hello = {"version": 1, "variant": "compact", "known": [], "demo": [7, 8]}
        welcome = client.call("hello", hello)
        from iot2 import PublicKey, Receiver

        key = PublicKey.from_bytes(welcome["key"], insecure=True)
        assert welcome["fingerprint"] == key.fingerprint.hex()
        session = Session.from_bytes(client.call("session", {"count": 3}))
        receiver = Receiver(key, session.sid)
        receiver.precompute(3)
        query = receiver.choose(1)
        reply = Reply.from_bytes(client.call("query", query.to_bytes()))
        assert number(receiver.retrieve(reply)) == 8
        both = b"".join(receiver.choose(b).to_bytes() for b in (0, 1))
        replies = client.call("batch", {"queries": both})["replies"]
        half = len(replies) // 2
        got = [receiver.retrieve(Reply.from_bytes(r)) for r in (replies[:half], replies[half:])]
        assert list(map(number, got)) == [7, 8]
        assert client.call("resume", session.to_bytes()) == {"answered": [[0, 2]]}
        assert client.call("close", {}) == {}
    finally:
        client.disconnect()


def test_the_six_message_events(demo: LocalServer) -> None:
    peer = Peer(demo.url)
    receiver = peer.open_six({"count": 2})
    receiver.precompute(2)
    from iot2 import Offer

    asked = peer.session.sid + u64(1)
    offer = peer.ask("offer", asked)
    assert peer.ask("offer", asked) == offer, "an offer that was lost is made again"
    query = receiver.choose(Offer.from_bytes(offer), 0)
    reply = peer.ask("query", query.to_bytes())
    assert peer.ask("query", query.to_bytes()) == reply
    assert receiver.retrieve(SixReply.from_bytes(reply)).endswith(b"message 0")
    assert peer.ask("resume", peer.session.to_bytes()) == {"answered": [[1, 1]]}
    peer.close()


def test_a_known_key_does_not_travel_again(demo: LocalServer) -> None:
    peer = Peer(demo.url)
    peer.hello()
    again = peer.ask("hello", {**HELLO, "known": ["00" * 32, demo.fingerprint.hex()]})
    assert again["fingerprint"] == demo.fingerprint.hex()
    assert "key" not in again
    peer.close()


def test_the_log_holds_no_secret(demo: LocalServer) -> None:
    with Client(demo.url, Options(count=1, demo=(0x1122334455667788, 2), **SMALL)) as client:
        message = client.transfer(0)
        session = client.conversation.session
        assert session is not None
    assert message.hex() == "1122334455667788"
    log = "\n".join(demo.errors)
    assert session.sid[:4].hex() in log, "the log is at work"
    for secret in (session.sid.hex(), "1122334455667788", str(0x1122334455667788)):
        assert secret not in log


def test_query_is_what_the_wire_format_says(demo: LocalServer) -> None:
    peer = Peer(demo.url)
    receiver = peer.open({"count": 1}, demo=[1, 2])
    receiver.precompute(1)
    query = receiver.choose(1)
    assert Query.from_bytes(query.to_bytes()).sid == peer.session.sid
    reply = Reply.from_bytes(peer.ask("query", query.to_bytes()))
    assert (reply.sid, reply.index, reply.length) == (peer.session.sid, 0, 8)
    peer.close()
