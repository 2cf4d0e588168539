"""Names, codes and shapes of what travels over Socket.IO (specification, section 11).

The client emits one of the events below with at most one argument; the server
acknowledges each with the answer named there or with `error_answer(...)`, and
sends nothing unasked but `closing`. Everything that arrives goes through the
`from_wire` of its class here, on both sides, so that the rest of the package
handles values that are known to be well formed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Self

from iot2.errors import MessageError

PROTOCOL_VERSION: Final = 1

HELLO: Final = "hello"
SESSION: Final = "session"
RESUME: Final = "resume"
OFFER: Final = "offer"
QUERY: Final = "query"
BATCH: Final = "batch"
CLOSE: Final = "close"
CLOSING: Final = "closing"

CLIENT_EVENTS: Final = frozenset({HELLO, SESSION, RESUME, OFFER, QUERY, BATCH, CLOSE})

COMPACT: Final = "compact"
SIX: Final = "six"
VARIANT_NAMES: Final = (COMPACT, SIX)

FINGERPRINT_BYTES: Final = 32
MOST_KNOWN: Final = 64
"""Fingerprints that one `hello` may name."""

MOST_NAME_BYTES: Final = 256
"""Length of an item's name in UTF-8."""

DEMO_BYTES: Final = 8
"""A demonstration number travels at this width, big-endian: 0 to 2^64 - 1."""


class Code(StrEnum):
    """Why the server did not answer."""

    VERSION = "VERSION"
    VARIANT = "VARIANT"
    MALFORMED = "MALFORMED"
    RANGE = "RANGE"
    STATE = "STATE"
    UNKNOWN_SESSION = "UNKNOWN_SESSION"
    LIMIT = "LIMIT"
    BUSY = "BUSY"
    SPENT = "SPENT"
    REFUSED = "REFUSED"
    INTERNAL = "INTERNAL"


class Refusal(Exception):
    """Why an event gets a code instead of its answer.

    Args:
        code: one of `Code`.
        text: a short reason; it goes over the wire, so it holds no secret.
        retry_after_ms: when asking again may help.
        fatal: whether the connection ends after this answer.
    """

    def __init__(
        self, code: Code, text: str, *, retry_after_ms: int | None = None, fatal: bool = False
    ) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code
        self.text = text
        self.retry_after_ms = retry_after_ms
        self.fatal = fatal

    def to_wire(self) -> dict[str, Any]:
        """{"error": CODE, "text": ..., "retry_after_ms": ...?}."""
        answer: dict[str, Any] = {"error": str(self.code), "text": self.text}
        if self.retry_after_ms is not None:
            answer["retry_after_ms"] = self.retry_after_ms
        return answer

    @classmethod
    def from_wire(cls, answer: object) -> Self | None:
        """The refusal in an answer, or None if the answer is none.

        Raises:
            MessageError: it says `error` and is not shaped like one.
        """
        if not isinstance(answer, dict) or "error" not in answer:
            return None
        code, text = answer["error"], answer.get("text", "")
        wait = answer.get("retry_after_ms")
        if not isinstance(code, str) or code not in Code.__members__ or not isinstance(text, str):
            raise MessageError("the server answered with an error of no known code")
        if wait is not None and not (_is_int(wait) and 0 <= wait <= 3_600_000):
            raise MessageError("retry_after_ms must be a number of milliseconds up to an hour")
        return cls(Code(code), printable(text), retry_after_ms=wait)


def printable(text: str, most: int = 300) -> str:
    """Text of the other party's, cut and free of control characters, fit to be shown."""
    return "".join(c if c.isprintable() else "?" for c in text[:most])


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _fields(data: object, what: str, needed: set[str], optional: set[str]) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise MessageError(f"{what} takes an object, got {type(data).__name__}")
    # Very many keys may have come: only ours are gone through.
    names = needed | optional
    missing = [name for name in needed if name not in data]
    unknown = len(data) - sum(name in data for name in names)
    if missing or unknown:
        raise MessageError(
            f"{what} takes {', '.join(sorted(names))}; "
            f"missing: {', '.join(sorted(missing)) or 'none'}; unknown: {unknown}"
        )
    return data


def fingerprint_from_hex(text: object) -> bytes:
    """32 bytes from 64 hexadecimal digits.

    Raises:
        MessageError: anything else.
    """
    if isinstance(text, str) and len(text) == 2 * FINGERPRINT_BYTES and text.isascii():
        try:
            return bytes.fromhex(text)
        except ValueError:
            pass
    raise MessageError(f"a fingerprint must be 64 hexadecimal digits, got {text!r:.80}")


@dataclass(frozen=True, slots=True)
class Hello:
    """`hello`: what the client speaks, which keys it holds, and what it would try.

    Attributes:
        version: of this protocol.
        variant: `compact` or `six`.
        known: fingerprints of keys that the client holds.
        bits: size of the key wanted, of a demonstration server alone.
        demo: the two demonstration numbers, for a demonstration server alone.
    """

    version: int
    variant: str
    known: tuple[bytes, ...] = ()
    bits: int | None = None
    demo: tuple[int, int] | None = field(default=None, repr=False)

    def to_wire(self) -> dict[str, Any]:
        """The event's argument."""
        data: dict[str, Any] = {
            "version": self.version,
            "variant": self.variant,
            "known": [fp.hex() for fp in self.known],
        }
        if self.bits is not None:
            data["bits"] = self.bits
        if self.demo is not None:
            data["demo"] = list(self.demo)
        return data

    @classmethod
    def from_wire(cls, data: object) -> Self:
        """Parse the event's argument.

        Raises:
            MessageError: a missing, unknown or wrong entry.
        """
        # The version comes first: another one may have other entries.
        version = data.get("version") if isinstance(data, dict) else None
        if not _is_int(version):
            raise MessageError("hello takes an object with the version as a number")
        if version != PROTOCOL_VERSION:
            return cls(int(version), COMPACT)  # type: ignore[arg-type]
        entries = _fields(data, "hello", {"version", "variant", "known"}, {"bits", "demo"})
        variant, known, bits, demo = (
            entries.get(name) for name in ("variant", "known", "bits", "demo")
        )
        if not isinstance(variant, str):
            raise MessageError("hello: variant must be text")
        if not isinstance(known, list) or len(known) > MOST_KNOWN:
            raise MessageError(f"hello: known must be a list of at most {MOST_KNOWN} fingerprints")
        if bits is not None and not _is_int(bits):
            raise MessageError("hello: bits must be a number")
        if demo is not None and not (
            isinstance(demo, list)
            and len(demo) == 2
            and all(_is_int(x) and 0 <= x < 1 << 8 * DEMO_BYTES for x in demo)
        ):
            raise MessageError(f"hello: demo must be two numbers from 0 to 2^{8 * DEMO_BYTES} - 1")
        fingerprints = tuple(fingerprint_from_hex(text) for text in known)
        pair = None if demo is None else (demo[0], demo[1])
        return cls(PROTOCOL_VERSION, variant, fingerprints, bits, pair)


@dataclass(frozen=True, slots=True)
class Welcome:
    """The answer to `hello`: whose key it is, and what the server bears.

    Attributes:
        fingerprint: of the key that serves this connection.
        bits: size of N.
        choices: c of 1-out-of-c.
        limits: names and values; see `iot2.net.limits`.
        key: the public key's bytes, unless its fingerprint was among the known.
    """

    fingerprint: bytes
    bits: int
    choices: int
    limits: dict[str, Any]
    key: bytes | None = field(default=None, repr=False)

    def to_wire(self) -> dict[str, Any]:
        """The acknowledgement."""
        data: dict[str, Any] = {
            "fingerprint": self.fingerprint.hex(),
            "bits": self.bits,
            "choices": self.choices,
            "limits": self.limits,
        }
        if self.key is not None:
            data["key"] = self.key
        return data

    @classmethod
    def from_wire(cls, data: object) -> Self:
        """Parse the acknowledgement; entries that are not known are passed over.

        Raises:
            MessageError: a missing or wrong entry.
        """
        if not isinstance(data, dict):
            raise MessageError(f"the answer to hello must be an object, is {type(data).__name__}")
        bits, choices, limits, key = (
            data.get(name) for name in ("bits", "choices", "limits", "key")
        )
        if not _is_int(bits) or not _is_int(choices):
            raise MessageError("the answer to hello must give bits and choices as numbers")
        if not isinstance(limits, dict) or not all(isinstance(name, str) for name in limits):
            raise MessageError("the answer to hello must give the limits by name")
        if key is not None and not isinstance(key, bytes):
            raise MessageError("the answer to hello must give the key as bytes")
        fp = fingerprint_from_hex(data.get("fingerprint"))
        return cls(fp, int(bits), int(choices), limits, key)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """`session`: the items to transfer, in order, or how many demonstrations."""

    items: tuple[str, ...] | None = None
    count: int | None = None

    def to_wire(self) -> dict[str, Any]:
        """The event's argument."""
        return {"count": self.count} if self.items is None else {"items": list(self.items)}

    @classmethod
    def from_wire(cls, data: object, most: int | None = None) -> Self:
        """Parse the event's argument.

        Args:
            data: what came.
            most: transfers that one session may have, looked at before any name is.

        Raises:
            MessageError: neither or both entries, or a wrong one.
            Refusal: LIMIT, more transfers than `most`.
        """
        entries = _fields(data, "session", set(), {"items", "count"})
        if len(entries) != 1:
            raise MessageError("session takes either items or count")
        if "count" in entries:
            count = entries["count"]
            if not _is_int(count) or count < 1:
                raise MessageError("session: count must be a number of at least 1")
            _check_transfers(count, most)
            return cls(count=count)
        items = entries["items"]
        if not isinstance(items, list) or not items:
            raise MessageError("session: items must be a list of at least one name")
        _check_transfers(len(items), most)
        return cls(items=_item_names(items))


def _check_transfers(count: int, most: int | None) -> None:
    if most is not None and count > most:
        raise Refusal(Code.LIMIT, f"transfers_per_session: at most {most}")


def _item_names(names: list[Any]) -> tuple[str, ...]:
    """The names of a `session`: very many, so each check is one pass without a Python loop."""
    if set(map(type, names)) != {str} or "" in names:
        raise MessageError("an item's name must be text of at least one character")
    try:
        size = max(map(len, map(str.encode, names)))
    except UnicodeEncodeError as error:
        raise MessageError("an item's name must be valid UTF-8") from error
    if size > MOST_NAME_BYTES:
        raise MessageError(f"an item's name has at most {MOST_NAME_BYTES} bytes, got {size}")
    return tuple(names)


def bytes_of(data: object, what: str) -> bytes:
    """The binary argument of an event or answer.

    Raises:
        MessageError: it is something else.
    """
    if not isinstance(data, bytes):
        raise MessageError(f"{what} takes bytes, got {type(data).__name__}")
    return data


def batch_to_wire(name: str, data: bytes) -> dict[str, bytes]:
    """{"queries": ...} or {"replies": ...}."""
    return {name: data}


def batch_from_wire(name: str, data: object) -> bytes:
    """The concatenated messages of a `batch` or of its answer.

    Raises:
        MessageError: another shape.
    """
    return bytes_of(_fields(data, "batch", {name}, set())[name], f"batch: {name}")


def intervals_to_wire(intervals: list[tuple[int, int]]) -> dict[str, Any]:
    """{"answered": [[first, last], ...]}, the answer to `resume`."""
    return {"answered": [list(pair) for pair in intervals]}


def intervals_from_wire(data: object) -> list[tuple[int, int]]:
    """Parse the answer to `resume`: ascending intervals, ends included.

    Raises:
        MessageError: another shape.
    """
    intervals = data.get("answered") if isinstance(data, dict) else None
    if not isinstance(intervals, list):
        raise MessageError("the answer to resume must list what was answered")
    pairs = []
    following = 0
    for pair in intervals:
        if not (isinstance(pair, list) and len(pair) == 2 and all(map(_is_int, pair))):
            raise MessageError("the answer to resume must list pairs of indexes")
        first, last = pair
        if not following <= first <= last < 1 << 64:
            raise MessageError("the answer to resume must list ascending intervals")
        pairs.append((first, last))
        following = last + 2
    return pairs
