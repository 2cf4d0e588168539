import json
import os

import pandas as pd
import pytest

from iot2.benchmark import storage
from iot2.benchmark.schema import Table
from iot2.benchmark.storage import (
    check_replaceable,
    platform_folders,
    read_platform,
    write_platform,
)
from iot2.errors import DataError

from .conftest import TABLES, made_up


def snapshot(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_is_written_is_read(folder, frames, make_record) -> None:
    written = write_platform(folder, make_record(), frames)
    platform = read_platform(folder)
    assert platform.record == written
    assert (platform.name, platform.bits) == ("toy", (512,))
    assert set(platform.tables) == set(TABLES)
    for table, frame in frames.items():
        read = platform.table(table.kind, table.bits, table.unit)
        pd.testing.assert_frame_equal(read, frame, check_dtype=False)
    assert platform.has("six", 512, "cycles")
    assert not platform.has("six", 1024)


def test_nothing_is_left_beside(folder, frames, make_record) -> None:
    for _ in range(2):
        write_platform(folder, make_record(), frames, force=True)
    assert [entry.name for entry in folder.parent.iterdir()] == ["toy"]
    assert {path.name for path in folder.iterdir()} == {
        "platform.json", *(table.file_name for table in TABLES)
    }  # fmt: skip


def test_a_table_that_was_not_measured_is_named(folder, frames, make_record) -> None:
    del frames[Table("simplest")]
    write_platform(folder, make_record(), frames)
    with pytest.raises(DataError, match=r"expected timings_sOT\.csv"):
        read_platform(folder).table("simplest")


def test_frames_are_copies(folder, frames, make_record) -> None:
    write_platform(folder, make_record(), frames)
    platform = read_platform(folder)
    frame = platform.table("simplest")
    frame["iteration"] = -1
    assert (platform.table("simplest")["iteration"] >= 0).all()


def test_another_runs_file_is_a_mixture(folder, frames, make_record) -> None:
    write_platform(folder, make_record("1" * 32), frames)
    kept = (folder / "timings_512.csv").read_bytes()
    frames[Table("six", 512)] = made_up(Table("six", 512), seed=2)
    write_platform(folder, make_record("2" * 32), frames, force=True)
    assert (folder / "timings_512.csv").read_bytes() != kept
    (folder / "timings_512.csv").write_bytes(kept)
    with pytest.raises(DataError, match=r"timings_512\.csv.*run 2222.*mixed"):
        read_platform(folder)


def test_a_file_beyond_the_record_is_a_mixture(folder, frames, make_record) -> None:
    write_platform(folder, make_record(), frames)
    (folder / "timings_1024.csv").write_bytes((folder / "timings_512.csv").read_bytes())
    with pytest.raises(DataError, match=r"came also timings_1024\.csv"):
        read_platform(folder)


def test_a_missing_file_is_an_error(folder, frames, make_record) -> None:
    write_platform(folder, make_record(), frames)
    (folder / "timings_sOT.csv").unlink()
    with pytest.raises(DataError, match=r"timings_sOT\.csv"):
        read_platform(folder)


@pytest.mark.parametrize("name", ["../secret.csv", "notes.csv", "timings_1024.csv"])
def test_a_record_names_benchmark_files_alone(folder, frames, make_record, name) -> None:
    write_platform(folder, make_record(), frames)
    record = json.loads((folder / "platform.json").read_text())
    record["sha256"] |= {name: "0" * 64}
    (folder / "platform.json").write_text(json.dumps(record))
    with pytest.raises(DataError, match="expected names of benchmark files"):
        read_platform(folder)


def test_a_run_without_files_is_refused(folder, make_record) -> None:
    write_platform(folder, make_record(), {})
    with pytest.raises(DataError, match="at least one CSV"):
        read_platform(folder)


def test_broken_rows_are_found_after_the_hash(folder, frames, make_record) -> None:
    import hashlib

    write_platform(folder, make_record(), frames)
    path = folder / "timings_sOT.csv"
    path.write_bytes(path.read_bytes().replace(b"index", b"guess", 1))
    record = json.loads((folder / "platform.json").read_text())
    record["sha256"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "platform.json").write_text(json.dumps(record))
    with pytest.raises(DataError, match=r"timings_sOT\.csv, line \d+: selection"):
        read_platform(folder)


def test_complete_data_are_replaced_only_by_force(folder, frames, make_record) -> None:
    write_platform(folder, make_record("1" * 32), frames)
    before = snapshot(folder)
    with pytest.raises(DataError, match="--force"):
        write_platform(folder, make_record("2" * 32), frames)
    for force in (False, True):
        with pytest.raises(DataError, match="quick run never"):
            write_platform(folder, make_record("2" * 32, complete=False), frames, force=force)
    assert snapshot(folder) == before
    write_platform(folder, make_record("2" * 32), frames, force=True)
    assert read_platform(folder).record.run_id == "2" * 32


@pytest.mark.parametrize("complete", [True, False])
def test_a_quick_run_is_replaced_by_anything(folder, frames, make_record, complete) -> None:
    write_platform(folder, make_record("1" * 32, complete=False), frames)
    write_platform(folder, make_record("2" * 32, complete=complete), frames)
    assert read_platform(folder).record.run_id == "2" * 32


def test_what_cannot_be_read_counts_as_complete(folder, frames, make_record) -> None:
    write_platform(folder, make_record(complete=False), frames)
    (folder / "platform.json").write_bytes(b"{")
    for complete, force in ((True, False), (False, True)):
        with pytest.raises(DataError, match="cannot be read"):
            check_replaceable(folder, complete=complete, force=force)
    (folder / "platform.json").unlink()
    with pytest.raises(DataError, match="without a platform"):
        check_replaceable(folder, complete=True, force=False)
    check_replaceable(folder, complete=True, force=True)


def test_a_folder_without_data_is_free(tmp_path) -> None:
    (tmp_path / "README.md").write_text("how to measure")
    check_replaceable(tmp_path, complete=False, force=False)
    check_replaceable(tmp_path / "nothing", complete=False, force=False)


def test_other_files_move_along_and_old_tables_do_not(folder, frames, make_record) -> None:
    write_platform(folder, make_record("1" * 32), frames)
    (folder / "README.md").write_text("how to measure")
    (folder / "sub").mkdir()
    (folder / "sub" / "note").write_text("kept")
    del frames[Table("six", 512, "cycles")]
    write_platform(folder, make_record("2" * 32), frames, force=True)
    assert (folder / "README.md").read_text() == "how to measure"
    assert (folder / "sub" / "note").read_text() == "kept"
    assert not (folder / "cycles_512.csv").exists()
    assert read_platform(folder).record.run_id == "2" * 32


@pytest.mark.parametrize("step", ["_write_flushed", "_copy_foreign", "_put_in_place"])
def test_an_interruption_leaves_the_previous_set_whole(
    folder, frames, make_record, monkeypatch, step
) -> None:
    write_platform(folder, make_record("1" * 32), frames)
    before = snapshot(folder)
    calls = []

    def interrupted(*arguments):
        calls.append(arguments)
        if step != "_write_flushed" or len(calls) == 5:
            raise KeyboardInterrupt
        arguments[0].write_bytes(arguments[1])

    monkeypatch.setattr(storage, step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_platform(folder, make_record("2" * 32), frames, force=True)
    assert snapshot(folder) == before
    assert [entry.name for entry in folder.parent.iterdir()] == ["toy"]


def test_without_an_exchange_two_renames_do(folder, frames, make_record, monkeypatch) -> None:
    monkeypatch.setattr(storage, "_exchange", lambda one, other: False)
    for run_id in ("1" * 32, "2" * 32):
        write_platform(folder, make_record(run_id), frames, force=True)
    assert read_platform(folder).record.run_id == "2" * 32
    assert [entry.name for entry in folder.parent.iterdir()] == ["toy"]


def test_a_failed_second_rename_puts_the_old_set_back(
    folder, frames, make_record, monkeypatch
) -> None:
    write_platform(folder, make_record("1" * 32), frames)
    before = snapshot(folder)
    monkeypatch.setattr(storage, "_exchange", lambda one, other: False)
    real, count = os.rename, []

    def failing(source, target, **kwargs):
        count.append(target)
        if len(count) == 2:
            raise OSError("no")
        return real(source, target, **kwargs)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(OSError, match="no"):
        write_platform(folder, make_record("2" * 32), frames, force=True)
    assert len(count) == 3
    assert snapshot(folder) == before


def test_platform_folders_are_those_with_a_record(tmp_path, frames, make_record) -> None:
    assert platform_folders(tmp_path / "nothing") == []
    for name in ("b", "a"):
        write_platform(tmp_path / name, make_record(), frames)
    (tmp_path / "raspberry").mkdir()
    assert platform_folders(tmp_path) == [tmp_path / "a", tmp_path / "b"]
