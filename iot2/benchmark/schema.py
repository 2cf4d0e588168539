"""Names and columns of every file that the benchmark writes.

| file | kind | a row is |
|---|---|---|
| `timings_<bits>.csv`, `cycles_<bits>.csv` | `six` | one six-message transfer |
| `timings_<bits>_compact.csv`, `cycles_<bits>_compact.csv` | `compact` | one compact transfer |
| `timings_sOT.csv`, `cycles_sOT.csv` | `simplest` | one SimplestOT transfer |
| `timings_precomputed.csv` | `precomputed` | one pre-computed transfer |
| `timings_<bits>_batch.csv` | `batch` | one step of one batch, per transfer |
| `blocks_<bits>.csv` | `blocks` | one step repeated back to back, per transfer |
| `keys_<bits>.csv` | `keys` | one cost that is paid once per key |
| `bytes.csv` | `bytes` | one message on the wire |

A step that a variant does not have costs 0: the compact sender has no offline
phase. `receiver_online` is choose + retrieve and `receiver_total` is offline +
online, row by row; the reader checks both.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Final, Literal

import numpy as np
import pandas as pd

from iot2.benchmark.csv_text import Rows, parse_rows
from iot2.errors import DataError, ParameterError

Unit = Literal["ns", "cycles"]
Kind = Literal["six", "compact", "simplest", "precomputed", "batch", "blocks", "keys", "bytes"]

STEPS: Final = (
    "sender_offline",
    "sender_online",
    "receiver_offline",
    "receiver_choose",
    "receiver_retrieve",
    "receiver_online",
    "receiver_total",
)
"""Every step of a transfer, in the order of the columns."""

SELECTIONS: Final = ("index", "masked")
VARIANTS: Final = ("six", "compact", "simplest")
SPLITS: Final = ("fresh", "known_key")
"""Specification, section 9: what SimplestOT's sender sends anew for each transfer."""

KEY_STEPS: Final = ("key_generation", "key_parse", "proof_check")
"""Paid once per key: by the sender; by a receiver; by a receiver that pins no fingerprint."""

YARDSTICK: Final = "product"
"""The step of `blocks` that is one bare product `u*z % N`; its variant is `yardstick`."""

PHASES: Final = ("once", "offline", "online")
DIRECTIONS: Final = ("up", "down")
"""Up: receiver to sender. Down: sender to receiver."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: whole numbers, real numbers, or words (of a closed list, if given)."""

    name: str
    kind: Literal["count", "real", "word"]
    words: tuple[str, ...] = ()


def _steps(unit: Unit) -> tuple[Column, ...]:
    return tuple(Column(f"{step}_{unit}", "count") for step in STEPS)


_TRANSFER: Final = (
    Column("iteration", "count"),
    Column("choice", "count"),
    Column("selection", "word", SELECTIONS),
)
_PER_TRANSFER: Final = Column("per_transfer_ns", "real")

_LEADING: Final[Mapping[Kind, tuple[Column, ...]]] = {
    "six": _TRANSFER,
    "compact": _TRANSFER,
    "simplest": (
        *_TRANSFER,
        Column("group", "word", ("ristretto255", "secp256k1")),
        Column("binding", "word"),
        Column("split", "word", SPLITS),
    ),
    "precomputed": (*_TRANSFER, Column("base", "word", VARIANTS), Column("bits", "count")),
}
_OTHER: Final[Mapping[Kind, tuple[Column, ...]]] = {
    "batch": (
        Column("variant", "word", VARIANTS),
        Column("selection", "word", SELECTIONS),
        Column("batch_size", "count"),
        Column("step", "word", STEPS),
        Column("repetition", "count"),
        _PER_TRANSFER,
    ),
    "blocks": (
        Column("variant", "word", (*VARIANTS, "yardstick")),
        Column("selection", "word", SELECTIONS),
        Column("step", "word", (*STEPS, YARDSTICK)),
        Column("block", "count"),
        Column("repetitions", "count"),
        _PER_TRANSFER,
    ),
    "keys": (
        Column("step", "word", KEY_STEPS),
        Column("repetition", "count"),
        Column("elapsed_ns", "count"),
    ),
    "bytes": (
        Column("variant", "word", (*VARIANTS, "precomputed")),
        Column("bits", "count"),
        Column("group", "word"),
        Column("split", "word", SPLITS),
        Column("phase", "word", PHASES),
        Column("direction", "word", DIRECTIONS),
        Column("message", "word"),
        Column("bytes", "count"),
    ),
}
_NAMES: Final[tuple[tuple[Kind, Unit, str], ...]] = (
    ("six", "ns", "timings_{bits}.csv"),
    ("six", "cycles", "cycles_{bits}.csv"),
    ("compact", "ns", "timings_{bits}_compact.csv"),
    ("compact", "cycles", "cycles_{bits}_compact.csv"),
    ("simplest", "ns", "timings_sOT.csv"),
    ("simplest", "cycles", "cycles_sOT.csv"),
    ("precomputed", "ns", "timings_precomputed.csv"),
    ("batch", "ns", "timings_{bits}_batch.csv"),
    ("blocks", "ns", "blocks_{bits}.csv"),
    ("keys", "ns", "keys_{bits}.csv"),
    ("bytes", "ns", "bytes.csv"),
)


@dataclass(frozen=True, slots=True)
class Table:
    """Which table: its kind, its modulus size (None where it has none), its unit."""

    kind: Kind
    bits: int | None = None
    unit: Unit = "ns"

    def __post_init__(self) -> None:
        pattern = self._pattern()
        if pattern is None:
            raise ParameterError(f"there is no table of {self.kind} in {self.unit}")
        if ("{bits}" in pattern) != (self.bits is not None):
            need = "a modulus size" if "{bits}" in pattern else "no modulus size"
            raise ParameterError(f"a table of {self.kind} takes {need}, came {self.bits}")

    def _pattern(self) -> str | None:
        for kind, unit, pattern in _NAMES:
            if (kind, unit) == (self.kind, self.unit):
                return pattern
        return None

    @property
    def file_name(self) -> str:
        """The name of the table's file inside a platform's folder."""
        return str(self._pattern()).format(bits=self.bits)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The table's columns, in the order of the file."""
        if self.kind in _LEADING:
            return (*_LEADING[self.kind], *_steps(self.unit))
        return _OTHER[self.kind]


def table_of(file_name: str) -> Table | None:
    """The table that a file of this name holds, or None if it is none of ours.

    >>> table_of("cycles_3072_compact.csv")
    Table(kind='compact', bits=3072, unit='cycles')
    >>> table_of("notes.csv") is None
    True
    """
    for kind, unit, pattern in _NAMES:
        found = re.fullmatch(
            pattern.replace(".", r"\.").format(bits="([1-9][0-9]{1,5})"), file_name
        )
        if found:
            return Table(kind, int(found[1]) if found.groups() else None, unit)
    return None


def to_csv(table: Table, frame: pd.DataFrame) -> bytes:
    """Encode a frame whose columns are exactly the table's, as `from_csv` reads it.

    Raises:
        DataError: the frame breaks the schema.
    """
    expected = [column.name for column in table.columns]
    if list(frame.columns) != expected:
        raise DataError(
            f"{table.file_name}: expected columns {expected}, came {list(frame.columns)}"
        )
    text = frame.to_csv(index=False, lineterminator="\n", float_format="%.3f")
    data = text.encode("ascii")
    from_csv(table, data, table.file_name)
    return data


def from_csv(table: Table, data: bytes, path: object = None) -> pd.DataFrame:
    """Decode a table and check it against its schema.

    Args:
        table: what the bytes should hold.
        data: the file's content.
        path: how errors name the file.

    Returns:
        A frame with the table's columns: int64 for counts, float64 for reals,
        strings for words.

    Raises:
        DataError: anything that the schema does not allow, with file and line.
    """
    rows = parse_rows(data, str(path if path is not None else table.file_name))
    header = [column.name for column in table.columns]
    if rows.fields[0] != header:
        raise rows.error(
            0, f"expected the columns {','.join(header)}, came {','.join(rows.fields[0])[:200]}"
        )
    body = Rows(rows.path, rows.fields[1:], rows.lines[1:])
    if not body.fields:
        raise rows.error(0, "expected at least one row below the header, came none")
    texts = list(zip(*body.fields, strict=True))
    frame = pd.DataFrame(
        {
            column.name: _decode(column, list(text), body)
            for column, text in zip(table.columns, texts, strict=True)
        }
    )
    _check_rows(table, frame, body)
    return frame


def _decode(column: Column, texts: list[str], body: Rows) -> object:
    if column.kind == "word":
        allowed = frozenset(column.words) if column.words else None
        for row, text in enumerate(texts):
            if text not in allowed if allowed is not None else not text:
                need = " or ".join(column.words) or "a word"
                raise body.error(row, f"{column.name}: expected {need}, came {text!r:.60}")
        return texts
    decode = _count if column.kind == "count" else _real
    values: list[float] = []
    for row, text in enumerate(texts):
        value = decode(text)
        if value is None:
            need = "a whole number" if column.kind == "count" else "a finite number"
            raise body.error(row, f"{column.name}: expected {need} >= 0, came {text!r:.60}")
        values.append(value)
    return np.array(values, dtype=np.int64 if column.kind == "count" else np.float64)


def _count(text: str) -> int | None:
    # 18 digits always fit 64 bits, and no clock of ours gives more.
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def _real(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < inf else None


def _check_rows(table: Table, frame: pd.DataFrame, body: Rows) -> None:
    def refuse(broken: "pd.Series[bool]", text: str) -> None:
        if broken.any():
            raise body.error(int(broken.to_numpy().argmax()), text)

    if table.kind not in _LEADING:
        return
    refuse(frame["choice"] > 1, "choice: expected 0 or 1")
    step = {name: frame[f"{name}_{table.unit}"] for name in STEPS}
    refuse(
        step["receiver_online"] != step["receiver_choose"] + step["receiver_retrieve"],
        f"receiver_online_{table.unit}: expected choose + retrieve",
    )
    refuse(
        step["receiver_total"] != step["receiver_offline"] + step["receiver_online"],
        f"receiver_total_{table.unit}: expected offline + online",
    )
