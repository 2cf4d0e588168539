"""Sets of indexes as intervals, against a plain set."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from iot2.parties.intervals import IntervalSet

indexes = st.one_of(st.integers(0, 30), st.integers(0, 2**64 - 1))


@given(st.lists(indexes))
def test_it_is_the_set_of_what_was_added(added: list[int]) -> None:
    intervals, plain = IntervalSet(), set[int]()
    for index in added:
        assert (index in intervals) == (index in plain)
        intervals.add(index)
        plain.add(index)
        assert index in intervals
        assert len(intervals) == len(plain)
        for near in (index - 1, index + 1):
            assert (near in intervals) == (near in plain)
    pairs = intervals.intervals
    assert all(start < stop for start, stop in pairs)
    assert all(left[1] < right[0] for left, right in itertools.pairwise(pairs))
    assert sum(stop - start for start, stop in pairs) == len(plain)


@given(st.lists(st.integers(0, 40)))
def test_update_is_adding_each(added: list[int]) -> None:
    one_by_one, at_once = IntervalSet(), IntervalSet()
    for index in added:
        one_by_one.add(index)
    at_once.update(added)
    assert at_once.intervals == one_by_one.intervals


def test_a_long_session_in_any_order_ends_as_one_interval() -> None:
    intervals = IntervalSet()
    intervals.update(range(0, 2000, 2))
    assert len(intervals.intervals) == 1000
    intervals.update(reversed(range(1, 2000, 2)))
    assert intervals.intervals == [(0, 2000)]
    assert repr(intervals) == "IntervalSet([(0, 2000)])"
