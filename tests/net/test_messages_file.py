"""Long messages of a file: `message_bytes` bounds them, and nothing else does."""

import csv
from pathlib import Path

import pytest

from iot2.errors import DataError, ParameterError
from iot2.net.limits import Limits
from iot2.net.messages_file import read_items, unpad


@pytest.mark.parametrize("size", [65_000, 131_072, 300_000])
def test_messages_may_be_as_long_as_the_limit_says(tmp_path: Path, size: int) -> None:
    path = tmp_path / "m.csv"
    path.write_text(f"item,m0,m1\na,{'x' * size},hex:{'ab' * size}\nb,short,\n")
    before = csv.field_size_limit()
    items = read_items(path, message_bytes=size + 4)
    assert [unpad(m) for m in items.rows["a"]] == [b"x" * size, b"\xab" * size]
    with pytest.raises(DataError, match=rf"line 2.*{size + 3} bytes.*message_bytes.*{size + 4}"):
        read_items(path, message_bytes=size + 3)
    assert csv.field_size_limit() == before, "a setting of the whole process"


def test_a_larger_setting_of_others_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("item,m0,m1\na,b,c\n")
    before = csv.field_size_limit(1 << 20)
    try:
        read_items(path, message_bytes=100)
        assert csv.field_size_limit() == 1 << 20
    finally:
        csv.field_size_limit(before)


@pytest.mark.parametrize("value", ["0", "-1", "99999999999999999999"])
def test_both_bounds_of_a_limit_are_told(value: str) -> None:
    with pytest.raises(
        ParameterError, match=rf"batch must be above 0 and below 2\^53, got {value}"
    ):
        Limits.from_pairs([f"batch={value}"])
