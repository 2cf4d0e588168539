"""`iot2 leakage`: record labelled online times, store them, and read them again.

| file | a row is |
|---|---|
| `leakage_receiver_<case>.csv.gz` | a receiver's online times, labelled with the choice |
| `leakage_sender_<case>.csv.gz` | a sender's, labelled with whether y was a square |

The cases are those of `recording`; the rows stand in the order they were taken in.
"""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from iot2 import SenderKey
from iot2.benchmark.clock import timer_cost
from iot2.benchmark.machine import (
    describe_commit,
    describe_libraries,
    describe_machine,
    describe_python,
    load_average,
    pinned,
)
from iot2.benchmark.series import settled
from iot2.errors import DataError
from iot2.security.recording import (
    RECEIVERS,
    SENDERS,
    check_count,
    record_receivers,
    record_senders,
)
from iot2.security.store import Column, Schema, read, write

RECEIVER_COUNT: Final = 100_000
SENDER_COUNT: Final = 20_000
CONTROL: Final = "control"

RECEIVER: Final = Schema(
    "leakage_receiver",
    (
        Column("choice", "count", "the choice b"),
        Column("receiver_choose_ns", "count", "from the choice (and the offer) to the query"),
        Column("receiver_retrieve_ns", "count", "from the reply to the message"),
    ),
)
SENDER: Final = Schema(
    "leakage_sender",
    (
        Column("square", "count", "1 if y was a square, 0 if not"),
        Column("sender_online_ns", "count", "from the query to the reply"),
    ),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """How much is recorded, and with which keys.

    Attributes:
        receiver_count: transfers of each receiver.
        sender_count: answers of each sender.
        receiver_bits: the key of the receivers' sender.
        sender_bits: the senders' key.
    """

    receiver_count: int = RECEIVER_COUNT
    sender_count: int = SENDER_COUNT
    receiver_bits: int = 1024
    sender_bits: int = 3072

    def __post_init__(self) -> None:
        check_count(self.receiver_count)
        check_count(self.sender_count)


@dataclass(frozen=True, slots=True)
class Timings:
    """One case as stored.

    Attributes:
        party: "receiver" or "sender".
        case: one of `RECEIVERS` or `SENDERS`.
        labels: b, or whether y was a square.
        steps: ns of each step by its name; "online" is their sum.
        about: the sidecar.
    """

    party: str
    case: str
    labels: NDArray[np.int64]
    steps: Mapping[str, NDArray[np.int64]]
    about: Mapping[str, Any]

    @property
    def control(self) -> bool:
        """Whether this is the positive control, which must be found."""
        return self.case == CONTROL

    @property
    def online_ns(self) -> NDArray[np.int64]:
        """The party's whole online time."""
        return self.steps["online"]


def file_name(party: str, case: str) -> str:
    """The name of a case's file in its platform's folder."""
    return f"leakage_{party}_{case}.csv.gz"


def record(folder: Path, settings: Settings, *, force: bool = False) -> Iterator[tuple[str, float]]:
    """Record every case and store it in `folder`; all files are written at the end.

    Yields:
        What is being recorded, and how much of it is done (0 to 1).

    Raises:
        DataError: data are there already and `force` is false; found before recording.
    """
    check_replaceable(folder, force=force)
    load = load_average()
    with pinned() as (affinity, is_pinned), settled():
        cost = timer_cost()
        receiver_key = SenderKey.generate(settings.receiver_bits, insecure=True)
        sender_key = SenderKey.generate(settings.sender_bits, insecure=True)
        receivers, senders = [], []
        for receivers in record_receivers(receiver_key, settings.receiver_count):
            yield "receivers", len(receivers[0].labels) / settings.receiver_count
        for senders in record_senders(sender_key, settings.sender_count):
            yield "senders", len(senders[0].labels) / settings.sender_count
    commit, dirty = describe_commit()
    about = {
        "run_id": secrets.token_hex(16),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": asdict(describe_machine(affinity[-1] if affinity else None)),
        "python": describe_python(),
        "libraries": describe_libraries(),
        "exponentiation": sender_key.secret.powers.name,
        "commit": commit,
        "dirty": dirty,
        "pinned": is_pinned,
        "load_average": load,
        "timer": "time.perf_counter_ns",
        "timer_cost_ns": cost.cost,
        "timer_resolution_ns": cost.resolution,
    }
    for receiver in receivers:
        path = folder / file_name("receiver", receiver.name)
        bits = {"bits": settings.receiver_bits}
        write(path, RECEIVER, receiver.frame(), {**about, **bits}, force=True)
    for sender in senders:
        path = folder / file_name("sender", sender.name)
        bits = {"bits": settings.sender_bits}
        write(path, SENDER, sender.frame(), {**about, **bits}, force=True)


def check_replaceable(folder: Path, *, force: bool) -> None:
    """Raise `DataError` if `folder` holds recordings and `force` is false."""
    there = sorted(path.name for path in folder.glob("leakage_*.csv.gz"))
    if there and not force:
        raise DataError(f"{folder} holds {there[0]}, which is only replaced with --force")


def has_recordings(folder: Path | str) -> bool:
    """Whether a platform's folder holds recordings."""
    return any(Path(folder).glob("leakage_*.csv.gz"))


def read_recordings(folder: Path | str) -> list[Timings]:
    """Every case of a platform, receivers first.

    Raises:
        DataError: a file is missing or damaged, or two are of different runs.
    """
    folder = Path(folder)
    found = [_read(folder, "receiver", case, RECEIVER) for case in RECEIVERS]
    found += [_read(folder, "sender", case, SENDER) for case in SENDERS]
    runs = {timings.about["run_id"] for timings in found}
    if len(runs) != 1:
        raise DataError(
            f"{folder}: expected recordings of one run, came {len(runs)}: runs are mixed"
        )
    return found


def _read(folder: Path, party: str, case: str, schema: Schema) -> Timings:
    stored = read(folder / file_name(party, case), schema)
    label, *columns = schema.names
    if not isinstance(stored.about.get("run_id"), str):
        raise DataError(f"{stored.path}: expected a run_id in the sidecar")
    if set(stored.frame[label]) != {0, 1}:
        raise DataError(f"{stored.path}: {label}: expected 0 and 1, both of them")
    return Timings(
        party, case, stored.frame[label].to_numpy(), _steps(stored.frame[columns]), stored.about
    )


def _steps(frame: pd.DataFrame) -> dict[str, NDArray[np.int64]]:
    steps = {
        name.removeprefix("receiver_").removeprefix("sender_").removesuffix("_ns"): frame[
            name
        ].to_numpy()
        for name in frame.columns
    }
    if "online" not in steps:
        steps["online"] = frame.sum(axis=1).to_numpy()
    return steps
