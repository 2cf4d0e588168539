"""From how many transfers under one key the receiver's total is below SimplestOT's."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.text import Annotation
from matplotlib.ticker import FuncFormatter

from iot2.benchmark.storage import Platform
from iot2.plots.costs import key_costs, only
from iot2.plots.labels import label_points
from iot2.plots.schemes import COMPACT, SIMPLEST
from iot2.plots.style import INK

_PINNED: Final[dict[str, Any]] = {"linestyle": (0.0, (1.0, 1.2))}
"""Dots and a hollow mark tell the pinned key from the one with a proof."""


@dataclass(frozen=True, slots=True)
class KeyCost:
    """What a receiver pays once per key, in microseconds."""

    with_proof: float
    """Parsing the key and checking its proof."""
    pinned: float
    """Parsing alone: the fingerprint is one that it trusts."""


def key_cost(platform: Platform, bits: int) -> KeyCost:
    """The medians of one platform at one modulus size.

    Raises:
        DataError: they were not measured.
    """
    costs = key_costs(platform)
    parse = only(costs, "median", bits=bits, step="key_parse")
    return KeyCost(parse + only(costs, "median", bits=bits, step="proof_check"), parse)


def break_even(once: float, ours: float, theirs: float) -> int | None:
    """The least n >= 1 with once + n ours < n theirs, or None where there is none.

    >>> break_even(1000.0, 20.0, 100.0)
    13
    >>> break_even(10.0, 20.0, 100.0)
    1
    >>> break_even(1000.0, 100.0, 100.0) is None
    True
    """
    return floor(once / (theirs - ours)) + 1 if theirs > ours else None


def crossings(key: KeyCost, ours: float, theirs: float) -> list[tuple[int, float] | None]:
    """Where it pays, with the key's proof and with a pinned key: transfers, and what each costs."""
    found: list[tuple[int, float] | None] = []
    for once in (key.with_proof, key.pinned):
        n = break_even(once, ours, theirs)
        found.append(None if n is None else (n, once / n + ours))
    return found


def plot_break_even(key: KeyCost, ours: float, theirs: float, axes: Axes) -> list[Line2D]:
    """The receiver's total per transfer, its share of the key's cost included, on log axes.

    Args:
        key: what the key costs once.
        ours: the total of one transfer, in microseconds, without the key's cost.
        theirs: SimplestOT's, whose key costs a receiver next to nothing.
        axes: where the lines are drawn.

    Returns:
        A line for each way to trust the key, and SimplestOT's.
    """
    cases = (
        ("compact, proof", key.with_proof, COMPACT.series.line()),
        ("compact, pinned", key.pinned, COMPACT.series.line(hollow=True) | _PINNED),
    )
    marks = crossings(key, ours, theirs)
    last = 10.0 ** np.ceil(np.log10(10 * max([mark[0] for mark in marks if mark], default=100)))
    transfers = np.geomspace(1, last, 200)
    unmarked = {"marker": "none"}
    look = SIMPLEST.series.line() | {"linestyle": "-"} | unmarked
    drawn = [axes.axhline(theirs, label=SIMPLEST.name, **look)]
    for (name, once, look), mark in zip(cases, marks, strict=True):
        drawn += axes.plot(transfers, once / transfers + ours, label=name, **(look | unmarked))
        if mark:
            axes.plot(*mark, **(look | {"linestyle": "none"}))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("transfers under one key")
    axes.set_ylabel("receiver (µs)")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.legend(
        loc="lower left", bbox_to_anchor=(-0.01, 0.98), ncols=3, borderaxespad=0,
        columnspacing=1.2, handletextpad=0.5,
    )  # fmt: skip
    return drawn


def label_break_even(key: KeyCost, ours: float, theirs: float, axes: Axes) -> list[Annotation]:
    """Write at each mark of `plot_break_even` how many transfers it stands for.

    Args:
        key: as there, like what follows.
        ours: the total of one transfer.
        theirs: SimplestOT's.
        axes: where the marks are, laid out.
    """
    marks = [mark for mark in crossings(key, ours, theirs) if mark]
    return label_points([(n, cost, f"from {n:,}", INK) for n, cost in marks], axes)
