"""How this machine's numbers compare with what the project set out to reach.

A ratio is taken block by block, both sides within the same instants, and the
median of the blocks' ratios is judged; its interval is the 95 % bootstrap
interval of that median. What has no target is printed for comparison.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import median
from typing import Final

import numpy as np
import pandas as pd
from tqdm import tqdm

from iot2 import SenderKey
from iot2.benchmark.batches import batch_blocks, simplest_batch_blocks
from iot2.benchmark.blocks import (
    Block,
    NextBlock,
    Yardstick,
    compact_blocks,
    simplest_fresh_blocks,
    simplest_known_blocks,
    six_blocks,
)
from iot2.benchmark.keys import measure_key
from iot2.benchmark.machine import describe_machine, pinned
from iot2.benchmark.rivals import (
    bare_call_blocks,
    engine_ratio,
    openssl_rate,
    sender_rate,
    usable_cores,
    worker_ratio,
)
from iot2.benchmark.schema import KEY_STEPS
from iot2.benchmark.series import settled
from iot2.benchmark.stats import median_interval
from iot2.simplest.groups import GROUPS

BATCH: Final = 10_000


@dataclass(frozen=True, slots=True)
class Line:
    """One measured figure and what it should be."""

    name: str
    values: tuple[float, ...]
    unit: str = ""
    at_most: float | None = None
    at_least: float | None = None
    aim: float | None = None
    remark: str = ""

    @property
    def measured(self) -> float:
        """The median of the values."""
        return median(self.values)

    @property
    def missed(self) -> bool:
        """Whether there is a target and the median misses it."""
        too_much = self.at_most is not None and self.measured > self.at_most
        too_little = self.at_least is not None and self.measured < self.at_least
        return too_much or too_little

    def __str__(self) -> str:
        text = f"{self.name}: {_digits(self.measured)}{self.unit}"
        if len(self.values) > 1:
            low, high = median_interval(np.array(self.values))
            text += f" [{_digits(low)}, {_digits(high)}]"
        wanted = []
        if self.at_most is not None:
            wanted.append(f"at most {self.at_most:g}")
        if self.at_least is not None:
            wanted.append(f"at least {self.at_least:g}")
        if self.aim is not None:
            wanted.append(f"aim {self.aim:g}")
        if self.missed:
            wanted.append("MISSED")
        text += f" ({', '.join(wanted) or 'no target'})"
        return f"{text} {self.remark}".rstrip()


@dataclass(frozen=True, slots=True)
class Rounds:
    """How many blocks, and how large."""

    singles: int = 40
    transfers: int = 100
    batches: int = 12
    batch: int = BATCH
    engine: int = 30
    answers: int = 20
    openssl: int = 3
    openssl_seconds: int = 2
    workers: int = 12
    worker_batch: int = 100
    checks: int = 15

    @classmethod
    def quick(cls) -> "Rounds":
        """Enough to see that every line is printed."""
        return cls(6, 10, 2, 200, 4, 5, 1, 1, 2, 20, 2)


def print_targets(bits: int = 3072, *, quick: bool = False) -> int:
    """Measure, print a line for each figure as it comes, and return 1 if a target is missed."""
    missed = 0
    for line in measure_targets(bits, Rounds.quick() if quick else Rounds()):
        print(line, flush=True)
        missed += line.missed
    if missed:
        print(f"{missed} of the targets missed", flush=True)
    return int(missed > 0)


def measure_targets(bits: int, rounds: Rounds) -> Iterator[Line]:
    """Every line for one modulus size, as it is measured."""
    machine = describe_machine()
    key, costs = measure_key(bits, generations=1, checks=rounds.checks)
    print(
        f"{bits}-bit modulus, {machine.processor or machine.architecture};"
        f" secret exponents: {key.secret.powers.name}",
        flush=True,
    )
    with pinned(), settled():
        singles = _Singles(key, rounds)
        yield from singles.against_products()
        yield from _batches(key, rounds, singles.fastest)
        yield from singles.against_simplest()
        yield from _sender(key, rounds)
    yield _workers(key, rounds)
    yield from _once_per_key(key, costs, singles)


class _Singles:
    """Every case of single transfers, their blocks interleaved in one loop."""

    def __init__(self, key: SenderKey, rounds: Rounds) -> None:
        size, yardstick = rounds.transfers, Yardstick(key)
        sources: dict[str, NextBlock] = {
            "six": six_blocks(key, size),
            "six masked": six_blocks(key, size, masked=True),
            "compact": compact_blocks(key, size),
            "compact masked": compact_blocks(key, size, masked=True),
        }
        for group in GROUPS:
            sources[f"{group} known"] = simplest_known_blocks(group, size, yardstick)
            sources[f"{group} fresh"] = simplest_fresh_blocks(group, size, yardstick)
        bare = {
            f"{group} {split}": bare_call_blocks(group, split, size)
            for group in GROUPS
            for split in ("known", "fresh")
        }
        self.blocks: dict[str, list[Block]] = {name: [] for name in sources}
        self.bare: dict[str, list[float]] = {name: [] for name in bare}
        for warm in (*sources.values(), *bare.values()):
            warm()
        for _ in _progress(range(rounds.singles), "blocks"):
            for name, next_block in sources.items():
                self.blocks[name].append(next_block())
                if name in bare:
                    self.bare[name].append(bare[name]())

    def products(self, case: str, step: str) -> tuple[float, ...]:
        """A step in products, block by block."""
        return tuple(block[step].products for block in self.blocks[case])

    def total(self, case: str) -> list[float]:
        """The receiver's total, offline and online, in ns."""
        return [block["receiver_total"].ns for block in self.blocks[case]]

    @property
    def fastest(self) -> str:
        """The group whose receiver costs least with a known key."""
        return min(GROUPS, key=lambda group: median(self.total(f"{group} known")))

    def against_products(self) -> Iterator[Line]:
        """The receiver's steps in products."""
        online, offline, unit = "receiver_online", "receiver_offline", " products"
        yield Line("six-message, receiver online", self.products("six", online), unit,
                   at_most=3, aim=2.5)  # fmt: skip
        yield Line("six-message, receiver online, masked", self.products("six masked", online),
                   unit)  # fmt: skip
        yield Line("compact, receiver online", self.products("compact", online), unit,
                   at_most=0.8)  # fmt: skip
        yield Line("compact, receiver online, masked", self.products("compact masked", online),
                   unit)  # fmt: skip
        yield Line("compact, receiver offline", self.products("compact", offline), unit,
                   at_most=5.5)  # fmt: skip

    def against_simplest(self) -> Iterator[Line]:
        """The baseline's total over ours, and over its own bare calls."""
        ours = self.total("compact")
        for group in GROUPS:
            name, theirs = f"{group} known", self.total(f"{group} known")
            yield Line(
                f"SimplestOT ({group}, known key) over compact, receiver total",
                _ratios(theirs, ours),
                at_least=3.5 if group == self.fastest else None,
                remark=f"{_us(theirs)} against {_us(ours)}",
            )
        for name, bare in self.bare.items():
            group, split = name.split()
            total = self.total(name)
            yield Line(
                f"SimplestOT ({group}, {split} key) receiver total over its bare calls",
                _ratios(total, bare),
                at_most=1.15,
                remark=f"{_us(total)} against {_us(bare)}",
            )


def _batches(key: SenderKey, rounds: Rounds, group: str) -> Iterator[Line]:
    size = rounds.batch
    ours = batch_blocks(key, size, genuine=rounds.answers)
    masked = batch_blocks(key, size, masked=True, genuine=rounds.answers)
    theirs = simplest_batch_blocks(group, size, Yardstick(key), genuine=rounds.answers)
    taken: list[tuple[Block, Block, Block]] = []
    for next_block in (ours, masked, theirs):
        next_block()
    for _ in _progress(range(rounds.batches), "batches"):
        taken.append((ours(), masked(), theirs()))
    unit, of = " products", f"in a batch of {size}"
    for label, column, at_most, aim in (("", 0, 0.2, 0.1), (", masked", 1, None, None)):
        values = tuple(blocks[column]["receiver_online"].products for blocks in taken)
        yield Line(f"compact, receiver online{label}, {of}", values, unit, at_most, aim=aim)
    values = tuple(blocks[0]["receiver_offline"].products for blocks in taken)
    yield Line(f"compact, receiver offline, {of}", values, unit, at_most=4.5)
    our_total, their_total = (
        [blocks[column]["receiver_total"].ns for blocks in taken] for column in (0, 2)
    )
    yield Line(
        f"SimplestOT ({group}, known key) over compact, receiver total, {of}",
        _ratios(their_total, our_total),
        at_least=4.5,
        aim=5,
        remark=f"{_us(their_total)} against {_us(our_total)}",
    )


def _sender(key: SenderKey, rounds: Rounds) -> Iterator[Line]:
    for variant in ("compact", "six"):
        next_ratio = engine_ratio(key, variant, rounds.answers)
        next_ratio()
        label = "compact" if variant == "compact" else "six-message"
        yield Line(
            f"{label}, sender online over its two half-size exponentiations",
            tuple(next_ratio() for _ in _progress(range(rounds.engine), "sender")),
            at_most=1.1,
        )
    ratios = []
    for _ in _progress(range(rounds.openssl), "openssl speed"):
        before = sender_rate(key, rounds.openssl_seconds / 2)
        rival = openssl_rate(key.bits, rounds.openssl_seconds)
        if rival is None:
            break
        after = sender_rate(key, rounds.openssl_seconds / 2)
        ratios.append((before + after) / 2 / rival)
    if ratios:
        yield Line(
            f"compact, sender's rate over `openssl speed rsa{key.bits}` private operations",
            tuple(ratios),
            at_least=0.9,
        )
    else:
        print(f"no `openssl speed rsa{key.bits}` here to compare the sender with", flush=True)


def _workers(key: SenderKey, rounds: Rounds) -> Line:
    next_ratio = worker_ratio(key, rounds.worker_batch)
    next_ratio()
    cores = usable_cores()
    return Line(
        "compact, answer_many with 2 workers over 1, rate",
        tuple(next_ratio() for _ in _progress(range(rounds.workers), "workers")),
        at_least=1.8 if cores > 1 else None,
        remark="" if cores > 1 else "on the only core",
    )


def _once_per_key(key: SenderKey, costs: pd.DataFrame, singles: _Singles) -> Iterator[Line]:
    """What the receiver pays once, and from how many transfers on it has paid off."""
    spent: dict[str, list[float]] = {
        step: costs.loc[costs["step"] == step, "elapsed_ns"].astype(float).tolist()
        for step in KEY_STEPS
    }
    _, parse, check = KEY_STEPS
    for step, name in ((parse, "key parse, once per key"), (check, "proof check, once per key")):
        yield Line(name, tuple(ns / 1000 for ns in spent[step]), " µs")
    yield Line("public key with its proof", (float(len(key.public.to_bytes())),), " bytes")
    saved = median(singles.total(f"{singles.fastest} known")) - median(singles.total("compact"))
    for name, once in (
        ("with the proof", median(spent[parse]) + median(spent[check])),
        ("with a pinned fingerprint", median(spent[parse])),
    ):
        if saved > 0:
            transfers = float(ceil(once / saved))
            yield Line(f"transfers until compact costs less than SimplestOT, {name}", (transfers,))
        else:
            print(f"compact never costs less than SimplestOT here, {name}", flush=True)


def _ratios(over: Sequence[float], under: Sequence[float]) -> tuple[float, ...]:
    return tuple(a / b for a, b in zip(over, under, strict=True))


def _us(ns: Sequence[float]) -> str:
    return f"{median(ns) / 1000:.1f} µs"


def _digits(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _progress(rounds: range, what: str) -> Iterable[int]:
    quiet = not sys.stderr.isatty()
    bar: Iterable[int] = tqdm(rounds, desc=what, disable=quiet, leave=False)
    return bar
