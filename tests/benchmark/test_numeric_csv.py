import gzip

import numpy as np
import pytest

from iot2.benchmark.numeric_csv import read_series
from iot2.benchmark.schema import Table, to_csv
from iot2.errors import DataError

from .conftest import made_up


@pytest.fixture
def file(tmp_path):
    def make(content: str | bytes, name: str = "x.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


def values(path, unit=None):
    return {s.step: (s.unit, s.values.tolist()) for s in read_series(path, unit)}


@pytest.mark.parametrize(
    ("suffix", "expected"),
    [("ns", 0.002), ("us", 2.0), ("ms", 2000.0), ("s", 2e6), ("cycles", 2.0)],
)
def test_the_header_tells_the_unit(file, suffix: str, expected: float) -> None:
    unit = "cycles" if suffix == "cycles" else "us"
    assert values(file(f"offline_{suffix}\n2\n")) == {"offline": (unit, [expected])}


def test_columns_may_differ_in_unit(file) -> None:
    assert values(file("a_ns,b_cycles\n1000,7\n")) == {"a": ("us", [1.0]), "b": ("cycles", [7.0])}


@pytest.mark.parametrize(
    ("name", "unit", "value"), [("timings_3072.csv", "us", 0.005), ("cycles_3072.csv", "cycles", 5)]
)
def test_else_the_files_name_tells_it(file, name, unit, value) -> None:
    assert values(file("a\n5\n", name)) == {"a": (unit, [value])}
    assert values(file("5,6\n5,6\n", name))["column 1"] == (unit, [value, value])


def test_a_given_unit_comes_first(file) -> None:
    assert values(file("a_ns\n5\n", "cycles_1.csv"), "ms") == {"a": ("us", [5000.0])}


def test_without_any_sign_the_unit_is_asked_for(file) -> None:
    with pytest.raises(DataError, match="--unit"):
        read_series(file("a,b\n1,2\n"))


def test_our_counters_are_no_series_and_labels_split(file) -> None:
    table = Table("simplest")
    frame = made_up(table, rows=200)
    series = read_series(file(to_csv(table, frame), table.file_name))
    assert {s.step for s in series} == {
        "sender_offline", "sender_online", "receiver_offline", "receiver_choose",
        "receiver_retrieve", "receiver_online", "receiver_total",
    }  # fmt: skip
    part = frame[
        (frame.selection == "masked") & (frame.group == "secp256k1") & (frame.split == "fresh")
    ]
    one = [
        s for s in series if s.label == "masked secp256k1 word fresh" and s.step == "receiver_total"
    ]
    assert len(one) == 1
    np.testing.assert_allclose(one[0].values * 1000, part.receiver_total_ns)
    assert sum(s.values.size for s in series) == 7 * 200


def test_batch_sizes_are_never_averaged_together(file) -> None:
    text = "variant,batch_size,step,repetition,per_transfer_ns\nc,1,a,0,1\nc,10,a,0,3\nc,1,a,1,2\n"
    assert {s.label: s.values.size for s in read_series(file(text))} == {"c 1 a": 2, "c 10 a": 1}


def test_remarks_do_not_split(file) -> None:
    text = "a_ns,remark\n" + "".join(f"{i},note {i}\n" for i in range(100))
    assert [(s.label, s.values.size) for s in read_series(file(text))] == [("", 100)]


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfa_us,b_us\r\n1,2\r\n",
        b"a_us;b_us\n1;2\n",
        b"a_us\tb_us\n1\t2\n",
        gzip.compress(b"a_us,b_us\n1,2\n", mtime=0),
        b'"a_us","b_us"\n"1"," 2 "\n',
    ],
)
def test_dialects_are_read_alike(file, content: bytes) -> None:
    assert values(file(content)) == {"a": ("us", [1.0]), "b": ("us", [2.0])}


def test_huge_integers_and_exponents_keep_their_size(file) -> None:
    path = file(f"a_us,b_us\n{2**70},1.5e3\n")
    assert values(path) == {"a": ("us", [float(2**70)]), "b": ("us", [1500.0])}


@pytest.mark.parametrize(
    "text", ["nan", "inf", "-Infinity", "", "  ", "x", "1_000", "1'5",
             "9" * 400, "1e151", "0x10", "٣"]
)  # fmt: skip
@pytest.mark.parametrize("header", ["a_ns,b_ns\n", ""])
def test_what_is_no_finite_number_is_refused_with_its_line(file, text: str, header: str) -> None:
    path = file(f"{header}1,1\n2,2\n3,{text}\n4,4\n", "timings_1.csv")
    line = 4 if header else 3
    with pytest.raises(DataError, match=rf"timings_1\.csv, line {line}: .*expected a number"):
        read_series(path)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("", "empty"),
        ("a_ns,b_ns\n", "header alone"),
        ("x,y\nu,v\n", "numeric column"),
        ("a_ns\n1\n2,3\n", "line 3: expected 1 fields"),
        ("a_ns\nx\n", "line 2: a_ns"),
    ],
)
def test_files_without_numbers_are_refused(file, content: str, what: str) -> None:
    with pytest.raises(DataError, match=what):
        read_series(file(content))


def test_columns_of_one_name_are_told_apart(file) -> None:
    assert [s.step for s in read_series(file("a,a,\n1,2,3\n"), "us")] == [
        "a", "a (column 2)", "column 3",
    ]  # fmt: skip
