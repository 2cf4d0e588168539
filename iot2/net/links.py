"""The connections under the two clients: python-socketio, made to fail at once.

The library's own `call` goes on waiting after the connection is gone, and its
reconnection knows nothing of sessions. So a link here is one connection: an
event asked over it ends with its acknowledgement or with `LinkError`, and the
client makes a new link when it wants one. Transport: WebSocket alone.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import queue
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import engineio
import socketio

from iot2.errors import DataError, MessageError, ParameterError
from iot2.net.addresses import is_loopback
from iot2.net.errors import LinkError, RemoteError
from iot2.net.events import CLOSING, Refusal, printable
from iot2.net.log import library_logger
from iot2.net.packets import ServersPacket

MOST_BYTES: Final = 64 << 20
"""A frame of the server's may have this many bytes: what a client keeps in memory at most."""

_JOIN_S: Final = 5.0

Observer = Callable[[str, Any], None]
"""Called with "up" or "down" and each frame, text or bytes."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a server is, and how its certificate is checked.

    Args:
        url: http://... on this machine, else https://...
        ca_file: certificates to trust instead of the system's.
        insecure_plain: allow http:// to other machines.

    Raises:
        ParameterError: no such address, or plain where TLS is needed.
    """

    url: str
    ca_file: Path | None = None
    insecure_plain: bool = False

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            host, port = parts.hostname, parts.port
        except ValueError:  # a port above 65535, say
            host, port = None, None
        if not host or port == 0 or parts.scheme not in ("http", "https"):
            raise ParameterError(f"a server is http(s)://host:port, got {self.url!r:.100}")
        if parts.scheme == "http":
            if self.ca_file is not None:
                raise ParameterError("certificates are checked under https:// alone")
            if not self.insecure_plain and not is_loopback(host):
                raise ParameterError(
                    f"without TLS only this machine is asked, got {host!r:.100}: https:// (--tls),"
                    " or insecure_plain=True (--insecure-plain), asks others"
                )

    @property
    def name(self) -> str:
        """host:port, as known keys call the server."""
        parts = urlsplit(self.url)
        return f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"

    def context(self) -> ssl.SSLContext | None:
        """What checks the certificate, None for a plain connection."""
        if urlsplit(self.url).scheme == "http":
            return None
        if self.ca_file is not None:
            self.ca_file.open("rb").close()  # the TLS library's error would not name it
        try:
            return ssl.create_default_context(
                cafile=None if self.ca_file is None else str(self.ca_file)
            )
        except (OSError, ssl.SSLError) as error:
            raise DataError(
                f"{self.ca_file}: expected certificates in PEM, came {type(error).__name__}"
            ) from error


def _reason(error: BaseException) -> str:
    """The deepest cause that says something: the library hides it behind its own."""
    while (deeper := error.__cause__ or error.__context__) is not None:
        error = deeper
    return printable(str(error) or type(error).__name__)


def _refused(data: object) -> RemoteError | None:
    """The server's code in a refused connection, if it gave one."""
    inner = data.get("data") if isinstance(data, dict) else None
    try:
        refusal = Refusal.from_wire(inner)
    except MessageError:
        return None
    return None if refusal is None else RemoteError(refusal)


class _Packets(queue.SimpleQueue[Any]):
    """What waits to be sent. Ctrl-C at the wrong moment would leave `queue.Queue` locked."""

    def task_done(self) -> None:
        """The library counts; nobody waits for the count."""


class _SyncEngine(engineio.Client):  # type: ignore[misc]
    """The sync transport with its messages handled in order.

    The library starts a thread for each frame, so that an attachment may
    overtake its event. Our handlers only hand a result over: no thread needed.
    """

    observer: Observer | None = None

    def create_queue(self, *args: Any, **kwargs: Any) -> _Packets:
        return _Packets()

    def _trigger_event(self, event: str, *args: Any, **kwargs: Any) -> Any:
        kwargs["run_async"] = False
        return super()._trigger_event(event, *args, **kwargs)

    def disconnect(self, abort: bool = False, reason: Any = None) -> None:
        # The library's writing loop may miss the end of the connection and then
        # sleeps for half a minute, while its reading loop waits for it: wake it.
        super().disconnect(abort=True, reason=reason)
        self.queue.put(None)
        reader = self.read_loop_task
        if not abort and reader is not None and reader is not threading.current_thread():
            reader.join(_JOIN_S)

    def _send_packet(self, pkt: Any) -> None:
        if self.observer is not None:
            self.observer("up", pkt.encode())
        super()._send_packet(pkt)

    def _receive_packet(self, pkt: Any) -> None:
        if self.observer is not None:
            self.observer("down", pkt.encode())
        super()._receive_packet(pkt)


class _SyncSocketIO(socketio.Client):  # type: ignore[misc]
    def _engineio_client_class(self) -> type[_SyncEngine]:
        return _SyncEngine

    def _handle_eio_message(self, data: Any) -> None:
        try:
            super()._handle_eio_message(data)
        except Exception:
            # What comes after a frame that does not parse cannot be trusted to be in step.
            self.eio.disconnect(abort=True)


class _AsyncEngine(engineio.AsyncClient):  # type: ignore[misc]
    observer: Observer | None = None

    async def _send_packet(self, pkt: Any) -> None:
        if self.observer is not None:
            self.observer("up", pkt.encode())
        await super()._send_packet(pkt)

    async def _receive_packet(self, pkt: Any) -> None:
        if self.observer is not None:
            self.observer("down", pkt.encode())
        await super()._receive_packet(pkt)


class _AsyncSocketIO(socketio.AsyncClient):  # type: ignore[misc]
    def _engineio_client_class(self) -> type[_AsyncEngine]:
        return _AsyncEngine

    async def _handle_eio_message(self, data: Any) -> None:
        try:
            await super()._handle_eio_message(data)
        except Exception:
            await self.eio.disconnect(abort=True)


def _settings() -> dict[str, Any]:
    logger = library_logger("client")
    return {
        "reconnection": False,
        "serializer": ServersPacket,
        "handle_sigint": False,
        "logger": logger,
        "engineio_logger": logger,
    }


class SyncLink:
    """One connection of a sync client; made connected.

    Args:
        endpoint: the server.
        epoch: the number of this connection, which its errors carry.
        timeout_s: seconds for connecting.
        observer: sees every frame.

    Raises:
        LinkError: the server cannot be reached.
        RemoteError: it refuses the connection with a code.
    """

    def __init__(
        self, endpoint: Endpoint, epoch: int, timeout_s: float, observer: Observer | None
    ) -> None:
        self.epoch = epoch
        self._ended = "the connection ended"
        self._waiting: set[concurrent.futures.Future[Any]] = set()
        self._lock = threading.Lock()
        self._refusal: RemoteError | None = None
        options: dict[str, Any] = {}
        context = endpoint.context()
        if context is not None:
            options["sslopt"] = {"context": context}
        self._io = _SyncSocketIO(
            request_timeout=timeout_s, websocket_extra_options=options, **_settings()
        )
        self._io.eio.observer = observer
        self._io.on("disconnect", self._lost)
        self._io.on("connect_error", self._not_connected)
        self._io.on(CLOSING, self._closing)
        try:
            self._io.connect(endpoint.url, transports=["websocket"], wait_timeout=timeout_s)
        except Exception as error:
            self.close()
            raise self._refusal or LinkError(
                f"{endpoint.url} cannot be reached: {_reason(error)}", epoch
            ) from error
        except BaseException:
            self.close()
            raise

    def _not_connected(self, data: object = None) -> None:
        self._refusal = _refused(data)

    def _closing(self, code: object = None) -> None:
        self._ended = f"the server closes the connection ({printable(str(code), 40)})"

    def _lost(self, reason: object = None) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, set()
        for future in waiting:
            with contextlib.suppress(concurrent.futures.InvalidStateError):
                future.set_exception(LinkError(self._ended, self.epoch))

    def ask(self, event: str, data: Any, timeout_s: float) -> Any:
        """Emit an event and wait for its acknowledgement.

        Raises:
            LinkError: the connection ended, or nothing came in time.
        """
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()

        def acknowledge(*answer: Any) -> None:
            with contextlib.suppress(concurrent.futures.InvalidStateError):
                future.set_result(answer[0] if len(answer) == 1 else None)

        with self._lock:
            # One event at a time: an attachment must follow its own event.
            if not self._io.connected:
                raise LinkError(self._ended, self.epoch)
            self._waiting.add(future)
            self._io.emit(event, data, callback=acknowledge)
        if not self._io.connected:
            self._lost()
        try:
            return future.result(timeout_s)
        except concurrent.futures.TimeoutError:
            self.close()
            text = f"the server did not answer {event} within {timeout_s:g} s"
            raise LinkError(text, self.epoch) from None
        finally:
            with self._lock:
                self._waiting.discard(future)

    def close(self) -> None:
        """End the connection, whatever state it is in."""
        with contextlib.suppress(Exception):
            self._io.disconnect()


class AsyncLink:
    """One connection of an async client; see `SyncLink`. Made by `connect`."""

    def __init__(self, endpoint: Endpoint, epoch: int, observer: Observer | None) -> None:
        self.epoch = epoch
        self._endpoint = endpoint
        self._ended = "the connection ended"
        self._waiting: set[asyncio.Future[Any]] = set()
        self._refusal: RemoteError | None = None
        options: dict[str, Any] = {"max_msg_size": MOST_BYTES}
        context = endpoint.context()
        if context is not None:
            options["ssl"] = context
        self._io = _AsyncSocketIO(websocket_extra_options=options, **_settings())
        self._io.eio.observer = observer
        self._io.on("disconnect", self._lost)
        self._io.on("connect_error", self._not_connected)
        self._io.on(CLOSING, self._closing)

    @classmethod
    async def connect(
        cls, endpoint: Endpoint, epoch: int, timeout_s: float, observer: Observer | None
    ) -> AsyncLink:
        """A connected link.

        Raises:
            LinkError: the server cannot be reached.
            RemoteError: it refuses the connection with a code.
        """
        link = cls(endpoint, epoch, observer)
        try:
            await asyncio.wait_for(
                link._io.connect(endpoint.url, transports=["websocket"], wait_timeout=timeout_s),
                timeout_s + 1,
            )
        except Exception as error:
            await link.close()
            raise link._refusal or LinkError(
                f"{endpoint.url} cannot be reached: {_reason(error)}", epoch
            ) from error
        except BaseException:
            await link.close()
            raise
        return link

    async def _not_connected(self, data: object = None) -> None:
        self._refusal = _refused(data)

    async def _closing(self, code: object = None) -> None:
        self._ended = f"the server closes the connection ({printable(str(code), 40)})"

    async def _lost(self, reason: object = None) -> None:
        waiting, self._waiting = self._waiting, set()
        for future in waiting:
            if not future.done():
                future.set_exception(LinkError(self._ended, self.epoch))

    async def ask(self, event: str, data: Any, timeout_s: float) -> Any:
        """Emit an event and wait for its acknowledgement.

        Raises:
            LinkError: the connection ended, or nothing came in time.
        """
        if not self._io.connected:
            raise LinkError(self._ended, self.epoch)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def acknowledge(*answer: Any) -> None:
            if not future.done():
                future.set_result(answer[0] if len(answer) == 1 else None)

        self._waiting.add(future)
        try:
            # Nothing in here suspends, so an attachment follows its own event.
            await self._io.emit(event, data, callback=acknowledge)
            async with asyncio.timeout(timeout_s):
                return await future
        except TimeoutError:
            await self.close()
            text = f"the server did not answer {event} within {timeout_s:g} s"
            raise LinkError(text, self.epoch) from None
        except socketio.exceptions.SocketIOError as error:
            raise LinkError(self._ended, self.epoch) from error
        finally:
            self._waiting.discard(future)

    async def close(self) -> None:
        """End the connection, whatever state it is in."""
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self._io.disconnect(), 5)
        session = self._io.eio.http
        if session is not None and not session.closed:
            await session.close()
