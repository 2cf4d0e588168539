import pandas as pd
import pytest

from iot2.benchmark.schema import STEPS, Table, from_csv, table_of, to_csv
from iot2.errors import DataError, ParameterError

from .conftest import TABLES, made_up

NAMES = {
    "timings_3072.csv": Table("six", 3072),
    "cycles_3072.csv": Table("six", 3072, "cycles"),
    "timings_1024_compact.csv": Table("compact", 1024),
    "cycles_1024_compact.csv": Table("compact", 1024, "cycles"),
    "timings_sOT.csv": Table("simplest"),
    "cycles_sOT.csv": Table("simplest", unit="cycles"),
    "timings_precomputed.csv": Table("precomputed"),
    "timings_4096_batch.csv": Table("batch", 4096),
    "blocks_4096.csv": Table("blocks", 4096),
    "keys_2048.csv": Table("keys", 2048),
    "bytes.csv": Table("bytes"),
}


@pytest.mark.parametrize(("name", "table"), NAMES.items())
def test_names_and_tables_tell_each_other(name: str, table: Table) -> None:
    assert table.file_name == name
    assert table_of(name) == table


@pytest.mark.parametrize(
    "name",
    ["timings_.csv", "timings_03072.csv", "timings_3072.csv.gz", "timings_3072xcsv",
     "cycles_3072_batch.csv", "cycles_precomputed.csv", "README.md", "bytes.csv.bak"],
)  # fmt: skip
def test_other_names_are_none_of_ours(name: str) -> None:
    assert table_of(name) is None


@pytest.mark.parametrize(
    ("kind", "bits", "unit"),
    [("six", None, "ns"), ("simplest", 3072, "ns"), ("keys", 512, "cycles")],
)
def test_a_table_that_no_file_holds_cannot_be_named(kind, bits, unit) -> None:
    with pytest.raises(ParameterError):
        Table(kind, bits, unit)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.file_name)
def test_frames_survive_the_round_trip(table: Table) -> None:
    frame = made_up(table)
    back = from_csv(table, to_csv(table, frame))
    pd.testing.assert_frame_equal(back, frame, check_dtype=False)
    assert {str(back[c.name].dtype) for c in table.columns if c.kind == "count"} <= {"int64"}


def test_every_step_has_a_column_with_its_unit() -> None:
    names = [column.name for column in Table("compact", 512, "cycles").columns]
    assert names == ["iteration", "choice", "selection", *(f"{step}_cycles" for step in STEPS)]


SIX = Table("six", 512)


def damaged(row: int, column: str, text: str, table: Table = SIX) -> bytes:
    lines = to_csv(table, made_up(table)).decode().splitlines()
    fields = lines[row].split(",")
    fields[[c.name for c in table.columns].index(column)] = text
    lines[row] = ",".join(fields)
    return ("\n".join(lines) + "\n").encode()


@pytest.mark.parametrize(
    "text",
    ["", "-1", "1.5", "nan", "inf", "1e3", "+1", " 1", "1_0", "x", "²", "9" * 19, "9" * 5000],
)
def test_counts_are_plain_digits(text: str) -> None:
    with pytest.raises(DataError, match=r"timings_512\.csv, line 4: sender_online_ns: expected"):
        from_csv(Table("six", 512), damaged(3, "sender_online_ns", text))


@pytest.mark.parametrize("text", ["", "-1", "nan", "inf", "x", "1e999"])
def test_reals_are_finite_and_not_negative(text: str) -> None:
    table = Table("batch", 512)
    with pytest.raises(DataError, match=r"line 4: per_transfer_ns: expected"):
        from_csv(table, damaged(3, "per_transfer_ns", text, table))


@pytest.mark.parametrize(
    ("column", "text"),
    [("choice", "2"), ("selection", "guess"), ("selection", ""), ("selection", "Index")],
)
def test_words_and_choices_come_from_their_lists(column: str, text: str) -> None:
    with pytest.raises(DataError, match=f"line 4: {column}"):
        from_csv(Table("six", 512), damaged(3, column, text))


@pytest.mark.parametrize("column", ["receiver_online_ns", "receiver_total_ns"])
def test_sums_are_checked_row_by_row(column: str) -> None:
    with pytest.raises(DataError, match=rf"line 6: {column}: expected"):
        from_csv(Table("six", 512), damaged(5, column, "1"))


def test_headers_are_exact_and_rows_must_follow() -> None:
    table = Table("six", 512)
    data = to_csv(table, made_up(table))
    with pytest.raises(DataError, match="line 1: expected the columns"):
        from_csv(table, data.replace(b"_ns", b"_us"))
    with pytest.raises(DataError, match="at least one row"):
        from_csv(table, data.splitlines()[0])
    with pytest.raises(DataError, match="line 1: expected the columns"):
        from_csv(Table("six", 512, "cycles"), data)


def test_a_frame_that_breaks_its_schema_is_not_written() -> None:
    table = Table("six", 512)
    with pytest.raises(DataError, match="expected columns"):
        to_csv(table, made_up(table).drop(columns="choice"))
    with pytest.raises(DataError, match="receiver_total"):
        to_csv(table, made_up(table).assign(receiver_total_ns=0))
