"""The panels of `bayesian` with a stopwatch: what labelled times tell of their labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from iot2.plots.schemes import COMPACT, CONTROL, SIX, Scheme
from iot2.plots.style import INK, MUTED, count_axis
from iot2.security.verdict import OBSERVATIONS, Verdict

LOOKS: Final = {
    ("receiver", "six_index"): (f"{SIX.name}, index", SIX),
    ("receiver", "six_masked"): (f"{SIX.name}, masked", SIX),
    ("receiver", "compact_index"): (f"{COMPACT.name}, index", COMPACT),
    ("receiver", "compact_masked"): (f"{COMPACT.name}, masked", COMPACT),
    ("receiver", "control"): (f"{CONTROL.name} receiver", CONTROL),
    ("sender", "six"): (f"{SIX.name} sender", SIX),
    ("sender", "compact"): (f"{COMPACT.name} sender", COMPACT),
    ("sender", "control"): (f"{CONTROL.name} sender", CONTROL),
}
"""The name of each case, and the scheme that it is a case of."""
DRAWN: Final = (
    ("receiver", "six_index"),
    ("receiver", "compact_index"),
    ("receiver", "control"),
)
"""The cases of the panels that have room for three."""

_BLIND: Final[dict[str, Any]] = {
    "linestyle": (0.0, (1.0, 1.2)),
    "markerfacecolor": "white",
}
"""What is done with labels that were shuffled first."""
_APART: Final = 2.0**0.22
"""By which factor neighbours on a log axis are moved apart."""


def scheme(verdict: Verdict) -> Scheme:
    """The scheme that a verdict's case is drawn as."""
    return LOOKS[verdict.timings.party, verdict.timings.case][1]


def legend_handles() -> list[Line2D]:
    """For all panels: schemes by colour and marker, true labels filled and shuffled ones hollow."""
    look: dict[str, Any] = {"markersize": 3.4, "linewidth": 0.8}
    drawn = [(one.name, one) for one in (SIX, COMPACT)]
    handles = [
        Line2D([], [], label=name, color=one.series.color, marker=one.series.marker, **look)
        for name, one in [*drawn, (f"{CONTROL.name}, which leaks", CONTROL)]
    ]
    look |= {"color": INK, "marker": "o"}
    handles.append(Line2D([], [], label="true labels", **look))
    handles.append(Line2D([], [], label="shuffled labels (null)", **look, **_BLIND))
    return handles


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
        style = scheme(verdict).series
        drawn += axes.plot(
            ranks,
            posterior,
            color=style.color,
            marker=style.marker,
            markersize=2.2,
            linewidth=0.7,
        )
    drawn.append(axes.axhline(0.5, color=MUTED, linewidth=0.6))
    axes.set_ylim(0, 1)
    axes.set_xlim(0, 1)
    axes.set_xlabel("rank of the online time (0 fastest)")
    axes.set_ylabel("Pr[b = 1 | online time]")
    return drawn


def plot_accuracy(verdicts: Sequence[Verdict], axes: Axes) -> list[Artist]:
    """Share of labels guessed right with its 95 % interval; hollow: shuffled labels."""
    drawn: list[Artist] = []
    rows = _online(verdicts)
    for place, verdict in enumerate(rows):
        style = scheme(verdict).series
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
    names = [LOOKS[one.timings.party, one.timings.case][0] for one in reversed(rows)]
    axes.set_yticks(range(len(rows)), names)
    axes.set_xlabel("share of labels guessed right")
    return drawn


def plot_posteriors(verdicts: Sequence[Verdict], axes: Axes, *, control: bool) -> list[Artist]:
    """The mean posterior of the true choice against the number of times seen; dotted: shuffled.

    Args:
        verdicts: from `judge_all`.
        axes: where they are drawn.
        control: whether the control receiver is shown, or those of the real ones that are drawn.
    """
    shown = [one for one in _drawn(verdicts) if (scheme(one) is CONTROL) == control]
    cases = [(one, blind) for one in shown for blind in (False, True)]
    drawn: list[Artist] = []
    least = 0.42
    for place, (verdict, blind) in enumerate(cases):
        observer = verdict.blind if blind else verdict.observer
        frame = observer.after(OBSERVATIONS)
        aside = _APART ** (place - (len(cases) - 1) / 2)
        drawn.append(_plot_observer(frame, aside, scheme(verdict), axes, blind=blind))
        least = min(least, float(frame["posterior_low"].min()))
        if not control:  # as far above 1/2 as below
            least = min(least, 1 - float(frame["posterior_high"].max()))
    drawn.append(axes.axhline(0.5, color=MUTED, linewidth=0.6))
    count_axis(axes)
    axes.set_ylim(least - 0.02, 1.04 if control else 1.02 - least)
    axes.set_xlabel("online times seen")
    axes.set_ylabel("mean posterior\nof the true choice")
    return drawn


def _plot_observer(
    frame: pd.DataFrame, aside: float, one: Scheme, axes: Axes, *, blind: bool
) -> Artist:
    whiskers = [
        frame["posterior"] - frame["posterior_low"],
        frame["posterior_high"] - frame["posterior"],
    ]
    options: dict[str, Any] = {
        "color": one.series.color,
        "marker": one.series.marker,
        "markersize": 2.4,
        "linewidth": 0.7,
        "elinewidth": 0.7,
    }
    places = frame["observations"] * aside
    options |= _BLIND if blind else {}
    return axes.errorbar(places, frame["posterior"], yerr=whiskers, **options).lines[0]
