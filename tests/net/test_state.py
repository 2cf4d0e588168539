"""What must hold across restarts, crashes and a state that cannot be written."""

import asyncio
import os
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from net_support import Peer, write_items

from iot2 import Offer, Query, Reply, SixReply
from iot2.errors import Iot2Error, StateError
from iot2.net import AsyncClient, Client, Interrupted, Options, RemoteError
from iot2.net.local import LocalServer
from iot2.protocol.framing import u64


def kill(server: LocalServer) -> None:
    os.kill(server.process.pid, signal.SIGKILL)
    server.process.wait()


def port(server: LocalServer) -> int:
    return int(server.url.rsplit(":", 1)[1])


@pytest.mark.parametrize("end", [LocalServer.stop, kill], ids=["SIGTERM", "SIGKILL"])
def test_an_answered_index_stays_answered(
    start: Any, key_file: Path, tmp_path: Path, end: Any
) -> None:
    arguments = ("--key", str(key_file), "--state", str(tmp_path / "state"))
    server = start(*arguments)
    peer = Peer(server.url)
    receiver = peer.open({"count": 6}, demo=[1, 2])
    receiver.precompute(6)
    first, second, third, spare = (receiver.choose(b).to_bytes() for b in (0, 1, 0, 1))
    reply = peer.ask("query", first)
    replies = peer.ask("batch", {"queries": second + third})["replies"]
    end(server)
    server = start(*arguments)
    again = Peer(server.url)
    again.hello(demo=[3, 4])
    assert again.code("query", first) == "UNKNOWN_SESSION"
    assert again.ask("resume", peer.session.to_bytes()) == {"answered": [[0, 2]]}
    assert again.ask("query", first) == reply, "the stored bytes, whatever messages are given"
    assert again.ask("batch", {"queries": second + third})["replies"] == replies
    assert again.ask("query", third) == replies[len(replies) // 2 :]
    other = Query(peer.session.sid, 0, second[26:])
    assert again.code("query", other.to_bytes()) == "STATE"
    # What was not answered still can be, with the messages of the session.
    assert receiver.retrieve(Reply.from_bytes(again.ask("query", spare))) == bytes(7) + b"\2"
    again.close()


def test_six_offers_survive_a_crash(start: Any, key_file: Path, tmp_path: Path) -> None:
    arguments = ("--key", str(key_file), "--state", str(tmp_path / "state"))
    server = start(*arguments)
    peer = Peer(server.url)
    receiver = peer.open_six({"count": 2})
    receiver.precompute(2)
    asked = peer.session.sid + u64(0)
    offer = peer.ask("offer", asked)
    query = receiver.choose(Offer.from_bytes(offer), 1).to_bytes()
    kill(server)
    again = Peer(start(*arguments).url)
    again.hello(variant="six")
    assert again.ask("resume", peer.session.to_bytes()) == {"answered": []}
    reply = again.ask("query", query)
    assert receiver.retrieve(SixReply.from_bytes(reply)).endswith(b"message 1")
    assert again.ask("offer", asked) == offer
    again.close()


def test_a_closed_session_is_gone_for_good(start: Any, key_file: Path, tmp_path: Path) -> None:
    arguments = ("--key", str(key_file), "--state", str(tmp_path / "state"))
    server = start(*arguments)
    peer = Peer(server.url)
    receiver = peer.open({"count": 1})
    receiver.precompute(1)
    query = receiver.choose(0).to_bytes()
    peer.ask("query", query)
    assert peer.ask("close", {}) == {}
    assert peer.code("query", query) == "UNKNOWN_SESSION"
    server.stop()
    server = start(*arguments)
    again = Peer(server.url)
    again.hello()
    assert again.code("resume", peer.session.to_bytes()) == "UNKNOWN_SESSION"
    again.close()
    server.stop()
    rows = sqlite3.connect(tmp_path / "state" / "state.sqlite")
    assert rows.execute("SELECT count(*) FROM transfers").fetchone() == (0,)
    rows.close()


def test_without_state_the_client_is_told(start: Any, key_file: Path) -> None:
    server = start("--key", str(key_file))
    client = Client(server.url, Options(count=2, demo=(1, 2), insecure=True, patience_s=20))
    client.connect()
    assert client.limits["durable"] is False
    assert client.transfer(1)[-1] == 2
    kill(server)
    start("--key", str(key_file), port=port(server))
    with pytest.raises(StateError, match="lost this session"):
        client.transfer(1)
    client.close()


@pytest.mark.parametrize("end", [LocalServer.stop, kill], ids=["SIGTERM", "SIGKILL"])
def test_an_item_is_spent_once(start: Any, key_file: Path, tmp_path: Path, end: Any) -> None:
    rows = write_items(tmp_path / "m.csv", 3)
    arguments = ("--key", str(key_file), "--messages", str(tmp_path / "m.csv"))
    server = start(*arguments)
    with Client(server.url, Options(items=("item1",), insecure=True)) as client:
        assert client.transfer(0).decode() == rows["item1"][0]
    for _ in range(2):
        with pytest.raises(RemoteError) as caught:
            Client(server.url, Options(items=("item0", "item1"), insecure=True)).connect()
        assert caught.value.code == "SPENT"
        end(server)
        # The state's default place is beside the messages: no option is needed.
        server = start(*arguments)
        assert "items: 3, of them spent: 1" in "\n".join(server.output)
    with Client(server.url, Options(items=("item2",), insecure=True)) as client:
        assert client.transfer(1).decode() == rows["item2"][1]


def test_a_state_under_another_key_is_warned_of(
    start: Any, key_file: Path, key_of_5: Path, tmp_path: Path
) -> None:
    state = ("--state", str(tmp_path / "state"))
    first = start("--key", str(key_file), *state)
    Peer(first.url).open({"count": 1})
    first.stop()
    assert "another key" not in "\n".join(first.errors)
    other = start("--key", str(key_of_5), *state)
    assert "1 open sessions of the state are of another key" in "\n".join(other.errors)


def test_an_item_of_two_sessions_goes_to_one(start: Any, key_file: Path, tmp_path: Path) -> None:
    write_items(tmp_path / "m.csv", 1)
    server = start("--key", str(key_file), "--messages", str(tmp_path / "m.csv"))

    async def run() -> list[bytes | RemoteError]:
        options = Options(items=("item0",), insecure=True)
        clients = [AsyncClient(server.url, options) for _ in range(8)]
        await asyncio.gather(*(client.connect() for client in clients))
        got = await asyncio.gather(
            *(client.transfer(k % 2) for k, client in enumerate(clients)), return_exceptions=True
        )
        await asyncio.gather(*(client.close() for client in clients))
        return got  # type: ignore[return-value]

    got = asyncio.run(run())
    assert len([m for m in got if isinstance(m, bytes)]) == 1
    assert all(m.code == "SPENT" for m in got if isinstance(m, RemoteError))


def test_an_item_twice_is_refused_before_anything_is_spent(
    start: Any, key_file: Path, tmp_path: Path
) -> None:
    rows = write_items(tmp_path / "m.csv", 2)
    server = start("--key", str(key_file), "--messages", str(tmp_path / "m.csv"))
    options = Options(items=("item0", "item1", "item0"), insecure=True)
    with pytest.raises(RemoteError, match="REFUSED: an item is named twice"):
        Client(server.url, options).connect()
    with Client(server.url, Options(items=("item1", "item0"), insecure=True)) as client:
        assert client.transfer_many([1, 0]) == [
            rows["item1"][1].encode(),
            rows["item0"][0].encode(),
        ]


def test_an_item_twice_in_a_batch(start: Any, key_file: Path, tmp_path: Path) -> None:
    """A session that a reusable server opened may be resumed where items are spent."""
    rows = write_items(tmp_path / "m.csv", 2)
    arguments = (
        "--key", str(key_file), "--messages", str(tmp_path / "m.csv"),
        "--state", str(tmp_path / "state"),
    )  # fmt: skip
    first = start(*arguments, "--reusable")
    peer = Peer(first.url)
    receiver = peer.open({"items": ["item0", "item1", "item0"]})
    receiver.precompute(3)
    a, b, c = (receiver.choose(0).to_bytes() for _ in range(3))
    first.stop()
    session = peer.session
    peer = Peer(start(*arguments, port=port(first)).url)
    peer.hello()
    assert peer.ask("resume", session.to_bytes()) == {"answered": []}
    assert peer.code("batch", {"queries": a + b + c}) == "SPENT"
    assert (
        receiver.retrieve(Reply.from_bytes(peer.ask("query", a)))[4:] == rows["item0"][0].encode()
    )
    assert peer.code("query", c) == "SPENT"
    assert peer.code("batch", {"queries": b + c}) == "SPENT"
    assert peer.ask("query", b), "the refused batch spent nothing"
    peer.close()


@pytest.mark.parametrize("variant", ["compact", "six"])
def test_what_ended_before_a_failure_is_not_lost(
    start: Any, key_file: Path, tmp_path: Path, variant: str
) -> None:
    rows = write_items(tmp_path / "m.csv", 7)
    server = start(
        "--key", str(key_file), "--messages", str(tmp_path / "m.csv"), "--limit", "batch=2"
    )
    options = Options(variant=variant, items=tuple(rows), batch=50, insecure=True)
    ended = 4 if variant == "compact" else 5  # of item4 and item5, one batch, neither came
    with Client(server.url, options) as client:
        with Client(server.url, Options(items=("item5",), insecure=True)) as other:
            other.transfer(0)
        with pytest.raises(Interrupted, match=f"{ended} of 7 transfers .*SPENT.*item5") as caught:
            client.transfer_many([1] * 7)
    assert caught.value.messages == [row[1].encode() for row in rows.values()][:ended]
    assert isinstance(caught.value.__cause__, RemoteError)
    assert rows["item0"][1] not in repr(caught.value) + str(caught.value)


def test_a_failure_before_any_transfer_is_raised_as_it_is(
    start: Any, key_file: Path, tmp_path: Path
) -> None:
    rows = write_items(tmp_path / "m.csv", 2)
    server = start("--key", str(key_file), "--messages", str(tmp_path / "m.csv"))
    with Client(server.url, Options(items=tuple(rows), insecure=True)) as client:
        with Client(server.url, Options(items=("item0",), insecure=True)) as other:
            other.transfer(0)
        with pytest.raises(RemoteError, match="SPENT"):
            client.transfer_many([1, 1])


def test_reusable_items_are_announced_loudly(start: Any, key_file: Path, tmp_path: Path) -> None:
    write_items(tmp_path / "m.csv", 1)
    server = start("--key", str(key_file), "--messages", str(tmp_path / "m.csv"), "--reusable")
    for choice in (0, 1):
        with Client(server.url, Options(items=("item0", "item0"), insecure=True)) as client:
            assert client.transfer(choice) == client.transfer(choice)
    assert "REUSABLE" in "\n".join(server.errors)


def test_one_query_asked_at_once_and_two_for_one_index(start: Any, key_file: Path) -> None:
    server = start("--key", str(key_file), "--workers", "2")
    peers = Peer(server.url)
    receiver = peers.open({"count": 40}, demo=[1, 2])
    receiver.precompute(40)
    queries = [receiver.choose(0).to_bytes() for _ in range(40)]

    async def run() -> None:
        client = AsyncClient(server.url, Options(count=1, insecure=True))
        await client.connect()
        link = client._link
        assert link is not None
        await link.ask("resume", peers.session.to_bytes(), 10)
        for index in range(0, 40, 2):
            mine, other = queries[index], queries[index + 1]
            rival = Query(peers.session.sid, index, other[26:]).to_bytes()
            # All five are on their way before the first is answered.
            answers = await asyncio.gather(
                *(link.ask("query", q, 10) for q in (mine, mine, rival, mine, rival))
            )
            assert isinstance(answers[0], bytes)
            assert answers[0] == answers[1] == answers[3]
            assert answers[2]["error"] == answers[4]["error"] == "STATE"
        await client.close()

    asyncio.run(run())
    peers.close()


def test_two_servers_cannot_share_a_state(start: Any, key_file: Path, tmp_path: Path) -> None:
    arguments = ("--key", str(key_file), "--state", str(tmp_path / "state"))
    start(*arguments)
    with pytest.raises(Iot2Error, match="another server holds it"):
        start(*arguments)


def test_a_state_that_is_something_else(start: Any, key_file: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "state.sqlite").write_bytes(b"no database at all" * 100)
    for name in ("file", "bad"):
        with pytest.raises(Iot2Error, match="expected"):
            start("--key", str(key_file), "--state", str(tmp_path / name))
    database = sqlite3.connect(tmp_path / "state.sqlite")
    database.execute("CREATE TABLE format(number INTEGER)")
    database.execute("INSERT INTO format VALUES (99)")
    database.commit()
    database.close()
    with pytest.raises(Iot2Error, match="format"):
        start("--key", str(key_file), "--state", str(tmp_path))


def test_the_state_is_private(start: Any, key_file: Path, tmp_path: Path) -> None:
    start("--key", str(key_file), "--state", str(tmp_path / "state"))
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    for path in (tmp_path / "state").iterdir():
        assert path.stat().st_mode & 0o077 == 0, path


@pytest.fixture
def others_folder() -> Iterator[Path]:
    """A folder that any user may reach, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)


def test_a_read_only_state(start: Any, key_file: Path, others_folder: Path) -> None:
    if os.geteuid() != 0:
        user = None
    else:
        user = 65534  # root may write anywhere
        probe = [sys.executable, "-c", "import iot2.cli.serve"]
        try:
            status = psutil.Popen(probe, user=user, stderr=-3).wait()
        except PermissionError:  # the environment lies below a private folder
            status = 126
        if status != 0:
            pytest.skip("another user cannot run this environment")
    key = others_folder / "k"
    key.write_bytes(key_file.read_bytes())
    key.chmod(0o644)
    (others_folder / "state").mkdir(mode=0o555)
    (others_folder / "state").chmod(0o555)
    with pytest.raises(Iot2Error, match=r"state.*expected"):
        start("--key", str(key), "--state", str(others_folder / "state"), user=user)


LITTLE_ROOM = (
    sys.executable,
    "-c",
    "import resource, sys\n"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))\n"
    "from iot2.cli import main\n"
    "sys.exit(main())",
)


def test_a_full_disk(start: Any, key_file: Path, tmp_path: Path) -> None:
    """A limit on the size of files stands in for the disk: the same error of the system."""
    state = ("--key", str(key_file), "--state", str(tmp_path / "state"))
    server = start(*state, "--log-level", "error", command=LITTLE_ROOM)
    peer = Peer(server.url)
    receiver = peer.open({"count": 2000}, demo=[1, 2])
    receiver.precompute(2000)
    answered: list[tuple[bytes, bytes]] = []
    for _ in range(2000):
        query = receiver.choose(1)
        answer = peer.ask("query", query.to_bytes())
        if isinstance(answer, dict):
            break
        receiver.retrieve(Reply.from_bytes(answer))
        answered.append((query.to_bytes(), answer))
    else:
        pytest.fail("the disk was never full")
    assert answer["error"] == "INTERNAL"
    assert answer["retry_after_ms"] > 0
    assert any('"event":"state"' in line for line in server.errors)
    # Reading goes on, and the operator makes room: nothing was lost.
    assert peer.ask("query", answered[0][0]) == answered[0][1]
    unlimited = (psutil.RLIM_INFINITY, psutil.RLIM_INFINITY)
    psutil.Process(server.process.pid).rlimit(psutil.RLIMIT_FSIZE, unlimited)
    reply = peer.ask("query", query.to_bytes())
    assert receiver.retrieve(Reply.from_bytes(reply))[-1] == 2
    kill(server)
    again = Peer(start(*state).url)
    again.hello()
    assert again.ask("resume", peer.session.to_bytes()) == {"answered": [[0, len(answered)]]}
    for asked, reply in answered[-3:]:
        assert again.ask("query", asked) == reply
    again.close()


JUMPY = (
    sys.executable,
    "-c",
    "import signal, sys, time\n"
    "true, shift = time.time, [0.0]\n"
    "time.time = lambda: true() + shift[0]\n"
    "def jump(*_): shift[0] = -7200.0 if shift[0] > 0 else 7200.0\n"
    "signal.signal(signal.SIGUSR1, jump)\n"
    "from iot2.cli import main\n"
    "sys.exit(main())",
)


def test_clock_jumps(start: Any, key_file: Path, tmp_path: Path) -> None:
    server = start(
        "--key", str(key_file), "--state", str(tmp_path / "state"), "--limit", "session_idle_s=60",
        command=JUMPY,
    )  # fmt: skip
    with Client(server.url, Options(count=60, demo=(1, 2), insecure=True)) as client:
        for k in range(60):
            if k % 10 == 0:
                os.kill(server.process.pid, signal.SIGUSR1)
                time.sleep(0.05)
            assert client.transfer(k % 2)[-1] == 1 + k % 2


def test_a_signal_lets_what_is_in_flight_finish(start: Any, tmp_path: Path) -> None:
    from iot2 import SenderKey

    SenderKey.generate(3072).save(tmp_path / "k")
    state = ("--key", str(tmp_path / "k"), "--state", str(tmp_path / "state"))
    server = start(*state, "--workers", "1")

    async def run() -> list[int]:
        options = Options(count=150, batch=50, demo=(1, 2), patience_s=60)
        async with AsyncClient(server.url, options) as client:
            client.precompute(150)
            work = asyncio.create_task(client.transfer_many([1] * 150))
            await asyncio.sleep(0.2)
            assert await asyncio.to_thread(server.stop) == 0
            await asyncio.to_thread(start, *state, port=port(server))
            return [m[-1] for m in await work]

    assert asyncio.run(run()) == [2] * 150
