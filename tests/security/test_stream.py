"""Seeded bytes."""

from __future__ import annotations

from hashlib import shake_256

from hypothesis import given
from hypothesis import strategies as st

from iot2.security.stream import SeededBytes


@given(st.lists(st.integers(0, 90_000), max_size=6))
def test_the_grouping_of_reads_does_not_matter(sizes: list[int]) -> None:
    grouped = SeededBytes(3, "x")
    assert b"".join(grouped(size) for size in sizes) == SeededBytes(3, "x")(sum(sizes))


def test_the_stream_is_what_the_docstring_says() -> None:
    prefix = b"iot2/security/label\0" + (7).to_bytes(16)
    blocks = [shake_256(prefix + i.to_bytes(8)).digest(1 << 16) for i in range(2)]
    assert SeededBytes(7, "label")(100_000) == b"".join(blocks)[:100_000]


def test_seeds_and_labels_give_different_streams() -> None:
    streams = {SeededBytes(s, label)(16) for s in (1, 2) for label in ("a", "b")}
    assert len(streams) == 4
