"""What a transfer takes between two processes, beside what its steps take inside one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from iot2.benchmark.storage import Platform
from iot2.errors import DataError
from iot2.net.timings import has_network, read_network
from iot2.plots.costs import only, step_costs
from iot2.plots.labels import three_figures
from iot2.plots.schemes import OFFLINE, ONLINE, OTHER, VARIANTS
from iot2.plots.style import COLUMN_WIDTH, SMALL_SIZE, SavedFigure, save_both

NAME: Final = "network"

PARTS: Final = (
    ("receiver_us", "receiver's steps, as in process (also written beside)", OFFLINE),
    ("sender_us", "sender's computation", ONLINE),
    ("rest_us", "transport, queues and commit", OTHER),
)
"""The parts of a round trip, from the left, and how each looks."""

_GAP: Final = 0.55
"""Between the bars of one variant and size and those of the next, in bars."""


def network_costs(platform: Platform, frames: Mapping[int, pd.DataFrame]) -> pd.DataFrame:
    """The parts of a round trip, in µs: medians of each size, variant and client.

    Args:
        platform: the benchmark of the same machine, for the receiver's steps.
        frames: rows of `iot2.net.timings` by modulus size.

    Returns:
        Columns `bits`, `variant`, `client`, `receiver_us`, `sender_us`,
        `rest_us`, `round_trip_us`, `handshake_us`, `up_bytes`, `down_bytes`.

    Raises:
        DataError: the benchmark has not measured a size and variant.
    """
    costs = step_costs(platform)
    rows = []
    for bits, frame in sorted(frames.items()):
        for (variant, client), transfers in frame.groupby(["variant", "client"], sort=False):
            medians = transfers.median(numeric_only=True)
            receiver = only(
                costs, "median", timing="single", variant=variant, bits=bits,
                selection="index", step="receiver_online",
            )  # fmt: skip
            round_trip = medians["round_trip_ns"] / 1000
            sender = medians["sender_compute_ns"] / 1000
            rows.append(
                {
                    "bits": bits,
                    "variant": variant,
                    "client": client,
                    "receiver_us": receiver,
                    "sender_us": sender,
                    "rest_us": max(0.0, round_trip - sender - receiver),
                    "round_trip_us": round_trip,
                    "handshake_us": medians["handshake_ns"] / 1000,
                    "up_bytes": int(medians["up_bytes"]),
                    "down_bytes": int(medians["down_bytes"]),
                }
            )
    if not rows:
        raise DataError("expected a profile of at least one modulus size, came none")
    return pd.DataFrame(rows)


def plot_network(costs: pd.DataFrame, axes: Axes) -> list[BarContainer]:
    """A bar a case: the parts of a round trip one after the other.

    The receiver's share is written beside the bars of a variant and size: it
    is measured in process, and so the same for every client.

    Args:
        costs: from `network_costs`.
        axes: where they are drawn.

    Returns:
        The bars of each part.
    """
    cases = list(costs[["bits", "variant"]].itertuples(index=False, name=None))
    first = [case not in cases[:place] for place, case in enumerate(cases)]
    names = [
        f"{VARIANTS[variant].name}, {bits} bits, {client}" if new else client
        for (bits, variant), client, new in zip(cases, costs["client"], first, strict=True)
    ]
    places = -(np.arange(len(costs)) + _GAP * np.cumsum(first))
    left = np.zeros(len(costs))
    drawn = []
    for column, label, series in PARTS:
        width = costs[column].to_numpy(dtype=np.float64) / 1000
        drawn.append(axes.barh(places, width, left=left, height=0.62, label=label, **series.bar()))
        left = left + width
    groups = costs.assign(place=places, end=left).groupby(["bits", "variant"], sort=False)
    for _, group in groups:
        axes.annotate(
            f"receiver {three_figures(group['receiver_us'].iloc[0])} µs",
            (group["end"].max(), group["place"].mean()), xytext=(4, 0),
            textcoords="offset points", va="center", fontsize=SMALL_SIZE,
        )  # fmt: skip
    axes.set_yticks(places, names)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(places.min() - 0.7, places.max() + 0.7)
    axes.grid(visible=False, axis="y")
    axes.set_xlim(0, 1.62 * left.max())
    axes.set_xlabel("round trip of one transfer, median (ms)")
    return drawn


def network_figure(platforms: Sequence[Platform], folder: Path) -> SavedFigure:
    """Draw the figure `network`: round trips beside the in-process cost, a panel a platform.

    Args:
        platforms: as read from their folders; those without a profile are passed over.
            Where none has one, the figure says how it is made.
        folder: where the figure goes.
    """
    profiled = [platform for platform in platforms if has_network(platform.folder)]
    if not profiled:
        return save_both(_say_what_is_missing, folder, NAME, width=COLUMN_WIDTH, height=0.7)
    costs = [network_costs(each, read_network(each.folder)[1]) for each in profiled]

    def draw(figure: Figure) -> None:
        shares = [len(each) for each in costs]
        panels = figure.subplots(len(costs), 1, squeeze=False, height_ratios=shares)[:, 0]
        for letter, axes, platform, each in zip(
            ascii_lowercase, panels, profiled, costs, strict=False
        ):
            plot_network(each, axes)
            name = f"({letter}) {platform.name}" if len(costs) > 1 else platform.name
            axes.set_title(name, loc="left")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=1)

    height = 0.7 + sum(0.5 + 0.19 * len(each) for each in costs)
    return save_both(draw, folder, NAME, width=COLUMN_WIDTH, height=height)


def _say_what_is_missing(figure: Figure) -> None:
    text = "no profile of the network is stored:\niot2 profile --platform NAME measures one"
    figure.text(0.5, 0.5, text, ha="center", va="center")
