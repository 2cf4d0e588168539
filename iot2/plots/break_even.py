"""From how many transfers under one key the receiver's total is below SimplestOT's."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from iot2.benchmark.storage import Platform
from iot2.plots.costs import key_costs, only
from iot2.plots.style import SERIES, SMALL_SIZE


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
        ("compact, proof", key.with_proof, SERIES[1]),
        ("compact, pinned", key.pinned, SERIES[2]),
    )
    ends = [break_even(once, ours, theirs) for _, once, _ in cases]
    last = 10.0 ** np.ceil(np.log10(10 * max([n for n in ends if n], default=100)))
    transfers = np.geomspace(1, last, 200)
    drawn = [axes.axhline(theirs, label="SimplestOT", **{**SERIES[0].line(), "marker": "none"})]
    for (name, once, series), n in zip(cases, ends, strict=True):
        line = {**series.line(), "marker": "none"}
        drawn += axes.plot(transfers, once / transfers + ours, label=name, **line)
        if n is not None:
            cost = once / n + ours
            axes.plot(n, cost, color=series.color, marker=series.marker)
            # Left of its crossing a curve is above the line, so that below it there is room.
            aside: dict[str, Any] = {"xytext": (-3, -4), "ha": "right", "va": "top"}
            above: dict[str, Any] = {"xytext": (3, 4), "ha": "left", "va": "bottom"}
            axes.annotate(
                f"from {n:,}", (n, cost), textcoords="offset points", fontsize=SMALL_SIZE,
                **(aside if n > 1 and once == key.pinned else above),
            )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("transfers under one key")
    axes.set_ylabel("µs per transfer")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.legend(
        loc="lower left", bbox_to_anchor=(-0.01, 0.98), ncols=3, borderaxespad=0,
        columnspacing=1.2, handletextpad=0.5,
    )  # fmt: skip
    return drawn
