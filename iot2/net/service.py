"""A server as a process: the socket, TLS, uvicorn, signals, and a last line of figures."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

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
from iot2.net.server import BUFFER_FACTOR, Server

_LINGER_S: Final = 1.0
_TOO_LARGE: Final = Frame(Opcode.TEXT, f'42["{CLOSING}","{Code.LIMIT}"]'.encode()).serialize(
    mask=False
)
"""`closing` (LIMIT) as Socket.IO frames it: the library is not asked any more by then."""


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

        def pause_writing(self) -> None:
            super().pause_writing()
            self.stalled = self.loop.call_later(limits.stalled_s, self.transport.abort)

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


def _listen(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address.host.strip("[]"), address.port))
    except (OSError, OverflowError) as error:
        listener.close()
        came = getattr(error, "strerror", None) or error
        raise DataError(
            f"expected to listen on {address.host}, port {address.port}, came: {came}"
        ) from error
    return listener


def _configuration(server: Server, address: Address) -> uvicorn.Config:
    http, websocket = _protocols(server.limits)
    try:
        config = uvicorn.Config(
            server.app,
            http=http,
            ws=websocket,
            ws_max_size=BUFFER_FACTOR * server.limits.frame_bytes,
            ws_per_message_deflate=False,
            ws_ping_interval=server.limits.stalled_s,
            ws_ping_timeout=server.limits.stalled_s,
            limit_concurrency=2 * server.limits.connections,
            timeout_graceful_shutdown=5,
            lifespan="off",
            log_config=None,
            access_log=False,
            # A client must not name its own address.
            proxy_headers=False,
            server_header=False,
            ssl_certfile=address.tls_cert,
            ssl_keyfile=address.tls_key,
        )
        config.load()
    except (OSError, ssl.SSLError) as error:
        raise DataError(
            f"expected a certificate and its key for TLS in {address.tls_cert} and"
            f" {address.tls_key}, came: {type(error).__name__}"
        ) from error
    return config


def _quiet_uvicorn(log: Log) -> None:
    handler = library_logger("uvicorn", log).handlers[0]
    for name in ("uvicorn.error", "uvicorn.access", "uvicorn", "websockets"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(logging.ERROR)
        logger.propagate = False


async def serve(
    make: Callable[[], Any], address: Address, log: Log, announce: Callable[[Ready], None]
) -> None:
    """Serve until SIGINT or SIGTERM; a second one does not wait for what is in flight.

    Args:
        make: a coroutine function that gives the `Server`.
        address: where to listen.
        log: of the server.
        announce: called once, when clients can connect.

    Raises:
        DataError: the address, the certificate or the state cannot be used.
    """
    address.check()
    listener = _listen(address)
    server: Server = await make()
    config = _configuration(server, address)
    _quiet_uvicorn(log)
    web = _Uvicorn(config)
    loop = asyncio.get_running_loop()
    asked = asyncio.Event()

    def ask() -> None:
        if asked.is_set():
            web.force_exit = web.should_exit = True
        asked.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ask)
    serving = loop.create_task(web.serve(sockets=[listener]))
    try:
        while not web.started and not serving.done():
            await asyncio.sleep(0.01)
        if not serving.done():
            host = f"[{address.host}]" if ":" in address.host else address.host
            port = listener.getsockname()[1]
            announce(Ready(f"{address.scheme}://{host}:{port}", server))
        waiting = loop.create_task(asked.wait())
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        for listening in web.servers:
            listening.close()
        await server.stop()
        web.should_exit = True
        await serving
    finally:
        _report(server, log)
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


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


def run(main: Any) -> None:
    """Run a coroutine to its end, on uvloop where it is installed."""
    try:
        import uvloop
    except ImportError:
        asyncio.run(main)
        return
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main)
