"""Servers that answer nonsense, other keys or nothing: what a client makes of them."""

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import socketio
import uvicorn

from iot2 import Query, Reply, Sender, SenderKey, Session
from iot2.errors import Iot2Error, MessageError, ProofError, StateError
from iot2.net import AsyncClient, Client, KeyMismatch, KnownKeys, LinkError, Options, RemoteError
from iot2.net.limits import Limits

KEY = SenderKey.generate(512, insecure=True)
OTHER = SenderKey.generate(512, insecure=True)
OPTIONS = Options(count=4, demo=(1, 2), insecure=True, timeout_s=2, patience_s=1)


class Impostor:
    """A server whose every answer a test may replace; honest where it does not."""

    def __init__(self) -> None:
        self.answers: dict[str, Callable[[Any], Any]] = {}
        self.reset()
        self.io = socketio.AsyncServer(async_mode="asgi", logger=False, engineio_logger=False)
        self.io.on("*", self._event)
        self.config = uvicorn.Config(
            socketio.ASGIApp(self.io), port=0, log_level="critical", lifespan="off"
        )
        self.server = uvicorn.Server(self.config)
        self.server.capture_signals = lambda: __import__("contextlib").nullcontext()  # type: ignore
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def reset(self) -> None:
        self.key, self.sender = KEY, Sender(KEY)
        self.answers = {"hello": self.hello, "session": self.session, "query": self.query,
                        "batch": self.batch, "resume": lambda _: {"answered": []},
                        "close": lambda _: {}}  # fmt: skip

    def _run(self) -> None:
        asyncio.run(self.server.serve(sockets=[self.listener]))

    async def _event(self, event: str, sid: str, data: Any = None) -> Any:
        answer = self.answers[event](data)
        if answer is NEVER:
            await asyncio.sleep(60)
        if answer is HANG_UP:
            await self.io.eio.disconnect(self.io.manager.eio_sid_from_sid(sid, "/"))
        return answer

    def stop(self) -> None:
        self.server.should_exit = self.server.force_exit = True
        self.thread.join(10)

    def hello(self, _: Any, key: SenderKey | None = None) -> dict[str, Any]:
        key = key or self.key
        return {
            "fingerprint": key.fingerprint.hex(), "bits": 512, "choices": 2,
            "limits": Limits().to_wire(), "key": key.public.to_bytes(),
        }  # fmt: skip

    def session(self, _: Any) -> bytes:
        return Session(Session.COMPACT, self.sender.sid, self.key.fingerprint).to_bytes()

    def query(self, data: bytes) -> bytes:
        messages = (bytes(7) + b"\1", bytes(7) + b"\2")
        return self.sender.answer(Query.from_bytes(data), messages).to_bytes()

    def batch(self, data: Any) -> Any:
        queries = data["queries"]
        return {"replies": b"".join(self.query(queries[k : k + 90])
                                    for k in range(0, len(queries), 90))}  # fmt: skip


NEVER, HANG_UP = object(), object()


@pytest.fixture(scope="module")
def impostor_() -> Iterator[Impostor]:
    impostor = Impostor()
    yield impostor
    impostor.stop()


@pytest.fixture
def impostor(impostor_: Impostor) -> Impostor:
    impostor_.reset()
    return impostor_


@pytest.fixture(params=["sync", "async"])
def run(request: Any) -> Callable[..., list[bytes]]:
    """Connect, transfer the choices one by one (or as a batch), close; by either client."""

    def by_sync(url: str, options: Options, choices: list[int], **more: Any) -> list[bytes]:
        batch = more.pop("batch", False)
        with Client(url, options, **more) as client:
            return client.transfer_many(choices) if batch else [*map(client.transfer, choices)]

    async def by_async(url: str, options: Options, choices: list[int], **more: Any) -> Any:
        batch = more.pop("batch", False)
        async with AsyncClient(url, options, **more) as client:
            if batch:
                return await client.transfer_many(choices)
            return [await client.transfer(b) for b in choices]

    if request.param == "sync":
        return by_sync
    return lambda *args, **more: asyncio.run(by_async(*args, **more))


def test_an_honest_one_is_believed(impostor: Impostor, run: Any) -> None:
    assert [m[-1] for m in run(impostor.url, OPTIONS, [0, 1, 1])] == [1, 2, 2]
    impostor.reset()
    assert [m[-1] for m in run(impostor.url, OPTIONS, [1, 0], batch=True)] == [2, 1]


def test_another_key_than_the_pinned_one(impostor: Impostor, run: Any) -> None:
    options = replace(OPTIONS, fingerprint=OTHER.fingerprint)
    with pytest.raises(KeyMismatch) as caught:
        run(impostor.url, options, [0])
    assert KEY.fingerprint.hex() in str(caught.value)
    assert OTHER.fingerprint.hex() in str(caught.value)
    assert run(impostor.url, replace(OPTIONS, fingerprint=KEY.fingerprint), [0])[0][-1] == 1


def test_a_key_of_another_size_than_asked(impostor: Impostor, run: Any) -> None:
    """A client that takes one small size does not thereby take every one."""
    with pytest.raises(MessageError, match=r"1024 bits, the server shows .* 512"):
        run(impostor.url, replace(OPTIONS, bits=1024), [1])
    assert run(impostor.url, replace(OPTIONS, bits=512), [1])


def test_a_changed_key(impostor: Impostor, run: Any, tmp_path: Path) -> None:
    path = tmp_path / "known"
    run(impostor.url, OPTIONS, [0], known=KnownKeys.load(path))
    held: list[Any] = []

    def hello(data: Any) -> Any:
        held.append(data["known"])
        answer = impostor.hello(data)
        del answer["key"]
        return answer

    impostor.reset()
    impostor.answers["hello"] = hello
    run(impostor.url, OPTIONS, [0], known=KnownKeys.load(path))
    assert held == [[KEY.fingerprint.hex()]]
    impostor.reset()
    impostor.answers["hello"] = lambda _: impostor.hello(_, OTHER)
    with pytest.raises(KeyMismatch) as caught:
        run(impostor.url, OPTIONS, [0], known=KnownKeys.load(path))
    assert KEY.fingerprint.hex() in str(caught.value)
    assert OTHER.fingerprint.hex() in str(caught.value)
    assert KnownKeys.load(path).find(path.name) is None


def test_a_key_that_changes_between_connections(impostor: Impostor, run: Any) -> None:
    def query(_: Any) -> Any:
        impostor.answers["hello"] = lambda _: impostor.hello(_, OTHER)
        return HANG_UP

    impostor.answers["query"] = query
    with pytest.raises(KeyMismatch):
        run(impostor.url, OPTIONS, [0])


def changed(position: int) -> bytes:
    data = bytearray(KEY.public.to_bytes())
    data[position] ^= 1
    return bytes(data)


@pytest.mark.parametrize(
    "key",
    [b"", b"junk", None, "text", KEY.public.to_bytes()[:-1], OTHER.public.to_bytes(),
     changed(40), changed(-1), changed(6 + 128)],
    ids=["empty", "junk", "none", "text", "cut", "other", "modulus", "response", "challenge"],
)  # fmt: skip
def test_a_key_that_is_none(impostor: Impostor, key: object) -> None:
    impostor.answers["hello"] = lambda _: impostor.hello(_) | {"key": key}
    with pytest.raises((MessageError, ProofError)):
        Client(impostor.url, OPTIONS).connect()


@pytest.mark.parametrize(
    "answer",
    [None, 5, b"bytes", {}, [], {"fingerprint": "00"}, {"error": "NOVEL", "text": ""},
     {"error": ["BUSY"]}, {"error": "BUSY", "text": 5}, {"error": "BUSY", "retry_after_ms": -1},
     {"fingerprint": "0" * 64, "bits": 512, "choices": 2, "limits": []}],
    ids=range(11),
)  # fmt: skip
def test_a_greeting_that_is_none(impostor: Impostor, run: Any, answer: object) -> None:
    impostor.answers["hello"] = lambda _: answer
    with pytest.raises(MessageError):
        run(impostor.url, OPTIONS, [0])


@pytest.mark.parametrize(
    "session",
    [b"", bytes(51), Session(2, bytes(16), KEY.fingerprint).to_bytes(),
     Session(1, bytes(16), OTHER.fingerprint).to_bytes(), None, {"sid": 1}],
    ids=range(6),
)  # fmt: skip
def test_a_session_that_is_none(impostor: Impostor, session: object) -> None:
    impostor.answers["session"] = lambda _: session
    with pytest.raises(MessageError):
        Client(impostor.url, OPTIONS).connect()


def replies(impostor: Impostor, data: bytes) -> dict[str, object]:
    sid = data[2:18]
    honest = impostor.query(data)
    return {
        "cut": honest[:-1], "long": honest + b"\0", "other index": Reply(sid, 3, (b"a", b"b")),
        "other session": Reply(os.urandom(16), 0, (b"a", b"b")), "text": "hello", "none": None,
        "three ciphertexts": Reply(sid, 0, (b"a", b"b", b"c")), "query": data, "object": {"a": 1},
        "number": 7, "random": os.urandom(80),
    }  # fmt: skip


@pytest.mark.parametrize(
    "what",
    ["cut", "long", "other index", "other session", "text", "none", "three ciphertexts", "query",
     "object", "number", "random"],
)  # fmt: skip
def test_a_reply_that_is_none(impostor: Impostor, what: str) -> None:
    asked: list[bytes] = []

    def query(data: bytes) -> Any:
        asked.append(data)
        answer = replies(impostor, data)[what]
        return answer.to_bytes() if isinstance(answer, Reply) else answer

    with Client(impostor.url, OPTIONS) as client:
        impostor.answers["query"] = query
        with pytest.raises(MessageError):
            client.transfer(0)
        assert len(asked) == 1, "the tuple is given up, its query never changed"
        impostor.answers["query"] = impostor.query
        assert client.transfer(1)[-1] == 2, "the next one is another index"


@pytest.mark.parametrize("change", [0, 1, 2, 3], ids=["order", "missing", "twice", "cut"])
def test_replies_of_a_batch_that_do_not_fit(impostor: Impostor, run: Any, change: int) -> None:
    def batch(data: Any) -> Any:
        joined = impostor.batch(data)["replies"]
        size = len(joined) // 3
        a, b, c = joined[:size], joined[size : 2 * size], joined[2 * size :]
        return {"replies": [b + a + c, a + b, a + a + c, a + b + c[:-1]][change]}

    impostor.answers["batch"] = batch
    with pytest.raises(MessageError):
        run(impostor.url, OPTIONS, [0, 1, 0], batch=True)


def test_silence(impostor: Impostor, run: Any) -> None:
    impostor.answers["query"] = lambda _: NEVER
    with pytest.raises(LinkError, match=r"did not answer|cannot be reached"):
        run(impostor.url, replace(OPTIONS, timeout_s=0.3, patience_s=0.5), [0])


@pytest.mark.parametrize("code", ["BUSY", "LIMIT"])
def test_patience_ends(impostor: Impostor, run: Any, code: str) -> None:
    times: list[bytes] = []

    def query(data: bytes) -> Any:
        times.append(data)
        return {"error": code, "text": "later", "retry_after_ms": 20}

    impostor.answers["query"] = query
    with pytest.raises(RemoteError, match=f"{code}: later"):
        run(impostor.url, replace(OPTIONS, patience_s=0.4), [0])
    assert 2 <= len(times) < 30
    assert len(set(times)) == 1, "the same bytes each time"


def test_a_lost_session_is_told(impostor: Impostor, run: Any) -> None:
    impostor.answers["query"] = lambda _: HANG_UP
    impostor.answers["resume"] = lambda _: {"error": "UNKNOWN_SESSION", "text": "gone"}
    with pytest.raises(StateError, match="lost this session"):
        run(impostor.url, OPTIONS, [0])


def test_hanging_up_is_survived(impostor: Impostor, run: Any) -> None:
    calls: list[bytes] = []

    def query(data: bytes) -> Any:
        calls.append(data)
        return impostor.query(data) if len(calls) % 2 == 0 else HANG_UP

    impostor.answers["query"] = query
    assert [m[-1] for m in run(impostor.url, OPTIONS, [1, 0])] == [2, 1]
    assert calls[0] == calls[1]
    assert calls[2] == calls[3]


def listener(conduct: Callable[[socket.socket], None]) -> tuple[str, socket.socket]:
    """A TCP server that treats each connection as `conduct` does."""
    server = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=conduct, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return f"http://127.0.0.1:{server.getsockname()[1]}", server


def say_nothing(connection: socket.socket) -> None:
    while connection.recv(4096):
        pass


def say_noise(connection: socket.socket) -> None:
    connection.sendall(os.urandom(4096))
    connection.close()


def say_404(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
    connection.close()


@pytest.mark.parametrize("conduct", [say_nothing, say_noise, say_404])
def test_no_server_at_all(run: Any, conduct: Any) -> None:
    url, server = listener(conduct)
    try:
        with pytest.raises(LinkError, match="cannot be reached"):
            run(url, replace(OPTIONS, timeout_s=0.5), [0])
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
    with pytest.raises(LinkError, match="cannot be reached"):
        run(url, OPTIONS, [0])


def test_errors_are_of_one_family() -> None:
    assert issubclass(LinkError, Iot2Error)
    assert issubclass(RemoteError, Iot2Error)
    assert issubclass(KeyMismatch, ProofError)
