"""A platform's folder: read whole and checked, replaced whole or not at all.

    platform = read_platform("performances/linux")
    platform.bits                              # (1024, 2048, 3072, 4096)
    platform.table("compact", 3072)            # DataFrame in ns
    platform.table("compact", 3072, "cycles")  # DataFrame in cycles
    platform.has("compact", 3072, "cycles")    # False on ARM without a cycle counter
    platform.record.machine.processor

The kinds and columns are those of `iot2.benchmark.schema`.
"""

import ctypes
import dataclasses
import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from iot2.benchmark.csv_text import read_bytes
from iot2.benchmark.platform_record import FILE_NAME, PlatformRecord
from iot2.benchmark.schema import Kind, Table, Unit, from_csv, table_of, to_csv
from iot2.errors import DataError


@dataclass(frozen=True, slots=True)
class Platform:
    """One complete run of the benchmark on one machine."""

    folder: Path
    record: PlatformRecord
    tables: Mapping[Table, pd.DataFrame]

    @property
    def name(self) -> str:
        """The platform's name as figures print it."""
        return self.record.platform

    @property
    def bits(self) -> tuple[int, ...]:
        """The modulus sizes that were measured, ascending."""
        return self.record.bits

    def has(self, kind: Kind, bits: int | None = None, unit: Unit = "ns") -> bool:
        """Whether the run has that table."""
        return Table(kind, bits, unit) in self.tables

    def table(self, kind: Kind, bits: int | None = None, unit: Unit = "ns") -> pd.DataFrame:
        """A copy of one table of the run.

        Raises:
            DataError: the run has no such table.
        """
        table = Table(kind, bits, unit)
        if table not in self.tables:
            have = ", ".join(sorted(entry.file_name for entry in self.tables))
            raise DataError(f"{self.folder}: expected {table.file_name}, came only {have}")
        return self.tables[table].copy()


def read_platform(folder: Path | str) -> Platform:
    """Read a platform's folder, checking every file.

    Raises:
        DataError: a missing or damaged file, a CSV that breaks its schema (with
            file and line), or CSVs that are not of the run in `platform.json`.
    """
    folder = Path(folder)
    record_path = folder / FILE_NAME
    record = PlatformRecord.from_json(read_bytes(record_path), record_path)
    stray = sorted({path.name for path in _our_csvs(folder)} - set(record.sha256))
    if stray:
        raise DataError(
            f"{folder}: expected the files of run {record.run_id} alone,"
            f" came also {', '.join(stray)}"
        )
    tables: dict[Table, pd.DataFrame] = {}
    for name, expected in record.sha256.items():
        table = table_of(name)
        if table is None or (table.bits is not None and table.bits not in record.bits):
            raise DataError(f"{record_path}: expected names of benchmark files, came {name!r:.60}")
        data = read_bytes(folder / name)
        digest = hashlib.sha256(data).hexdigest()
        if digest != expected:
            raise DataError(
                f"{folder / name}: expected the file of run {record.run_id} (SHA-256"
                f" {expected:.16}…), came another (SHA-256 {digest:.16}…): runs are mixed"
            )
        tables[table] = from_csv(table, data, folder / name)
    if not tables:
        raise DataError(f"{record_path}: expected at least one CSV in the run, came none")
    return Platform(folder, record, tables)


def platform_folders(root: Path | str) -> list[Path]:
    """The folders under `root` that hold a run, by name."""
    root = Path(root)
    if not root.is_dir():
        return []
    return sorted(entry for entry in root.iterdir() if (entry / FILE_NAME).is_file())


def check_replaceable(folder: Path | str, *, complete: bool, force: bool) -> None:
    """Refuse to replace complete data, unless a complete run is forced to.

    A run that cannot be read counts as complete: it may be worth repairing.

    Raises:
        DataError: the folder holds data that this run may not replace.
    """
    folder = Path(folder)
    record_path = folder / FILE_NAME
    if not record_path.exists():
        if not _our_csvs(folder):
            return
        what = "benchmark files without a platform.json"
    else:
        try:
            if not PlatformRecord.from_json(read_bytes(record_path), record_path).complete:
                return
            what = "complete data"
        except DataError:
            what = "a platform.json that cannot be read"
    if not complete:
        raise DataError(
            f"{folder} holds {what}, which a quick run never replaces; name another platform"
        )
    if not force:
        raise DataError(f"{folder} holds {what}, which is only replaced with --force")


def write_platform(
    folder: Path | str,
    record: PlatformRecord,
    tables: Mapping[Table, pd.DataFrame],
    *,
    force: bool = False,
) -> PlatformRecord:
    """Put a complete set of files at `folder` in one step.

    The set is made in a folder beside it, flushed, and then the two change
    places, so that an interruption leaves the previous set whole. Files that
    are not the benchmark's (a README, say) move along.

    Args:
        folder: the platform's folder; its parents are made.
        record: of the run; its `sha256` is filled in here.
        tables: every table of the run.
        force: whether complete data may be replaced.

    Returns:
        The record as written.

    Raises:
        DataError: a frame breaks its schema, or `check_replaceable` refuses.
    """
    folder = Path(folder).resolve()
    check_replaceable(folder, complete=record.complete, force=force)
    contents = {table.file_name: to_csv(table, frame) for table, frame in tables.items()}
    record = dataclasses.replace(
        record,
        sha256={name: hashlib.sha256(contents[name]).hexdigest() for name in sorted(contents)},
    )
    contents[FILE_NAME] = record.to_json()
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        made.chmod(0o755)
        for name, data in contents.items():
            _write_flushed(made / name, data)
        if folder.is_dir():
            _copy_foreign(folder, made)
        _flush_folder(made)
        _put_in_place(made, folder)
        _flush_folder(folder.parent)
    finally:
        # Either what was made and not put in place, or what was replaced.
        shutil.rmtree(made, ignore_errors=True)
    return record


def _our_csvs(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return [path for path in folder.iterdir() if table_of(path.name) is not None]


def _write_flushed(path: Path, data: bytes) -> None:
    with path.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def _flush_folder(folder: Path) -> None:
    if os.name == "nt":  # folders cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _copy_foreign(source: Path, target: Path) -> None:
    ours = {FILE_NAME, *(path.name for path in _our_csvs(source))}
    for entry in source.iterdir():
        if entry.name in ours:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.copytree(entry, target / entry.name, symlinks=True)
        else:
            shutil.copy2(entry, target / entry.name, follow_symlinks=False)


def _put_in_place(made: Path, folder: Path) -> None:
    """Give `made` the name `folder`; what had that name ends up as `made`."""
    if not folder.exists():
        made.rename(folder)
    elif not _exchange(made, folder):
        # Two renames: a crash between them leaves the old set whole beside.
        aside = made.with_name(f"{made.name}.previous")
        folder.rename(aside)
        try:
            made.rename(folder)
        except BaseException:
            aside.rename(folder)
            raise
        aside.rename(made)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two names at once, or say that this system cannot."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    at_fdcwd, rename_exchange = -100, 2
    renameat2.argtypes = [
        ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint,
    ]  # fmt: skip
    done: int = renameat2(at_fdcwd, os.fsencode(one), at_fdcwd, os.fsencode(other), rename_exchange)
    return done == 0
