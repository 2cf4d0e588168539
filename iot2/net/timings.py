"""What `iot2 profile` measures, as files beside the benchmark's: names, columns, record.

`timings_net_<bits>.csv` holds a row a transfer between two processes of one
machine; `network.json` says where, when and with what, gives the figures of the
load, and names the files by their SHA-256.

| column                | is                                                              |
|-----------------------|-----------------------------------------------------------------|
| `client`              | sync or async                                                   |
| `variant`             | compact or six                                                  |
| `iteration`, `choice` | which transfer, and what was chosen                             |
| `handshake_ns`        | connecting, greeting, checking the key, opening the session     |
| `receiver_offline_ns` | the pre-computation of this transfer                            |
| `round_trip_ns`       | from the choice to the message                                  |
| `sender_compute_ns`   | of that, the computation in the server's worker                 |
| `up_bytes`            | frames to the server for this transfer, as Engine.IO counts them |
| `down_bytes`          | and from it                                                     |
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from iot2.benchmark.csv_text import Rows, parse_rows, read_bytes
from iot2.benchmark.machine import (
    describe_commit,
    describe_libraries,
    describe_machine,
    describe_python,
)
from iot2.errors import DataError
from iot2.files import write_atomically

RECORD_NAME: Final = "network.json"
_FORMAT: Final = 1
_FILE: Final = re.compile(r"timings_net_([1-9][0-9]{1,5})\.csv")

WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "client": ("sync", "async"),
    "variant": ("compact", "six"),
}
COUNTS: Final = (
    "iteration",
    "choice",
    "handshake_ns",
    "receiver_offline_ns",
    "round_trip_ns",
    "sender_compute_ns",
    "up_bytes",
    "down_bytes",
)
COLUMNS: Final = (*WORDS, *COUNTS)


def file_name(bits: int) -> str:
    """The file of one modulus size."""
    return f"timings_net_{bits}.csv"


def to_csv(frame: pd.DataFrame) -> bytes:
    """Encode rows as `from_csv` reads them.

    Raises:
        DataError: the frame breaks the schema.
    """
    if list(frame.columns) != list(COLUMNS):
        raise DataError(f"expected the columns {','.join(COLUMNS)}, came {list(frame.columns)}")
    data = frame.to_csv(index=False, lineterminator="\n").encode("ascii")
    from_csv(data, "rows")
    return data


def from_csv(data: bytes, path: Path | str) -> pd.DataFrame:
    """Decode and check a file's rows.

    Raises:
        DataError: whatever the schema does not allow, with file and line.
    """
    rows = parse_rows(data, path)
    if rows.fields[0] != list(COLUMNS):
        raise rows.error(0, f"expected the columns {','.join(COLUMNS)}")
    body = Rows(rows.path, rows.fields[1:], rows.lines[1:])
    if not body.fields:
        raise rows.error(0, "expected at least one row below the header, came none")
    texts = dict(zip(COLUMNS, zip(*body.fields, strict=True), strict=True))
    columns: dict[str, Any] = {name: _words(name, texts[name], body) for name in WORDS}
    columns |= {name: _counts(name, texts[name], body) for name in COUNTS}
    return pd.DataFrame(columns)


def _words(name: str, texts: tuple[str, ...], body: Rows) -> list[str]:
    for row, text in enumerate(texts):
        if text not in WORDS[name]:
            raise body.error(row, f"{name}: expected {' or '.join(WORDS[name])}, came {text!r:.40}")
    return list(texts)


def _counts(name: str, texts: tuple[str, ...], body: Rows) -> Any:
    for row, text in enumerate(texts):
        if not (text.isascii() and text.isdigit() and len(text) <= 18):
            raise body.error(row, f"{name}: expected a whole number >= 0, came {text!r:.40}")
    return np.array([int(text) for text in texts], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class NetworkRecord:
    """Everything in `network.json`."""

    run_id: str
    platform: str
    date: str
    bits: tuple[int, ...]
    count: int
    """Transfers of each client and variant."""
    machine: dict[str, Any]
    python: str
    libraries: dict[str, str]
    commit: str | None
    dirty: bool | None
    load: dict[str, Any]
    """The figures of the load, by modulus size; empty where it was not run."""
    sha256: dict[str, str] = field(default_factory=dict)

    @classmethod
    def now(
        cls, platform: str, bits: tuple[int, ...], count: int, load: dict[str, Any]
    ) -> NetworkRecord:
        """Of a run that has just ended on this machine."""
        commit, dirty = describe_commit()
        return cls(
            run_id=secrets.token_hex(16),
            platform=platform,
            date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            bits=bits,
            count=count,
            machine=dataclasses.asdict(describe_machine()),
            python=describe_python(),
            libraries=describe_libraries(),
            commit=commit,
            dirty=dirty,
            load=load,
        )


def write_network(
    folder: Path | str, record: NetworkRecord, frames: Mapping[int, pd.DataFrame]
) -> list[Path]:
    """Put the files of a run into a platform's folder, the record last.

    A reader that comes in between, or after an interruption, finds files that
    the record does not name, and says so.

    Args:
        folder: of the platform; made if missing.
        record: of the run; its `sha256` is filled in here.
        frames: rows by modulus size.

    Returns:
        What was written.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    contents = {file_name(bits): to_csv(frame) for bits, frame in frames.items()}
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(contents.items())}
    content = {"format": _FORMAT, **dataclasses.asdict(dataclasses.replace(record, sha256=digests))}
    for old in folder.glob("timings_net_*.csv"):
        if old.name not in contents:
            old.unlink()
    for name, data in contents.items():
        write_atomically(folder / name, data)
    text = json.dumps(content, indent=2, ensure_ascii=True) + "\n"
    write_atomically(folder / RECORD_NAME, text.encode())
    return [folder / name for name in (*contents, RECORD_NAME)]


def read_network(folder: Path | str) -> tuple[NetworkRecord, dict[int, pd.DataFrame]]:
    """A run's record and its rows by modulus size.

    Raises:
        DataError: a missing, damaged or foreign file, or a mixture of runs.
    """
    folder = Path(folder)
    path = folder / RECORD_NAME
    try:
        content = json.loads(read_bytes(path))
        if content.pop("format") != _FORMAT:
            raise DataError(f"{path}: expected format {_FORMAT}")
        record = NetworkRecord(**{**content, "bits": tuple(content["bits"])})
        digests = dict(record.sha256)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError(f"{path}: expected the record of a profile: {error}") from error
    frames = {}
    for name, expected in digests.items():
        found = _FILE.fullmatch(name)
        data = read_bytes(folder / name) if found else b""
        if found is None or hashlib.sha256(data).hexdigest() != expected:
            raise DataError(f"{folder / name}: expected the file of run {record.run_id:.8}…")
        frames[int(found[1])] = from_csv(data, folder / name)
    if not frames:
        raise DataError(f"{path}: expected at least one file of the run, came none")
    return record, frames


def has_network(folder: Path | str) -> bool:
    """Whether a platform's folder holds a profile."""
    return (Path(folder) / RECORD_NAME).is_file()
