"""Made-up measurements under the schema of the real ones."""

from pathlib import Path

import numpy as np
import pandas as pd

from iot2.benchmark.platform_record import Clocks, Machine, PlatformRecord
from iot2.benchmark.schema import STEPS, Table
from iot2.benchmark.storage import write_platform

BITS = (1024, 2048, 3072, 4096)
ROWS = 40

# Microseconds at 3072 bits (SimplestOT: at any size), in the order of STEPS up to retrieve.
COSTS = {
    "six": (12, 4500, 14, 5, 4),
    "compact": (0, 4600, 18, 0.9, 0.8),
    ("simplest", "fresh", "secp256k1"): (30, 75, 20, 8, 52),
    ("simplest", "known_key", "secp256k1"): (0, 76, 80, 0.6, 0.7),
    ("simplest", "fresh", "ristretto255"): (26, 110, 25, 12, 75),
    ("simplest", "known_key", "ristretto255"): (0, 112, 110, 0.6, 0.7),
    "precomputed": (0, 0.8, 0, 0.4, 0.5),
}
BINDING = {"secp256k1": "coincurve", "ristretto255": "rbcl"}


def transfers(key: object, scale: float, rng: np.random.Generator) -> dict[str, object]:
    noise = rng.lognormal(0.02, 0.05, (5, ROWS))
    steps = {
        f"{step}_ns": np.rint(1000 * scale * cost * row).astype(np.int64)
        for step, cost, row in zip(STEPS, COSTS[key], noise, strict=False)
    }
    steps["receiver_online_ns"] = steps["receiver_choose_ns"] + steps["receiver_retrieve_ns"]
    steps["receiver_total_ns"] = steps["receiver_offline_ns"] + steps["receiver_online_ns"]
    return {
        "iteration": np.arange(ROWS),
        "choice": rng.integers(0, 2, ROWS),
        "selection": "index",
        **steps,
    }


def simplest(scale: float, rng: np.random.Generator) -> pd.DataFrame:
    parts = []
    for split in ("fresh", "known_key"):
        for group, binding in BINDING.items():
            part = pd.DataFrame(transfers(("simplest", split, group), scale, rng))
            parts.append(part.assign(group=group, binding=binding, split=split))
    return pd.concat(parts, ignore_index=True)


def blocks(variant: str, size: float, rng: np.random.Generator) -> pd.DataFrame:
    rows = [
        ("yardstick", "index", "product", 3.0),
        (variant, "index", "receiver_choose", 0.6),
        (variant, "index", "receiver_retrieve", 0.7),
    ]
    return pd.DataFrame(
        [
            (*row[:3], block, 100, 1000 * size * row[3] * rng.lognormal(0, 0.03))
            for row in rows
            for block in range(9)
        ],
        columns=["variant", "selection", "step", "block", "repetitions", "per_transfer_ns"],
    )


def batches(size: float, rng: np.random.Generator) -> pd.DataFrame:
    steps = {
        "sender_online": 4600,
        "receiver_offline": 14,
        "receiver_choose": 0.1,
        "receiver_retrieve": 0.2,
        "receiver_online": 0.3,
        "receiver_total": 14.3,
    }
    return pd.DataFrame(
        [
            ("compact", "index", 10_000, step, k, 1000 * size * cost * rng.lognormal(0, 0.03))
            for step, cost in steps.items()
            for k in range(5)
        ],
        columns=["variant", "selection", "batch_size", "step", "repetition", "per_transfer_ns"],
    )


def sizes() -> pd.DataFrame:
    rows = []
    for bits in BITS:
        n = bits // 8
        rows += [
            ("compact", bits, "none", "known_key", "once", "down", "public_key", 6 + 148 * n),
            ("compact", bits, "none", "known_key", "once", "down", "session", 51),
            ("compact", bits, "none", "known_key", "online", "up", "query", 26 + n),
            ("compact", bits, "none", "known_key", "online", "down", "reply", 32 + 32),
            ("six", bits, "none", "fresh", "once", "down", "public_key", 6 + 148 * n),
            ("six", bits, "none", "fresh", "online", "down", "offer", 26 + n),
            ("six", bits, "none", "fresh", "online", "up", "query", 26 + n),
            ("six", bits, "none", "fresh", "online", "down", "reply", 30 + 64 + 128),
        ]
        rows += [
            ("precomputed", bits, "none", "known_key", "offline", "up", "query", 26 + n),
            ("precomputed", bits, "none", "known_key", "offline", "down", "reply", 32 + 32),
            ("precomputed", bits, "none", "known_key", "online", "up", "correction", 27),
            ("precomputed", bits, "none", "known_key", "online", "down", "reply", 32 + 32),
        ]
    for group, point in (("secp256k1", 33), ("ristretto255", 32)):
        for split in ("fresh", "known_key"):
            phase = "online" if split == "fresh" else "once"
            rows += [
                ("simplest", 0, group, split, phase, "down", "announcement", 26 + point),
                ("simplest", 0, group, split, "online", "up", "query", 26 + point),
                ("simplest", 0, group, split, "online", "down", "reply", 32 + 32),
            ]
    columns = ["variant", "bits", "group", "split", "phase", "direction", "message", "bytes"]
    return pd.DataFrame(rows, columns=columns)


def record(name: str, processor: str) -> PlatformRecord:
    return PlatformRecord(
        run_id=f"{len(name):032x}",
        platform=name,
        date="2026-01-01T00:00:00+00:00",
        complete=True,
        bits=BITS,
        iterations=ROWS,
        warm_up=2,
        message_bytes=16,
        machine=Machine(processor, "toy64", 1, 2, None, 1000.0, None, 2**30, "Toy 1.0"),
        python="CPython 3.11.2",
        libraries={"gmpy2": "2.2.1"},
        exponentiation="gmpy2",
        commit=None,
        dirty=None,
        affinity=(1,),
        pinned=True,
        load_average=(0.0, 0.1, 0.2),
        clocks=Clocks("perf_counter_ns", 50.0, 1.0, "none", "none", "none", None, None, "why"),
        stable=True,
        warnings=(),
    )


def write_made_up(
    folder: Path, name: str, processor: str, scale: float = 1.0, *, force: bool = False
) -> Path:
    """Write one platform under `folder` and return its own folder."""
    rng = np.random.default_rng(7)
    tables = {Table("simplest"): simplest(scale, rng), Table("bytes"): sizes()}
    precomputed = pd.DataFrame(transfers("precomputed", scale, rng))
    bases = {"compact": 3072, "six": 3072, "simplest": 0}
    tables[Table("precomputed")] = pd.concat(
        [precomputed.assign(base=base, bits=bits) for base, bits in bases.items()]
    )
    for bits in BITS:
        size = scale * (bits / 3072) ** 1.6
        tables[Table("six", bits)] = pd.DataFrame(transfers("six", size, rng))
        tables[Table("compact", bits)] = pd.DataFrame(transfers("compact", size, rng))
        tables[Table("blocks", bits)] = blocks("compact", size, rng)
        tables[Table("batch", bits)] = batches(size, rng)
        keys = [("key_generation", 3e8), ("key_parse", 3e4), ("proof_check", 3e6)]
        tables[Table("keys", bits)] = pd.DataFrame(
            [(step, k, int(size * cost) + k) for step, cost in keys for k in range(5)],
            columns=["step", "repetition", "elapsed_ns"],
        )
    ordered = {
        table: frame[[column.name for column in table.columns]] for table, frame in tables.items()
    }
    write_platform(folder / name, record(name, processor), ordered, force=force)
    return folder / name
