"""Sets of indexes kept as intervals, so that a long session does not grow."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable


class IntervalSet:
    """A set of integers as disjoint, non-adjacent half-open intervals, in order.

    >>> used = IntervalSet()
    >>> for index in (0, 1, 5, 2):
    ...     used.add(index)
    >>> used.intervals, 2 in used, 3 in used
    ([(0, 3), (5, 6)], True, False)
    """

    __slots__ = ("_starts", "_stops")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._stops: list[int] = []

    @property
    def intervals(self) -> list[tuple[int, int]]:
        """(start, stop) of each interval, stop not included."""
        return list(zip(self._starts, self._stops, strict=True))

    def __contains__(self, index: int) -> bool:
        position = bisect_right(self._starts, index) - 1
        return position >= 0 and index < self._stops[position]

    def __len__(self) -> int:
        return sum(stop - start for start, stop in self.intervals)

    def add(self, index: int) -> None:
        """Put one index in; nothing changes if it was in."""
        position = bisect_right(self._starts, index)
        if position and index < self._stops[position - 1]:
            return
        after_left = position > 0 and self._stops[position - 1] == index
        before_right = position < len(self._starts) and self._starts[position] == index + 1
        if after_left and before_right:
            self._stops[position - 1] = self._stops.pop(position)
            del self._starts[position]
        elif after_left:
            self._stops[position - 1] = index + 1
        elif before_right:
            self._starts[position] = index
        else:
            self._starts.insert(position, index)
            self._stops.insert(position, index + 1)

    def update(self, indexes: Iterable[int]) -> None:
        """Put many in."""
        for index in indexes:
            self.add(index)

    def __repr__(self) -> str:
        return f"IntervalSet({self.intervals})"
