"""A server as a process: the socket, TLS, uvicorn, signals, and a last line of figures."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import signal
import socket
import ssl
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import PayloadTooBig
from websockets.frames import Frame, Opcode

from iot2.errors import DataError
from iot2.net.addresses import Address
from iot2.net.events import CLOSING, Code
from iot2.net.limits import Limits
from iot2.net.log import Log, library_logger
from iot2.net.server import BUFFER_FACTOR, PING_TIMEOUT_S, Server

T = TypeVar("T")

_PIECE_BYTES: Final = 1 << 13
_LINGER_S: Final = 1.0
_TOO_LARGE: Final = Frame(Opcode.TEXT, f'42["{CLOSING}","{Code.LIMIT}"]'.encode()).serialize(
    mask=False
)
"""`closing` (LIMIT) as Socket.IO frames it: the library is not asked any more by then."""


@dataclass(frozen=True, slots=True)
class Listener:
    """A socket that is bound, and what connections to it are wrapped in."""

    socket: socket.socket = field(repr=False)
    tls: ssl.SSLContext | None = field(repr=False)
    host: str

    @property
    def url(self) -> str:
        """Where clients find it."""
        scheme = "http" if self.tls is None else "https"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.socket.getsockname()[1]}"


@dataclass(frozen=True, slots=True)
class Ready:
    """What a server that listens can say of itself."""

    url: str
    server: Server = field(repr=False)


def _protocols(limits: Limits) -> tuple[type[asyncio.Protocol], type[asyncio.Protocol]]:
    """uvicorn's protocols, which give up on requests that do not come and on deaf clients."""

    class PatientHttp(HttpToolsProtocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.loop.call_later(limits.handshake_s, self._watch)

        def _watch(self) -> None:
            transport = self.transport
            if transport.is_closing() or transport.get_protocol() is not self:
                return
            if self.cycle is None or self.cycle.response_complete:
                transport.abort()
            else:
                self.loop.call_later(limits.handshake_s, self._watch)

    class PatientWebSocket(WebSocketsSansIOProtocol):
        stalled: asyncio.TimerHandle | None = None
        failed = False

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.close_timeout = limits.stalled_s  # for a client that does not hang up
            self.pieces: deque[bytes] = deque()
            self.loop.call_later(limits.handshake_s, self._expect_handshake)

        def _expect_handshake(self) -> None:
            if not self.handshake_complete:
                self.transport.abort()

        async def receive(self) -> Any:
            message = await self.queue.get()
            if self.read_paused and self.queue.empty():
                self.read_paused = False
                if not self.pieces:  # else what came is parsed first
                    self.transport.resume_reading()
            return message

        def data_received(self, data: bytes) -> None:
            """Parse a little at a time: one reading of the socket may hold very many frames."""
            if len(data) <= _PIECE_BYTES and not self.pieces:
                super().data_received(data)
                return
            begun = bool(self.pieces)
            self.pieces.extend(
                data[k : k + _PIECE_BYTES] for k in range(0, len(data), _PIECE_BYTES)
            )
            self.transport.pause_reading()
            if not begun:
                self._take_piece()

        def _take_piece(self) -> None:
            if self.transport.is_closing():
                self.pieces.clear()
                return
            super().data_received(self.pieces[0])
            self.pieces.popleft()
            if self.pieces:
                self.loop.call_soon(self._take_piece)
            elif not (self.read_paused or self.transport.is_closing()):
                self.transport.resume_reading()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._expect_progress(self.transport.get_write_buffer_size())

        def _expect_progress(self, waiting: int) -> None:
            """Give a client up that reads nothing at all; one on a slow link goes on reading."""

            def check() -> None:
                now = self.transport.get_write_buffer_size()
                if now < waiting:
                    self._expect_progress(now)
                else:
                    self.transport.abort()

            self.stalled = self.loop.call_later(limits.stalled_s, check)

        def resume_writing(self) -> None:
            super().resume_writing()
            self._relax()

        def connection_lost(self, exc: Exception | None) -> None:
            self._relax()
            super().connection_lost(exc)

        def handle_parser_exception(self) -> None:
            """Say which limit a frame crosses; what still comes of it is thrown away for a while.

            Closed at once, the connection would be reset under a client that
            goes on sending, and the reason would be lost with it.
            """
            if self.failed:
                return
            self.failed = True
            close = self.conn.close_sent
            if not (
                self.handshake_complete
                and close
                and isinstance(self.conn.parser_exc, PayloadTooBig)
            ):
                super().handle_parser_exception()
                return
            told = {"type": "websocket.disconnect", "code": close.code, "reason": close.reason}
            self.queue.put_nowait(told)  # type: ignore[arg-type]
            self.transport.write(_TOO_LARGE + b"".join(self.conn.data_to_send()))
            self.close_sent = True
            self.close_timer = self.loop.call_later(_LINGER_S, self.transport.close)

        def _relax(self) -> None:
            if self.stalled is not None:
                self.stalled.cancel()
                self.stalled = None

    return PatientHttp, PatientWebSocket


class _Uvicorn(uvicorn.Server):
    """uvicorn without signal handlers of its own: ours finish what is in flight first."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.contextmanager
def listen(address: Address) -> Iterator[Listener]:
    """Check an address, read its certificate and bind its socket, for the length of a block.

    Raises:
        ParameterError: others than this machine could reach it, without TLS.
        DataError: the address or the certificate cannot be used.
    """
    address.check()
    tls = address.tls()
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address.host.strip("[]"), address.port))
        except (OSError, OverflowError) as error:
            came = getattr(error, "strerror", None) or error
            raise DataError(
                f"expected to listen on {address.host}, port {address.port}, came: {came}"
            ) from error
        yield Listener(listener, tls, address.host)


def _configuration(server: Server, tls: ssl.SSLContext | None) -> uvicorn.Config:
    http, websocket = _protocols(server.limits)
    return uvicorn.Config(
        server.app,
        http=http,
        ws=websocket,
        ws_max_size=BUFFER_FACTOR * server.limits.frame_bytes,
        ws_per_message_deflate=False,
        ws_ping_interval=server.limits.stalled_s,
        ws_ping_timeout=max(server.limits.stalled_s, PING_TIMEOUT_S),
        limit_concurrency=2 * server.limits.connections,
        timeout_graceful_shutdown=5,
        lifespan="off",
        log_config=None,
        access_log=False,
        # A client must not name its own address.
        proxy_headers=False,
        server_header=False,
        ssl_context_factory=None if tls is None else lambda *_: tls,
    )


def _quiet_uvicorn(log: Log) -> None:
    handler = library_logger("uvicorn", log).handlers[0]
    for name in ("uvicorn.error", "uvicorn.access", "uvicorn", "websockets"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(logging.ERROR)
        logger.propagate = False


class _Signals:
    """SIGINT and SIGTERM while a block runs: that the first one came, and that another did."""

    def __init__(self) -> None:
        self.first = asyncio.Event()
        self.second = asyncio.Event()

    def __enter__(self) -> _Signals:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self._came)
        return self

    def __exit__(self, *_: object) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().remove_signal_handler(number)

    def _came(self) -> None:
        (self.second if self.first.is_set() else self.first).set()


async def _unless(event: asyncio.Event, work: Coroutine[Any, Any, T]) -> tuple[bool, T | None]:
    """Do some work unless an event comes, which cancels it: whether it ended, and its result."""
    task = asyncio.create_task(work)
    waiting = asyncio.create_task(event.wait())
    await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if not task.done():
        task.cancel()
        await asyncio.wait({task})
    if task.cancelled():
        return False, None
    return True, task.result()


async def serve(
    make: Callable[[], Coroutine[Any, Any, Server]],
    listener: Listener,
    log: Log,
    announce: Callable[[Ready], None],
) -> bool:
    """Serve until SIGINT or SIGTERM; a second one does not wait for what is in flight.

    While the server is being made the first one cancels that.

    Args:
        make: a coroutine function that gives the `Server`.
        listener: where to listen.
        log: of the server.
        announce: called once, when clients can connect.

    Returns:
        Whether nothing was left in flight.

    Raises:
        DataError: the state cannot be used.
    """
    with _Signals() as signals:
        _, server = await _unless(signals.first, make())
        if server is None:
            return True
        try:
            finished = await _serve(server, listener, signals, log, announce)
        finally:
            _report(server, log)
        if not finished:
            await _cancel_others()
    return finished


async def _cancel_others() -> None:
    """Cancel what still runs: a key that is being made leaves no process and no file."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


async def _serve(
    server: Server,
    listener: Listener,
    signals: _Signals,
    log: Log,
    announce: Callable[[Ready], None],
) -> bool:
    _quiet_uvicorn(log)
    web = _Uvicorn(_configuration(server, listener.tls))
    serving = asyncio.create_task(web.serve(sockets=[listener.socket]))
    while not web.started and not serving.done():
        await asyncio.sleep(0.01)
    if not serving.done():
        announce(Ready(listener.url, server))
    waiting = asyncio.create_task(signals.first.wait())
    await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    for listening in web.servers:
        listening.close()
    finished, _ = await _unless(signals.second, server.stop())
    web.should_exit = True
    web.force_exit = not finished
    await serving
    return finished


def _report(server: Server, log: Log) -> None:
    """One line of figures: what was done, and what it cost."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    costs, pool = server.store.costs, server.pool
    log.info(
        "stopped",
        transfers=server.transfers.answered,
        cpu_s=round(used.ru_utime + used.ru_stime, 4),
        compute_us=round(pool.compute_ns / 1e3 / max(1, pool.computed), 1),
        commits=costs.commits,
        operations=costs.operations,
        commit_cpu_us=round(costs.cpu_ns / 1e3 / max(1, costs.commits), 1),
        commit_ms=round(costs.wall_ns / 1e6 / max(1, costs.commits), 3),
        slowest_commit_ms=round(costs.slowest_ns / 1e6, 3),
        stall_ms=round(server.stall_s * 1000, 1),
        memory_bytes=used.ru_maxrss * 1024,
    )


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, on uvloop where it is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)
