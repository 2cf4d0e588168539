"""What each step costs and each message weighs, in one frame for every figure and table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from iot2.benchmark.schema import STEPS, Kind
from iot2.benchmark.storage import Platform
from iot2.errors import DataError

NS_PER_US: Final = 1000.0

CASE: Final = (
    "timing",
    "variant",
    "base",
    "bits",
    "group",
    "binding",
    "split",
    "selection",
    "batch",
)
"""What tells one measured case from another: how it was timed, and what of.

`timing` is single (one transfer at a time, the timer's own cost included),
blocks (one step repeated back to back) or batch. `base` is the variant under a
pre-computed transfer. What does not apply is the empty string, or 0.
"""

SPLIT_OF: Final = {"six": "fresh", "compact": "known_key"}
"""Each variant of ours is compared in one split (specification, section 9)."""


def step_costs(platform: Platform) -> pd.DataFrame:
    """Median and percentiles of every step that a platform measured.

    Returns:
        A row a case and step: the columns of `CASE`, `platform`, `step`,
        `count`, and `p5`, `median`, `p95` in microseconds.
    """
    singly: tuple[Kind, ...] = ("six", "compact", "simplest", "precomputed")
    repeated: tuple[Kind, ...] = ("blocks", "batch")
    parts = [_transfers(platform, kind) for kind in singly]
    parts += [_per_transfer(platform, kind) for kind in repeated]
    costs = pd.concat([part for part in parts if len(part)], ignore_index=True)
    costs.insert(0, "platform", platform.name)
    return costs


def key_costs(platform: Platform) -> pd.DataFrame:
    """What a key costs once: a row a modulus size and step, in microseconds as above."""
    rows = []
    for bits in platform.bits:
        if platform.has("keys", bits):
            for step, samples in platform.table("keys", bits).groupby("step", sort=False):
                row = {"platform": platform.name, "bits": bits, "step": step}
                rows.append(row | _percentiles(samples["elapsed_ns"]))
    return pd.DataFrame(rows, columns=["platform", "bits", "step", "count", "p5", "median", "p95"])


def message_bytes(platform: Platform) -> pd.DataFrame:
    """Bytes as counted from encoded messages.

    Returns:
        A row a variant, modulus size, group and split: bytes `up` and `down`
        of one transfer, offline and online together, and `once` per key.
    """
    table = platform.table("bytes")
    keys = ["variant", "bits", "group", "split"]
    rows = []
    for case, messages in table.groupby(keys, sort=False):
        each = messages[messages["phase"] != "once"]
        per_direction = each.groupby("direction")["bytes"].sum()
        rows.append(
            dict(zip(keys, case, strict=True))
            | {way: int(per_direction.get(way, 0)) for way in ("up", "down")}
            | {"once": int(messages.loc[messages["phase"] == "once", "bytes"].sum())}
        )
    return pd.DataFrame(rows, columns=[*keys, "up", "down", "once"])


def select(frame: pd.DataFrame, **wanted: object) -> pd.DataFrame:
    """The rows of a frame whose columns have these values."""
    chosen = pd.Series(True, index=frame.index)
    for column, value in wanted.items():
        chosen &= frame[column] == value
    return frame[chosen]


def only(frame: pd.DataFrame, column: str, **wanted: object) -> float:
    """The one value of `column` where the other columns have these values.

    Raises:
        DataError: no row fits, or several do.
    """
    rows = select(frame, **wanted)
    if len(rows) != 1:
        described = ", ".join(f"{name} {value}" for name, value in wanted.items())
        raise DataError(f"expected one measurement of {described}, came {len(rows)}")
    return float(rows[column].iloc[0])


def _transfers(platform: Platform, kind: Kind) -> pd.DataFrame:
    """The cases of the tables with a row a transfer and a column a step."""
    if kind in ("simplest", "precomputed"):
        tables = [(0, platform.table(kind))] if platform.has(kind) else []
    else:
        tables = [
            (bits, platform.table(kind, bits)) for bits in platform.bits if platform.has(kind, bits)
        ]
    parts = []
    for bits, table in tables:
        if "bits" not in table:
            table["bits"] = bits
        long = table.melt(
            id_vars=[name for name in CASE if name in table],
            value_vars=[f"{step}_ns" for step in STEPS],
            var_name="step",
            value_name="ns",
        )
        long["step"] = long["step"].str.removesuffix("_ns")
        parts.append(_cases(long, timing="single", variant=kind))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _per_transfer(platform: Platform, kind: Kind) -> pd.DataFrame:
    """The cases of the tables with a row a step, already per transfer."""
    parts = []
    for bits in platform.bits:
        if platform.has(kind, bits):
            table = platform.table(kind, bits)
            table = table.rename(columns={"per_transfer_ns": "ns", "batch_size": "batch"})
            parts.append(_cases(table.assign(bits=bits), timing=kind))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _cases(samples: pd.DataFrame, **fixed: str) -> pd.DataFrame:
    samples = samples.assign(**fixed)
    for name in CASE:
        if name not in samples:
            samples[name] = 0 if name in ("bits", "batch") else ""
    ours = samples["variant"].map(SPLIT_OF)
    samples["split"] = ours.where(ours.notna(), samples["split"])
    keys: Sequence[str] = [*CASE, "step"]
    rows = []
    for case, group in samples.groupby(list(keys), sort=False):
        rows.append(dict(zip(keys, case, strict=True)) | _percentiles(group["ns"]))
    return pd.DataFrame(rows)


def _percentiles(ns: pd.Series[float]) -> dict[str, float]:
    p5, median, p95 = np.percentile(ns.to_numpy(dtype=np.float64), [5, 50, 95]) / NS_PER_US
    return {"count": len(ns), "p5": float(p5), "median": float(median), "p95": float(p95)}
