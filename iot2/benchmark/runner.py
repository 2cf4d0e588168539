"""A whole run: measure everything, judge it, and put the files in place at once."""

import datetime
import re
import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tqdm import tqdm

from iot2.benchmark.clock import SHORT, TimerCost, timer_cost
from iot2.benchmark.cycles import CycleCounter, frequency, open_counter, reading_cost
from iot2.benchmark.keys import measure_key
from iot2.benchmark.machine import (
    describe_commit,
    describe_libraries,
    describe_machine,
    describe_python,
    load_average,
    pinned,
)
from iot2.benchmark.plan import BITS, Effort, all_series, batch_table, block_table, repetitions
from iot2.benchmark.platform_record import Clocks, PlatformRecord
from iot2.benchmark.schema import STEPS, Table
from iot2.benchmark.series import MESSAGE_BYTES, gather, interleaved, settled
from iot2.benchmark.stability import restless_machine, unstable_steps
from iot2.benchmark.storage import check_replaceable, write_platform
from iot2.benchmark.wire_bytes import wire_table
from iot2.errors import ParameterError

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

LEAST_BITS: Final = 256
MOST_BITS: Final = 16_384

Frames = dict[Table, pd.DataFrame]


@dataclass(frozen=True, slots=True)
class Settings:
    """What is asked of a run.

    Args:
        platform: the name of its folder and in figures.
        bits: modulus sizes.
        iterations: transfers of each case; the effort's own number by default.
        quick: measure little, and replace no complete data.
        force: replace complete data.

    Raises:
        ParameterError: a name that is no plain folder name, no or odd sizes,
            or fewer than one iteration.
    """

    platform: str = "local"
    bits: tuple[int, ...] = BITS
    iterations: int | None = None
    quick: bool = False
    force: bool = False

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.platform):
            raise ParameterError(
                "platform must be a plain name of letters, digits, dots, dashes and underscores,"
                f" got {self.platform!r:.80}"
            )
        if not self.bits or any(
            bits % 2 or not LEAST_BITS <= bits <= MOST_BITS for bits in self.bits
        ):
            raise ParameterError(
                f"bits must be even numbers from {LEAST_BITS} to {MOST_BITS}, got {self.bits}"
            )
        if self.iterations is not None and not 1 <= self.iterations <= 10**7:
            raise ParameterError(f"iterations must be 1 to 10^7, got {self.iterations}")

    @property
    def effort(self) -> Effort:
        """How often everything is repeated."""
        make = Effort.quick if self.quick else Effort.complete
        return make() if self.iterations is None else make(self.iterations)


def run_benchmark(
    root: Path | str, settings: Settings, *, effort: Effort | None = None
) -> PlatformRecord:
    """Measure this machine and write `root`/NAME, whole or not at all.

    Args:
        root: the folder of all platforms.
        settings: what to measure.
        effort: how often; by default what `settings` says.

    Returns:
        The record as written.

    Raises:
        DataError: there are data that this run may not replace; found before
            anything is measured.
    """
    folder = Path(root) / settings.platform
    check_replaceable(folder, complete=not settings.quick, force=settings.force)
    load = load_average()  # before we load the machine ourselves
    with pinned() as (affinity, is_pinned):
        timer, counter = timer_cost(), open_counter()
        try:
            clocks = _describe_clocks(timer, counter)
            effort = effort or settings.effort
            frames, exponentiation = _measure(sorted(set(settings.bits)), effort, counter)
        finally:
            counter.close()
    machine = describe_machine(affinity[-1] if affinity else None)
    unstable = unstable_steps(_by_step(frames))
    restless = restless_machine(machine, load, pinned=is_pinned)
    commit, dirty = describe_commit()
    record = PlatformRecord(
        run_id=secrets.token_hex(16),
        platform=settings.platform,
        date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        complete=not settings.quick,
        bits=tuple(sorted(set(settings.bits))),
        iterations=effort.iterations,
        warm_up=effort.warm_up,
        message_bytes=MESSAGE_BYTES,
        machine=machine,
        python=describe_python(),
        libraries=describe_libraries(),
        exponentiation=exponentiation,
        commit=commit,
        dirty=dirty,
        affinity=affinity,
        pinned=is_pinned,
        load_average=load,
        clocks=clocks,
        stable=not unstable and not restless,
        warnings=(*restless, *unstable),
        short_steps=tuple(short_steps(frames, timer)),
    )
    return write_platform(folder, record, frames, force=settings.force)


def _measure(bits: Sequence[int], effort: Effort, counter: CycleCounter) -> tuple[Frames, str]:
    """Every table of a run, and the name of the engine for secret exponents."""
    frames: Frames = {}
    keys = {}
    # Without a terminal (papermill, a log) the bars stay away.
    quiet = not sys.stderr.isatty()
    for size in tqdm(bits, desc="keys", unit="key", disable=quiet, leave=False):
        keys[size], frames[Table("keys", size)] = measure_key(
            size, generations=effort.generations, checks=effort.checks
        )
    series = all_series(keys, effort, counter.read)
    total = sum(one.count for one in series)
    with settled():
        for one in series:
            one.warm_up(effort.warm_up)
        with tqdm(total=total, desc="transfers", unit="OT", disable=quiet, leave=False) as bar:
            for taken in interleaved(series, effort.chunk):
                bar.update(taken)
        frames |= gather(series)
        total = repetitions(effort, len(keys))
        with tqdm(total=total, desc="blocks", unit="block", disable=quiet, leave=False) as bar:
            for size, key in keys.items():
                frames[Table("blocks", size)] = block_table(key, effort, bar.update)
                frames[Table("batch", size)] = batch_table(key, effort, bar.update)
    frames[Table("bytes")] = wire_table(keys)
    return frames, keys[bits[-1]].secret.powers.name


def _describe_clocks(timer: TimerCost, counter: CycleCounter) -> Clocks:
    read = counter.read
    return Clocks(
        timer="time.perf_counter_ns",
        timer_cost_ns=timer.cost,
        timer_resolution_ns=timer.resolution,
        cycle_source=counter.source,
        cycle_kind=counter.kind,
        cycle_scope=counter.scope,
        cycle_cost=None if read is None else reading_cost(read),
        cycle_frequency_hz=None if read is None else frequency(read),
        cycle_note=counter.note,
    )


def _cases(frame: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """The parts of a table of transfers that hold one case each, by name."""
    labels = [name for name in ("group", "split", "base", "bits", "selection") if name in frame]
    return [(" ".join(map(str, label)), part) for label, part in frame.groupby(labels, sort=False)]


def _by_step(frames: Frames) -> dict[str, NDArray[np.int64]]:
    """Each step of each case that was timed singly."""
    return {
        f"{table.file_name}: {label} {step}": part[f"{step}_ns"].to_numpy(dtype=np.int64)
        for table, frame in frames.items()
        if table.unit == "ns" and "receiver_total_ns" in frame
        for label, part in _cases(frame)
        for step in STEPS
    }


def short_steps(frames: Frames, timer: TimerCost) -> list[str]:
    """`file: case step` for each step whose median is below `SHORT` readings of the timer."""
    found: list[str] = []
    for name, samples in _by_step(frames).items():
        median = float(np.median(samples))
        if 0 < median < SHORT * timer.cost:
            found.append(name)
    return found
