"""`performance_receiver.pdf`: what a transfer costs the receiver, against the modulus size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Annotation
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from iot2.benchmark.published import PUBLISHED, Published
from iot2.benchmark.storage import Platform
from iot2.errors import DataError
from iot2.plots.costs import select, step_costs
from iot2.plots.style import COLUMN_WIDTH, INK, SERIES, SMALL_SIZE, SavedFigure, save_both

NAME: Final = "performance_receiver"
HEIGHT: Final = 3.3

VARIANTS: Final = {"six": ("six-message", SERIES[0]), "compact": ("compact", SERIES[1])}
"""Each variant's name, and how it looks: colour and dashes."""

_HOLLOW_MARKERS: Final = "*p"
"""Of the published points, in their order; no platform has these."""

TIMINGS: Final = ("single", "batch")

PANELS: Final = (("receiver_online", "(a) online"), ("receiver_offline", "(b) offline"))

_LABELLED_BITS: Final = 3072
_LABEL_STEP: Final = 0.045
"""From a point to the middle of its label, in heights of the axis."""
_DODGE: Final = 60.0
"""Bits by which neighbours are moved apart, so that their bars do not hide each other."""


def performance_figure(platforms: Sequence[Platform], folder: Path) -> SavedFigure:
    """Draw receiver cost against modulus size and save it as `performance_receiver.pdf`.

    Args:
        platforms: as read from their folders, in the order of the legend.
        folder: where the figure goes.

    Raises:
        DataError: no platform has measured a transfer.
    """
    costs = receiver_costs(platforms)

    def draw(figure: Figure) -> None:
        both = figure.subplots(1, len(PANELS), sharex=True)
        for axes, (step, title) in zip(both, PANELS, strict=True):
            rows = select(costs, step=step)
            plot_step(rows, axes)
            published = PUBLISHED if step == "receiver_online" else ()
            plot_published(published, axes)
            label_medians(rows, axes, [point.receiver_online_us for point in published])
            axes.set_title(title, loc="left")
            axes.set_xlabel("modulus size (bits)")
        both[0].set_ylabel("receiver's time per transfer (µs)")
        figure.legend(handles=_legend(costs), loc="outside upper left", ncols=2)

    return save_both(draw, folder, NAME, width=COLUMN_WIDTH, height=HEIGHT)


def receiver_costs(platforms: Sequence[Platform]) -> pd.DataFrame:
    """The rows of `step_costs` that the figure shows.

    Our two variants with selection by index, timed one by one and in the
    largest batches.
    """
    costs = pd.concat([step_costs(platform) for platform in platforms], ignore_index=True)
    shown = costs["variant"].isin(list(VARIANTS)) & costs["timing"].isin(TIMINGS)
    costs = costs[shown & (costs["selection"] == "index")]
    costs = costs[costs["batch"].isin([0, costs["batch"].max()])]
    if costs.empty:
        raise DataError("expected a transfer of either variant in the measurements, came none")
    return costs


def plot_step(costs: pd.DataFrame, axes: Axes) -> list[ErrorbarContainer]:
    """Median and 5th-95th percentile of one step against modulus size, on a log axis.

    Args:
        costs: rows of `step_costs` of one step, from `receiver_costs`.
        axes: where they are drawn.

    Returns:
        An artist for each platform, variant and timing.
    """
    platforms = list(dict.fromkeys(costs["platform"]))
    cases = [(platform, variant) for platform in platforms for variant in VARIANTS]
    drawn = []
    for place, (platform, variant) in enumerate(cases):
        shift = (place - (len(cases) - 1) / 2) * _DODGE
        for timing in TIMINGS:
            rows = select(costs, platform=platform, variant=variant, timing=timing)
            if len(rows):
                look = _look(platforms.index(platform), variant, timing)
                rows = rows.sort_values("bits")
                whiskers = [rows["median"] - rows["p5"], rows["p95"] - rows["median"]]
                drawn.append(
                    axes.errorbar(rows["bits"] + shift, rows["median"], yerr=whiskers, **look)
                )
    axes.set_yscale("log")
    decades = np.log10(costs["p95"].max() / costs["p5"].min())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if decades < 2 else (1,)))
    axes.yaxis.set_major_formatter(FuncFormatter(_plain))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks(sorted(set(costs["bits"])))
    axes.margins(x=0.1)
    return drawn


def plot_published(published: Sequence[Published], axes: Axes) -> list[Line2D]:
    """Published points: hollow, and joined to nothing."""
    return [
        axes.plot(point.bits, point.receiver_online_us, zorder=4, **_hollow(point))[0]
        for point in published
    ]


def label_medians(costs: pd.DataFrame, axes: Axes, others: Sequence[float]) -> list[Annotation]:
    """Write the medians at 3072 bits below their points, or above, where there is room.

    Args:
        costs: the rows that `plot_step` drew.
        axes: where it drew them.
        others: heights of what else is drawn at 3072 bits.
    """
    rows = select(costs, bits=_LABELLED_BITS)
    low, high = np.log(axes.get_ylim())
    step = _LABEL_STEP * (high - low)
    points = [*np.log(rows["median"]), *np.log(others)]
    taken: list[float] = []
    drawn = []
    for median in rows["median"]:
        for sign, alignment in ((-1, "top"), (1, "bottom")):
            place = np.log(median) + sign * step
            free = low + step / 2 < place < high - step / 2
            if free and min(abs(place - other) for other in [*points, *taken]) >= 0.99 * step:
                taken.append(place)
                drawn.append(
                    axes.annotate(
                        f"{median:.3g}", (_LABELLED_BITS, median), xytext=(0, 4.5 * sign),
                        textcoords="offset points", ha="center", va=alignment,
                        fontsize=SMALL_SIZE,
                        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3},
                    )
                )  # fmt: skip
                break
    return drawn


def _look(platform: int, variant: str, timing: str) -> dict[str, Any]:
    look: dict[str, Any] = {**VARIANTS[variant][1].line(), "marker": _marker(platform)}
    look |= {"elinewidth": 0.8, "capsize": 1.5, "capthick": 0.8}
    return look | _SMALL if timing == "batch" else look


_SMALL: Final[dict[str, Any]] = {"markersize": 2.0, "linewidth": 0.6}
"""What is done in batches: the same, smaller and thinner."""


def _marker(platform: int) -> str:
    return SERIES[platform % len(SERIES)].marker


def _hollow(point: Published) -> dict[str, Any]:
    return {
        "marker": _HOLLOW_MARKERS[PUBLISHED.index(point)],
        "markersize": 7.0,
        "markerfacecolor": "white",
        "markeredgecolor": INK,
        "linestyle": "none",
    }


def _legend(costs: pd.DataFrame) -> list[Line2D]:
    """Variants by colour and dashes, platforms by marker, batches by size, what is hollow."""
    left = [
        Line2D([], [], label=name, **{**series.line(), "marker": "none"})
        for name, series in VARIANTS.values()
    ]
    batch = int(costs["batch"].max())
    if batch:
        label = f"in batches of {batch:,}"
        left.append(Line2D([], [], color=INK, marker="o", label=label, **_SMALL))
    interval: dict[str, Any] = {"marker": "|", "markersize": 6.0, "markeredgewidth": 1.0}
    left.append(
        Line2D([], [], color=INK, linestyle="none", label="5th–95th percentile", **interval)
    )
    right = [
        Line2D([], [], color=INK, linestyle="none", marker=_marker(place), label=str(platform))
        for place, platform in enumerate(dict.fromkeys(costs["platform"]))
    ]
    right += [Line2D([], [], label=_label(point), **_hollow(point)) for point in PUBLISHED]
    # The legend fills its columns one after the other, with as many entries each.
    blanks = [Line2D([], [], linestyle="none", label=" ") for _ in range(len(right) - len(left))]
    return [*left, *blanks, *right]


def _label(point: Published) -> str:
    return f"published: {point.receiver_online_us:.2f} µs, {point.device}"


def _plain(value: float, _: int) -> str:
    return f"{value:g}"
