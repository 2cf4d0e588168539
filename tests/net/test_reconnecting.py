"""A client whose connection breaks: who else uses it meanwhile, who gives up, who interrupts."""

import asyncio
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from net_support import Proxy, write_items

from iot2.errors import ParameterError, StateError
from iot2.net import AsyncClient, Client, KnownKeys, LinkError, Options, RemoteError
from iot2.net.conversation import Conversation
from iot2.net.links import _SyncSocketIO
from iot2.net.local import LocalServer

CALM: dict[str, Any] = {"demo": (1, 2), "insecure": True, "timeout_s": 5, "patience_s": 20}


@pytest.fixture(scope="module")
def server(start_once: Any, key_file: Path) -> LocalServer:
    return start_once("--key", str(key_file))


def hellos(what: Callable[[int], None]) -> Callable[[str, Any], None]:
    """An observer that calls `what` with the number of each `hello` as it leaves."""
    count = 0

    def observe(way: str, frame: Any) -> None:
        nonlocal count
        if way == "up" and isinstance(frame, str) and '"hello"' in frame:
            count += 1
            what(count)

    return observe


def slow_proxy(server: LocalServer) -> Proxy:
    return Proxy(server.url, lambda direction, number, frame: [frame], delay_s=0.05)


def test_tasks_wait_while_another_one_rejoins(server: LocalServer) -> None:
    async def run(url: str) -> list[int]:
        async with AsyncClient(url, Options(count=30, **CALM)) as client:
            client.precompute(30)
            got = [await client.transfer(0)]
            assert client._link is not None
            await client._link._io.eio.disconnect(abort=True)
            tasks = []
            for k in range(1, 30):  # they begin at every moment of the reconnection
                tasks.append(asyncio.create_task(client.transfer(k % 2)))
                await asyncio.sleep(0.02)
            return [m[-1] for m in got + await asyncio.gather(*tasks)]

    with slow_proxy(server) as proxy:
        assert asyncio.run(run(proxy.url)) == [1, 2] * 15
        assert proxy.connections == 2


def test_threads_wait_while_another_one_rejoins(server: LocalServer) -> None:
    with slow_proxy(server) as proxy, Client(proxy.url, Options(count=30, **CALM)) as client:
        client.precompute(30)
        assert client.transfer(0)[-1] == 1
        assert client._link is not None
        client._link._io.eio.disconnect(abort=True)

        def later(k: int) -> int:
            time.sleep(0.02 * k)
            return client.transfer(k % 2)[-1]

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(later, range(1, 30))) == [1 + k % 2 for k in range(1, 30)]
        assert proxy.connections == 2


def test_a_cancelled_rejoin_is_taken_over(server: LocalServer) -> None:
    async def run() -> None:
        second = asyncio.Event()
        observer = hellos(lambda count: second.set() if count == 2 else None)
        async with AsyncClient(server.url, Options(count=9, **CALM), observer=observer) as client:
            assert client._link is not None
            await client._link._io.eio.disconnect(abort=True)
            one, other = (asyncio.create_task(client.transfer(1)) for _ in range(2))
            await second.wait()
            one.cancel()  # between hello and resume
            assert (await other)[-1] == 2
            with pytest.raises(asyncio.CancelledError):
                await one
            assert (await client.transfer(0))[-1] == 1

    asyncio.run(run())


def test_an_interrupted_rejoin_leaves_a_client_that_works(server: LocalServer) -> None:
    def interrupt(count: int) -> None:
        if count == 2:
            raise KeyboardInterrupt

    with Client(server.url, Options(count=9, **CALM), observer=hellos(interrupt)) as client:
        assert client._link is not None
        client._link._io.eio.disconnect(abort=True)
        with pytest.raises(KeyboardInterrupt):
            client.transfer(1)
        assert [client.transfer(b)[-1] for b in (0, 1)] == [1, 2]


def test_a_refused_rejoin_is_tried_again(start: Any, key_file: Path) -> None:
    """The server does not notice at once that a connection broke, and still counts it."""
    server = start("--key", str(key_file), "--limit", "connections_per_peer=1")
    with Client(server.url, Options(count=4, **CALM)) as client:
        kept, client._link = client._link, None  # as a network that drops one side alone
        assert kept is not None
        threading.Timer(1.0, kept.close).start()
        assert client.transfer(1)[-1] == 2


def test_a_closed_client_says_so(server: LocalServer) -> None:
    client = Client(server.url, Options(count=3, **CALM))
    for _ in range(2):  # a new session each time, from its first index
        client.connect()
        assert [client.transfer(b)[-1] for b in (1, 0, 1)] == [2, 1, 2]
        client.close()
        with pytest.raises(StateError, match="no session is open"):
            client.transfer(1)


def test_a_closed_async_client_says_so(server: LocalServer) -> None:
    async def run() -> None:
        client = AsyncClient(server.url, Options(count=3, **CALM))
        for _ in range(2):
            await client.connect()
            assert [(await client.transfer(b))[-1] for b in (1, 0, 1)] == [2, 1, 2]
            await client.close()
            with pytest.raises(StateError, match="no session is open"):
                await client.transfer(1)

    asyncio.run(run())


def test_closing_while_another_thread_rejoins(
    start: Any, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start("--key", str(key_file), "--limit", "sessions=1")
    client = Client(server.url, Options(count=3, **CALM))
    client.connect()
    joining, go = threading.Event(), threading.Event()
    greet = Conversation._greet

    def slowly(self: Conversation) -> Any:
        yield from greet(self)
        joining.set()
        assert go.wait(10)

    monkeypatch.setattr(Conversation, "_greet", slowly)
    assert client._link is not None
    client._link._io.eio.disconnect(abort=True)
    with ThreadPoolExecutor(2) as pool:
        transfer = pool.submit(client.transfer, 1)
        assert joining.wait(10)
        closing = pool.submit(client.close)
        time.sleep(0.2)
        go.set()
        closing.result(20)
        assert transfer.exception(20) is None or isinstance(transfer.exception(), StateError)
    assert client.conversation.session is None
    monkeypatch.undo()
    with Client(server.url, Options(count=1, **CALM)) as other:  # the one session is free again
        assert other.transfer(1)[-1] == 2


def test_an_interrupted_connect_leaves_no_connection(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = _SyncSocketIO.connect

    def connect(self: Any, *args: Any, **more: Any) -> None:
        inner(self, *args, **more)
        raise KeyboardInterrupt

    before = threading.active_count()
    monkeypatch.setattr(_SyncSocketIO, "connect", connect)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            Client(server.url, Options(count=1, **CALM)).connect()
    until = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < until:
        time.sleep(0.05)
    assert threading.active_count() <= before


def test_what_came_before_a_time_limit_is_there(start: Any, key_file: Path, tmp_path: Path) -> None:
    rows = write_items(tmp_path / "m.csv", 40)
    server = start(
        "--key", str(key_file), "--messages", str(tmp_path / "m.csv"), "--limit", "batch=2"
    )
    options = Options(items=tuple(rows), batch=40, insecure=True)
    came: list[bytes] = []

    async def run(url: str) -> None:
        async with AsyncClient(url, options) as client:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.transfer_many([1] * 40, came), 0.5)

    with slow_proxy(server) as proxy:
        asyncio.run(run(proxy.url))
    assert 2 <= len(came) < 40
    assert came == [row[1].encode() for row in rows.values()][: len(came)]


def test_messages_come_into_the_list_that_is_given(server: LocalServer) -> None:
    with Client(server.url, Options(count=5, **CALM)) as client:
        came = [b"earlier"]
        assert client.transfer_many([0, 1], came) is came
        assert [m[-1] for m in came[1:]] == [1, 2]
        client.transfer_many([1], came)
        assert len(came) == 4


def test_interruptions_at_any_moment_leave_no_lock_behind(server: LocalServer) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    interrupted = 0
    try:
        with Client(server.url, Options(count=9000, **CALM)) as client:
            for k in range(150):
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.0005 + k % 30 / 10_000)
                    while True:
                        client.transfer(0)
                except KeyboardInterrupt:
                    interrupted += 1
                assert client.transfer(1)[-1] == 2
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted == 150


def test_a_mute_server_is_left_after_the_time_out() -> None:
    with Proxy("http://127.0.0.1:1", lambda *_: None) as proxy:
        options = Options(count=1, timeout_s=0.5)
        start = time.monotonic()
        with pytest.raises(LinkError):
            Client(proxy.url, options).connect()
        assert time.monotonic() - start < 10


def test_a_long_wait_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from iot2.net.conversation import Conversation, Pause

    options = Options(count=1, timeout_s=1, patience_s=2)
    steps = Conversation("x", options, KnownKeys()).join()
    assert next(steps).timeout_s == 1, "hello is waited for no longer than the rest"  # type: ignore[union-attr]
    with pytest.raises(RemoteError, match="BUSY"):
        steps.send({"error": "BUSY", "text": "", "retry_after_ms": 3_000_000})
    steps = Conversation("x", options, KnownKeys()).join()
    next(steps)
    pause = steps.send({"error": "BUSY", "text": "", "retry_after_ms": 500})
    assert isinstance(pause, Pause)
    assert pause.seconds <= 1


@pytest.mark.parametrize("name", ["", "x" * 257, "é" * 129])
def test_names_are_checked_before_anything_is_sent(name: str) -> None:
    with pytest.raises(ParameterError, match="1 to 256 bytes"):
        Options(items=("good", name))


def test_a_folder_that_others_lock_is_not_waited_for(tmp_path: Path, key_file: Path) -> None:
    import fcntl
    import os

    from iot2 import SenderKey

    key = SenderKey.load(key_file, insecure=True).public
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        start = time.monotonic()
        KnownKeys(tmp_path / "known").remember("a:1", key)
        assert time.monotonic() - start < 20
    finally:
        os.close(folder)
    assert KnownKeys.load(tmp_path / "known").check("a:1", key.fingerprint)
