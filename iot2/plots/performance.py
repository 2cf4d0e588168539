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
from iot2.plots.labels import label_points, three_figures
from iot2.plots.schemes import VARIANTS
from iot2.plots.style import (
    COLUMN_WIDTH,
    FONT_SIZE,
    INK,
    MUTED,
    SERIES,
    SMALL_SIZE,
    SavedFigure,
    save_both,
)

NAME: Final = "performance_receiver"
_ROW_HEIGHT: Final = 1.75
_TOP: Final = 0.37
_ENTRY: Final = 0.125
"""Inches, as every height: a row of panels, what is above them all, a line of the legend."""

_HOLLOW_MARKERS: Final = "*p"
"""Of the published points, in their order; no platform has these."""

TIMINGS: Final = {"single": "one at a time", "batch": "{batch:,} at once"}
"""How transfers are timed, and how a title says so: a row of panels each."""

STEPS: Final = {"receiver_online": "online", "receiver_offline": "offline"}
"""The steps that are shown: a column of panels each."""

_LABELLED_BITS: Final = 3072
_OVER_GRID: Final = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
_DODGE: Final = 150.0
_SPREAD: Final = 500.0
"""Bits by which neighbours are moved apart, and all of them at most: no bar hides another."""


def performance_figure(platforms: Sequence[Platform], folder: Path) -> SavedFigure:
    """Draw receiver cost against modulus size and save it as `performance_receiver.pdf`.

    Args:
        platforms: as read from their folders, in the order of the legend.
        folder: where the figure goes.

    Raises:
        DataError: no platform has measured a transfer.
    """
    costs = receiver_costs(platforms)
    timings = [timing for timing in TIMINGS if (costs["timing"] == timing).any()]

    def draw(figure: Figure) -> None:
        panels = figure.subplots(len(timings), len(STEPS), sharex=True, sharey=True, squeeze=False)
        shown = [(timing, step) for timing in timings for step in STEPS]
        for letter, axes, (timing, step) in zip("abcd", panels.flat, shown, strict=False):
            plot_step(select(costs, step=step, timing=timing), axes)
            if (timing, step) == ("single", "receiver_online"):
                plot_published(PUBLISHED, axes)
            singly = TIMINGS[timing].format(batch=int(costs["batch"].max()))
            axes.set_title(f"({letter}) {STEPS[step]}, {singly}", loc="left")
        scale_axes(costs[costs["step"].isin(list(STEPS))], panels[0, 0])
        for axes in panels[-1]:
            axes.set_xlabel("modulus size (bits)")
        figure.supylabel("receiver's time per transfer (µs)", fontsize=FONT_SIZE)
        figure.legend(handles=_legend(costs), loc="outside upper left", ncols=2)
        figure.draw_without_rendering()  # labels look at what is where
        for axes, (timing, step) in zip(panels.flat, shown, strict=True):
            rows = select(costs, step=step, timing=timing)
            label_medians(rows, axes)
            name_missing(rows, axes)

    entries = max(3, len(set(costs["platform"])) + len(PUBLISHED))
    height = _TOP + _ENTRY * entries + _ROW_HEIGHT * len(timings)
    return save_both(draw, folder, NAME, width=COLUMN_WIDTH, height=height)


def receiver_costs(platforms: Sequence[Platform]) -> pd.DataFrame:
    """The rows of `step_costs` that the figure shows.

    Our two variants with selection by index, timed one by one and in the
    largest batches.
    """
    costs = pd.concat([step_costs(platform) for platform in platforms], ignore_index=True)
    shown = costs["variant"].isin(list(VARIANTS)) & costs["timing"].isin(list(TIMINGS))
    costs = costs[shown & (costs["selection"] == "index")]
    costs = costs[costs["batch"].isin([0, costs["batch"].max()])]
    if costs.empty:
        raise DataError("expected a transfer of either variant in the measurements, came none")
    return costs


def plot_step(costs: pd.DataFrame, axes: Axes) -> list[ErrorbarContainer]:
    """Median and 5th-95th percentile of one step against modulus size, on a log axis.

    Args:
        costs: rows of `step_costs` of one step and timing, from `receiver_costs`.
        axes: where they are drawn.

    Returns:
        An artist for each platform and variant.
    """
    platforms = list(dict.fromkeys(costs["platform"]))
    drawn = []
    for platform, variant in _cases(costs):
        rows = select(costs, platform=platform, variant=variant).sort_values("bits")
        if len(rows):
            look = _look(platforms.index(platform), variant)
            whiskers = [rows["median"] - rows["p5"], rows["p95"] - rows["median"]]
            places = rows["bits"] + _shift(costs, platform, variant)
            drawn.append(axes.errorbar(places, rows["median"], yerr=whiskers, **look))
    axes.set_yscale("log")
    return drawn


def name_missing(costs: pd.DataFrame, axes: Axes) -> list[Annotation]:
    """Say which variant was not measured in this way, at the end of the panel with more room.

    Args:
        costs: the rows that `plot_step` drew.
        axes: where it drew them, with the limits that it will keep.
    """
    missing = [
        scheme.name for name, scheme in VARIANTS.items() if name not in set(costs["variant"])
    ]
    if not missing:
        return []
    low, high = np.log(axes.get_ylim())
    top = high - np.log(costs["p95"].max()) > np.log(costs["p5"].min()) - low
    return [
        axes.annotate(
            f"{', '.join(missing)}: singly only",
            (0.5, 0.97 if top else 0.03), xycoords="axes fraction",
            ha="center", va="top" if top else "bottom",
            color=MUTED, fontsize=SMALL_SIZE, bbox=_OVER_GRID,
        )
    ]  # fmt: skip


def scale_axes(costs: pd.DataFrame, axes: Axes) -> None:
    """Ticks for every panel that shares its axes with this one.

    Args:
        costs: what all of them show.
        axes: one of them.
    """
    decades = np.log10(costs["p95"].max() / costs["p5"].min())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if decades < 2.5 else (1,)))
    axes.yaxis.set_major_formatter(FuncFormatter(_plain))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks(sorted(set(costs["bits"])))
    axes.margins(x=0.12)


def _cases(costs: pd.DataFrame) -> list[tuple[str, str]]:
    return [
        (platform, variant) for platform in dict.fromkeys(costs["platform"]) for variant in VARIANTS
    ]


def _shift(costs: pd.DataFrame, platform: str, variant: str) -> float:
    """Bits by which a case is moved to the right of its size."""
    cases = _cases(costs)
    apart = min(_DODGE, _SPREAD / (len(cases) - 1))
    return (cases.index((platform, variant)) - (len(cases) - 1) / 2) * apart


def plot_published(published: Sequence[Published], axes: Axes) -> list[Line2D]:
    """Published points: hollow, and joined to nothing."""
    return [
        axes.plot(point.bits, point.receiver_online_us, zorder=4, **_hollow(point))[0]
        for point in published
    ]


def label_medians(costs: pd.DataFrame, axes: Axes) -> list[Annotation]:
    """Write the medians at 3072 bits beside their points, in the colour of their variant.

    Args:
        costs: the rows that `plot_step` drew.
        axes: where it drew them, laid out.
    """
    rows = select(costs, bits=_LABELLED_BITS)
    columns = rows[["platform", "variant", "median"]]
    return label_points(
        [
            (
                _LABELLED_BITS + _shift(costs, platform, variant),
                median,
                three_figures(median),
                VARIANTS[variant].series.color,
            )
            for platform, variant, median in columns.itertuples(index=False)
        ],
        axes,
    )


def _look(platform: int, variant: str) -> dict[str, Any]:
    look: dict[str, Any] = {**VARIANTS[variant].series.line(), "marker": _marker(platform)}
    return look | {"markersize": 3.2, "elinewidth": 0.8, "capsize": 1.5, "capthick": 0.8}


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
    """Variants by colour and dashes, platforms by marker, what is published hollow."""
    left = [
        Line2D([], [], label=scheme.name, **{**scheme.series.line(), "marker": "none"})
        for scheme in VARIANTS.values()
    ]
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
