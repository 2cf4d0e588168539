import ctypes
import errno
import itertools
import os
import platform
import struct
import sys

import pytest

from iot2.benchmark import cycles
from iot2.benchmark.cycles import CycleCounter, CycleCounterRefused

x86 = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="x86-64 alone")
linux = pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() not in cycles.PERF_EVENT_OPEN,
    reason="Linux on x86-64 or ARM alone",
)
SOFTWARE_TASK_CLOCK = (1, 1)


class FakeLibc:
    """Answers `perf_event_open` from a list of results, and keeps what was asked."""

    def __init__(self, *results: int) -> None:
        self.results = list(results)
        self.asked: list[bytes] = []
        self.arguments: list[tuple[int, ...]] = []

        def syscall(number, attr, pid, cpu, group, flags):
            self.asked.append(bytes(attr))
            self.arguments.append(tuple(x.value for x in (number, pid, cpu, group, flags)))
            result = self.results.pop(0)
            if result < 0:
                ctypes.set_errno(-result)
                return -1
            return result

        self.syscall = syscall


@pytest.fixture
def fake(monkeypatch):
    def install(*results: int, counts=(), machine="x86_64"):
        libc = FakeLibc(*results)
        closed: list[int] = []
        values = iter(counts)
        monkeypatch.setattr(cycles.sys, "platform", "linux")
        monkeypatch.setattr(cycles.platform, "machine", lambda: machine)
        monkeypatch.setattr(cycles.ctypes, "CDLL", lambda *a, **k: libc)
        monkeypatch.setattr(cycles.os, "close", closed.append)
        monkeypatch.setattr(cycles, "_read_counter", lambda fd: next(values))
        return libc, closed

    return install


def test_the_kernels_counter_counts_everything_where_it_may(fake) -> None:
    libc, closed = fake(33, counts=(10, 500, 700))
    counter = cycles.open_perf_event()
    assert (counter.source, counter.kind, counter.scope) == (
        "perf_event", "core", "user and kernel",
    )  # fmt: skip
    assert counter.read is not None
    assert counter.read() == 700
    kind, size, config = struct.unpack_from("=IIQ", libc.asked[0])
    (flags,) = struct.unpack_from("=Q", libc.asked[0], 40)
    assert (kind, size, config, len(libc.asked[0])) == (0, 112, 0, 112)
    assert flags == 1 << 6
    assert libc.arguments == [(298, 0, -1, -1, 8)]
    counter.close()
    assert closed == [33]


def test_a_cautious_kernel_still_counts_user_cycles(fake) -> None:
    libc, _ = fake(-errno.EACCES, 34, counts=(1, 2), machine="aarch64")
    counter = cycles.open_perf_event()
    assert counter.scope == "user only"
    assert struct.unpack_from("=Q", libc.asked[1], 40) == (1 << 5 | 1 << 6,)
    assert [call[0] for call in libc.arguments] == [241, 241]


@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOSYS])
def test_a_refusal_says_why(fake, code: int) -> None:
    fake(-code, -code)
    with pytest.raises(CycleCounterRefused, match=os.strerror(code)):
        cycles.open_perf_event()


def test_a_counter_that_stands_still_is_refused_and_closed(fake) -> None:
    _, closed = fake(33, 34, counts=(0, 0, 5, 5))
    with pytest.raises(CycleCounterRefused, match="stands still"):
        cycles.open_perf_event()
    assert closed == [33, 34]


@pytest.mark.parametrize(("system", "machine"), [("darwin", "arm64"), ("linux", "riscv64")])
def test_other_systems_have_no_such_counter(monkeypatch, system: str, machine: str) -> None:
    monkeypatch.setattr(cycles.sys, "platform", system)
    monkeypatch.setattr(cycles.platform, "machine", lambda: machine)
    with pytest.raises(CycleCounterRefused, match=f"not on {system} {machine}"):
        cycles.open_perf_event()


@linux
def test_the_real_system_call_opens_a_software_counter() -> None:
    number = cycles.PERF_EVENT_OPEN[platform.machine()]
    exclude = cycles.SCOPES["user only"]
    descriptor, error = cycles.perf_event(number, SOFTWARE_TASK_CLOCK, exclude)
    if descriptor < 0:
        assert error in (errno.EACCES, errno.EPERM, errno.ENOSYS, errno.ENOENT)
        pytest.skip(f"this kernel lets nothing be counted: {os.strerror(error)}")
    try:
        first = int.from_bytes(os.read(descriptor, 8), sys.byteorder)
        sum(range(100_000))
        assert int.from_bytes(os.read(descriptor, 8), sys.byteorder) > first
    finally:
        os.close(descriptor)


@x86
def test_the_time_stamp_register_runs_forward() -> None:
    counter = cycles.open_tsc()
    assert (counter.source, counter.kind) == ("tsc", "reference")
    read = counter.read
    assert read is not None
    readings = [read() for _ in range(1000)]
    assert all(a < b for a, b in itertools.pairwise(readings))
    assert readings[0] > 2**20


@x86
def test_the_time_stamp_register_survives_its_opener() -> None:
    import gc

    read = cycles.open_tsc().read
    assert read is not None
    gc.collect()
    assert read() < read()


def test_arm_has_no_fallback(monkeypatch) -> None:
    monkeypatch.setattr(cycles.platform, "machine", lambda: "aarch64")
    with pytest.raises(CycleCounterRefused, match="aarch64"):
        cycles.open_tsc()


@x86
def test_a_system_without_executable_pages_is_no_crash(monkeypatch) -> None:
    def refuse(*arguments, **kwargs):
        raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(cycles.mmap, "mmap", refuse)
    with pytest.raises(CycleCounterRefused, match="Permission denied"):
        cycles.open_tsc()


def refusing(text: str):
    def refuse() -> CycleCounter:
        raise CycleCounterRefused(text)

    return refuse


def test_sources_are_tried_in_order_and_refusals_noted(monkeypatch) -> None:
    tsc = CycleCounter("tsc", "reference", "everything", lambda: 1, lambda: None, "")
    monkeypatch.setattr(cycles, "open_perf_event", refusing("no kernel"))
    monkeypatch.setattr(cycles, "open_tsc", lambda: tsc)
    counter = cycles.open_counter()
    assert (counter.source, counter.kind, counter.note) == ("tsc", "reference", "no kernel")
    assert counter.read is tsc.read
    monkeypatch.setattr(cycles, "open_tsc", refusing("no register"))
    counter = cycles.open_counter()
    assert (counter.source, counter.read) == ("none", None)
    assert counter.note == "no kernel; no register"


def test_reading_cost_and_frequency_come_from_readings() -> None:
    ticks = iter(range(0, 10**9, 30))
    assert cycles.reading_cost(lambda: next(ticks), readings=101) == 30


def test_frequency_relates_cycles_to_time(monkeypatch) -> None:
    now = iter(range(0, 10**12, 1_000_000))
    current = [0]

    def clock() -> int:
        current[0] = next(now)
        return current[0]

    monkeypatch.setattr(cycles.time, "perf_counter_ns", clock)
    # A counter of 3 cycles per ns that is read at the last reading of the clock.
    found = cycles.frequency(lambda: 3 * current[0], seconds=0.5)
    assert found == pytest.approx(3e9, rel=0.01)
