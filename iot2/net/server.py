"""The server on Socket.IO: connections in, acknowledgements out, time limits kept.

Everything that an event means is in `iot2.net.desk`; here are the connections
themselves, and what a client may cost before it has said anything sensible.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from typing import Any, Final
from urllib.parse import urlsplit

import socketio

from iot2.errors import Iot2Error, MessageError, StateError
from iot2.net import events as ev
from iot2.net.catalogue import Catalogue
from iot2.net.desk import Desk
from iot2.net.events import Code, Refusal
from iot2.net.keyring import Keyring
from iot2.net.limits import Limits
from iot2.net.log import Log, library_logger, sid_prefix
from iot2.net.outbox import Outbox
from iot2.net.packets import BROKEN, FOREIGN, TOO_LARGE, packet_class
from iot2.net.pool import Pool
from iot2.net.registry import Connection, Registry
from iot2.net.store import Store, StoreError
from iot2.net.tables import open_sessions, session_keys, spent_items
from iot2.net.transfers import Transfers

_SWEEP_S: Final = 0.5
_STALL_PROBE_S: Final = 0.02
_FLUSH_S: Final = 2.0
_RETRY_MS: Final = 1000
_OUTBOX_RETRY_MS: Final = 100
_TURN: Final = 32
"""Frames of one connection that are read before others have a turn."""

_ENGINE_FRAME = re.compile(r"(?:1|2probe|3(?:probe)?|4[0-6].*|5|6)\Z", re.DOTALL)
"""Text frames of a client: close, probe, pong, message, upgrade, noop."""

PING_TIMEOUT_S: Final = 120.0
"""Pings wait behind what is being sent: a large frame takes a slow link so long."""

BUFFER_FACTOR: Final = 2
"""The library's own buffer is this many frames: what lies between gets a code, not silence."""


class Server:
    """One server's connections, and the parts that answer them.

    Made by `Server.start` inside the event loop, ended by `stop`.

    Attributes:
        app: the ASGI application.
        stall_s: the longest time that the event loop was late.
    """

    def __init__(
        self,
        limits: Limits,
        variants: tuple[str, ...],
        keyring: Keyring,
        catalogue: Catalogue,
        registry: Registry,
        pool: Pool,
        store: Store,
        log: Log,
    ) -> None:
        self.limits = limits
        self.pool = pool
        self.store = store
        self.stall_s = 0.0
        self._keyring = keyring
        self._registry = registry
        self._log = log
        self.transfers = Transfers(limits, catalogue, pool, store, log)
        self._desk = Desk(
            limits, variants, keyring, catalogue, registry, self.transfers, store, log
        )
        self._stopping = False
        self._active = 0
        self._tasks: set[asyncio.Task[None]] = set()
        logger = library_logger("socketio", log)
        self._io = socketio.AsyncServer(
            async_mode="asgi",
            serializer=packet_class(limits.frame_bytes),
            max_http_buffer_size=BUFFER_FACTOR * limits.frame_bytes,
            http_compression=False,
            ping_timeout=PING_TIMEOUT_S,
            cors_allowed_origins=_same_host,
            logger=logger,
            engineio_logger=logger,
        )
        self._io.eio.create_queue = Outbox
        self._io.on("connect", self._connect)
        self._io.on("disconnect", self._disconnect)
        self._io.on("*", self._event)
        self.app = _guarded(socketio.ASGIApp(self._io))

    @classmethod
    async def start(
        cls,
        keyring: Keyring,
        catalogue: Catalogue,
        store: Store,
        *,
        variants: tuple[str, ...] = ev.VARIANT_NAMES,
        limits: Limits | None = None,
        workers: int = 1,
        log: Log | None = None,
    ) -> Server:
        """Read the state, start the workers, and be ready for connections.

        Args:
            keyring: the server's keys.
            catalogue: what it transfers; its spent items are read from the state.
            store: the state, which the server closes in the end.
            variants: `compact`, `six` or both.
            limits: the defaults if None.
            workers: threads that compute.
            log: of the server.

        Raises:
            StoreError: the state cannot be read.
            ParameterError: no such number of workers.
        """
        limits = limits or Limits()
        log = log or Log()
        loop = asyncio.get_running_loop()
        pool = Pool(workers, limits.queue, loop)
        catalogue.spent |= await store.submit(spent_items)
        registry = Registry(limits, await store.submit(open_sessions))
        server = cls(limits, variants, keyring, catalogue, registry, pool, store, log)
        keys = await store.submit(session_keys)
        if lost := sum(count for fingerprint, count in keys if not keyring.find(fingerprint)):
            text = f"{lost} open sessions of the state are of another key, and are lost without it"
            log.warning("state", text=text)
        server._spawn(server._sweep())
        server._spawn(server._probe())
        return server

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, sid: str, environ: dict[str, Any], auth: object = None) -> None:
        client = environ["asgi.scope"].get("client")
        address = client[0] if client else "local"
        try:
            if self._stopping:
                raise Refusal(Code.BUSY, "the server is stopping", retry_after_ms=_RETRY_MS)
            self._registry.connect(sid, address)
        except Refusal as refusal:
            self._log.warning("refused", peer=address, code=refusal.code, text=refusal.text)
            # Socket.IO carries the arguments to the client: a text and our answer.
            raise socketio.exceptions.ConnectionRefusedError(
                str(refusal), refusal.to_wire()
            ) from None
        self._log.debug("connect", peer=address)

    async def _disconnect(self, sid: str, reason: object = None) -> None:
        connection = self._registry.disconnect(sid)
        if connection is not None:
            self._log.debug("disconnect", peer=connection.peer.address)

    async def _event(self, event: str, sid: str, *arguments: Any) -> dict[str, Any] | bytes:
        """Answer one event; the return value is its acknowledgement."""
        connection = self._registry.connections.get(sid)
        if connection is None or connection.ending:
            return Refusal(Code.STATE, "the connection has ended").to_wire()
        connection.heard = time.monotonic()
        self._active += 1
        connection.in_flight += 1
        try:
            return await self._answer(connection, event, arguments)
        except Refusal as refusal:
            return self._refuse(connection, event, refusal)
        except MessageError as error:
            return self._refuse(connection, event, Refusal(Code.MALFORMED, str(error)))
        except StateError as error:
            return self._refuse(connection, event, Refusal(Code.STATE, str(error)))
        except StoreError as error:
            self._log.error("state", text=str(error))
            text = "the server cannot write its state"
            failed = Refusal(Code.INTERNAL, text, retry_after_ms=_RETRY_MS)
            return self._refuse(connection, event, failed)
        except Exception as error:
            # Only the kind: what an error of the program says may hold anything.
            self._log.error("failure", what=type(error).__name__, text=event)
            return self._refuse(connection, event, Refusal(Code.INTERNAL, "internal error"))
        finally:
            self._active -= 1
            connection.in_flight -= 1
            connection.heard = time.monotonic()

    async def _answer(
        self, connection: Connection, event: str, arguments: tuple[Any, ...]
    ) -> dict[str, Any] | bytes:
        limits = self.limits
        if event == FOREIGN:
            raise Refusal(Code.MALFORMED, "no frame of a client's", fatal=True)
        self._check_outbox(connection)
        if event in (TOO_LARGE, BROKEN):
            self._desk.check_rate(connection)
            if event == TOO_LARGE:
                raise Refusal(Code.LIMIT, f"frame_bytes: at most {limits.frame_bytes}")
            raise Refusal(Code.MALFORMED, "expected one of the events with at most one argument")
        if self._stopping:
            raise Refusal(Code.BUSY, "the server is stopping", retry_after_ms=_RETRY_MS)
        if connection.in_flight > limits.in_flight:
            raise Refusal(Code.BUSY, f"in_flight: at most {limits.in_flight}", retry_after_ms=50)
        argument = arguments[0] if arguments else None
        if not self._log.debugging:
            answer: dict[str, Any] | bytes = await self._desk.handlers[event](connection, argument)
            return answer
        start = time.perf_counter()
        answer = await self._desk.handlers[event](connection, argument)
        ms = round((time.perf_counter() - start) * 1000, 3)
        if isinstance(argument, bytes) and event == ev.QUERY:
            index = int.from_bytes(argument[18:26])
            self._log.debug(event, sid=sid_prefix(argument[2:18]), index=index, code="OK", ms=ms)
        else:
            self._log.debug(event, code="OK", ms=ms)
        return answer

    def _refuse(self, connection: Connection, event: str, refusal: Refusal) -> dict[str, Any]:
        self._log.info(
            "refused", what=event, code=refusal.code, text=refusal.text,
            peer=connection.peer.address,
        )  # fmt: skip
        if refusal.fatal and not connection.ending:
            connection.ending = True
            self._spawn(self._end(connection, refusal.code))
        return refusal.to_wire()

    def _check_outbox(self, connection: Connection) -> None:
        """Make a client read before it asks for more; give up on one that asks and does not read.

        Bytes only make it wait: 32 long answers at once may be more than a slow
        link has taken yet. Answers to those that wait are short, and many of
        them unread are no honest client's.
        """
        engine_sid = self._io.manager.eio_sid_from_sid(connection.id, "/")
        socket = self._io.eio.sockets.get(engine_sid)
        if socket is None or socket.queue.empty():
            return
        outbox, limits = socket.queue, self.limits
        waiting = outbox.qsize()
        if waiting > limits.outbox:
            text = f"outbox: at most {limits.outbox} frames may be unread, {waiting} are"
            raise Refusal(Code.LIMIT, text, fatal=True)
        if outbox.size > limits.outbox_bytes:
            text = f"outbox_bytes: at most {limits.outbox_bytes} may be unread, {outbox.size} are"
            raise Refusal(Code.BUSY, text, retry_after_ms=_OUTBOX_RETRY_MS)

    async def _end(self, connection: Connection, code: Code) -> None:
        """Say `closing`, and close the connection."""
        engine_sid = self._io.manager.eio_sid_from_sid(connection.id, "/")
        await self._io.emit(ev.CLOSING, str(code), to=connection.id)
        await self._io.disconnect(connection.id)
        if engine_sid is not None:
            await self._close_engine(engine_sid)

    async def _close_engine(self, engine_sid: str) -> None:
        socket = self._io.eio.sockets.get(engine_sid)
        if socket is None:
            return
        with contextlib.suppress(TimeoutError):
            # A client that reads nothing would keep this waiting.
            await asyncio.wait_for(self._io.eio.disconnect(engine_sid), _FLUSH_S)
        # The library leaves it to the client to hang up. This ends the writing
        # loop, which closes the WebSocket.
        await socket.queue.put(None)
        self._io.eio.sockets.pop(engine_sid, None)

    async def _sweep(self) -> None:
        """Keep the time limits, on a clock that nobody sets."""
        strangers: dict[str, float] = {}
        while True:
            await asyncio.sleep(_SWEEP_S)
            for connection, limit in self._registry.overdue():
                self._log.info("overdue", peer=connection.peer.address, limit=limit)
                connection.ending = True
                self._spawn(self._end(connection, Code.LIMIT))
            strangers = self._strangers(strangers)
            for sid, number in self._registry.expired():
                # Each end waits for the state: a client may be back meanwhile.
                if not self._registry.still_expired(sid):
                    continue
                try:
                    await self._desk.end_session(sid, number)
                except Iot2Error as error:
                    self._log.error("state", text=str(error))

    def _strangers(self, before: dict[str, float]) -> dict[str, float]:
        """Transports without a Socket.IO connection, and since when; close the overdue ones."""
        now, manager = time.monotonic(), self._io.manager
        found = {
            engine_sid: before.get(engine_sid, now)
            for engine_sid in list(self._io.eio.sockets)
            if manager.sid_from_eio_sid(engine_sid, "/") is None
        }
        for engine_sid, since in list(found.items()):
            if now - since > self.limits.handshake_s:
                del found[engine_sid]
                self._spawn(self._close_engine(engine_sid))
        return found

    async def _probe(self) -> None:
        """Measure how late the event loop is."""
        while True:
            before = time.monotonic()
            await asyncio.sleep(_STALL_PROBE_S)
            late = time.monotonic() - before - _STALL_PROBE_S
            self.stall_s = max(self.stall_s, late)

    async def stop(self) -> None:
        """Refuse what comes, finish what is in flight, say goodbye, close the state."""
        self._stopping = True
        while self._active:
            await asyncio.sleep(0.01)
        for connection in list(self._registry.connections.values()):
            await self._io.emit(ev.CLOSING, str(Code.BUSY), to=connection.id)
        deadline = time.monotonic() + _FLUSH_S
        while time.monotonic() < deadline and any(
            not socket.queue.empty() for socket in self._io.eio.sockets.values()
        ):
            await asyncio.sleep(0.01)
        await self._io.shutdown()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._keyring.close()
        await self.pool.close()
        await self.store.close()


def _same_host(origin: str | None, environ: dict[str, Any]) -> bool:
    """Whether a browser's page is of this server: pages of others must not use it.

    The library compares the scheme as well, and takes every server for plain.
    """
    try:
        return urlsplit(origin or "").netloc == environ.get("HTTP_HOST")
    except ValueError:
        return False


def _guarded(app: Any) -> Any:
    """The application, never handed a text frame that its library does not survive.

    python-engineio lets what it cannot parse escape from its reading loop, and
    then forgets to end the connection. Nor does that loop let others in while
    frames wait: a flood of them would be read to its end.
    """

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        received = 0

        async def checked() -> Any:
            nonlocal received
            received += 1
            if not received % _TURN:
                await asyncio.sleep(0)
            event = await receive()
            text = event.get("text") if event["type"] == "websocket.receive" else None
            if text is not None and not _ENGINE_FRAME.match(text):
                return {"type": "websocket.disconnect", "code": 1008}
            return event

        await app(scope, checked if scope["type"] == "websocket" else receive, send)

    return guarded
