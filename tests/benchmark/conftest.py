"""A small complete run with made-up samples."""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_up import record

from iot2.benchmark.platform_record import PlatformRecord
from iot2.benchmark.schema import Table
from iot2.benchmark.series import settled

Frames = dict[Table, pd.DataFrame]

TABLES = (
    *(Table(kind, 512) for kind in ("six", "compact", "batch", "blocks", "keys")),
    *(Table(kind, 512, "cycles") for kind in ("six", "compact")),
    Table("simplest"),
    Table("simplest", unit="cycles"),
    Table("precomputed"),
    Table("bytes"),
)


def made_up(table: Table, rows: int = 12, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    columns: dict[str, object] = {}
    for column in table.columns:
        if column.name == "choice":
            columns[column.name] = rng.integers(0, 2, rows)
        elif column.kind == "count":
            columns[column.name] = rng.integers(1, 10**6, rows)
        elif column.kind == "real":
            columns[column.name] = rng.integers(1, 10**6, rows) / 1000
        else:
            columns[column.name] = rng.choice(list(column.words) or ["word"], rows)
    frame = pd.DataFrame(columns)
    unit = table.unit
    if f"receiver_total_{unit}" in frame:
        online = frame[f"receiver_choose_{unit}"] + frame[f"receiver_retrieve_{unit}"]
        frame[f"receiver_online_{unit}"] = online
        frame[f"receiver_total_{unit}"] = frame[f"receiver_offline_{unit}"] + online
    return frame


@pytest.fixture(autouse=True, scope="session")
def quick_collections() -> Iterator[None]:
    """Keep what pytest itself holds from being walked before every timed step."""
    with settled():
        yield


@pytest.fixture
def frames() -> Frames:
    return {table: made_up(table) for table in TABLES}


@pytest.fixture
def make_record() -> Callable[..., PlatformRecord]:
    def make(run_id: str = "0" * 32, complete: bool = True) -> PlatformRecord:
        return dataclasses.replace(
            record("toy", "Toy CPU"), run_id=run_id, complete=complete, bits=(512,), iterations=12
        )

    return make


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "performances" / "toy"
