"""What the notebooks read and measure: platforms by name, their statistics, their warnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import pandas as pd

from iot2.benchmark.numeric_csv import read_series
from iot2.benchmark.plan import BITS
from iot2.benchmark.runner import Settings, run_benchmark
from iot2.benchmark.stats import summarise
from iot2.benchmark.storage import Platform, platform_folders, read_platform
from iot2.errors import DataError
from iot2.paths import in_repository


def stored_platforms(data: str, names: Sequence[str] = ()) -> list[Platform]:
    """The platforms of a folder that hold measurements, each checked.

    Args:
        data: the folder; relative to the repository's root.
        names: which ones, and in which order; every one that is there by default.

    Raises:
        DataError: one of that name is not there, none is, or one is damaged.
    """
    folder = in_repository(data)
    present = {path.name: path for path in platform_folders(folder)}
    missing = [name for name in names if name not in present]
    if missing or not present:
        came = ", ".join(present) or "no platform at all"
        expected = ", ".join(missing) or "measurements"
        raise DataError(f"{data}: expected {expected}, came {came}; `iot2 bench` measures one")
    return [read_platform(present[name]) for name in names or present]


def measured_or_stored(
    output: str,
    platform: str,
    *,
    bits: Sequence[int] = (),
    iterations: int = 0,
    quick: bool = False,
    force: bool = False,
) -> Platform:
    """Measure this machine, unless the platform's measurements are already stored.

    Args:
        output: the folder of all platforms; relative to the repository's root.
        platform: the name of its folder.
        bits: modulus sizes; every usual one, or those that are stored, by default.
        iterations: transfers of each case; the benchmark's own number by default.
        quick: measure little, and never replace complete data.
        force: measure although there are measurements, and replace them.

    Raises:
        DataError: what is stored is damaged, or is not what was asked for.
    """
    folder = in_repository(output)
    asked = Settings(platform, tuple(bits) or BITS, iterations or None, quick=quick, force=force)
    present = platform in {path.name for path in platform_folders(folder)}
    stored = read_platform(folder / platform) if present and not force else None
    if stored is None or not (quick or stored.record.complete):
        run_benchmark(folder, asked)
        stored = read_platform(folder / platform)
    wanted = (tuple(sorted(set(bits))) or stored.bits, iterations or stored.record.iterations)
    found = (stored.bits, stored.record.iterations)
    if found != wanted:
        raise DataError(
            f"{output}/{platform}: expected {_plan(*wanted)}, came {_plan(*found)};"
            " set force to measure again, or name another platform"
        )
    return stored


def statistics(platform: Platform, file_name: str) -> pd.DataFrame:
    """What `iot2 stats` says of one file of a platform, a row a case and step, times in µs."""
    series = read_series(platform.folder / file_name, None)
    return pd.DataFrame(
        {"case": one.label, "step": one.step, "unit": one.unit, **asdict(summarise(one.values))}
        for one in series
    )


def conditions(*platforms: Platform) -> pd.DataFrame:
    """Where and how platforms were measured, a column each, for a notebook to show."""
    return pd.DataFrame({platform.name: _conditions(platform) for platform in platforms})


def _conditions(platform: Platform) -> dict[str, str]:
    record = platform.record
    machine, clocks = record.machine, record.clocks
    values = {
        "processor": machine.processor,
        "cores": f"{machine.cores_physical} ({machine.cores_logical} logical)",
        "governor": machine.governor,
        "kernel": machine.kernel,
        "python": record.python,
        "gmpy2": record.libraries.get("gmpy2"),
        "secret exponents": record.exponentiation,
        "date": record.date,
        "transfers of each case": record.iterations,
        "pinned to": record.affinity if record.pinned else "no core",
        "timer's own cost": f"{clocks.timer_cost_ns:.0f} ns, inside every sample",
        "cycles": f"{clocks.cycle_kind}, from {clocks.cycle_source}",
        "stable": record.stable,
    }
    return {name: "unknown" if value is None else str(value) for name, value in values.items()}


def _plan(bits: Sequence[int], iterations: int) -> str:
    return f"{iterations} transfers at {', '.join(map(str, bits))} bits"
