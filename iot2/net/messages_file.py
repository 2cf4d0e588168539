"""The server's messages: a CSV of items, and how one row comes to equal lengths.

Columns `item,m0,m1,...`, in UTF-8: a name, then the c messages, as text or as
`hex:` and hexadecimal digits. A transfer needs messages of one length, so each
message of a row becomes

    len32(m) || m || zeros,

len32 being its length in 4 bytes big-endian, up to the longest of the row. The
rule is reversible (`unpad`), also for messages that are empty or end in zeros.
The padded length, and so that of the row's longest message, is public.
"""

from __future__ import annotations

import contextlib
import csv
import io
import struct
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from iot2.errors import DataError, MessageError

_LEN32 = struct.Struct(">I")
HEX: Final = "hex:"
_MOST_BYTES: Final = 1 << 28
_FIELD_LIMIT = threading.Lock()


def pad(messages: Sequence[bytes]) -> tuple[bytes, ...]:
    r"""Messages of one row, each as len32(m) || m || zeros, all of one length.

    >>> pad([b"yes", b"no"])
    (b'\x00\x00\x00\x03yes', b'\x00\x00\x00\x02no\x00')
    """
    longest = max(map(len, messages))
    return tuple(_LEN32.pack(len(m)) + m.ljust(longest, b"\0") for m in messages)


def unpad(padded: bytes) -> bytes:
    r"""The message inside what `pad` made.

    >>> unpad(b"\x00\x00\x00\x02no\x00")
    b'no'

    Raises:
        MessageError: `pad` makes no such bytes.
    """
    if len(padded) < _LEN32.size:
        raise MessageError(f"a padded message has at least 4 bytes, got {len(padded)}")
    (length,) = _LEN32.unpack_from(padded)
    end = _LEN32.size + length
    if end > len(padded) or padded[end:].strip(b"\0"):
        raise MessageError(
            "a padded message must be its length in 4 bytes, the message and zeros, and is not"
        )
    return padded[_LEN32.size : end]


@contextlib.contextmanager
def _fields_of(characters: int) -> Iterator[None]:
    """Let a CSV have fields of so many characters, while a block runs.

    The limit belongs to the module, so to everybody in the process.
    """
    with _FIELD_LIMIT:
        before = csv.field_size_limit(characters)
        try:
            yield
        finally:
            csv.field_size_limit(before)


@dataclass(frozen=True, slots=True)
class Items:
    """Named rows of messages, padded and ready to be transferred."""

    rows: dict[str, tuple[bytes, ...]] = field(repr=False)
    choices: int

    def __len__(self) -> int:
        return len(self.rows)


def read_items(path: Path | str, *, message_bytes: int) -> Items:
    """Read a CSV of items.

    Args:
        path: the file.
        message_bytes: the most that a padded message may have.

    Raises:
        DataError: with file and line, for whatever is not as described above.
    """
    path = Path(path)
    if path.stat().st_size > _MOST_BYTES:
        raise DataError(f"{path}: expected at most {_MOST_BYTES} bytes")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: expected UTF-8, came another byte at {error.start}") from error
    # No field is too long for the reader: it is `message_bytes` that bounds them.
    with _fields_of(max(csv.field_size_limit(), len(text))):
        return _read(path, text, message_bytes)


def _read(path: Path, text: str, message_bytes: int) -> Items:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: dict[str, tuple[bytes, ...]] = {}
    choices = 0
    try:
        for record in reader:
            where = f"{path}, line {reader.line_num}"
            if not choices:
                choices = _choices(record, where)
            elif record:
                name, messages = _row(record, choices, where)
                if name in rows:
                    raise DataError(f"{where}: expected each item once, came {name!r:.60} again")
                rows[name] = pad(messages)
                if len(rows[name][0]) > message_bytes:
                    raise DataError(
                        f"{where}: expected padded messages of at most {message_bytes} bytes"
                        f" (limit message_bytes), came {len(rows[name][0])}"
                    )
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: expected CSV, came: {error}") from error
    if not rows:
        raise DataError(f"{path}: expected a header and at least one item, came none")
    return Items(rows, choices)


def _choices(header: list[str], where: str) -> int:
    choices = len(header) - 1
    if choices < 2 or header != ["item", *(f"m{j}" for j in range(choices))]:
        raise DataError(
            f"{where}: expected the columns item,m0,m1,..., came {','.join(header)!r:.80}"
        )
    if choices > 256:
        raise DataError(f"{where}: expected at most 256 messages, came {choices}")
    return choices


def _row(record: list[str], choices: int, where: str) -> tuple[str, list[bytes]]:
    # The fields themselves are secret: no error shows them.
    if len(record) != choices + 1:
        raise DataError(f"{where}: expected {choices + 1} fields, came {len(record)}")
    name, *texts = record
    if not 0 < len(name.encode()) <= 256:
        raise DataError(f"{where}: expected an item's name of 1 to 256 bytes")
    messages = []
    for j, text in enumerate(texts):
        if not text.startswith(HEX):
            messages.append(text.encode())
            continue
        try:
            messages.append(bytes.fromhex(text.removeprefix(HEX)))
        except ValueError:
            raise DataError(f"{where}: m{j}: expected hexadecimal digits after 'hex:'") from None
    return name, messages
