"""A CSV of the analysis, its schema and its sidecar.

`name.csv` (or `name.csv.gz`) holds rows of numbers and words; `name.json` beside
it says what they are, how they came about, and the SHA-256 of the CSV's bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

from iot2.benchmark.csv_text import parse_rows, read_bytes
from iot2.errors import DataError
from iot2.files import write_atomically

FORMAT: Final = 1

Kind = Literal["count", "real", "word"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column's name (its unit last), kind, and meaning in a few words.

    A `count` is a whole number ≥ 0, a `real` any float but nan, infinities included.
    """

    name: str
    kind: Kind
    meaning: str


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of one kind of file."""

    kind: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        """The header."""
        return [column.name for column in self.columns]


@dataclass(frozen=True, slots=True)
class Stored:
    """A file as read: its rows, and what the sidecar says."""

    path: Path
    frame: pd.DataFrame
    about: Mapping[str, Any]


def sidecar_of(path: Path) -> Path:
    """The sidecar's path: the same name with `.json` for `.csv` or `.csv.gz`."""
    return path.with_name(path.name.removesuffix(".gz").removesuffix(".csv") + ".json")


def encode(path: Path, schema: Schema, frame: pd.DataFrame) -> bytes:
    """The bytes of the file: the same rows give the same bytes, compressed or not."""
    if list(frame.columns) != schema.names:
        raise DataError(f"{path}: expected columns {schema.names}, came {list(frame.columns)}")
    text = frame.to_csv(index=False, lineterminator="\n", float_format="%.9g")
    data = text.encode("ascii")
    _decode(path, schema, data)
    # No time stamp and no file name in the gzip header.
    return gzip.compress(data, 9, mtime=0) if path.suffix == ".gz" else data


def write(
    path: Path,
    schema: Schema,
    frame: pd.DataFrame,
    about: Mapping[str, object],
    *,
    force: bool = False,
) -> None:
    """Write a file and its sidecar; other data already there is replaced only with `force`.

    Args:
        path: `…/name.csv` or `…/name.csv.gz`; the folder is made.
        schema: the columns.
        frame: the rows.
        about: what goes into the sidecar, JSON values.
        force: whether a file with other content may be replaced.

    Raises:
        DataError: the frame breaks the schema, or other data is there.
    """
    data = encode(path, schema, frame)
    if not force and path.exists() and path.read_bytes() != data:
        raise DataError(f"{path} holds other data, which is only replaced with --force")
    content = {
        "format": FORMAT,
        "kind": schema.kind,
        "columns": {column.name: column.meaning for column in schema.columns},
        "rows": len(frame),
        "sha256": hashlib.sha256(data).hexdigest(),
        **about,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, data)
    write_atomically(sidecar_of(path), (json.dumps(content, indent=2) + "\n").encode())


def read(path: Path | str, schema: Schema) -> Stored:
    """Read a file and its sidecar, checking one against the other and both against the schema.

    Raises:
        DataError: missing, damaged, of another kind, or not the file its sidecar describes.
    """
    path = Path(path)
    about = _read_sidecar(sidecar_of(path))
    if about.get("format") != FORMAT or about.get("kind") != schema.kind:
        raise DataError(
            f"{sidecar_of(path)}: expected format {FORMAT} and kind {schema.kind!r}, came "
            f"{about.get('format')!r:.40} and {about.get('kind')!r:.40}"
        )
    try:
        stored = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: expected a readable file, came: {error.strerror}") from error
    digest = hashlib.sha256(stored).hexdigest()
    if digest != about.get("sha256"):
        raise DataError(
            f"{path}: expected the file that its sidecar describes (SHA-256 "
            f"{about.get('sha256')!s:.16}…), came another (SHA-256 {digest:.16}…)"
        )
    return Stored(path, _decode(path, schema, read_bytes(path)), about)


def _read_sidecar(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: expected JSON, came: {error}") from error
    if not isinstance(content, dict):
        raise DataError(f"{path}: expected a JSON object, came {type(content).__name__}")
    return content


def _decode(path: Path, schema: Schema, data: bytes) -> pd.DataFrame:
    rows = parse_rows(data, path)
    if rows.fields[0] != schema.names:
        raise rows.error(0, f"expected the columns {schema.names}, came {rows.fields[0]!r:.200}")
    if len(rows.fields) == 1:
        raise rows.error(0, "expected at least one row below the header, came none")
    columns = list(zip(*rows.fields[1:], strict=True))
    frame: dict[str, Any] = {}
    for column, texts in zip(schema.columns, columns, strict=True):
        if column.kind == "word":
            frame[column.name] = list(texts)
            continue
        parse = _count if column.kind == "count" else _real
        values: list[Any] = []
        for row, text in enumerate(texts, 1):
            value = parse(text)
            if value is None:
                need = "a whole number >= 0" if column.kind == "count" else "a number"
                raise rows.error(row, f"{column.name}: expected {need}, came {text!r:.60}")
            values.append(value)
        frame[column.name] = np.array(values, np.int64 if column.kind == "count" else np.float64)
    return pd.DataFrame(frame, columns=schema.names)


def _count(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def _real(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return None if value != value else value
