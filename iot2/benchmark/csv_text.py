"""A CSV file as text fields, each row with the line it came from."""

import csv
import gzip
import io
import zlib
from dataclasses import dataclass
from pathlib import Path

from iot2.errors import DataError


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of equal width, and the line on which each one ends."""

    path: Path
    fields: list[list[str]]
    lines: list[int]

    def error(self, row: int, text: str) -> DataError:
        """A `DataError` that names the file and the line of row `row`."""
        return DataError(f"{self.path}, line {self.lines[row]}: {text}")


def read_bytes(path: Path | str) -> bytes:
    """The content of a file, decompressed if it starts as gzip does.

    Raises:
        DataError: the file is missing, unreadable or damaged.
    """
    try:
        data = Path(path).read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"{path}: expected a readable file, came: {reason}") from error
    return data


def parse_rows(data: bytes, path: Path | str, *, delimiter: str = ",") -> Rows:
    """Split a whole CSV file into rows; blank lines are passed over.

    Args:
        data: the file's bytes, UTF-8 with or without a byte-order mark, lines
            ended by LF or CRLF.
        path: only for the text of errors.
        delimiter: the character between fields.

    Raises:
        DataError: no row at all, bytes that are no text, quotes that do not
            close, or rows of different widths; with file and line.
    """
    path = Path(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}, line {line}: expected UTF-8 text, came other bytes") from error
    fields: list[list[str]] = []
    lines: list[int] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if not row:
                continue
            fields.append(row)
            lines.append(reader.line_num)
            if len(row) != len(fields[0]):
                raise DataError(
                    f"{path}, line {reader.line_num}: expected {len(fields[0])} fields,"
                    f" came {len(row)}"
                )
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: expected CSV, came: {error}") from error
    if not fields:
        raise DataError(f"{path}, line 1: expected rows of fields, came an empty file")
    return Rows(path, fields, lines)
