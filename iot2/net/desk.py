"""What each event of a client means: from its argument to its answer.

Knows sessions and keys, and nothing of Socket.IO: `iot2.net.server` brings the
events here, one call each, and takes the answers back.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
from collections.abc import Awaitable, Callable
from typing import Any, Final

from iot2.errors import MessageError
from iot2.net import events as ev
from iot2.net.catalogue import Catalogue, demo_messages
from iot2.net.events import Code, Refusal
from iot2.net.keyring import Keyring
from iot2.net.limits import Limits
from iot2.net.log import Log, sid_prefix
from iot2.net.registry import Connection, OpenSession, Registry
from iot2.net.store import Store
from iot2.net.tables import SessionRow, delete_session, insert_session, load_session
from iot2.net.transfers import Transfers
from iot2.protocol.framing import SID_BYTES
from iot2.wire.messages import Session

_TRANSFERS_A_TOKEN: Final = 1000
VARIANT_NUMBER: Final = {ev.COMPACT: Session.COMPACT, ev.SIX: Session.SIX}


class Desk:
    """Answers the events of section 11.

    Args:
        limits: of the server.
        variants: those that it speaks.
        keyring: its keys.
        catalogue: what it transfers.
        registry: who is here.
        transfers: answers queries.
        store: remembers.
        log: of the server.
    """

    def __init__(
        self,
        limits: Limits,
        variants: tuple[str, ...],
        keyring: Keyring,
        catalogue: Catalogue,
        registry: Registry,
        transfers: Transfers,
        store: Store,
        log: Log,
    ) -> None:
        self._limits = limits
        self._variants = variants
        self._keyring = keyring
        self._catalogue = catalogue
        self._registry = registry
        self._transfers = transfers
        self._store = store
        self._log = log
        self._told = {**limits.to_wire(), "durable": store.durable}
        self.handlers: dict[str, Callable[[Connection, Any], Awaitable[Any]]] = {
            ev.HELLO: self._hello,
            ev.SESSION: self._session,
            ev.RESUME: self._resume,
            ev.OFFER: self._offer,
            ev.QUERY: self._query,
            ev.BATCH: self._batch,
            ev.CLOSE: self._close,
        }

    def check_rate(self, connection: Connection, count: int = 1) -> None:
        """Take tokens of the connection's address.

        Raises:
            Refusal: LIMIT, it has not that many.
        """
        wait = connection.peer.bucket.take(count)
        if wait > 0:
            most = self._limits.queries_per_second
            raise Refusal(
                Code.LIMIT,
                f"queries_per_second: at most {most:g} of one address",
                retry_after_ms=max(1, min(60_000, round(wait * 1000))),
            )

    async def _hello(self, connection: Connection, data: object) -> dict[str, Any]:
        self.check_rate(connection)
        hello = ev.Hello.from_wire(data)
        if hello.version != ev.PROTOCOL_VERSION:
            raise Refusal(Code.VERSION, f"this server speaks version {ev.PROTOCOL_VERSION}")
        if hello.variant not in self._variants:
            raise Refusal(Code.VARIANT, f"this server speaks {' and '.join(self._variants)}")
        if self._catalogue.items is not None and (hello.bits, hello.demo) != (None, None):
            raise Refusal(
                Code.REFUSED, "bits (-l) and demo (-x, -y) are for demonstration servers alone"
            )
        key = await self._keyring.get(hello.bits)
        if hello.variant == ev.SIX and key.choices != 2:
            raise Refusal(Code.VARIANT, f"six-message transfers are 1 of 2, not of {key.choices}")
        if self._catalogue.items is None:
            connection.demo = demo_messages(hello.demo, key.choices)
        connection.variant = VARIANT_NUMBER[hello.variant]
        connection.key = key
        connection.greeted = True
        encoded = None
        if key.fingerprint not in hello.known:
            encoded = self._keyring.public_bytes(key)
        welcome = ev.Welcome(key.fingerprint, key.bits, key.choices, self._told, encoded)
        return welcome.to_wire()

    async def _session(self, connection: Connection, data: object) -> bytes:
        self.check_rate(connection)
        request = ev.SessionRequest.from_wire(data, self._limits.transfers_per_session)
        key = connection.key
        if key is None:
            raise Refusal(Code.STATE, "hello comes before session")
        count = self._catalogue.check_request(request)
        # One of many transfers takes longer to open.
        self.check_rate(connection, count // _TRANSFERS_A_TOKEN)
        row = SessionRow(
            os.urandom(SID_BYTES),
            connection.variant,
            key.fingerprint,
            connection.peer.address,
            count,
            self._catalogue.own(request.items),
            None if request.items is not None else connection.demo,
        )
        # What ends with the process is never loaded: it need not be kept twice.
        stored = row if self._store.durable else dataclasses.replace(row, items=None, demo=None)
        self._registry.reserve(connection.peer, count)
        try:
            number = await self._store.submit(lambda db: insert_session(db, stored))
        except BaseException:
            self._registry.release(connection.peer, count)
            raise
        self._registry.add(connection, OpenSession(row.numbered(number), key))
        self._log.info("session", sid=sid_prefix(row.sid), count=count, peer=row.peer)
        return Session(row.variant, row.sid, key.fingerprint).to_bytes()

    async def _resume(self, connection: Connection, data: object) -> dict[str, Any]:
        self.check_rate(connection)
        asked = Session.from_bytes(ev.bytes_of(data, ev.RESUME))
        if connection.key is None:
            raise Refusal(Code.STATE, "hello comes before resume")
        session = self._registry.sessions.get(asked.sid)
        if session is None and self._registry.leased(asked.sid):
            session = await self._load(asked.sid)
        if session is None or (session.row.variant, session.row.fingerprint) != (
            asked.variant,
            asked.fingerprint,
        ):
            raise Refusal(Code.UNKNOWN_SESSION, "no such session is open")
        self._registry.attach(connection, session)
        self._log.info("resume", sid=sid_prefix(asked.sid), peer=connection.peer.address)
        intervals = [(start, stop - 1) for start, stop in session.answered.intervals]
        return ev.intervals_to_wire(intervals)

    async def _load(self, sid: bytes) -> OpenSession | None:
        found = await self._store.submit(lambda db: load_session(db, sid))
        if found is None or not self._registry.leased(sid):
            return self._registry.sessions.get(sid)
        row, answered, offered = found
        row = dataclasses.replace(row, items=self._catalogue.own(row.items))
        key = self._keyring.find(row.fingerprint)
        if key is None or (self._catalogue.items is None) != (row.items is None):
            return None
        session = OpenSession(row, key, answered, offered)
        self._registry.load(session)
        return session

    async def _offer(self, connection: Connection, data: object) -> bytes:
        self.check_rate(connection)
        return await self._transfers.offer(connection, ev.bytes_of(data, ev.OFFER))

    async def _query(self, connection: Connection, data: object) -> bytes:
        self.check_rate(connection)
        return await self._transfers.query(connection, ev.bytes_of(data, ev.QUERY))

    async def _batch(self, connection: Connection, data: object) -> dict[str, bytes]:
        queries = data.get("queries") if isinstance(data, dict) else None
        size = len(queries) if isinstance(queries, bytes) else 0
        least = 26 + (connection.key.public.size if connection.key is not None else 1)
        self.check_rate(connection, max(1, size // least))
        encoded = ev.batch_from_wire("queries", data)
        return ev.batch_to_wire("replies", await self._transfers.batch(connection, encoded))

    async def _close(self, connection: Connection, data: object) -> dict[str, Any]:
        if data not in (None, {}):
            self.check_rate(connection)
            raise MessageError("close takes no argument")
        for session in list(connection.sessions.values()):
            while session.pending:
                futures = {id(p): p.future for p in session.pending.values()}
                await asyncio.wait(futures.values())
            # Another close may have ended it meanwhile, or another connection resumed it.
            if connection.sessions.get(session.row.sid) is session:
                await self.end_session(session.row.sid, session.row.id)
        return {}

    async def end_session(self, sid: bytes, number: int) -> None:
        """Forget a session, here and in the state."""
        self._registry.forget(sid)
        await self._store.submit(lambda db: delete_session(db, number, sid))
        self._log.info("session ended", sid=sid_prefix(sid))
