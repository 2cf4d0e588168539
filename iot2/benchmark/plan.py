"""What a run measures: how much of it, and every case in it."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import pandas as pd

from iot2 import SenderKey
from iot2.benchmark import precomputed, transfers
from iot2.benchmark.batches import batch_blocks, six_batch_blocks
from iot2.benchmark.blocks import PRODUCTS, NextBlock, compact_blocks, six_blocks
from iot2.benchmark.schema import SELECTIONS, YARDSTICK, Table, Unit
from iot2.benchmark.series import MESSAGE_BYTES, Series
from iot2.benchmark.transfers import Chunk, Now
from iot2.simplest.groups import GROUPS, load_group

BITS: Final = (1024, 2048, 3072, 4096)
DEFAULT_BITS: Final = 3072
ITERATIONS: Final = 1000
QUICK_ITERATIONS: Final = 40


@dataclass(frozen=True, slots=True)
class Effort:
    """How often everything is repeated."""

    iterations: int
    """Transfers of a variant of ours that selects by index; the rest in proportion."""
    warm_up: int
    chunk: int
    """Transfers of the longest case before the next one has its turn."""
    generations: int
    checks: int
    blocks: int
    block_transfers: int
    batches: int
    batch_sizes: tuple[int, ...]

    @classmethod
    def complete(cls, iterations: int = ITERATIONS) -> "Effort":
        """What committed data are measured with."""
        return cls(iterations, 50, 40, 5, 25, 25, 40, 7, (10, 100, 1000, 10_000))

    @classmethod
    def quick(cls, iterations: int = QUICK_ITERATIONS) -> "Effort":
        """Enough to see that everything works, and too little to publish."""
        return cls(iterations, 5, 10, 1, 3, 5, 10, 3, (10, 100))

    def count(self, table: Table, selection: str = "index") -> int:
        """Samples of one case of a table of transfers.

        A half of them where cycles are counted, and for each group and split
        of SimplestOT; a quarter where the selection is masked, and for each
        base of pre-computed OT. So the committed files stay small where fewer
        samples tell as much.
        """
        share = {"simplest": 2, "precomputed": 4}.get(table.kind, 1)
        share *= 2 if table.unit == "cycles" else 1
        share *= 4 if selection == "masked" else 1
        return max(1, self.iterations // share)


def all_series(keys: Mapping[int, SenderKey], effort: Effort, cycles: Now | None) -> list[Series]:
    """Every case that is measured a transfer at a time.

    Args:
        keys: by modulus size.
        effort: how many samples.
        cycles: the cycle counter, or None where there is none.
    """
    clocks: dict[Unit, Now] = {"ns": time.perf_counter_ns}
    if cycles is not None:
        clocks["cycles"] = cycles
    series: list[Series] = []
    for unit, now in clocks.items():
        for bits, key in keys.items():
            for selection in SELECTIONS:
                masked = selection == "masked"
                labels: dict[str, str | int] = {"selection": selection}
                for table, chunk in (
                    (Table("six", bits, unit), transfers.six(key, masked=masked)),
                    (Table("compact", bits, unit), transfers.compact(key, masked=masked)),
                ):
                    count = effort.count(table, selection)
                    series.append(Series(table, labels, chunk, now, count))
        for group in GROUPS:
            for split, session in (
                ("fresh", transfers.simplest_fresh),
                ("known_key", transfers.simplest_known),
            ):
                labels = {
                    "selection": "index",
                    "group": group,
                    "binding": load_group(group).binding,
                    "split": split,
                }
                table = Table("simplest", unit=unit)
                count = effort.count(table)
                series.append(Series(table, labels, session(group), now, count))
    return series + _precomputed(keys, effort)


def _precomputed(keys: Mapping[int, SenderKey], effort: Effort) -> list[Series]:
    """Pre-computed OT over each base, at one modulus size: online all are alike."""
    bits = DEFAULT_BITS if DEFAULT_BITS in keys else max(keys)
    cases: list[tuple[str, int, Chunk]] = [
        ("compact", bits, precomputed.over_compact(keys[bits], MESSAGE_BYTES)),
        ("six", bits, precomputed.over_six(keys[bits], MESSAGE_BYTES)),
        ("simplest", 0, precomputed.over_simplest(GROUPS[0], MESSAGE_BYTES)),
    ]
    return [
        Series(
            Table("precomputed"),
            {"selection": "index", "base": base, "bits": size},
            chunk,
            time.perf_counter_ns,
            effort.count(Table("precomputed")),
        )
        for base, size, chunk in cases
    ]


def block_table(key: SenderKey, effort: Effort, advance: Callable[[int], object]) -> pd.DataFrame:
    """The table of kind `blocks` for one key; `advance` is told of every block done."""
    bits, size = key.bits, effort.block_transfers
    rows: list[tuple[str, str, str, int, int, float]] = []
    for selection in SELECTIONS:
        for variant, make in (("six", six_blocks), ("compact", compact_blocks)):
            next_block: NextBlock = make(key, size, masked=selection == "masked")
            next_block()
            for block in range(effort.blocks):
                for name, step in next_block().items():
                    rows.append((variant, selection, name, block, size, step.ns))
                    if (variant, selection, name) == ("compact", "index", "receiver_choose"):
                        rows.append(
                            ("yardstick", "index", YARDSTICK, block, 2 * PRODUCTS, step.product_ns)
                        )
                advance(1)
    columns = [column.name for column in Table("blocks", bits).columns]
    return pd.DataFrame(rows, columns=columns)


def batch_table(key: SenderKey, effort: Effort, advance: Callable[[int], object]) -> pd.DataFrame:
    """The table of kind `batch` for one key; `advance` is told of every batch done."""
    bits = key.bits
    rows: list[tuple[str, str, int, str, int, float]] = []
    for size in effort.batch_sizes:
        cases: list[tuple[str, str, NextBlock]] = [
            ("compact", selection, batch_blocks(key, size, masked=selection == "masked"))
            for selection in SELECTIONS
        ]
        cases.append(("six", "index", six_batch_blocks(key, size)))
        for variant, selection, next_block in cases:
            next_block()
            for repetition in range(effort.batches):
                for name, step in next_block().items():
                    rows.append((variant, selection, size, name, repetition, step.ns))
                advance(1)
    columns = [column.name for column in Table("batch", bits).columns]
    return pd.DataFrame(rows, columns=columns)


def repetitions(effort: Effort, sizes: int) -> int:
    """Blocks and batches in a whole run over that many modulus sizes, for a progress bar."""
    return sizes * (4 * effort.blocks + 3 * effort.batches * len(effort.batch_sizes))
