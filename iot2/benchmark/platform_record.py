"""The sidecar of a benchmark: `platform.json`, typed.

It says where, when and with what the samples beside it were measured. Host and
user names have no place in it.
"""

import dataclasses
import json
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from iot2.errors import DataError

FORMAT: Final = 1
FILE_NAME: Final = "platform.json"


@dataclass(frozen=True, slots=True)
class Machine:
    """The hardware and the operating system; None is what could not be read."""

    processor: str | None
    architecture: str
    cores_physical: int | None
    cores_logical: int | None
    governor: str | None
    frequency_mhz: float | None
    frequency_max_mhz: float | None
    memory_bytes: int | None
    kernel: str


@dataclass(frozen=True, slots=True)
class Clocks:
    """What time and cycles were read from, and what a reading costs.

    `timer_cost_ns` is the median distance of two readings with nothing
    between; it is inside every sample and was subtracted from none.
    """

    timer: str
    timer_cost_ns: float
    timer_resolution_ns: float
    cycle_source: str
    """perf_event, tsc or none."""
    cycle_kind: str
    """core, reference or none: what one counted cycle is."""
    cycle_scope: str
    """user and kernel, user only, everything on the core, or none."""
    cycle_cost: float | None
    cycle_frequency_hz: float | None
    """Counted cycles per second of a busy loop."""
    cycle_note: str
    """Why not the kernel's counter, where it was not used."""


@dataclass(frozen=True, slots=True)
class PlatformRecord:
    """Everything in `platform.json`."""

    run_id: str
    """32 hexadecimal digits drawn at random for the run."""
    platform: str
    date: str
    """UTC, ISO 8601."""
    complete: bool
    """False for a quick run, which may be replaced by anything."""
    bits: tuple[int, ...]
    iterations: int
    warm_up: int
    message_bytes: int
    machine: Machine
    python: str
    libraries: Mapping[str, str]
    """gmpy2, GMP, numpy, rbcl, coincurve, ... and their versions."""
    exponentiation: str
    """What computes powers with a secret exponent."""
    commit: str | None
    dirty: bool | None
    affinity: tuple[int, ...] | None
    pinned: bool
    load_average: tuple[float, ...] | None
    """1, 5 and 15 minutes, when the run began."""
    clocks: Clocks
    stable: bool
    warnings: tuple[str, ...]
    short_steps: tuple[str, ...] = ()
    """`file: step` for each step shorter than 20 readings of the timer."""
    sha256: Mapping[str, str] = field(default_factory=dict)
    """Of each CSV of the run, by file name."""

    def to_json(self) -> bytes:
        """Encode as indented JSON with a final newline."""
        content = {"format": FORMAT, **dataclasses.asdict(self)}
        return (json.dumps(content, indent=2, ensure_ascii=True) + "\n").encode()

    @classmethod
    def from_json(cls, data: bytes, path: Path | str = FILE_NAME) -> "PlatformRecord":
        """Decode and check names and types.

        Raises:
            DataError: no JSON, another format, a missing, unknown or wrong entry.
        """
        try:
            content = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}: expected JSON, came: {error}") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            came = content.get("format") if isinstance(content, dict) else type(content).__name__
            raise DataError(f"{path}: expected format {FORMAT}, came {came!r:.60}")
        del content["format"]
        record: PlatformRecord = _build(cls, content, str(path))
        if len(record.run_id) != 32 or set(record.run_id) - set("0123456789abcdef"):
            raise DataError(f"{path}: run_id: expected 32 hexadecimal digits")
        return record


def _build(cls: type, content: object, where: str) -> Any:
    """Make a dataclass from parsed JSON, refusing whatever its annotations do not allow."""
    if not isinstance(content, dict):
        raise DataError(f"{where}: expected an object, came {type(content).__name__}")
    hints = typing.get_type_hints(cls)
    if set(content) != set(hints):
        missing, unknown = sorted(set(hints) - set(content)), sorted(set(content) - set(hints))
        raise DataError(f"{where}: expected other entries: missing {missing}, unknown {unknown}")
    return cls(**{name: _value(hints[name], content[name], f"{where}: {name}") for name in hints})


def _value(hint: Any, value: object, where: str) -> object:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _build(hint, value, where)
    if origin is types.UnionType:
        return None if value is None else _value(arguments[0], value, where)
    if origin is tuple and isinstance(value, list):
        return tuple(_value(arguments[0], entry, where) for entry in value)
    if origin is Mapping and isinstance(value, dict):
        return {name: _value(arguments[1], entry, where) for name, entry in value.items()}
    if hint is float and type(value) in (int, float):
        return float(value)  # type: ignore[arg-type]
    if origin is None and type(value) is hint:
        return value
    raise DataError(f"{where}: expected {getattr(hint, '__name__', hint)}, came {value!r:.60}")
