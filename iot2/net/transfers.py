"""Queries and offers: from the bytes of a client to the bytes that answer it, once.

The order of things, which is what keeps an index from being answered twice:

1. form, kind, sid and range are checked before any state is looked at;
2. an index that is being answered, or was, gives the same bytes to the same
   query and is refused to another;
3. the index and its item are reserved in memory, in the event loop, so that of
   two queries that come together one is refused;
4. a worker computes the reply;
5. one transaction makes durable that the index is used, that the item is
   spent, and what the reply is;
6. only then is the reply handed to the transport.

A process killed before 5 has told nobody anything; killed after it, it finds
the reply's bytes again. A batch goes through each step once, as a whole.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence
from typing import Any

from iot2.errors import MessageError
from iot2.net import answering
from iot2.net.catalogue import Catalogue
from iot2.net.events import Code, Refusal
from iot2.net.limits import Limits
from iot2.net.log import Log, sid_prefix
from iot2.net.pool import Pool
from iot2.net.registry import Connection, OpenSession, Pending
from iot2.net.store import Store
from iot2.net.tables import (
    Answered,
    query_digest,
    record_answers,
    record_offer,
    stored_reply,
)
from iot2.wire.ciphertexts import CIPHERTEXTS
from iot2.wire.header import HEADER, QUERY, SIX_QUERY, VERSION
from iot2.wire.messages import Query, Session, SixQuery


class Transfers:
    """Answers queries of open sessions; see the module.

    Args:
        limits: of the server.
        catalogue: what is transferred.
        pool: computes.
        store: remembers.
        log: of the server.
    """

    def __init__(
        self, limits: Limits, catalogue: Catalogue, pool: Pool, store: Store, log: Log
    ) -> None:
        self.answered = 0
        self._log = log
        self._limits = limits
        self._catalogue = catalogue
        self._pool = pool
        self._store = store

    async def query(self, connection: Connection, encoded: bytes) -> bytes:
        """Kind 2 -> kind 3, or kind 5 -> kind 6.

        Raises:
            Refusal: a code of section 11.
            MessageError: the bytes are no query.
        """
        six = encoded[1:2] == bytes((SIX_QUERY,))
        query: Query | SixQuery
        query = SixQuery.from_bytes(encoded) if six else Query.from_bytes(encoded)
        session = _session(connection, encoded[2:18])
        _check_variant(session, Session.SIX if six else Session.COMPACT)
        _check_size(session, encoded)
        index = _check_index(session, query.index)
        key, sid = session.key, session.row.sid
        answering.check_range(key, sid, [query])
        digest = query_digest(encoded)
        known = self._known(session, [index], digest, [digest])
        if known is not None:
            return await known
        if six and index not in session.offered:
            raise Refusal(Code.STATE, f"no offer was made for index {index}")
        messages = self._catalogue.take(session.row, index)

        def compute() -> list[bytes]:
            if isinstance(query, SixQuery):
                return [answering.reply_six(key, sid, query, messages)]
            return [answering.reply_compact(key, sid, query, messages)]

        return await self._answer(session, [index], digest, compute, [digest])

    async def batch(self, connection: Connection, encoded: bytes) -> bytes:
        """Concatenated kind 2 -> concatenated kind 3, all or none.

        Raises:
            Refusal: a code of section 11.
            MessageError: the bytes are no whole queries of one session.
        """
        if encoded[1:2] == bytes((SIX_QUERY,)):
            raise Refusal(Code.VARIANT, "batches are of compact queries")
        Query.from_bytes(encoded[: HEADER.size + 1])
        session = _session(connection, encoded[2:18])
        _check_variant(session, Session.COMPACT)
        queries = self._split(session, encoded)
        indexes = [_check_index(session, query.index) for query in queries]
        key, sid = session.key, session.row.sid
        answering.check_range(key, sid, queries)
        if len(set(indexes)) != len(indexes):
            raise Refusal(Code.STATE, "two queries of this batch have one index")
        digests = [query_digest(query.encoded) for query in queries]
        digest = query_digest(encoded)
        known = self._known(session, indexes, digest, digests)
        if known is not None:
            return await known
        messages = self._take_all(session, indexes)

        def compute() -> list[bytes]:
            pairs = zip(queries, messages, strict=True)
            return [answering.reply_compact(key, sid, query, row) for query, row in pairs]

        return await self._answer(session, indexes, digest, compute, digests)

    async def offer(self, connection: Connection, request: bytes) -> bytes:
        """sid, u64 index -> kind 4.

        Raises:
            Refusal: a code of section 11.
            MessageError: the request has another length.
        """
        if len(request) != 24:
            raise MessageError(f"offer takes a sid and an index, 24 bytes, got {len(request)}")
        session = _session(connection, request[:16])
        _check_variant(session, Session.SIX)
        index = _check_index(session, int.from_bytes(request[16:]))
        made = answering.offer(session.key, session.row.sid, index)
        if index not in session.offered:
            number, sid = session.row.id, session.row.sid
            await self._store.submit(lambda db: record_offer(db, number, sid, index))
            session.offered.add(index)
        return made

    def _split(self, session: OpenSession, encoded: bytes) -> list[Query]:
        stride = HEADER.size + session.key.public.size
        count, rest = divmod(len(encoded), stride)
        if rest:
            raise MessageError(f"a batch must be whole queries of {stride} bytes each")
        if count > self._limits.batch:
            raise Refusal(Code.LIMIT, f"batch: at most {self._limits.batch} queries")
        start = bytes((VERSION, QUERY)) + session.row.sid
        parts = [encoded[k : k + stride] for k in range(0, len(encoded), stride)]
        if not all(part.startswith(start) for part in parts):
            raise MessageError("every query of a batch must be of one session")
        return [Query.from_bytes(part) for part in parts]

    def _take_all(self, session: OpenSession, indexes: list[int]) -> list[tuple[bytes, ...]]:
        """The messages of a batch, taken all or none."""
        taken: list[int] = []
        messages = []
        room = self._limits.frame_bytes
        try:
            for index in indexes:
                messages.append(self._catalogue.take(session.row, index))
                taken.append(index)
                room -= CIPHERTEXTS.size + sum(map(len, messages[-1]))
            if room < 0:
                most = self._limits.frame_bytes
                raise Refusal(Code.LIMIT, f"frame_bytes: the replies have more than {most}")
        except Refusal as refusal:
            names = self._catalogue.names(session.row, taken)
            self._catalogue.settle(names, spent=False)
            if refusal.code is Code.BUSY and session.row.items is not None:
                asked = [session.row.items[index] for index in indexes]
                if len(set(asked)) != len(asked):
                    raise Refusal(Code.SPENT, "an item stands twice in this batch") from None
            raise
        return messages

    def _known(
        self, session: OpenSession, indexes: list[int], digest: bytes, digests: list[bytes]
    ) -> asyncio.Future[bytes] | None:
        """The bytes, present or to come, for indexes that are not new; None if all are."""
        pending = [session.pending.get(index) for index in indexes]
        if any(pending):
            first = pending[0]
            if first is None or any(entry is not first for entry in pending):
                raise Refusal(Code.STATE, "an index is being answered")
            if first.digest != digest:
                raise Refusal(Code.STATE, "the index is being answered for another query")
            return asyncio.shield(first.future)
        used = [index in session.answered for index in indexes]
        if not any(used):
            return None
        if not all(used):
            raise Refusal(Code.STATE, "some of these indexes were already answered")
        number, sid = session.row.id, session.row.sid
        asked = list(zip(indexes, digests, strict=True))
        return self._store.submit(lambda db: stored_reply(db, number, sid, asked))

    async def _answer(
        self,
        session: OpenSession,
        indexes: list[int],
        digest: bytes,
        compute: Callable[[], list[bytes]],
        digests: Sequence[bytes],
    ) -> bytes:
        """Steps 3 to 5 for indexes whose items are taken."""
        names = self._catalogue.names(session.row, indexes)
        number, sid = session.row.id, session.row.sid
        if self._log.debugging:
            compute = self._timed(session, indexes, compute)

        def then(future: asyncio.Future[Any], replies: list[bytes]) -> None:
            answers = list(map(Answered, indexes, digests, replies))

            def record(db: sqlite3.Connection) -> bytes:
                record_answers(db, number, sid, answers, names)
                return b"".join(replies)

            self._store.submit_for(future, record)

        try:
            reply = self._pool.submit(compute, then, len(indexes))
        except Refusal:
            self._catalogue.settle(names, spent=False)
            raise
        session.pending.update(dict.fromkeys(indexes, Pending(digest, reply)))

        def settle(future: asyncio.Future[bytes]) -> None:
            done = future.exception() is None
            for index in indexes:
                del session.pending[index]
            if done:
                session.answered.update(indexes)
                self.answered += len(indexes)
            self._catalogue.settle(names, spent=done)

        # Before anyone who waits: whoever sees the reply also finds the index used.
        reply.add_done_callback(settle)
        return await asyncio.shield(reply)

    def _timed(
        self, session: OpenSession, indexes: list[int], compute: Callable[[], list[bytes]]
    ) -> Callable[[], list[bytes]]:
        """The same computation, which logs how long it took for each transfer."""

        def timed() -> list[bytes]:
            start = time.perf_counter_ns()
            replies = compute()
            each = (time.perf_counter_ns() - start) / 1000 / len(replies)
            prefix = sid_prefix(session.row.sid)
            for index in indexes:
                self._log.debug("computed", sid=prefix, index=index, compute_us=round(each, 3))
            return replies

        return timed


def _session(connection: Connection, sid: bytes) -> OpenSession:
    session = connection.sessions.get(sid)
    if session is None:
        raise Refusal(Code.UNKNOWN_SESSION, "this connection opened or resumed no such session")
    return session


def _check_variant(session: OpenSession, variant: int) -> None:
    if session.row.variant != variant:
        raise Refusal(Code.VARIANT, "the session is of the other variant")


def _check_size(session: OpenSession, encoded: bytes) -> None:
    expected = HEADER.size + session.key.public.size
    if len(encoded) != expected:
        raise MessageError(f"a query of this session has {expected} bytes, got {len(encoded)}")


def _check_index(session: OpenSession, index: int) -> int:
    if index >= session.row.count:
        raise Refusal(Code.RANGE, f"the session has the indexes 0 to {session.row.count - 1}")
    return index
