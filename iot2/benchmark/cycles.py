"""CPU cycles, read from a counter and never multiplied from a time.

Two sources, tried in order:

`perf_event`
    The kernel's counter for this thread (`perf_event_open`): core cycles, which
    speed up and slow down with the processor and stop while the thread does not
    run. Kernel and user are counted where the kernel lets us, else user alone.
`tsc`
    The x86 time-stamp register: reference cycles at a constant rate, which also
    pass while another thread has the core. Used where the kernel refuses, as
    most virtual machines and containers make it.

ARM has neither without the kernel: its user-readable counter ticks at a few
MHz whatever the processor does, and so counts no cycles.
"""

import ctypes
import functools
import mmap
import os
import platform
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

Source = Literal["perf_event", "tsc", "none"]

PERF_EVENT_OPEN: Final = {"x86_64": 298, "aarch64": 241}
"""The number of the system call, by machine (Linux: asm/unistd_64.h, asm-generic/unistd.h)."""

# linux/perf_event.h, struct perf_event_attr as of PERF_ATTR_SIZE_VER5
_ATTR_SIZE: Final = 112
CPU_CYCLES: Final = (0, 0)
"""PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES."""
EXCLUDE_KERNEL: Final = 1 << 5
EXCLUDE_HYPERVISOR: Final = 1 << 6
SCOPES: Final[dict[str, int]] = {
    "user and kernel": EXCLUDE_HYPERVISOR,
    "user only": EXCLUDE_HYPERVISOR | EXCLUDE_KERNEL,
}
"""What is counted and the flags for it, the first choice first."""

FLAG_CLOEXEC: Final = 8

# lfence; rdtsc; shl rdx, 32; or rax, rdx; ret
# The fence keeps the processor from reading the register ahead of the work
# before it; the register comes in two halves, edx:eax, and a C function returns
# its result in rax, so that ctypes can call these bytes as `uint64_t f(void)`.
_READ_TSC: Final = bytes.fromhex("0fae e8 0f31 48c1e220 4809d0 c3")


class CycleCounterRefused(Exception):
    """One source cannot be had on this machine; the text says why."""


@dataclass(frozen=True, slots=True)
class CycleCounter:
    """A way to read cycles, and what they are.

    `read` gives a number whose differences are cycles; `close` gives the
    counter back and may be called once nothing reads any more.
    """

    source: Source
    kind: Literal["core", "reference", "none"]
    scope: str
    read: Callable[[], int] | None
    close: Callable[[], None]
    note: str
    """What refused, and how, where this is not the first choice."""


def open_counter() -> CycleCounter:
    """Open the best counter that this machine allows; it may be none."""
    notes: list[str] = []
    for open_source in (open_perf_event, open_tsc):
        try:
            counter = open_source()
        except CycleCounterRefused as refusal:
            notes.append(str(refusal))
            continue
        return CycleCounter(
            counter.source, counter.kind, counter.scope, counter.read, counter.close,
            "; ".join(notes),
        )  # fmt: skip
    return CycleCounter("none", "none", "none", None, _nothing, "; ".join(notes))


def open_perf_event() -> CycleCounter:
    """The kernel's cycle counter for the calling thread, wherever it runs.

    Raises:
        CycleCounterRefused: this system has no such call, or the call fails.
    """
    machine = platform.machine().lower()
    number = PERF_EVENT_OPEN.get({"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine))
    if not sys.platform.startswith("linux") or number is None or sys.maxsize < 2**32:
        raise CycleCounterRefused(f"perf_event_open: not on {sys.platform} {machine}")
    error = 0
    for scope, exclude in SCOPES.items():
        descriptor, error = perf_event(number, CPU_CYCLES, exclude)
        if descriptor < 0:
            continue
        try:
            # A counter that a hypervisor does not back may open and stay at 0.
            before = _read_counter(descriptor)
            sum(range(1000))
            if _read_counter(descriptor) > before:
                return CycleCounter(
                    "perf_event", "core", scope,
                    functools.partial(_read_counter, descriptor),
                    functools.partial(os.close, descriptor),
                    "",
                )  # fmt: skip
        except OSError as failure:
            error = failure.errno or 0
        os.close(descriptor)
    reason = os.strerror(error) if error else "the counter stands still"
    raise CycleCounterRefused(f"perf_event_open: {reason}")


def open_tsc() -> CycleCounter:
    """The x86 time-stamp register, through a function of ten-odd bytes made here.

    Python has no instruction of its own to read it, and a C extension would
    need a compiler on every machine; so the bytes go to a page of memory that
    is then made executable and no longer writable.

    Raises:
        CycleCounterRefused: no x86-64, or the system allows no such page.
    """
    if platform.machine().lower() not in ("x86_64", "amd64") or sys.maxsize < 2**32:
        raise CycleCounterRefused(f"time-stamp register: not on {platform.machine()}")
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        page.write(_READ_TSC)
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        if libc.mprotect(address, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_EXEC) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    except (OSError, AttributeError, TypeError, ValueError) as error:
        raise CycleCounterRefused(f"time-stamp register: {error}") from error
    # PYFUNCTYPE keeps the interpreter lock: giving it up costs more than the call.
    function = ctypes.PYFUNCTYPE(ctypes.c_uint64)(address)
    function.page = page  # type: ignore[attr-defined]  # lives as long as what calls into it
    return CycleCounter("tsc", "reference", "everything on the core", function, _nothing, "")


def reading_cost(read: Callable[[], int], readings: int = 10_001) -> float:
    """Median distance of two readings with nothing between, in cycles."""
    taken = [0] * readings
    for index in range(readings):
        before = read()
        taken[index] = read() - before
    return float(np.median(taken[1:]))


def frequency(read: Callable[[], int], seconds: float = 0.2) -> float:
    """Counted cycles per second of a busy loop, in Hz."""
    start, first = time.perf_counter_ns(), read()
    end = start + int(seconds * 1e9)
    while time.perf_counter_ns() < end:
        pass
    last, stop = read(), time.perf_counter_ns()
    return (last - first) / (stop - start) * 1e9


def perf_event(number: int, event: tuple[int, int], exclude: int) -> tuple[int, int]:
    """Open one event counter for the calling thread.

    Args:
        number: of the system call on this machine.
        event: the kernel's (type, config) of what is counted.
        exclude: flags for what is not counted.

    Returns:
        The file descriptor, or −1, and the error number, or 0.
    """
    kind, config = event
    attr = bytearray(_ATTR_SIZE)
    struct.pack_into("=IIQ", attr, 0, kind, _ATTR_SIZE, config)
    struct.pack_into("=Q", attr, 40, exclude)  # after sample_period, sample_type, read_format
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    this_thread, any_cpu, no_group = 0, -1, -1
    descriptor = libc.syscall(
        ctypes.c_long(number),
        (ctypes.c_char * _ATTR_SIZE).from_buffer(attr),
        ctypes.c_int(this_thread), ctypes.c_int(any_cpu), ctypes.c_int(no_group),
        ctypes.c_ulong(FLAG_CLOEXEC),
    )  # fmt: skip
    return int(descriptor), ctypes.get_errno() if descriptor < 0 else 0


def _read_counter(descriptor: int) -> int:
    return int.from_bytes(os.read(descriptor, 8), sys.byteorder)


def _nothing() -> None:
    """Give back nothing."""
