"""The server's durable memory: sessions, answered indexes with their replies, spent items.

One SQLite file in the state folder, one connection, one thread that owns it.
A transfer is one operation, made durable before its reply may leave: that the
index is used, that the item is spent and the reply's bytes go into the same
transaction, after the reply was computed. So a process killed at any point has
either sent nothing for an index or can send the same bytes again; there is no
state between.

Operations that wait while a transaction is being flushed share the next one
(each in a savepoint of its own): under load the cost of a flush is divided,
alone a transfer never waits for others. `synchronous=FULL` in write-ahead mode
flushes at every commit. Without a folder the same tables live in memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from iot2.errors import DataError, Iot2Error
from iot2.net.tables import create_tables

FILE_NAME: Final = "state.sqlite"
_GROUP: Final = 128
"""Operations that share one transaction, at most."""

Operation = Callable[[sqlite3.Connection], Any]


class StoreError(Iot2Error):
    """The state could not be written: nothing of the operation happened."""


@dataclass(slots=True)
class Costs:
    """What commits cost so far: the writing thread's CPU time, and time on the clock."""

    commits: int = 0
    operations: int = 0
    cpu_ns: int = 0
    wall_ns: int = 0
    slowest_ns: int = 0


@dataclass(slots=True)
class _Ticket:
    operation: Operation
    future: asyncio.Future[Any]
    outcome: Any = None
    failure: BaseException | None = None


class Store:
    """Sessions, replies and spent items; see the module.

    Args:
        folder: where the state is kept; made (mode 0700) if missing. None keeps
            it in memory, so that it ends with the process.
        loop: the event loop that waits for the operations.

    Raises:
        DataError: the folder cannot be used, holds something else, or another
            server holds it.
    """

    def __init__(self, folder: Path | None, loop: asyncio.AbstractEventLoop) -> None:
        self.durable = folder is not None
        self.costs = Costs()
        self._loop = loop
        self._tickets: queue.SimpleQueue[_Ticket | None] = queue.SimpleQueue()
        self._connection = _connect(folder)
        self._thread = threading.Thread(target=self._run, name="iot2-store", daemon=True)
        self._thread.start()

    def submit(self, operation: Operation) -> asyncio.Future[Any]:
        """Run `operation` in the next transaction; the result comes once that is durable.

        Called in the event loop. The future raises what the operation raised,
        or `StoreError` if the transaction failed.
        """
        future: asyncio.Future[Any] = self._loop.create_future()
        self._tickets.put(_Ticket(operation, future))
        return future

    def submit_for(self, future: asyncio.Future[Any], operation: Operation) -> None:
        """As `submit`, from any thread, for a future that the event loop made."""
        self._tickets.put(_Ticket(operation, future))

    async def close(self) -> None:
        """Finish what was submitted, and close the file."""
        self._tickets.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        while True:
            first = self._tickets.get()
            if first is None:
                break
            group = [first]
            last = False
            while len(group) < _GROUP:
                try:
                    ticket = self._tickets.get_nowait()
                except queue.Empty:
                    break
                if ticket is None:
                    last = True
                    break
                group.append(ticket)
            self._transact(group)
            self._loop.call_soon_threadsafe(_resolve, group)
            if last:
                break
        self._connection.close()

    def _transact(self, group: Sequence[_Ticket]) -> None:
        connection = self._connection
        wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
        try:
            connection.execute("BEGIN IMMEDIATE")
            for ticket in group:
                _attempt(connection, ticket)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                connection.rollback()  # does nothing where SQLite did it already
            for ticket in group:
                ticket.failure = StoreError(f"the state could not be written: {error}")
        costs = self.costs
        elapsed = time.perf_counter_ns() - wall
        costs.commits += 1
        costs.operations += len(group)
        costs.cpu_ns += time.thread_time_ns() - cpu
        costs.wall_ns += elapsed
        costs.slowest_ns = max(costs.slowest_ns, elapsed)


def _attempt(connection: sqlite3.Connection, ticket: _Ticket) -> None:
    """Run one operation whole or not at all; a failure of the database fails the group."""
    connection.execute("SAVEPOINT operation")
    try:
        ticket.outcome = ticket.operation(connection)
    except sqlite3.IntegrityError as error:
        connection.execute("ROLLBACK TO operation")
        ticket.failure = StoreError(f"the state refused an operation: {error}")
    except sqlite3.Error:
        raise
    except Exception as error:
        connection.execute("ROLLBACK TO operation")
        ticket.failure = error
    connection.execute("RELEASE operation")


def _resolve(group: Sequence[_Ticket]) -> None:
    for ticket in group:
        if ticket.future.done():
            continue
        if ticket.failure is not None:
            ticket.future.set_exception(ticket.failure)
        else:
            ticket.future.set_result(ticket.outcome)


def _connect(folder: Path | None) -> sqlite3.Connection:
    if folder is None:
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        create_tables(connection)
        return connection
    path = folder / FILE_NAME
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # SQLite would follow the umask: replies and demonstration messages are nobody else's.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise DataError(
            f"{folder}: expected a folder to keep the state in, came: {error.strerror}"
        ) from error
    try:
        connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        # One server for one state: a second one fails here, not in mid-transfer.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        create_tables(connection)
        connection.execute("COMMIT")
    except DataError as error:
        connection.close()
        raise DataError(
            f"{path}: {error}: use the version that made it, or another folder, under which"
            " every item can be transferred once more"
        ) from error
    except sqlite3.Error as error:
        held = getattr(error, "sqlite_errorname", "") == "SQLITE_BUSY"
        came = "another server holds it" if held else str(error)
        raise DataError(f"{path}: expected the state of a server, came: {came}") from error
    return connection
