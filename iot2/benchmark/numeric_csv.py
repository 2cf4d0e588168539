"""Numeric series from any CSV file: ours, the paper's, or anyone's.

A series is one column, or the part of it that shares the same words in the
text columns, so that two groups or two selections are never averaged.
"""

from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from iot2.benchmark.csv_text import Rows, parse_rows, read_bytes
from iot2.errors import DataError

SeriesUnit = Literal["us", "cycles"]

UNITS: Final[dict[str, tuple[float, SeriesUnit]]] = {
    "ns": (1e-3, "us"),
    "us": (1.0, "us"),
    "ms": (1e3, "us"),
    "s": (1e6, "us"),
    "cycles": (1.0, "cycles"),
}
"""Units that a file may be in: the factor to, and the name of, what is printed."""

COUNTERS: Final = frozenset({"iteration", "choice", "repetition", "repetitions", "block"})
"""Columns of ours that number or label rows."""

KEYS: Final = frozenset({"bits", "batch_size"})
"""Columns of ours that are numbers and yet tell series apart."""

MOST_WORDS: Final = 64
"""A text column with more different words than this is a remark, not a label."""

LARGEST: Final = 1e150
"""Beyond it a variance leaves the range of a float."""


@dataclass(frozen=True, slots=True)
class Series:
    """Numbers with one meaning, in µs or cycles, in the order of the file."""

    label: str
    step: str
    unit: SeriesUnit
    values: NDArray[np.float64]


def read_series(path: Path | str, unit: str | None = None) -> list[Series]:
    """Read every numeric series of a CSV file, with or without a header, gzipped or not.

    Args:
        path: the file.
        unit: a key of `UNITS` for all columns; by default the suffix of each
            column's name tells it, or else the file's name (`timings_` is ns,
            `cycles_` is cycles).

    Returns:
        The series, in µs or cycles, in order of first appearance.

    Raises:
        DataError: a malformed file, with file and line, or a unit that nothing tells.
    """
    path = Path(path)
    data = read_bytes(path)
    rows = parse_rows(data, path, delimiter=_delimiter(data))
    names, body = _split_header(rows)
    texts = list(zip(*body.fields, strict=True))
    numeric = [_is_numeric(name, text) for name, text in zip(names, texts, strict=True)]
    any_suffix = any(_suffix(name) for name in names)
    steps = [
        column
        for column, name in enumerate(names)
        if numeric[column]
        and (_suffix(name) if any_suffix else name.strip().lower() not in COUNTERS | KEYS)
    ]
    if not steps:
        raise body.error(0, "expected a numeric column, came none")
    series: list[Series] = []
    values = {column: _numbers(names[column], texts[column], body) for column in steps}
    units = {column: _unit_of(names[column], path, unit) for column in steps}
    for label, members in _groups(names, texts, numeric):
        for column in steps:
            factor, printed = UNITS[units[column]]
            step = names[column].removesuffix(f"_{_suffix(names[column])}")
            series.append(Series(label, step, printed, values[column][members] * factor))
    return series


def _delimiter(data: bytes) -> str:
    first = data.lstrip(b"\xef\xbb\xbf\r\n").split(b"\n", 1)[0]
    return max((",", ";", "\t"), key=lambda mark: first.count(mark.encode()))


def _split_header(rows: Rows) -> tuple[list[str], Rows]:
    first = [_number(text) for text in rows.fields[0]]
    if any(value is not None for value in first):
        return [f"column {index + 1}" for index in range(len(first))], rows
    if len(rows.fields) == 1:
        raise rows.error(0, "expected rows of numbers, came a header alone")
    names: list[str] = []
    for index, text in enumerate(rows.fields[0]):
        name = text.strip() or f"column {index + 1}"
        names.append(f"{name} (column {index + 1})" if name in names else name)
    return names, Rows(rows.path, rows.fields[1:], rows.lines[1:])


def _number(text: str) -> float | None:
    """The number that `text` writes, NaN and infinities included; None if it writes none."""
    try:
        return float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None


def _is_numeric(name: str, texts: tuple[str, ...]) -> bool:
    # More than half decides, so that one damaged field is found and not
    # taken for a label that turns its whole column into words.
    if _suffix(name) is not None:
        return True
    return 2 * sum(_number(text) is not None for text in texts) > len(texts)


def _numbers(name: str, texts: tuple[str, ...], body: Rows) -> NDArray[np.float64]:
    values = np.empty(len(texts))
    for row, text in enumerate(texts):
        value = _number(text)
        if value is None or not isfinite(value) or abs(value) > LARGEST:
            came = repr(text[:60]) if text.strip() else "an empty field"
            raise body.error(row, f"{name}: expected a number, came {came}")
        values[row] = value
    return values


def _suffix(name: str) -> str | None:
    _, mark, last = name.strip().rpartition("_")
    return last if mark and last in UNITS else None


def _unit_of(name: str, path: Path, unit: str | None) -> str:
    told = unit or _suffix(name)
    if told is None:
        if path.name.startswith("timings_"):
            told = "ns"
        elif path.name.startswith("cycles_"):
            told = "cycles"
        else:
            raise DataError(
                f"{path}: neither the column {name!r:.60} nor the file's name tells the unit;"
                f" give --unit, one of {', '.join(UNITS)}"
            )
    return told


def _groups(
    names: list[str], texts: list[tuple[str, ...]], numeric: list[bool]
) -> list[tuple[str, NDArray[np.intp]]]:
    """Row numbers by what the label columns say, in order of first appearance."""
    labels = [
        text
        for name, text, is_number in zip(names, texts, numeric, strict=True)
        if (name.lower() in KEYS or not is_number) and len(set(text)) <= MOST_WORDS
    ]
    if not labels:
        return [("", np.arange(len(texts[0])))]
    members: dict[tuple[str, ...], list[int]] = {}
    for row, label in enumerate(zip(*labels, strict=True)):
        members.setdefault(label, []).append(row)
    return [(" ".join(label), np.array(rows)) for label, rows in members.items()]
