"""Who may end a session, and what an address may have open."""

import asyncio
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from iot2 import SenderKey
from iot2.net.catalogue import Catalogue
from iot2.net.desk import Desk
from iot2.net.events import Code, Refusal
from iot2.net.keyring import Keyring
from iot2.net.limits import Limits
from iot2.net.log import Log
from iot2.net.messages_file import Items
from iot2.net.pool import Pool
from iot2.net.registry import Connection, Pending, Registry
from iot2.net.server import Server
from iot2.net.store import Store, StoreError
from iot2.net.tables import load_session, open_sessions
from iot2.wire.messages import Session

KEY = SenderKey.generate(512, insecure=True)
HELLO = {"version": 1, "variant": "compact", "known": []}


class Parts:
    """A server without a socket: a client's events are called one by one."""

    def __init__(
        self,
        stored: Sequence[tuple[int, bytes, str, int]] = (),
        catalogue: Catalogue | None = None,
        folder: Path | None = None,
        **limits: Any,
    ) -> None:
        self.limits = Limits(**limits)
        self.store = Store(folder, asyncio.get_running_loop())
        self.registry = Registry(self.limits, stored)
        self.server = Server(
            self.limits,
            ("compact", "six"),
            Keyring(KEY),
            catalogue or Catalogue(),
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

    async def session(self, connection: Connection, count: int = 1, **request: Any) -> bytes:
        made = await self.desk.handlers["session"](connection, request or {"count": count})
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


@pytest.mark.parametrize(
    ("limits", "name", "counts"),
    [
        ({"sessions_per_peer": 3}, "sessions_per_peer", [1] * 6),
        ({"sessions": 3}, "sessions", [1] * 6),
        ({"transfers_per_peer": 10}, "transfers_per_peer", [4, 6, 1]),
        ({"transfers": 10}, "transfers", [4, 6, 1]),
    ],
)
@pytest.mark.parametrize("other", ["::1", "::2"])
def test_what_may_be_open_at_once(
    limits: dict[str, int], name: str, counts: list[int], other: str
) -> None:
    async def work() -> None:
        # One that is stored, of each address, counts from the start.
        stored = [(1, b"s" * 16, "::1", 1), (2, b"t" * 16, "::2", 1)]
        of_peer = name.endswith("per_peer")
        limit = next(iter(limits.values())) + (1 if of_peer else 2)
        parts = Parts(stored, **{name: limit})
        first, second = await parts.connect("a"), await parts.connect("b", other)

        async def opened(wanted: list[int], connections: list[Connection]) -> list[Any]:
            asked = zip(wanted, connections, strict=False)
            return await asyncio.gather(
                *(parts.session(one, count) for count, one in asked), return_exceptions=True
            )

        shared = [first] * len(counts) if of_peer else [first, second] * len(counts)
        made = await opened(counts, shared)
        refused = [one for one in made if isinstance(one, Refusal)]
        room = 3 if "sessions" in name else 2
        assert len(refused) == len(counts) - room, "though they came at once"
        assert all(one.code is Code.LIMIT for one in refused)
        assert {one.text for one in refused} == {f"{name}: at most {limit} are open at once"}
        if of_peer and other == "::2":
            assert isinstance(await parts.session(second), bytes), "another address has its own"
            await parts.desk.handlers["close"](second, {})
        for connection in (first, second):
            await parts.desk.handlers["close"](connection, {})
        assert not [one for one in await opened(counts[:room], shared) if isinstance(one, Refusal)]
        parts.registry.forget(b"s" * 16)
        assert isinstance(await parts.session(first), bytes), "the stored one has left its room"
        await parts.close()

    asyncio.run(work())


def test_a_session_that_could_not_be_stored_leaves_its_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work() -> None:
        parts = Parts(sessions=1, transfers=5)
        connection = await parts.connect("a")

        def full(db: sqlite3.Connection) -> int:
            raise sqlite3.OperationalError("database or disk is full")

        with monkeypatch.context() as patched:
            patched.setattr("iot2.net.desk.insert_session", lambda db, row: full(db))
            with pytest.raises(StoreError, match="full"):
                await parts.session(connection, 5)
        assert isinstance(await parts.session(connection, 5), bytes)
        await parts.close()

    asyncio.run(work())


def test_a_session_of_very_many_transfers_takes_more_tokens() -> None:
    async def work() -> None:
        parts = Parts(queries_per_second=1e-9, query_burst=20)
        connection = await parts.connect("a")
        await parts.session(connection, 10_000)
        await parts.session(connection, 999)
        with pytest.raises(Refusal, match="queries_per_second"):
            await parts.session(connection, 9_000)
        await parts.close()

    asyncio.run(work())


@pytest.mark.parametrize("durable", [True, False])
def test_a_sessions_names_are_those_of_the_catalogue(durable: bool, tmp_path: Path) -> None:
    name = "an item's name" * 10
    catalogue = Catalogue(Items({name: (b"a", b"b")}, 2), reusable=True)

    def copies() -> list[str]:
        return [name.encode().decode() for _ in range(4)]

    async def work() -> None:
        folder = tmp_path if durable else None
        parts = Parts(catalogue=catalogue, folder=folder)
        connection = await parts.connect("a")
        made = await parts.session(connection, items=copies())
        (session,) = connection.sessions.values()
        assert session.row.items is not None
        assert [one is name for one in session.row.items] == [True] * 4
        if not durable:
            loaded = await parts.store.submit(lambda db: load_session(db, session.row.sid))
            assert loaded[0].items is None, "and kept once"
        await parts.close()
        if durable:
            store = Store(tmp_path, asyncio.get_running_loop())
            stored = await store.submit(open_sessions)
            await store.close()
            parts = Parts(stored, catalogue, tmp_path)
            connection = await parts.connect("a")
            assert await parts.desk.handlers["resume"](connection, made) == {"answered": []}
            (session,) = connection.sessions.values()
            assert session.row.items == (name,) * 4
            assert [one is name for one in session.row.items] == [True] * 4
            await parts.close()

    asyncio.run(work())
