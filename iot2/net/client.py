"""The two clients: the same conversation, waited for or awaited.

    with Client("http://127.0.0.1:5555", Options(items=("a", "b"))) as client:
        first, second = client.transfer(0), client.transfer(1)

    async with AsyncClient("http://127.0.0.1:5555", Options(count=2)) as client:
        messages = await asyncio.gather(client.transfer(0), client.transfer(1))

A connection that breaks is made again, the session resumed, and the same query
sent again, for as long as the options' patience lasts.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from iot2.errors import StateError
from iot2.net.conversation import Conversation, Pause, Rejoin, Step, Steps
from iot2.net.errors import LinkError, RemoteError
from iot2.net.events import Code
from iot2.net.known_keys import KnownKeys
from iot2.net.links import AsyncLink, Endpoint, Observer, SyncLink
from iot2.net.options import Options

_T = TypeVar("_T")
_CLOSED = "the client was closed meanwhile"


class _Common:
    """What both clients are made of.

    Args:
        url: http://host:port on this machine, else https://host:port.
        options: what is wanted of the server.
        known: keys met before; this client's own, in memory, by default.
        ca_file: certificates to trust instead of the system's.
        insecure_plain: allow http:// to other machines.
        observer: called with "up" or "down" and each frame of the transport.
    """

    def __init__(
        self,
        url: str,
        options: Options | None = None,
        *,
        known: KnownKeys | None = None,
        ca_file: Path | None = None,
        insecure_plain: bool = False,
        observer: Observer | None = None,
    ) -> None:
        self._endpoint = Endpoint(url, ca_file, insecure_plain)
        self._observer = observer
        self.options = options or Options()
        self.conversation = Conversation(
            self._endpoint.name, self.options, known if known is not None else KnownKeys()
        )
        self._epoch = 0  # of the latest connection that was joined
        self._closed = True
        self._turn = threading.Lock()  # threads speak one at a time

    @property
    def fingerprint(self) -> bytes:
        """Of the server's key, once connected."""
        if self.conversation.key is None:
            raise StateError("connect first: the server's key is not known")
        return self.conversation.key.fingerprint

    @property
    def limits(self) -> dict[str, Any]:
        """What the server told of its limits, once connected."""
        return self.conversation.limits

    def _worth_retrying(self, error: LinkError | RemoteError, deadline: float) -> bool:
        """Whether to connect once more: a server that is away, busy or full may come back."""
        hopeless = (
            isinstance(error, RemoteError)
            and error.retry_after_ms is None
            and error.code is not Code.LIMIT  # of connections: the broken one may still count
        )
        return not hopeless and time.monotonic() < deadline

    def _rejoined(self, step: Rejoin) -> bool:
        """Whether another thread or task has joined since; called by the one that would join."""
        self._check_open()
        return step.epoch != self._epoch

    def _check_open(self) -> None:
        if self._closed:
            raise StateError(_CLOSED)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._endpoint.url!r}, {self.options.variant})"


class Client(_Common):
    """A receiver that waits for its server. Safe to share between threads."""

    _link: SyncLink | None = None

    def __enter__(self) -> Self:
        self.connect()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def connect(self) -> None:
        """Connect, check the server's key, and open the session.

        Raises:
            LinkError: the server cannot be reached; it is tried once.
            RemoteError: it refuses, with a code.
            ProofError: its key is not the expected one, or proves nothing.
            MessageError: it answers nonsense.
        """
        if self._closed:
            self._lock = threading.Lock()
            self._closed = False
        with self._lock:
            self._join()

    def transfer(self, choice: int) -> bytes:
        """The chosen message of the next index.

        Raises:
            RemoteError: the server refuses (SPENT, say); the index is given up.
            LinkError: the server stayed away for longer than the patience.
            MessageError: it answers nonsense.
            StateError: it lost the session.
        """
        return self._run(self.conversation.transfer(choice))

    def transfer_many(self, choices: Sequence[int], into: list[bytes] | None = None) -> list[bytes]:
        """The chosen messages of the next indexes, in batches.

        Args:
            choices: b of each transfer.
            into: a list that gets each message as it comes: whatever ends the call,
                Ctrl-C or a time limit, what came is there.

        Returns:
            `into`, or a new list.

        Raises:
            Interrupted: a transfer failed after others had ended; it holds their messages.
            RemoteError, LinkError, MessageError, StateError: as `transfer`, when none had.
        """
        return self._run(self.conversation.transfer_many(choices, into))

    def precompute(self, count: int) -> None:
        """The offline phase of `count` transfers, ahead of time."""
        with self._turn:
            self.conversation.precompute(count)

    def close(self) -> None:
        """End the session, then the connection."""
        if self._closed:
            return
        self._closed = True
        with self._lock:  # a thread that just joins does so to the end, for a session to close
            if self._link is not None:
                self._run(self.conversation.close())
            self._drop()
            self.conversation.forget()

    def _drop(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()

    def _join(self) -> None:
        """Make a connection and join; others may use it only then."""
        self._drop()
        options = self.options
        link = SyncLink(self._endpoint, self._epoch + 1, options.timeout_s, self._observer)
        try:
            self._run(self.conversation.join(), link)
        except BaseException:
            link.close()
            raise
        self._link, self._epoch = link, link.epoch

    def _run(self, steps: Steps[_T], joining: SyncLink | None = None) -> _T:
        result: Any = None
        failure: Exception | None = None
        try:
            while True:
                with self._turn:  # two threads must never take one tuple
                    step = steps.send(result) if failure is None else steps.throw(failure)
                result = failure = None
                try:
                    result = self._do(step, joining)
                except Exception as error:
                    failure = error
        except StopIteration as stop:
            value: _T = stop.value
            return value
        except RemoteError as error:
            if self._closed:  # and with it the session
                raise StateError(_CLOSED) from error
            raise

    def _do(self, step: Step, joining: SyncLink | None) -> Any:
        if isinstance(step, Pause):
            self._check_open()
            time.sleep(step.seconds)
            return None
        if isinstance(step, Rejoin):
            return self._rejoin(step)
        link = joining or self._link
        if link is None:
            raise LinkError("the client is not connected", self._epoch)
        return link.ask(step.event, step.data, step.timeout_s)

    def _rejoin(self, step: Rejoin) -> None:
        with self._lock:
            deadline = time.monotonic() + self.options.patience_s
            pause = 0.05
            while not self._rejoined(step):
                try:
                    self._join()
                    return
                except (LinkError, RemoteError) as error:
                    if not self._worth_retrying(error, deadline):
                        raise
                time.sleep(pause)
                pause = min(2 * pause, 2.0)


class AsyncClient(_Common):
    """A receiver that is awaited; transfers may be awaited side by side."""

    _link: AsyncLink | None = None
    _ending: set[asyncio.Task[None]]

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def connect(self) -> None:
        """As `Client.connect`."""
        if self._closed:
            self._lock = asyncio.Lock()
            self._ending = set()
            self._closed = False
        async with self._lock:
            await self._join()

    async def transfer(self, choice: int) -> bytes:
        """As `Client.transfer`."""
        return await self._run(self.conversation.transfer(choice))

    async def transfer_many(
        self, choices: Sequence[int], into: list[bytes] | None = None
    ) -> list[bytes]:
        """As `Client.transfer_many`."""
        return await self._run(self.conversation.transfer_many(choices, into))

    def precompute(self, count: int) -> None:
        """The offline phase of `count` transfers, ahead of time."""
        self.conversation.precompute(count)

    async def close(self) -> None:
        """End the session, then the connection."""
        if self._closed:
            return
        self._closed = True
        async with self._lock:
            if self._link is not None:
                await self._run(self.conversation.close())
            await self._drop()
            self.conversation.forget()

    async def _drop(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            await self._end(link)

    async def _end(self, link: AsyncLink) -> None:
        """Close a connection to the end, even if the task that closes it is cancelled."""
        task = asyncio.get_running_loop().create_task(link.close())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        await asyncio.shield(task)

    async def _join(self) -> None:
        """As `Client._join`."""
        await self._drop()
        link = await AsyncLink.connect(
            self._endpoint, self._epoch + 1, self.options.timeout_s, self._observer
        )
        try:
            await self._run(self.conversation.join(), link)
        except BaseException:
            await self._end(link)
            raise
        self._link, self._epoch = link, link.epoch

    async def _run(self, steps: Steps[_T], joining: AsyncLink | None = None) -> _T:
        result: Any = None
        failure: Exception | None = None
        try:
            while True:
                step = steps.send(result) if failure is None else steps.throw(failure)
                result = failure = None
                try:
                    result = await self._do(step, joining)
                except Exception as error:
                    failure = error
        except StopIteration as stop:
            value: _T = stop.value
            return value
        except RemoteError as error:
            if self._closed:  # and with it the session
                raise StateError(_CLOSED) from error
            raise
        finally:
            steps.close()  # a task that was cancelled gives its tuple up

    async def _do(self, step: Step, joining: AsyncLink | None) -> Any:
        if isinstance(step, Pause):
            self._check_open()
            return await asyncio.sleep(step.seconds)
        if isinstance(step, Rejoin):
            return await self._rejoin(step)
        link = joining or self._link
        if link is None:
            raise LinkError("the client is not connected", self._epoch)
        return await link.ask(step.event, step.data, step.timeout_s)

    async def _rejoin(self, step: Rejoin) -> None:
        async with self._lock:
            deadline = time.monotonic() + self.options.patience_s
            pause = 0.05
            while not self._rejoined(step):
                try:
                    await self._join()
                    return
                except (LinkError, RemoteError) as error:
                    if not self._worth_retrying(error, deadline):
                        raise
                await asyncio.sleep(pause)
                pause = min(2 * pause, 2.0)


__all__ = ["AsyncClient", "Client"]
