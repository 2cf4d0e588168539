"""How a server starts and stops: the key that it keeps, and signals at any time."""

import contextlib
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from net_support import Peer, write_items

from iot2 import Query, SenderKey, Session
from iot2.cli import main
from iot2.errors import Iot2Error
from iot2.net.local import LocalServer, start_server


def kill(server: LocalServer) -> None:
    os.kill(server.process.pid, signal.SIGKILL)
    server.process.wait()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_items_outlive_the_process_with_the_key_that_they_were_offered_under(
    start: Any, tmp_path: Path
) -> None:
    write_items(tmp_path / "m.csv", 2)
    arguments = ("--messages", str(tmp_path / "m.csv"))
    server = start(*arguments)
    state = tmp_path / "m.csv.state"
    key = state / "sender.key"
    assert f"iot2: key made, and kept in {key}" in server.output
    assert (mode(state), mode(key)) == (0o700, 0o600)
    assert {path.suffix for path in state.iterdir()} <= {".key", ".sqlite", ".sqlite-wal"}
    peer = Peer(server.url)
    receiver = peer.open({"items": ["item0", "item1"]})
    receiver.precompute(2)
    first, second = (receiver.choose(b).to_bytes() for b in (1, 0))
    reply = peer.ask("query", first)
    kill(server)
    again = start(*arguments)
    assert f"iot2: key kept in {key}" in again.output
    assert again.fingerprint == server.fingerprint
    peer = Peer(again.url)
    peer.hello()
    session = peer.ask("resume", peer_session(receiver))
    assert session == {"answered": [[0, 0]]}
    assert peer.ask("query", first) == reply
    assert isinstance(peer.ask("query", second), bytes)
    peer.close()


def peer_session(receiver: Any) -> bytes:
    return Session(Session.COMPACT, receiver.sid, receiver.public.fingerprint).to_bytes()


def test_a_demonstration_with_a_state_keeps_the_keys_of_all_sizes(
    start: Any, tmp_path: Path
) -> None:
    arguments = ("--state", str(tmp_path / "state"))
    server = start(*arguments)
    peers = {}
    for bits in (1024, 3072):
        peer = Peer(server.url)
        receiver = peer.open({"count": 1}, bits=bits, demo=[1, 2])
        receiver.precompute(1)
        query = receiver.choose(1).to_bytes()
        assert receiver.public.bits == bits
        peers[bits] = peer.session, query, peer.ask("query", query)
    assert mode(tmp_path / "state" / "sender-1024.key") == 0o600
    server.stop()
    server = start(*arguments)
    for bits, (session, query, reply) in peers.items():
        peer = Peer(server.url)
        assert peer.hello(bits=bits).fingerprint == session.fingerprint
        assert peer.ask("resume", session.to_bytes()) == {"answered": [[0, 0]]}
        assert peer.ask("query", query) == reply
        peer.close()


def test_without_a_durable_state_the_key_is_fresh_and_says_so(start: Any, tmp_path: Path) -> None:
    write_items(tmp_path / "m.csv", 1)
    told = "iot2: a fresh key, which ends with this process"
    for arguments in ((), ("--messages", str(tmp_path / "m.csv"), "--reusable")):
        assert told in start(*arguments).output
    assert [path.name for path in tmp_path.iterdir()] == ["m.csv"]


def test_a_key_that_is_given_is_not_kept(start: Any, key_file: Path, tmp_path: Path) -> None:
    server = start("--key", str(key_file), "--state", str(tmp_path / "state"))
    assert not (tmp_path / "state" / "sender.key").exists()
    assert not any("kept" in line or "fresh" in line for line in server.output)


def test_a_kept_key_of_other_rows(tmp_path: Path, capsys: Any) -> None:
    write_items(tmp_path / "m.csv", 1)
    key = tmp_path / "state" / "sender.key"
    key.parent.mkdir()
    SenderKey.generate(512, 5, insecure=True).save(key)
    call = ["serve", "-p", "0", "--messages", str(tmp_path / "m.csv"), "--state", str(key.parent)]
    assert main(call) == 2
    assert f"expected rows of 5 messages for {key}, came 2" in capsys.readouterr().err


def test_a_key_that_cannot_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(Iot2Error, match=rf"{tmp_path / 'file'}: expected a folder"):
        start_server("--state", str(tmp_path / "file"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("durable", [False, True])
def test_a_signal_during_start_up_leaves_no_process_and_no_key(
    tmp_path: Path, number: int, durable: bool
) -> None:
    (tmp_path / "temporary").mkdir()
    state = tmp_path / "state"
    home = state if durable else tmp_path / "temporary"
    process = psutil.Popen(
        [sys.executable, "-m", "iot2", "serve", "-p", "0"]
        + (["--state", str(state)] if durable else []),
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 60
    while not (list(home.glob("iot2-*")) and process.children()):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.005)
    children = process.children(recursive=True)
    process.send_signal(number)
    output, errors = process.communicate(timeout=10)
    assert process.returncode == 0, errors
    assert (output, errors) == (b"", b"")
    assert not any(child.is_running() for child in children)
    assert {path.name for path in home.iterdir()} <= {"state.sqlite"}


def test_a_second_signal_does_not_wait(start: Any, tmp_path: Path) -> None:
    SenderKey.generate(3072).save(tmp_path / "k")
    limits = ("--limit", "batch=8000", "--limit", "frame_bytes=8000000", "--workers", "1")
    state = ("--key", str(tmp_path / "k"), "--state", str(tmp_path / "state"), *limits)
    server = start(*state)
    peer = Peer(server.url)
    receiver = peer.open({"count": 8000}, demo=[1, 2])
    receiver.precompute(8000)
    queries = [query.to_bytes() for query in receiver.choose_many([1] * 8000)]
    answers: list[Any] = []

    def ask() -> None:
        try:
            answers.append(peer.link.ask("batch", {"queries": b"".join(queries)}, 60.0))
        except Iot2Error as error:
            answers.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    time.sleep(1)
    server.process.terminate()
    time.sleep(0.5)
    assert server.process.poll() is None, "the first one waits"
    server.process.terminate()
    assert server.process.wait(3) == 0
    asking.join(60)
    assert isinstance(answers[0], Iot2Error)
    peer = Peer(start(*state).url)
    peer.hello()
    assert peer.ask("resume", peer_session(receiver)) == {"answered": []}
    assert Query.from_bytes(queries[0]).index == 0
    assert isinstance(peer.ask("query", queries[0]), bytes)
    peer.close()


def test_a_second_signal_leaves_no_key_that_was_being_made(
    start: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    server = start()
    peer = Peer(server.url)

    def ask() -> None:
        with contextlib.suppress(Iot2Error):
            peer.hello(bits=4096)

    asking = threading.Thread(target=ask)
    asking.start()
    process = psutil.Process(server.process.pid)
    deadline = time.monotonic() + 20
    while not process.children():
        assert time.monotonic() < deadline
        time.sleep(0.005)
    children = process.children()
    for _ in range(3):
        server.process.terminate()
        time.sleep(0.1)
    assert server.process.wait(3) == 0
    assert not any(child.is_running() for child in children)
    assert list(tmp_path.iterdir()) == []
    asking.join(30)


def test_a_certificate_is_read_before_anything_is_made_or_said(
    key_file: Path, tmp_path: Path, capsys: Any
) -> None:
    text = tmp_path / "text"
    text.write_text("no certificate")
    call = ["serve", "-p", "0", "--state", str(tmp_path / "state")]
    tls = ["--tls-cert", str(text), "--tls-key", str(text)]
    for key in ([], ["--key", str(key_file)]):
        assert main([*call, *key, *tls]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err == (
            f"iot2: expected a certificate and its key for TLS in {text} and {text},"
            " came: SSLError\n"
        )
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("workers", ["0", "-1", "257", "100000"])
def test_a_number_of_workers_out_of_bounds(tmp_path: Path, capsys: Any, workers: str) -> None:
    for command in (["serve", "-p", "0"], ["profile", "-l", "1024", "--output", str(tmp_path)]):
        assert main([*command, "--workers", workers]) == 2
        assert f"expected 1 to 256 workers, got {workers}" in capsys.readouterr().err


def test_what_a_killed_start_left_is_removed(start: Any, tmp_path: Path) -> None:
    left = tmp_path / "state" / "iot2-abcdef"
    left.mkdir(parents=True)
    (left / "sender.key").write_bytes(b"unfinished")
    server = start("--state", str(tmp_path / "state"))
    assert not left.exists()
    assert (tmp_path / "state" / "sender.key").exists()
    server.stop()


def test_a_state_of_another_format_gets_no_key(tmp_path: Path, capsys: Any) -> None:
    with sqlite3.connect(tmp_path / "state.sqlite") as connection:
        connection.execute("CREATE TABLE format(number INTEGER NOT NULL)")
        connection.execute("INSERT INTO format VALUES (1)")
    connection.close()
    assert main(["serve", "-p", "0", "--state", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert f"{tmp_path / 'state.sqlite'}: expected a state of format 2, came format 1" in error
    assert "every item can be transferred once more" in error
    assert not (tmp_path / "sender.key").exists()
