"""`comparison_sOT.pdf`: our variants beside SimplestOT, each split against its own kind.

Specification, section 9: in the *fresh* split the six-message variant meets a
SimplestOT whose sender draws a new A for each transfer, and the receiver's
online work is compared; in the *known key* split the compact variant meets one
whose A is long-term, and the receiver's total work comes first, since online
both only select and XOR.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure, SubFigure
from matplotlib.text import Annotation
from matplotlib.ticker import FuncFormatter, MaxNLocator

from iot2.benchmark.storage import Platform
from iot2.errors import DataError
from iot2.plots.break_even import KeyCost, key_cost, label_break_even, plot_break_even
from iot2.plots.costs import message_bytes, only, select, step_costs
from iot2.plots.labels import three_figures
from iot2.plots.schemes import OFFLINE, ONLINE, OTHER
from iot2.plots.style import (
    COLUMN_WIDTH,
    FONT_SIZE,
    SMALL_SIZE,
    SavedFigure,
    Series,
    save_both,
)

NAME: Final = "comparison_sOT"
BITS: Final = 3072

_PLATFORM_HEIGHT: Final = 4.85
_BYTES_HEIGHT: Final = 1.45
_TITLE_CHARACTERS: Final = 58
_LEGEND_PAD: Final = 14.0
"""Points between a panel and its title: room for a legend of one line."""

Parts = tuple[tuple[str, str, Series], ...]
"""Columns that add up to a bar, each with its name in the legend and its look."""


@dataclass(frozen=True, slots=True)
class Split:
    """One column of the figure: which variant of ours, and which receiver work is compared."""

    name: str
    variant: str
    titles: tuple[str, str, str]
    """Of its panels: receiver, sender, bytes."""
    receiver: Parts
    compared: str
    """The step that the bars show and the ratios are of."""
    axis: str
    """What that is, on the axis."""
    besides: tuple[str, str]
    """A step that is only written beside them, and its name."""


SPLITS: Final = (
    Split(
        "fresh",
        "six",
        ("(a) fresh: six-message", "(c) fresh: sender", "(f) fresh: bytes"),
        (("receiver_choose", "before sending", ONLINE), ("receiver_retrieve", "after", OTHER)),
        "receiver_online",
        "receiver, online (µs)",
        ("receiver_total", "total"),
    ),
    Split(
        "known_key",
        "compact",
        ("(b) known key: compact", "(d) known key: sender", "(g) known key: bytes"),
        (("receiver_offline", "offline", OFFLINE), ("receiver_online", "online", ONLINE)),
        "receiver_total",
        "receiver, total (µs)",
        ("receiver_online", "online"),
    ),
)
SENDER: Final[Parts] = (
    ("sender_offline", "offline", OFFLINE),
    ("sender_online", "online", ONLINE),
)
DIRECTIONS: Final[Parts] = (("up", "up", OFFLINE), ("down", "down", OTHER))


def comparison_figure(
    platforms: Sequence[Platform], folder: Path, *, bits: int = BITS
) -> SavedFigure:
    """Draw the comparison with SimplestOT and save it as `comparison_sOT.pdf`.

    Args:
        platforms: each gets a block of its own; bytes are the same on all.
        folder: where the figure goes.
        bits: the modulus size of our variants.

    Raises:
        DataError: a platform lacks SimplestOT or this modulus size.
    """
    costs = [compared_costs(platform, bits) for platform in platforms]
    keys = [key_cost(platform, bits) for platform in platforms]
    sizes = compared_bytes(platforms[0], bits, costs[0])

    def draw(figure: Figure) -> None:
        heights = [*[_PLATFORM_HEIGHT] * len(platforms), _BYTES_HEIGHT]
        blocks = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
        lasts = []
        for block, platform, cost, key in zip(blocks, platforms, costs, keys, strict=False):
            block.suptitle(_describe(platform, bits, cost), fontsize=FONT_SIZE)
            lasts.append(_draw_platform(block, cost, key))
        pair = blocks[-1].subplots(1, 2, sharey=True)
        for axes, split in zip(pair, SPLITS, strict=True):
            rows = select(sizes, split=split.name)
            plot_parts(rows, DIRECTIONS, axes)
            write_values(rows, DIRECTIONS, axes)
            axes.set_title(split.titles[2], loc="left", pad=_LEGEND_PAD)
            axes.set_xlabel("bytes per transfer")
        figure.draw_without_rendering()  # labels look at what is where
        for axes, cost, key in zip(lasts, costs, keys, strict=True):
            label_break_even(key, *_known_totals(cost), axes)

    height = _PLATFORM_HEIGHT * len(platforms) + _BYTES_HEIGHT
    return save_both(draw, folder, NAME, width=COLUMN_WIDTH, height=height)


def compared_costs(platform: Platform, bits: int) -> pd.DataFrame:
    """One row a contender and split, one column a step: medians in microseconds, singly.

    Ours comes first in each split, then SimplestOT's groups, the faster one first.
    """
    costs = select(step_costs(platform), timing="single", selection="index")
    contenders = ["split", "variant", "bits", "group", "binding"]
    wide = costs.pivot_table(index=contenders, columns="step", values="median").reset_index()
    ours = wide["variant"].isin([split.variant for split in SPLITS]) & (wide["bits"] == bits)
    theirs = wide["variant"] == "simplest"
    for found, expected in ((ours, f"transfers at {bits} bits"), (theirs, "SimplestOT")):
        if not found.any():
            raise DataError(f"{platform.name}: expected measurements of {expected}, came none")
    wide = wide[ours | theirs].assign(theirs=theirs)
    wide["label"] = [_label(group) for group in wide["group"]]
    return wide.sort_values(["split", "theirs", "receiver_total"], ignore_index=True)


def compared_bytes(platform: Platform, bits: int, costs: pd.DataFrame) -> pd.DataFrame:
    """The contenders of `costs`, in its order, with their bytes per transfer, up and down."""
    sizes = message_bytes(platform)
    rows = []
    for row in costs.to_dict("records"):
        case = select(sizes, variant=row["variant"], split=row["split"])
        if row["theirs"]:
            case = select(case, group=row["group"])
        else:
            case = select(case, bits=bits)
        rows.append(row | {name: only(case, name) for name, *_ in DIRECTIONS})
    return pd.DataFrame(rows)


def plot_parts(rows: pd.DataFrame, parts: Parts, axes: Axes) -> list[BarContainer]:
    """Stacked horizontal bars, one a contender.

    Args:
        rows: one a contender, ours first, with `label` and a column a part.
        parts: columns and their names.
        axes: where they are drawn.

    Returns:
        The bars of each part.
    """
    places = np.arange(len(rows))[::-1]
    start = np.zeros(len(rows))
    drawn = []
    for column, name, series in parts:
        width = rows[column].to_numpy(dtype=float)
        drawn.append(axes.barh(places, width, 0.6, left=start, label=name, **series.bar()))
        start = start + width
    axes.set_yticks(places, rows["label"], linespacing=1.0)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xlim(0, 1.85 * start.max())
    axes.xaxis.set_major_locator(MaxNLocator(3))
    axes.xaxis.set_major_formatter(FuncFormatter(_number))
    axes.legend(
        loc="lower left", bbox_to_anchor=(-0.02, 0.98), ncols=2, borderaxespad=0,
        columnspacing=0.8, handlelength=1.2, handletextpad=0.4,
    )  # fmt: skip
    return drawn


def write_ratios(
    rows: pd.DataFrame,
    parts: Parts,
    axes: Axes,
    compared: str,
    besides: tuple[str, str] | None = None,
) -> list[Annotation]:
    """At the end of each bar its value and, for theirs, its ratio to ours; below it another."""
    texts = []
    for row in rows.to_dict("records"):
        text = three_figures(row[compared])
        if row["theirs"]:
            text += f"  ({_ratio(row[compared] / rows[compared].iloc[0])})"
        if besides is not None:
            text += f"\n{besides[1]}: {three_figures(row[besides[0]])}"
        texts.append(text)
    return _write(texts, rows, parts, axes)


def write_values(rows: pd.DataFrame, parts: Parts, axes: Axes) -> list[Annotation]:
    """At the end of each bar the value of each of its parts."""
    texts = [
        "\n".join(f"{name}: {_number(row[column])}" for column, name, _ in parts)
        for row in rows.to_dict("records")
    ]
    return _write(texts, rows, parts, axes)


def _write(texts: Sequence[str], rows: pd.DataFrame, parts: Parts, axes: Axes) -> list[Annotation]:
    ends = rows[[column for column, *_ in parts]].sum(axis="columns")
    places = range(len(rows) - 1, -1, -1)
    return [
        axes.annotate(
            text, (end, place), xytext=(3, 0), textcoords="offset points",
            va="center", fontsize=SMALL_SIZE, linespacing=1.05,
        )
        for text, end, place in zip(texts, ends, places, strict=True)
    ]  # fmt: skip


def _draw_platform(block: SubFigure, costs: pd.DataFrame, key: KeyCost) -> Axes:
    """Draw what one platform measured, and give the panel of the key's cost."""
    grid = block.add_gridspec(3, 2, height_ratios=(1, 1, 1.05))
    first = None
    for column, split in enumerate(SPLITS):
        rows = select(costs, split=split.name).assign(
            sender=lambda frame: frame["sender_offline"] + frame["sender_online"]
        )
        receiver = block.add_subplot(grid[0, column], sharey=first)
        first = first or receiver
        sender = block.add_subplot(grid[1, column], sharey=first)
        plot_parts(rows, split.receiver, receiver)
        write_ratios(rows, split.receiver, receiver, split.compared, split.besides)
        plot_parts(rows, SENDER, sender)
        write_ratios(rows, SENDER, sender, "sender")
        receiver.set_xlabel(split.axis)
        sender.set_xlabel("sender, total (µs)")
        for axes, title in zip((receiver, sender), split.titles, strict=False):
            axes.set_title(title, loc="left", pad=_LEGEND_PAD)
            axes.tick_params(labelleft=column == 0)
    axes = block.add_subplot(grid[2, :])
    plot_break_even(key, *_known_totals(costs), axes)
    axes.set_title("(e) known key: total with the key's share", loc="left", pad=_LEGEND_PAD)
    return axes


def _known_totals(costs: pd.DataFrame) -> tuple[float, float]:
    """The receiver's total over a known key: ours, and the faster of SimplestOT's groups."""
    known = select(costs, split="known_key")
    ours = only(known, "receiver_total", theirs=False)
    return ours, float(known.loc[known["theirs"], "receiver_total"].min())


def _describe(platform: Platform, bits: int, costs: pd.DataFrame) -> str:
    """Platform, processor without what makers put around names, modulus size, bindings."""
    processor = platform.record.machine.processor or "unknown processor"
    plain = re.sub(r"\((?:R|TM|C)\)|\b(?:CPU|Processor)\b|@.*", " ", processor, flags=re.IGNORECASE)
    named = dict(zip(costs["group"], costs["binding"], strict=True))
    bindings = ", ".join(f"{group} ({binding})" for group, binding in named.items() if group)
    lines = (
        f"{platform.name} ({' '.join(plain.split())}), {bits}-bit modulus",
        f"SimplestOT: {bindings}",
    )
    return "\n".join(textwrap.fill(line, _TITLE_CHARACTERS) for line in lines)


def _label(group: str) -> str:
    return f"SimplestOT\n{group}" if group else "ours"


def _number(value: float, _: int = 0) -> str:
    """Three figures, or whole with separators.

    >>> _number(1.2345), _number(82.06), _number(4667.3)
    ('1.23', '82.1', '4,667')
    """
    return f"{value:.3g}" if value < 999.5 else f"{value:,.0f}"


def _ratio(ratio: float) -> str:
    """How many times ours, or which part of ours: two figures.

    >>> _ratio(6.62), _ratio(61.3), _ratio(0.0163)
    ('6.6×', '61×', '1/61')
    """
    if ratio < 1:
        return f"1/{_ratio(1 / ratio)[:-1]}"
    return f"{ratio:.0f}×" if ratio >= 10 else f"{ratio:.2g}×"
