"""The tables of the server's state, and the operations on them.

Each function here takes the connection inside a transaction (`iot2.net.store`)
and happens whole or not at all.

| table     | a row is                                                       |
|-----------|----------------------------------------------------------------|
| format    | the one number that says what the other tables look like       |
| sessions  | an open session: sid, variant, key, address, what it transfers |
| transfers | an answered index: SHA-256 of its query, and its reply         |
| offers    | an index of a six-message session whose offer was made         |
| spent     | an item that was transferred                                   |

A session that ends takes its transfers and offers along: its sid is never
accepted again, so nothing of it can be answered twice. Spent items stay. The
number of its row is never given again either, and whoever uses a session says
its sid too: what comes late for one that has ended finds nothing.
"""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, Self

from iot2.errors import DataError
from iot2.net.events import Code, Refusal
from iot2.parties.intervals import IntervalSet

FORMAT: Final = 2
INDEX_BITS: Final = 32
"""Indexes of a stored session are below 2^32; a row's key is session << 32 | index."""
_MOST_SESSIONS: Final = 1 << 63 - INDEX_BITS
"""Their numbers are below this: SQLite's keys have 63 bits."""

_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS format(number INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS sessions(id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " sid BLOB NOT NULL UNIQUE, variant INTEGER NOT NULL, fingerprint BLOB NOT NULL,"
    " peer TEXT NOT NULL, count INTEGER NOT NULL, items TEXT, demo BLOB)",
    "CREATE TABLE IF NOT EXISTS transfers(key INTEGER PRIMARY KEY, query BLOB NOT NULL,"
    " reply BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS offers(key INTEGER PRIMARY KEY)",
    "CREATE TABLE IF NOT EXISTS spent(item TEXT PRIMARY KEY) WITHOUT ROWID",
)


def create_tables(connection: sqlite3.Connection) -> None:
    """Make what is missing.

    Raises:
        DataError: the file holds another format.
    """
    for statement in _TABLES:
        connection.execute(statement)
    row = connection.execute("SELECT number FROM format").fetchone()
    if row is None:
        connection.execute("INSERT INTO format VALUES (?)", (FORMAT,))
    elif row[0] != FORMAT:
        raise DataError(f"expected a state of format {FORMAT}, came format {row[0]!r:.20}")


@dataclass(frozen=True, slots=True)
class SessionRow:
    """An open session as it is stored.

    Attributes:
        sid: 16 bytes.
        variant: `Session.COMPACT` or `Session.SIX`.
        fingerprint: of its key.
        peer: the address that opened it.
        count: indexes 0 to count - 1 may be asked.
        items: the item of each index, or None for a demonstration.
        demo: the messages of every index of a demonstration.
        id: the row's number, once stored.
    """

    sid: bytes
    variant: int
    fingerprint: bytes
    peer: str
    count: int
    items: tuple[str, ...] | None = None
    demo: tuple[bytes, ...] | None = field(default=None, repr=False)
    id: int = 0

    def numbered(self, number: int) -> Self:
        """The same session under the number that it was stored with."""
        return dataclasses.replace(self, id=number)


@dataclass(frozen=True, slots=True)
class Answered:
    """One answered index: what was asked, and the bytes that answer it for ever."""

    index: int
    query: bytes
    reply: bytes = field(repr=False)


def query_digest(query: bytes) -> bytes:
    """What is remembered of a query: SHA-256 of its bytes."""
    return sha256(query).digest()


def insert_session(connection: sqlite3.Connection, row: SessionRow) -> int:
    """Store a new session and return its number.

    Raises:
        Refusal: every number was given.
    """
    items = None if row.items is None else json.dumps(row.items)
    demo = None if row.demo is None else json.dumps([m.hex() for m in row.demo])
    cursor = connection.execute(
        "INSERT INTO sessions(sid, variant, fingerprint, peer, count, items, demo)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (row.sid, row.variant, row.fingerprint, row.peer, row.count, items, demo),
    )
    number = int(cursor.lastrowid or 0)
    if number >= _MOST_SESSIONS:
        raise Refusal(Code.INTERNAL, "the state has no number left for a session")
    return number


def load_session(
    connection: sqlite3.Connection, sid: bytes
) -> tuple[SessionRow, IntervalSet, IntervalSet] | None:
    """A session with its answered and its offered indexes, or None."""
    found = connection.execute(
        "SELECT id, variant, fingerprint, peer, count, items, demo FROM sessions WHERE sid = ?",
        (sid,),
    ).fetchone()
    if found is None:
        return None
    number, variant, fp, peer, count, items, demo = found
    row = SessionRow(
        sid,
        variant,
        fp,
        peer,
        count,
        None if items is None else tuple(json.loads(items)),
        None if demo is None else tuple(map(bytes.fromhex, json.loads(demo))),
        number,
    )
    return row, _indexes(connection, "transfers", number), _indexes(connection, "offers", number)


def _range(session: int) -> tuple[int, int]:
    start = session << INDEX_BITS
    return start, start + (1 << INDEX_BITS) - 1


def _indexes(connection: sqlite3.Connection, table: str, session: int) -> IntervalSet:
    start, stop = _range(session)
    rows = connection.execute(
        f"SELECT key FROM {table} WHERE key BETWEEN ? AND ? ORDER BY key",  # noqa: S608
        (start, stop),
    )
    indexes = IntervalSet()
    indexes.update(key - start for (key,) in rows)
    return indexes


def open_sessions(connection: sqlite3.Connection) -> list[tuple[int, bytes, str, int]]:
    """(number, sid, peer, count) of every session that is open."""
    return connection.execute("SELECT id, sid, peer, count FROM sessions").fetchall()


def _check_open(connection: sqlite3.Connection, session: int, sid: bytes) -> None:
    found = connection.execute("SELECT sid FROM sessions WHERE id = ?", (session,)).fetchone()
    if found is None or found[0] != sid:
        raise Refusal(Code.UNKNOWN_SESSION, "the session has ended")


def session_keys(connection: sqlite3.Connection) -> list[tuple[bytes, int]]:
    """(fingerprint, open sessions under it) of every key that they are of."""
    query = "SELECT fingerprint, COUNT(*) FROM sessions GROUP BY fingerprint"
    return connection.execute(query).fetchall()


def delete_session(connection: sqlite3.Connection, session: int, sid: bytes) -> None:
    """End a session: its transfers and offers go with it, spent items stay; again is no harm."""
    gone = connection.execute("DELETE FROM sessions WHERE id = ? AND sid = ?", (session, sid))
    if gone.rowcount:
        span = _range(session)
        connection.execute("DELETE FROM transfers WHERE key BETWEEN ? AND ?", span)
        connection.execute("DELETE FROM offers WHERE key BETWEEN ? AND ?", span)


def record_answers(
    connection: sqlite3.Connection,
    session: int,
    sid: bytes,
    answers: Sequence[Answered],
    items: Sequence[str],
) -> None:
    """Mark indexes as used and items as spent, with the replies.

    Raises:
        Refusal: the session has ended, an item is spent, or an index is used.
    """
    start = session << INDEX_BITS
    _check_open(connection, session, sid)
    for item in items:
        try:
            connection.execute("INSERT INTO spent VALUES (?)", (item,))
        except sqlite3.IntegrityError:
            raise Refusal(Code.SPENT, "an item was already transferred") from None
    try:
        connection.executemany(
            "INSERT INTO transfers VALUES (?, ?, ?)",
            [(start + entry.index, entry.query, entry.reply) for entry in answers],
        )
    except sqlite3.IntegrityError:
        raise Refusal(Code.STATE, "the index was already answered") from None


def stored_reply(
    connection: sqlite3.Connection,
    session: int,
    sid: bytes,
    asked: Sequence[tuple[int, bytes]],
) -> bytes:
    """The stored replies, concatenated, of (index, digest of the query) that were answered.

    Raises:
        Refusal: the session has ended, or one index was answered for another
            query, or is not stored.
    """
    _check_open(connection, session, sid)
    replies = []
    for index, digest in asked:
        found = connection.execute(
            "SELECT query, reply FROM transfers WHERE key = ?", (session << INDEX_BITS | index,)
        ).fetchone()
        if found is None or found[0] != digest:
            raise Refusal(Code.STATE, f"index {index} was answered for another query")
        replies.append(found[1])
    return b"".join(replies)


def record_offer(connection: sqlite3.Connection, session: int, sid: bytes, index: int) -> None:
    """Remember that the offer of an index was made; again is no harm.

    Raises:
        Refusal: the session has ended.
    """
    _check_open(connection, session, sid)
    connection.execute("INSERT OR IGNORE INTO offers VALUES (?)", (session << INDEX_BITS | index,))


def spent_items(connection: sqlite3.Connection) -> set[str]:
    """Every item that was transferred."""
    return {item for (item,) in connection.execute("SELECT item FROM spent")}
