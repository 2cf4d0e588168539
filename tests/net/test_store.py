"""The store and its tables: whole operations, shared transactions, failures."""

import asyncio
import dataclasses
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from iot2.errors import DataError
from iot2.net.events import Refusal
from iot2.net.store import FILE_NAME, Store, StoreError
from iot2.net.tables import (
    Answered,
    SessionRow,
    delete_session,
    insert_session,
    load_session,
    open_sessions,
    query_digest,
    record_answers,
    record_offer,
    spent_items,
    stored_reply,
)

ROW = SessionRow(b"s" * 16, 1, b"f" * 32, "127.0.0.1", 10, ("a", "b"))
DEMO = SessionRow(b"t" * 16, 2, b"f" * 32, "::1", 3, None, (b"\0\1", b"\0\2"))


def run(work: Any) -> Any:
    return asyncio.run(work)


async def opened(folder: Path | None) -> Store:
    return Store(folder, asyncio.get_running_loop())


def test_a_session_and_its_answers_come_back(tmp_path: Path) -> None:
    async def first() -> None:
        store = await opened(tmp_path)
        number = await store.submit(lambda db: insert_session(db, ROW))
        other = await store.submit(lambda db: insert_session(db, DEMO))
        answers = [Answered(k, query_digest(b"q%d" % k), b"r%d" % k) for k in (0, 1, 5)]
        await store.submit(lambda db: record_answers(db, number, ROW.sid, answers, ["a"]))
        for _ in range(2):
            await store.submit(lambda db: record_offer(db, other, DEMO.sid, 2))
        await store.close()

    async def second() -> None:
        store = await opened(tmp_path)
        row, answered, offered = await store.submit(lambda db: load_session(db, ROW.sid))
        assert row == ROW.numbered(row.id)
        assert (answered.intervals, offered.intervals) == ([(0, 2), (5, 6)], [])
        demo, none, offers = await store.submit(lambda db: load_session(db, DEMO.sid))
        assert demo == DEMO.numbered(demo.id)
        assert (none.intervals, offers.intervals) == ([], [(2, 3)])
        asked = [(1, query_digest(b"q1")), (0, query_digest(b"q0"))]
        assert await store.submit(lambda db: stored_reply(db, row.id, ROW.sid, asked)) == b"r1r0"
        for wrong in ((1, query_digest(b"q0")), (2, query_digest(b"q2"))):
            with pytest.raises(Refusal, match="STATE"):
                await store.submit(lambda db, w=wrong: stored_reply(db, row.id, ROW.sid, [w]))
        assert await store.submit(spent_items) == {"a"}
        await store.submit(lambda db: delete_session(db, row.id, ROW.sid))
        assert await store.submit(lambda db: load_session(db, ROW.sid)) is None
        assert await store.submit(spent_items) == {"a"}, "items stay spent"
        assert [peer for _, _, peer, _ in await store.submit(open_sessions)] == ["::1"]
        await store.close()

    run(first())
    run(second())


def test_answers_are_recorded_whole_or_not_at_all() -> None:
    async def work() -> None:
        store = await opened(None)
        number = await store.submit(lambda db: insert_session(db, ROW))
        one = [Answered(0, b"q", b"r")]
        await store.submit(lambda db: record_answers(db, number, ROW.sid, one, ["a"]))
        for answers, items, code in (
            ([Answered(1, b"q", b"r"), Answered(0, b"q", b"other")], ["b"], "STATE"),
            ([Answered(1, b"q", b"r")], ["b", "a"], "SPENT"),
        ):
            with pytest.raises(Refusal, match=code):
                await store.submit(
                    lambda db, a=answers, i=items: record_answers(db, number, ROW.sid, a, i)
                )
        _, answered, _ = await store.submit(lambda db: load_session(db, ROW.sid))
        assert answered.intervals == [(0, 1)]
        assert await store.submit(spent_items) == {"a"}
        with pytest.raises(Refusal, match="UNKNOWN_SESSION"):
            await store.submit(lambda db: record_answers(db, number + 1, ROW.sid, one, []))
        await store.close()

    run(work())


def test_a_sessions_number_is_never_given_again() -> None:
    async def work() -> None:
        store = await opened(None)
        first = await store.submit(lambda db: insert_session(db, ROW))
        await store.submit(lambda db: delete_session(db, first, ROW.sid))
        second = await store.submit(lambda db: insert_session(db, DEMO))
        assert second > first
        one = [Answered(0, b"q", b"r")]
        await store.submit(lambda db: record_answers(db, second, DEMO.sid, one, []))
        await store.submit(lambda db: record_offer(db, second, DEMO.sid, 1))
        # What is meant for another session changes nothing of this one.
        await store.submit(lambda db: delete_session(db, second, ROW.sid))
        for late in (
            lambda db: record_answers(db, second, ROW.sid, [Answered(2, b"q", b"r")], ["a"]),
            lambda db: record_offer(db, second, ROW.sid, 2),
            lambda db: stored_reply(db, second, ROW.sid, [(0, b"q")]),
        ):
            with pytest.raises(Refusal, match="UNKNOWN_SESSION"):
                await store.submit(late)
        _, answered, offered = await store.submit(lambda db: load_session(db, DEMO.sid))
        assert (answered.intervals, offered.intervals) == ([(0, 1)], [(1, 2)])
        assert await store.submit(spent_items) == set()
        await store.close()

    run(work())


def test_numbers_of_sessions_run_out_with_an_error() -> None:
    async def work() -> None:
        store = await opened(None)

        def last(db: sqlite3.Connection) -> None:
            insert_session(db, ROW)
            db.execute("UPDATE sqlite_sequence SET seq = ?", ((1 << 31) - 2,))

        await store.submit(last)
        assert await store.submit(lambda db: insert_session(db, DEMO)) == (1 << 31) - 1
        other = dataclasses.replace(DEMO, sid=b"u" * 16)
        with pytest.raises(Refusal, match="no number left"):
            await store.submit(lambda db: insert_session(db, other))
        assert len(await store.submit(open_sessions)) == 2
        await store.close()

    run(work())


def test_what_waits_shares_a_transaction_and_fails_alone() -> None:
    async def work() -> None:
        store = await opened(None)
        release = asyncio.Event()
        loop = asyncio.get_running_loop()

        def slow(_: sqlite3.Connection) -> int:
            asyncio.run_coroutine_threadsafe(release.wait(), loop).result()
            return 0

        def bad(db: sqlite3.Connection) -> None:
            insert_session(db, DEMO)
            raise ValueError("no")

        first = store.submit(slow)
        await asyncio.sleep(0.05)
        before = store.costs.commits
        good = [store.submit(lambda db: insert_session(db, ROW))]
        failing = [store.submit(bad), store.submit(lambda db: insert_session(db, ROW))]
        good.append(store.submit(lambda db: insert_session(db, DEMO)))
        release.set()
        await asyncio.gather(first, *good)
        with pytest.raises(ValueError, match="no"):
            await failing[0]
        with pytest.raises(StoreError, match="refused"):
            await failing[1]
        assert store.costs.commits == before + 2, "one for the slow one, one for the four"
        assert len(await store.submit(open_sessions)) == 2
        await store.close()

    run(work())


def test_a_failing_commit_fails_everyone_and_leaves_nothing(tmp_path: Path) -> None:
    async def work() -> None:
        store = await opened(tmp_path)

        def broken(db: sqlite3.Connection) -> None:
            raise sqlite3.OperationalError("database or disk is full")

        release = asyncio.Event()
        loop = asyncio.get_running_loop()
        first = store.submit(
            lambda _: asyncio.run_coroutine_threadsafe(release.wait(), loop).result()
        )
        await asyncio.sleep(0.05)
        both = [store.submit(lambda db: insert_session(db, ROW)), store.submit(broken)]
        release.set()
        await first
        for future in both:
            with pytest.raises(StoreError, match="disk is full"):
                await future
        assert await store.submit(open_sessions) == []
        assert await store.submit(lambda db: insert_session(db, ROW)) > 0
        await store.close()

    run(work())


def test_durability_is_what_was_promised(tmp_path: Path) -> None:
    async def work() -> list[Any]:
        store = await opened(tmp_path)
        names = ("synchronous", "journal_mode", "locking_mode")
        values = [
            await store.submit(lambda db, n=name: db.execute(f"PRAGMA {n}").fetchone()[0])
            for name in names
        ]
        assert store.durable
        await store.close()
        return values

    assert run(work()) == [2, "wal", "exclusive"]


def test_a_second_store_is_refused(tmp_path: Path) -> None:
    async def work() -> None:
        store = await opened(tmp_path)
        with pytest.raises(DataError, match="another server holds it"):
            await opened(tmp_path)
        await store.close()
        await (await opened(tmp_path)).close()

    run(work())


def test_another_format_is_refused(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / FILE_NAME)
    database.execute("CREATE TABLE format(number INTEGER)")
    database.execute("INSERT INTO format VALUES (1)")
    database.commit()
    database.close()
    with pytest.raises(DataError, match="format 2, came format 1"):
        run(opened(tmp_path))
