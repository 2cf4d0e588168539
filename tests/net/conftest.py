"""Keys and servers for the tests of the network; every process ends with its test."""

import contextlib
import dataclasses
import datetime
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from iot2 import SenderKey
from iot2.benchmark.machine import (
    describe_commit,
    describe_libraries,
    describe_machine,
    describe_python,
)
from iot2.files import write_atomically
from iot2.net.local import LocalServer, start_server

Start = Callable[..., LocalServer]


@pytest.fixture(scope="session")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key of 512 bits: quick, and worth nothing."""
    path = tmp_path_factory.mktemp("key") / "small.key"
    SenderKey.generate(512, insecure=True).save(path)
    return path


@pytest.fixture(scope="session")
def key_of_5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("key") / "five.key"
    SenderKey.generate(512, 5, insecure=True).save(path)
    return path


@contextlib.contextmanager
def _servers() -> Iterator[Start]:
    """Start servers; at the end each must stop cleanly and leave no process behind."""
    started: list[LocalServer] = []

    def start(*arguments: str, **more: object) -> LocalServer:
        started.append(start_server(*arguments, **more))  # type: ignore[arg-type]
        return started[-1]

    yield start
    family = [psutil.Process(s.process.pid) for s in started if s.process.poll() is None]
    children = [child for process in family for child in process.children(recursive=True)]
    killed = {server.process.pid for server in started if server.process.poll() is not None}
    statuses = [server.stop() for server in started if server.process.pid not in killed]
    assert statuses == [0] * len(statuses), [server.errors[-5:] for server in started]
    psutil.wait_procs(children, 5)
    assert not [child for child in children if child.is_running()]


@pytest.fixture
def start() -> Iterator[Start]:
    with _servers() as start:
        yield start


@pytest.fixture(scope="module")
def start_once() -> Iterator[Start]:
    """For servers that the tests of a module share."""
    with _servers() as start:
        yield start


@pytest.fixture(scope="module")
def demo(start_once: Start, key_file: Path) -> LocalServer:
    """A demonstration server with a small key."""
    return start_once("--key", str(key_file), "--log-level", "debug")


SOAK_RECORD = Path(__file__).parents[2] / "performances" / "soak" / "network.json"


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Keep the result of a whole soak of the network, with the commit and the machine."""
    results = [
        {
            "test": report.nodeid.rpartition("/")[2],
            "outcome": report.outcome,
            "seconds": round(report.duration, 1),
            **dict(report.user_properties),
        }
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
        if report.when == "call" and "soak" in report.keywords and "/net/" in report.nodeid
    ]
    expected = {"test_a_hundred_kills", "test_memory_is_flat_over_10000_transfers"}
    if not expected <= {str(result["test"]).rpartition("::")[2] for result in results}:
        return  # a part of it
    commit, dirty = describe_commit()
    record = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": commit,
        "dirty": dirty,
        "python": describe_python(),
        "libraries": describe_libraries(),
        "machine": dataclasses.asdict(describe_machine()),
        "results": results,
    }
    SOAK_RECORD.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(SOAK_RECORD, (json.dumps(record, indent=2) + "\n").encode())
    terminalreporter.write_line(f"soak of the network: result in {SOAK_RECORD}")
