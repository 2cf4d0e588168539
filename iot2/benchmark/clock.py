"""The wall clock, and what one reading of it costs."""

import time
from dataclasses import dataclass
from typing import Final

import numpy as np

SHORT: Final = 20
"""A step shorter than this many readings of the timer is also measured in blocks."""

_READINGS: Final = 20_001


@dataclass(frozen=True, slots=True)
class TimerCost:
    """Of `time.perf_counter_ns`, in ns."""

    cost: float
    """Median distance of two readings with nothing between."""
    resolution: float
    """Smallest step that the clock was seen to take."""


def timer_cost() -> TimerCost:
    """Measure what one reading of the timer adds to a sample.

    A sample is the distance of two readings, so with nothing between them it
    is the cost of one. The readings go to a list made before, as in the
    benchmark's own loops.
    """
    readings = [0] * _READINGS
    now = time.perf_counter_ns
    for index in range(_READINGS):
        before = now()
        readings[index] = now() - before
    taken = np.array(readings[1:])
    moved = taken[taken > 0]
    return TimerCost(
        cost=float(np.median(taken)),
        resolution=float(moved.min()) if moved.size else 0.0,
    )
