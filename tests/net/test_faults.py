"""A network that cuts, delays, repeats and reorders, and a server that is killed: what must hold.

Nothing is answered twice differently, and no transfer is lost that can still
be finished. The long versions are left to `make soak`.
"""

import asyncio
import os
import random
import signal
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from net_support import Peer, Proxy, Verdict, write_items

from iot2.errors import Iot2Error
from iot2.net import AsyncClient, Client, LinkError, Options
from iot2.net.local import LocalServer

CALM: dict[str, Any] = {"insecure": True, "timeout_s": 2.0, "patience_s": 30.0}


class Ledger:
    """Every reply that a client was sent, by (sid, index): there must be one of each."""

    def __init__(self) -> None:
        self.replies: dict[bytes, set[bytes]] = defaultdict(set)

    def __call__(self, way: str, frame: Any) -> None:
        if way == "down" and isinstance(frame, bytes) and frame[:2] in (b"\1\3", b"\1\6"):
            for reply in self._split(frame):
                self.replies[reply[2:26]].add(reply)

    def _split(self, frame: bytes) -> list[bytes]:
        if frame[1] == 6:
            return [frame]
        parts = []
        while frame:
            size = 32 + int.from_bytes(frame[26:28]) * int.from_bytes(frame[28:32])
            parts.append(frame[:size])
            frame = frame[size:]
        return parts

    def check(self, count: int) -> None:
        assert len(self.replies) == count
        assert {len(replies) for replies in self.replies.values()} == {1}


@pytest.fixture(scope="module")
def server(start_once: Any, key_file: Path) -> LocalServer:
    return start_once("--key", str(key_file))


def cut_once(way: str, number: int, *, after: bool) -> Callable[[str, int, bytes], Verdict]:
    """Cut the first connection at one frame, before or after passing it on."""
    done = threading.Event()

    def policy(direction: str, count: int, frame: bytes) -> Verdict:
        if not done.is_set() and (direction, count) == (way, number):
            done.set()
            return None
        return [frame]

    def late(direction: str, count: int, frame: bytes) -> Verdict:
        if not done.is_set() and (direction, count) == (way, number + 1):
            done.set()
            return None
        return [frame]

    return late if after else policy


def transfer(url: str, variant: str, ledger: Ledger, kind: str) -> list[int]:
    options = Options(variant=variant, count=3, demo=(1, 2), **CALM)
    if kind == "sync":
        with Client(url, options, observer=ledger) as client:
            return [client.transfer(b)[-1] for b in (1, 0, 1)]

    async def run() -> list[int]:
        async with AsyncClient(url, options, observer=ledger) as client:
            return [m[-1] for m in await asyncio.gather(*map(client.transfer, (1, 0, 1)))]

    return asyncio.run(run())


@pytest.mark.parametrize("way", ["up", "down"])
@pytest.mark.parametrize("variant", ["compact", "six"])
def test_a_cut_at_every_frame(server: LocalServer, way: str, variant: str) -> None:
    for number in range(2, 30):
        ledger = Ledger()
        kind = ("sync", "async")[number % 2]
        with Proxy(server.url, cut_once(way, number, after=False)) as proxy:
            try:
                got = transfer(proxy.url, variant, ledger, kind)
            except LinkError:
                # Before the session is open a client tries once, and says so.
                if number > 7:
                    raise
                continue
            assert got == [2, 1, 2], number
            ledger.check(3)
            if proxy.connections == 1:
                break  # everything went through before that frame
    else:
        pytest.fail("the cut was always reached")


def test_every_frame_twice(server: LocalServer) -> None:
    """Pairs of an event and its attachment are repeated whole, as a faulty relay would."""
    held: dict[str, bytes] = {}

    def policy(direction: str, number: int, frame: bytes) -> Verdict:
        binary = frame[0] & 0x0F == 2
        if direction == "down" or number < 4:
            return [frame]
        if binary:
            return [frame, held.pop("event"), frame]
        held["event"] = frame
        return [frame]

    ledger = Ledger()
    options = Options(count=20, demo=(1, 2), **CALM)
    with Proxy(server.url, policy) as proxy, Client(proxy.url, options, observer=ledger) as client:
        assert [client.transfer(b % 2)[-1] for b in range(20)] == [1, 2] * 10
    ledger.check(20)


def test_events_out_of_order(server: LocalServer) -> None:
    """Two transfers at a time, of which the second overtakes the first."""
    held: list[bytes] = []

    def policy(direction: str, number: int, frame: bytes) -> Verdict:
        if direction == "down" or number < 4 or len(frame) < 20:
            return [frame]
        held.append(frame)
        if len(held) < 4:
            return []
        a, a_data, b, b_data = held
        held.clear()
        return [b, b_data, a, a_data]

    async def run(url: str) -> list[int]:
        client = AsyncClient(url, Options(count=8, demo=(1, 2), **CALM), observer=ledger)
        await client.connect()
        got = []
        for _ in range(4):
            got += await asyncio.gather(client.transfer(0), client.transfer(1))
        await client._drop()
        return [m[-1] for m in got]

    ledger = Ledger()
    with Proxy(server.url, policy) as proxy:
        assert asyncio.run(run(proxy.url)) == [1, 2] * 4
    ledger.check(8)


def test_a_spoiled_relay_is_survived(server: LocalServer) -> None:
    """An event is repeated without its attachment: the server cannot parse it, and says so."""
    spoil = [True, True]

    def policy(direction: str, number: int, frame: bytes) -> Verdict:
        if direction == "up" and number > 6 and frame[0] & 0x0F == 1 and spoil:
            spoil.pop()
            return [frame, frame]
        return [frame]

    with Proxy(server.url, policy) as proxy:
        with Client(proxy.url, Options(count=4, demo=(1, 2), **CALM)) as client:
            assert [client.transfer(b)[-1] for b in (0, 1, 0, 1)] == [1, 2, 1, 2]
        assert proxy.connections > 1


def transfer_stubbornly(url: str, options: Options, kind: str, ledger: Ledger) -> list[int]:
    """Connect, however often it takes, and transfer 0, 1, 0, 1, ..."""
    choices = [k % 2 for k in range(options.count)]
    if kind == "sync":
        client = Client(url, options, observer=ledger)
        while True:
            try:
                client.connect()
                break
            except Iot2Error:
                time.sleep(0.05)
        got = [client.transfer(choice) for choice in choices]
        client._drop()
        return [m[-1] for m in got]

    async def run() -> list[int]:
        client = AsyncClient(url, options, observer=ledger)
        while True:
            try:
                await client.connect()
                break
            except Iot2Error:
                await asyncio.sleep(0.05)
        got = []
        for k in range(0, len(choices), 5):
            got += await asyncio.gather(*map(client.transfer, choices[k : k + 5]))
        await client._drop()
        return [m[-1] for m in got]

    return asyncio.run(run())


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_delays_and_random_cuts(server: LocalServer, kind: str) -> None:
    rng = random.Random(kind)

    def policy(direction: str, number: int, frame: bytes) -> Verdict:
        return None if number > 4 and rng.random() < 0.04 else [frame]

    ledger = Ledger()
    with Proxy(server.url, policy, delay_s=0.002) as proxy:
        options = Options(count=40, demo=(1, 2), **CALM)
        assert transfer_stubbornly(proxy.url, options, kind, ledger) == [1, 2] * 20
        assert proxy.connections > 1
    ledger.check(40)


def test_a_slow_client(server: LocalServer) -> None:
    """Bytes that come one by one are put together, and nobody else waits for them."""
    host, port = server.url.removeprefix("http://").split(":")
    frames = [
        b'421["hello",{"version":1,"variant":"compact","known":[]}]',
        b'422["session",{"count":1}]',
    ]
    with socket.create_connection((host, int(port)), timeout=10) as slow:
        slow.sendall(
            b"GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: x\r\n"
            b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        assert b" 101 " in slow.recv(4096)
        for text in (b"40", *frames):
            for byte in bytes((0x81, 0x80 | len(text), 0, 0, 0, 0)) + text:
                slow.sendall(bytes((byte,)))
                time.sleep(0.002)
        start_s = time.monotonic()
        with Client(server.url, Options(count=1, demo=(1, 2), **CALM)) as other:
            assert other.transfer(1)[-1] == 2
        assert time.monotonic() - start_s < 5
        heard = b""
        while b"461-2" not in heard:
            heard += slow.recv(4096)


def kill_and_restart(
    start: Any, arguments: tuple[str, ...], port: int, times: int, stop: threading.Event
) -> None:
    """Kill the server at random moments; a restarted one takes its place."""
    rng = random.Random(times)
    server = start(*arguments, port=port)
    for _ in range(times):
        time.sleep(rng.uniform(0.0, 0.6))
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait()
        server = start(*arguments, port=port)
    stop.set()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def survive_kills(start: Any, key_file: Path, tmp_path: Path, times: int) -> int:
    """Transfer items while the server is killed `times` times; check all that must hold."""
    rows = write_items(tmp_path / "m.csv", 4 * (800 + 200 * times))
    arguments = (
        "--key", str(key_file), "--messages", str(tmp_path / "m.csv"),
        "--state", str(tmp_path / "state"), "--limit", "transfers_per_session=50000",
    )  # fmt: skip
    port, stop = free_port(), threading.Event()
    killer = threading.Thread(
        target=kill_and_restart, args=(start, arguments, port, times, stop), daemon=True
    )
    killer.start()
    url = f"http://127.0.0.1:{port}"
    names = list(rows)
    parts = [tuple(names[k::4]) for k in range(4)]
    ledgers = [Ledger() for _ in range(4)]
    done = [0] * 4
    failures: list[BaseException] = []
    patience: dict[str, Any] = {"insecure": True, "timeout_s": 10.0, "patience_s": 120.0}

    def check(name: str, choice: int, message: bytes) -> None:
        assert message.decode() == rows[name][choice], name

    def connect_sync(k: int) -> Client:
        variant = ("compact", "six")[k % 2]
        options = Options(variant=variant, items=parts[k], batch=5, **patience)
        while True:
            client = Client(url, options, observer=ledgers[k])
            try:
                client.connect()
                return client
            except Exception:
                time.sleep(0.05)

    def work_sync(k: int) -> None:
        try:
            client = connect_sync(k)
            rng = random.Random(k)
            at = 0
            while not stop.is_set() and at < len(parts[k]) - 6:
                choices = [rng.randrange(2) for _ in range(rng.choice((1, 1, 5)))]
                got = client.transfer_many(choices)
                for choice, message in zip(choices, got, strict=True):
                    check(parts[k][at], choice, message)
                    at += 1
                done[k] = at
                time.sleep(0.01)
            client._drop()
        except BaseException as error:
            failures.append(error)
            raise

    async def work_async(k: int) -> None:
        options = Options(items=parts[k], **patience)
        while True:
            client = AsyncClient(url, options, observer=ledgers[k])
            try:
                await client.connect()
                break
            except Exception:
                await asyncio.sleep(0.05)
        at = 0
        while not stop.is_set() and at < len(parts[k]) - 6:
            choices = [(at + j) % 2 for j in range(4)]
            got = await asyncio.gather(*map(client.transfer, choices))
            for choice, message in zip(choices, got, strict=True):
                check(parts[k][at], choice, message)
                at += 1
            done[k] = at
            await asyncio.sleep(0.02)
        await client._drop()

    async def work_both() -> None:
        await asyncio.gather(work_async(2), work_async(3))

    threads = [threading.Thread(target=work_sync, args=(k,)) for k in (0, 1)]
    for thread in threads:
        thread.start()
    asyncio.run(work_both())
    for thread in threads:
        thread.join(150)
    killer.join(60)
    assert not failures
    assert min(done) > 0
    for k, ledger in enumerate(ledgers):
        ledger.check(done[k])
    # What was transferred is spent, for everybody and for ever.
    peer = Peer(url)
    peer.hello()
    for k in range(4):
        assert peer.code("session", {"items": [parts[k][done[k] - 1]]}) == "SPENT"
        fresh = parts[k][-1]
        assert isinstance(peer.ask("session", {"items": [fresh]}), bytes)
    peer.close()
    return sum(done)


def test_kills_at_random_moments(start: Any, key_file: Path, tmp_path: Path) -> None:
    assert survive_kills(start, key_file, tmp_path, 3) >= 4


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_hundred_kills(start: Any, key_file: Path, tmp_path: Path, record_property: Any) -> None:
    record_property("kills", 100)
    record_property("transfers", survive_kills(start, key_file, tmp_path, 100))


@pytest.mark.soak
def test_memory_is_flat_over_10000_transfers(
    start: Any, key_file: Path, tmp_path: Path, record_property: Any
) -> None:
    server = start("--key", str(key_file), "--state", str(tmp_path / "state"))
    process = psutil.Process(server.process.pid)

    def run(count: int) -> int:
        with Client(server.url, Options(count=count, demo=(1, 2), batch=1, **CALM)) as client:
            for k in range(count):
                assert client.transfer(k % 2)[-1] == 1 + k % 2
        return process.memory_info().rss

    run(1000)
    before = run(1000)
    after = run(10_000)
    record_property("memory_before_bytes", before)
    record_property("memory_after_bytes", after)
    assert after - before < 4 << 20


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_a_loaded_server(record_property: Any) -> None:
    """200 clients at once, each right; the event loop answers all the while."""
    from iot2 import SenderKey
    from iot2.net.profile import measure_load

    load = measure_load(SenderKey.generate(3072), clients=200, count=20)
    for name in ("transfers", "server_cpu_us", "alone_cpu_us", "p99_ms", "stall_ms"):
        record_property(name, round(getattr(load, name), 1))
    assert load.wrong == 0


@pytest.mark.parametrize(
    ("kind", "seed"),
    [("sync", 0), ("async", 1)]
    + [
        pytest.param(kind, seed, marks=pytest.mark.soak)
        for kind in ("sync", "async")
        for seed in range(2, 22)
    ],
)
def test_a_network_that_does_everything(server: LocalServer, kind: str, seed: int) -> None:
    rng = random.Random(seed)

    def policy(direction: str, number: int, frame: bytes) -> Verdict:
        if number < 5:
            return [frame]
        chance = rng.random()
        if chance < 0.02:
            return None
        if chance < 0.04:
            return [frame, frame]
        if chance < 0.05:
            return []
        return [frame]

    ledger = Ledger()
    options = Options(count=60, demo=(1, 2), insecure=True, timeout_s=1.0, patience_s=120)
    with Proxy(server.url, policy, delay_s=0.001) as proxy:
        assert transfer_stubbornly(proxy.url, options, kind, ledger) == [1, 2] * 30
    ledger.check(60)
