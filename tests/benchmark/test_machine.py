import dataclasses
import getpass
import os
import socket

import gmpy2
import numpy as np
import pytest

from iot2.benchmark import machine


def test_what_can_be_read_is_read() -> None:
    found = machine.describe_machine()
    assert found.cores_logical == os.cpu_count()
    assert found.architecture == os.uname().machine
    assert found.kernel == f"{os.uname().sysname} {os.uname().release}"
    assert found.memory_bytes is None or found.memory_bytes > 2**20


def test_neither_host_nor_user_is_in_it() -> None:
    text = f"{dataclasses.asdict(machine.describe_machine())} {machine.describe_libraries()}"
    words = set(text.replace("'", " ").replace(",", " ").split())
    assert socket.gethostname() not in words - set(os.uname().release.split())
    assert os.uname().version not in text
    assert getpass.getuser() not in words


def test_a_raspberry_is_named_by_its_board(tmp_path, monkeypatch) -> None:
    real = machine._text
    board = "Raspberry Pi Zero 2 W Rev 1.0\0"
    monkeypatch.setattr(
        machine, "_text", lambda path: board if path.name == "model" else real(path)
    )
    assert machine._processor("BogoMIPS : 38.40\n") == board.rstrip("\0")
    assert machine._processor("model name\t: Toy CPU\n") == f"Toy CPU, {board[:-1]}"


def test_governor_and_frequency_are_those_of_the_core(tmp_path, monkeypatch) -> None:
    scaling = tmp_path / "cpu3" / "cpufreq"
    scaling.mkdir(parents=True)
    (scaling / "scaling_governor").write_text("powersave\n")
    (scaling / "scaling_cur_freq").write_text("1234567\n")
    (scaling / "cpuinfo_max_freq").write_text("5400000\n")
    monkeypatch.setattr(machine, "_CPUS", tmp_path)
    found = machine.describe_machine(3)
    assert (found.governor, found.frequency_mhz, found.frequency_max_mhz) == (
        "powersave", 1234.567, 5400.0,
    )  # fmt: skip
    assert machine.describe_machine(0).governor is None


def test_hyperthreads_share_a_physical_core(tmp_path, monkeypatch) -> None:
    for cpu, core in enumerate([0, 0, 1, 1]):
        topology = tmp_path / f"cpu{cpu}" / "topology"
        topology.mkdir(parents=True)
        (topology / "physical_package_id").write_text("0\n")
        (topology / "core_id").write_text(f"{core}\n")
    monkeypatch.setattr(machine, "_CPUS", tmp_path)
    assert machine.describe_machine().cores_physical == 2


def test_versions_are_those_that_run() -> None:
    libraries = machine.describe_libraries()
    assert libraries["gmpy2"] == gmpy2.version()
    assert libraries["numpy"] == np.__version__
    assert f"GMP {libraries['GMP']}" == gmpy2.mp_version()


def test_the_commit_and_its_changes(tmp_path, monkeypatch) -> None:
    def git(*arguments: str) -> str:
        return machine._git(tmp_path, "-c", "user.name=x", "-c", "user.email=x", *arguments)

    git("init", "-q")
    for name in ("code", "performances/x/data"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1")
    git("add", ".")
    git("commit", "-qm", "one")
    monkeypatch.setattr(machine, "repository_root", lambda start: tmp_path)
    commit, dirty = machine.describe_commit()
    assert commit == git("rev-parse", "HEAD")
    assert dirty is False
    (tmp_path / "performances/x/data").write_text("2")
    assert machine.describe_commit() == (commit, False)
    (tmp_path / "code").write_text("2")
    assert machine.describe_commit() == (commit, True)


def test_without_a_repository_there_is_no_commit(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setattr(machine, "repository_root", lambda start: tmp_path)
    assert machine.describe_commit() == (None, None)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_pinning_lasts_as_long_as_its_context() -> None:
    before = os.sched_getaffinity(0)
    with machine.pinned() as (cores, done):
        assert done
        assert cores == (max(before),)
        assert os.sched_getaffinity(0) == {max(before)}
    assert os.sched_getaffinity(0) == before


def test_a_refused_pin_is_no_error(monkeypatch) -> None:
    def refuse(pid, cores):
        raise OSError("no")

    monkeypatch.setattr(os, "sched_setaffinity", refuse, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1}, raising=False)
    with machine.pinned() as (cores, done):
        assert (cores, done) == ((0, 1), False)
