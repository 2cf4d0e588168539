"""What this machine is, as far as it tells; neither its name nor its user's."""

import importlib.metadata
import os
import platform
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import gmpy2

from iot2.arithmetic.exponentiation import libcrypto_version
from iot2.benchmark.platform_record import Machine
from iot2.errors import DataError
from iot2.paths import repository_root

LIBRARIES: Final = ("gmpy2", "numpy", "pandas", "rbcl", "coincurve")

_CPUS: Final = Path("/sys/devices/system/cpu")


def describe_machine(cpu: int | None = None) -> Machine:
    """Read what can be read; None stands for the rest.

    Args:
        cpu: whose governor and frequency; CPU 0 by default.
    """
    scaling = _CPUS / f"cpu{cpu or 0}" / "cpufreq"
    cpuinfo = _text(Path("/proc/cpuinfo")) or ""
    current = _kilohertz(scaling / "scaling_cur_freq")
    if current is None:
        found = re.search(r"^cpu MHz\s*:\s*([0-9.]+)$", cpuinfo, re.MULTILINE)
        current = float(found[1]) if found else None
    return Machine(
        processor=_processor(cpuinfo),
        architecture=platform.machine(),
        cores_physical=_physical_cores(),
        cores_logical=os.cpu_count(),
        governor=_text(scaling / "scaling_governor"),
        frequency_mhz=current,
        frequency_max_mhz=_kilohertz(scaling / "cpuinfo_max_freq"),
        memory_bytes=_memory(),
        kernel=f"{platform.system()} {platform.release()}",
    )


def describe_libraries() -> dict[str, str]:
    """Versions of what the measured code runs on; what is not installed is left out."""
    versions: dict[str, str] = {}
    for name in LIBRARIES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    versions["GMP"] = gmpy2.mp_version().removeprefix("GMP ")
    libcrypto = libcrypto_version()
    if libcrypto is not None:
        versions["libcrypto"] = libcrypto
    return versions


def describe_python() -> str:
    """Implementation, version and compiler of the running Python."""
    return (
        f"{platform.python_implementation()} {platform.python_version()}"
        f" ({platform.python_compiler()})"
    )


def describe_commit() -> tuple[str | None, bool | None]:
    """The commit of the checkout that iot2 runs from, and whether its code was changed since.

    Data and figures do not count as changes: a benchmark that replaces its own
    files would otherwise call every second run dirty.
    """
    try:
        root = repository_root(Path(__file__).parent)
        commit = _git(root, "rev-parse", "HEAD")
        changed = _git(
            root, "status", "--porcelain", "--", ".",
            ":(exclude)performances", ":(exclude)figures", ":(exclude)build",
        )  # fmt: skip
    except (DataError, OSError, subprocess.SubprocessError):
        return None, None
    return commit, bool(changed)


@contextmanager
def pinned() -> Iterator[tuple[tuple[int, ...] | None, bool]]:
    """Keep the process on one core while the context lasts, where the system can.

    The last of the allowed cores is taken, for the first ones serve interrupts.

    Yields:
        The cores that the process may now use (None where that cannot be read)
        and whether it was pinned.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield None, False
        return
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {max(before)})
        done = True
    except OSError:
        done = False
    try:
        yield tuple(sorted(os.sched_getaffinity(0))), done
    finally:
        if done:
            os.sched_setaffinity(0, before)


def load_average() -> tuple[float, ...] | None:
    """Mean number of runnable processes over 1, 5 and 15 minutes."""
    try:
        return tuple(round(load, 2) for load in os.getloadavg())
    except (OSError, AttributeError):
        return None


def _processor(cpuinfo: str) -> str | None:
    # x86 names each core; a Raspberry Pi names the board in its device tree.
    found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    board = _text(Path("/proc/device-tree/model"))
    parts = [found[1].strip() if found else None, board.rstrip("\0") if board else None]
    return ", ".join(part for part in parts if part) or platform.processor() or None


def _physical_cores() -> int | None:
    cores = {
        (_text(topology / "physical_package_id"), _text(topology / "core_id"))
        for topology in _CPUS.glob("cpu[0-9]*/topology")
    }
    return len(cores) or None


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _kilohertz(path: Path) -> float | None:
    text = _text(path)
    return int(text) / 1000 if text and text.isdigit() else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text("utf-8", "replace").strip() or None
    except OSError:
        return None


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *arguments],
        capture_output=True, check=True, text=True, timeout=60,
    )  # fmt: skip
    return done.stdout.strip()
