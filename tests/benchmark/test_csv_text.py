import gzip

import pytest

from iot2.benchmark.csv_text import parse_rows, read_bytes
from iot2.errors import DataError


@pytest.mark.parametrize("data", [b"a,b\n1,2\n", b"\xef\xbb\xbfa,b\r\n1,2\r\n", b"\na,b\n\n1,2"])
def test_line_ends_byte_order_marks_and_blank_lines_do_not_matter(data: bytes) -> None:
    assert parse_rows(data, "x.csv").fields == [["a", "b"], ["1", "2"]]


def test_rows_know_their_lines_even_after_blank_lines_and_quoted_line_ends() -> None:
    rows = parse_rows(b'a,b\n\n"x\ny",2\n3,4\n', "x.csv")
    assert rows.lines == [1, 4, 5]
    assert str(rows.error(2, "wrong")) == "x.csv, line 5: wrong"


@pytest.mark.parametrize(
    ("data", "line", "what"),
    [
        (b"", 1, "empty"),
        (b"\n\n", 1, "empty"),
        (b"a,b\n1,2\n3\n", 3, "expected 2 fields, came 1"),
        (b"a,b\n1,2,3\n", 2, "expected 2 fields, came 3"),
        (b"a,b\n1,\xff\n", 2, "UTF-8"),
        (b'a,b\n1,"2\n', 2, "CSV"),
        (b"a,b\n" + b"1" * 200_000 + b",2\n", 2, "CSV"),
    ],
)
def test_malformed_files_are_refused_with_their_line(data: bytes, line: int, what: str) -> None:
    with pytest.raises(DataError, match=rf"x\.csv, line {line}: .*{what}"):
        parse_rows(data, "x.csv")


def test_gzip_is_told_by_its_content(tmp_path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(gzip.compress(b"1,2\n"))
    assert read_bytes(path) == b"1,2\n"


@pytest.mark.parametrize("damage", [lambda d: d[:-9], lambda d: d[:12] + b"\xff\xff" + d[14:]])
def test_damaged_gzip_is_refused(tmp_path, damage) -> None:
    path = tmp_path / "x.csv.gz"
    path.write_bytes(damage(gzip.compress(bytes(range(256)) * 9)))
    with pytest.raises(DataError, match=r"x\.csv\.gz"):
        read_bytes(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path) -> None:
    with pytest.raises(DataError, match="No such file"):
        read_bytes(tmp_path / "nothing.csv")
    with pytest.raises(DataError, match="directory"):
        read_bytes(tmp_path)
