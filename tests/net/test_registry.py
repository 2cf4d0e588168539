"""Who may end a session, and what an address may have open."""

import asyncio
import os
from typing import Any

import pytest

from iot2 import SenderKey
from iot2.net.catalogue import Catalogue
from iot2.net.desk import Desk
from iot2.net.keyring import Keyring
from iot2.net.limits import Limits
from iot2.net.log import Log
from iot2.net.pool import Pool
from iot2.net.registry import Connection, Pending, Registry
from iot2.net.server import Server
from iot2.net.store import Store
from iot2.net.tables import open_sessions
from iot2.wire.messages import Session

KEY = SenderKey.generate(512, insecure=True)
HELLO = {"version": 1, "variant": "compact", "known": []}


class Parts:
    """A server without a socket: a client's events are called one by one."""

    def __init__(self, **limits: Any) -> None:
        self.limits = Limits(**limits)
        self.store = Store(None, asyncio.get_running_loop())
        self.registry = Registry(self.limits, [])
        self.server = Server(
            self.limits,
            ("compact", "six"),
            Keyring(KEY),
            Catalogue(),
            self.registry,
            Pool(1, 8, asyncio.get_running_loop()),
            self.store,
            Log("error"),
        )
        self.desk: Desk = self.server._desk

    async def connect(self, name: str, address: str = "::1") -> Connection:
        connection = self.registry.connect(name, address)
        await self.desk.handlers["hello"](connection, HELLO)
        return connection

    async def session(self, connection: Connection, count: int = 1) -> bytes:
        made = await self.desk.handlers["session"](connection, {"count": count})
        assert isinstance(made, bytes)
        return made

    async def close(self) -> None:
        await self.server.stop()


def test_the_sweep_ends_no_session_that_was_resumed_meanwhile() -> None:
    async def work() -> None:
        parts = Parts(session_idle_s=0.2)
        first = await parts.connect("a")
        made = [await parts.session(first) for _ in range(20)]
        parts.registry.disconnect("a")
        again = await parts.connect("b")
        end = parts.desk.end_session

        async def while_resumed(sid: bytes, number: int) -> None:
            await end(sid, number)
            if not again.sessions:
                await parts.desk.handlers["resume"](again, made[-1])

        parts.desk.end_session = while_resumed  # type: ignore[method-assign]
        parts.server._spawn(parts.server._sweep())
        for _ in range(200):
            await asyncio.sleep(0.01)
            if len(parts.registry.sessions) <= 1:
                break
        sid = Session.from_bytes(made[-1]).sid
        assert list(parts.registry.sessions) == list(again.sessions) == [sid]
        assert [row[1] for row in await parts.store.submit(open_sessions)] == [sid]
        await parts.close()

    asyncio.run(work())


@pytest.mark.parametrize("meanwhile", ["closed", "resumed"])
def test_a_close_that_waited_ends_no_session_of_another(meanwhile: str) -> None:
    async def work() -> None:
        parts = Parts()
        first, other = await parts.connect("a"), await parts.connect("b")
        made = await parts.session(first)
        (session,) = first.sessions.values()
        done: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        session.pending[0] = pending = Pending(os.urandom(32), done)
        ends: list[bytes] = []
        end = parts.desk.end_session

        async def watched(sid: bytes, number: int) -> None:
            ends.append(sid)
            await end(sid, number)

        parts.desk.end_session = watched  # type: ignore[method-assign]
        closes = [asyncio.ensure_future(parts.desk.handlers["close"](first, {})) for _ in range(2)]
        await asyncio.sleep(0.05)
        assert not ends
        assert session.pending == {0: pending}
        if meanwhile == "resumed":
            await parts.desk.handlers["resume"](other, made)
        session.pending.clear()
        done.set_result(b"")
        assert await asyncio.gather(*closes) == [{}, {}]
        kept = meanwhile == "resumed"
        assert len(ends) == (0 if kept else 1)
        assert len(await parts.store.submit(open_sessions)) == kept
        await parts.close()

    asyncio.run(work())
