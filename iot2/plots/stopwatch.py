"""The panels of `bayesian` with a stopwatch: what labelled times tell of their labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from iot2.plots.style import INK, MUTED, SERIES, Series
from iot2.security.stopwatch import Observer
from iot2.security.verdict import OBSERVATIONS, Verdict


@dataclass(frozen=True, slots=True)
class Look:
    """A case's short name, and how it is drawn."""

    name: str
    series: Series


LOOKS: Final = {
    ("receiver", "six_index"): Look("six, index", SERIES[0]),
    ("receiver", "six_masked"): Look("six, masked", SERIES[0]),
    ("receiver", "compact_index"): Look("compact, index", SERIES[2]),
    ("receiver", "compact_masked"): Look("compact, masked", SERIES[2]),
    ("receiver", "control"): Look("control receiver", SERIES[1]),
    ("sender", "six"): Look("six sender", SERIES[0]),
    ("sender", "compact"): Look("compact sender", SERIES[2]),
    ("sender", "control"): Look("control sender", SERIES[1]),
}
DRAWN: Final = (
    ("receiver", "six_index"),
    ("receiver", "compact_index"),
    ("receiver", "control"),
)
"""The cases of the panels that have room for three."""

_BLIND: dict[str, Any] = {
    "color": INK,
    "linestyle": (0.0, (1.0, 1.2)),
    "linewidth": 0.7,
    "marker": "o",
    "markersize": 2.6,
    "markerfacecolor": "white",
}


def look(verdict: Verdict) -> Look:
    """How a verdict's case is drawn."""
    return LOOKS[verdict.timings.party, verdict.timings.case]


def _online(verdicts: Sequence[Verdict]) -> list[Verdict]:
    return [verdict for verdict in verdicts if verdict.step == "online"]


def _drawn(verdicts: Sequence[Verdict]) -> list[Verdict]:
    return [v for v in _online(verdicts) if (v.timings.party, v.timings.case) in DRAWN]


def plot_times(verdicts: Sequence[Verdict], axes: Axes) -> list[Artist]:
    """Pr[b = 1 | online time] against the rank of the time, as fitted on one half.

    The rank puts receivers of different speeds on one axis: 0 is the fastest of the
    times, 1 the slowest.
    """
    drawn: list[Artist] = []
    for verdict in _drawn(verdicts):
        density = verdict.observer.density
        posterior, mass = density.posterior, (density.zero + density.one) / 2
        ranks = np.cumsum(mass) - mass / 2
        style = look(verdict).series
        drawn += axes.plot(
            ranks,
            posterior,
            color=style.color,
            marker=style.marker,
            markersize=2.2,
            linewidth=0.7,
            label=look(verdict).name,
        )
    drawn.append(axes.axhline(0.5, color=MUTED, linewidth=0.6))
    axes.set_ylim(0, 1)
    axes.set_xlim(0, 1)
    axes.set_xlabel("rank of the online time (0 fastest)")
    axes.set_ylabel("Pr[b = 1 | online time]")
    axes.legend(loc="upper left")
    return drawn


def plot_accuracy(verdicts: Sequence[Verdict], axes: Axes) -> list[Artist]:
    """Share of labels guessed right with its 95 % interval; hollow: labels shuffled first."""
    drawn: list[Artist] = []
    rows = _online(verdicts)
    for place, verdict in enumerate(rows):
        style = look(verdict).series
        for observer, shift, hollow in (
            (verdict.observer, 0.14, False),
            (verdict.blind, -0.14, True),
        ):
            share, low, high = observer.accuracy()
            bar = axes.errorbar(
                [share],
                [len(rows) - 1 - place + shift],
                xerr=[[share - low], [high - share]],
                color=style.color,
                marker=style.marker,
                markersize=3.4,
                markerfacecolor="white" if hollow else style.color,
                elinewidth=0.8,
                capsize=1.5,
            )
            drawn.append(bar.lines[0])
    drawn.append(axes.axvline(0.5, color=MUTED, linewidth=0.6))
    axes.set_yticks(range(len(rows)), [look(verdict).name for verdict in reversed(rows)])
    axes.set_xlabel("share of labels guessed right")
    dot: dict[str, Any] = {"color": INK, "marker": "o", "linestyle": "none", "markersize": 3.4}
    handles = [
        Line2D([], [], label="true labels", **dot),
        Line2D([], [], label="shuffled (null)", markerfacecolor="white", **dot),
    ]
    axes.legend(handles=handles, loc="upper right")
    return drawn


def plot_posteriors(verdicts: Sequence[Verdict], axes: Axes) -> list[Artist]:
    """The mean posterior of the true choice against the number of times seen; dashed: shuffled."""
    drawn: list[Artist] = []
    for verdict in _drawn(verdicts):
        drawn.append(_plot_observer(verdict.observer, look(verdict), axes, blind=False))
        drawn.append(_plot_observer(verdict.blind, look(verdict), axes, blind=True))
    drawn.append(axes.axhline(0.5, color=MUTED, linewidth=0.6))
    axes.set_xscale("log", base=2)
    axes.set_ylim(0.18, 1.04)
    axes.set_xlabel("online times seen")
    axes.set_ylabel("mean posterior of the true choice")
    looks = [look(verdict) for verdict in _drawn(verdicts)]
    handles = [
        Line2D(
            [], [], label=one.name, color=one.series.color, marker=one.series.marker, markersize=2.6
        )
        for one in looks
    ]
    handles.append(Line2D([], [], label="shuffled (null)", **_BLIND))
    axes.legend(handles=handles, loc="lower left")
    return drawn


def _plot_observer(observer: Observer, style: Look, axes: Axes, *, blind: bool) -> Artist:
    frame = observer.after(OBSERVATIONS)
    whiskers = [
        frame["posterior"] - frame["posterior_low"],
        frame["posterior_high"] - frame["posterior"],
    ]
    options: dict[str, Any] = {
        "color": style.series.color,
        "marker": style.series.marker,
        "markersize": 2.6,
        "markerfacecolor": "white" if blind else style.series.color,
        "linestyle": _BLIND["linestyle"] if blind else "-",
        "linewidth": 0.7,
        "elinewidth": 0.7,
    }
    bars = axes.errorbar(frame["observations"], frame["posterior"], yerr=whiskers, **options)
    return bars.lines[0]
