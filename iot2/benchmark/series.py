"""Raw samples of one case, taken chunk by chunk beside the other cases."""

import gc
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import pandas as pd

from iot2.benchmark.schema import Table
from iot2.benchmark.sessions import Messages
from iot2.benchmark.transfers import Chunk, Now, Sample

MESSAGE_BYTES: Final = 16
"""Length of the messages that the benchmark transfers: a 128-bit key."""


@dataclass(slots=True)
class Series:
    """One case: a session, a clock, and the samples taken so far.

    Args:
        table: where the samples go.
        labels: the table's columns beside iteration, choice and steps.
        chunk: the session's next transfers.
        now: the clock or the cycle counter.
        count: samples wanted.
    """

    table: Table
    labels: dict[str, str | int]
    chunk: Chunk
    now: Now
    count: int
    choices: list[int] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)

    def warm_up(self, transfers: int) -> None:
        """Run transfers that leave no sample."""
        self.chunk(*random_transfers(transfers), self.now)

    def take(self, transfers: int) -> int:
        """Take up to `transfers` more samples, each with a random choice; return how many."""
        transfers = min(transfers, self.count - len(self.samples))
        if transfers == 0:
            return 0
        choices, messages = random_transfers(transfers)
        self.samples += self.chunk(choices, messages, self.now)
        self.choices += choices
        return transfers

    def frame(self) -> pd.DataFrame:
        """The samples under the table's columns."""
        unit = self.table.unit
        frame = pd.DataFrame(self.samples, columns=list(Sample._fields), dtype="int64")
        frame["receiver_online"] = frame["receiver_choose"] + frame["receiver_retrieve"]
        frame["receiver_total"] = frame["receiver_offline"] + frame["receiver_online"]
        frame.columns = pd.Index([f"{step}_{unit}" for step in frame.columns])
        frame["iteration"], frame["choice"] = range(len(frame)), self.choices
        for name, label in self.labels.items():
            frame[name] = label
        return frame[[column.name for column in self.table.columns]]


def interleaved(series: list[Series], chunk: int) -> Iterator[int]:
    """Take every sample of every series, `chunk` of the longest in turn.

    Shorter ones give their share, so that all end together. A machine that
    slows down for a second then slows every case alike, and a comparison of
    two cases compares the same minutes.

    Yields:
        How many samples were just taken.
    """
    longest = max(one.count for one in series)
    while True:
        taken = 0
        for one in series:
            with no_collection():
                step = one.take(-(-chunk * one.count // longest))
            taken += step
            if step:
                yield step
        if not taken:
            return


@contextmanager
def settled() -> Iterator[None]:
    """Set what is loaded already apart from the collector, so that it walks little else."""
    outermost = gc.get_freeze_count() == 0
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        if outermost:
            gc.unfreeze()


@contextmanager
def no_collection() -> Iterator[None]:
    """Collect garbage now, and none while the context lasts."""
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def random_transfers(count: int) -> tuple[list[int], list[Messages]]:
    """Random choices, and for each two random messages of `MESSAGE_BYTES`."""
    choices = [random.getrandbits(1) for _ in range(count)]
    return choices, [random_messages() for _ in range(count)]


def random_messages() -> Messages:
    """Two messages of `MESSAGE_BYTES`."""
    return os.urandom(MESSAGE_BYTES), os.urandom(MESSAGE_BYTES)


def gather(series: list[Series]) -> dict[Table, pd.DataFrame]:
    """One frame for each table, its series one after the other."""
    parts: dict[Table, list[pd.DataFrame]] = {}
    for one in series:
        parts.setdefault(one.table, []).append(one.frame())
    return {table: pd.concat(frames, ignore_index=True) for table, frames in parts.items()}
