"""`bayesian`: what an observer learns of the choice, from y and from a stopwatch.

Specification, section 8. Exact curves come from `iot2.security.curves`, points from the
samples of `iot2 security`, times from the recordings of `iot2 leakage`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D

from iot2.plots.schemes import CONTROL
from iot2.plots.stopwatch import legend_handles, plot_accuracy, plot_posteriors, plot_times
from iot2.plots.style import (
    INK,
    MUTED,
    SERIES,
    SIZES,
    SMALL_SIZE,
    TEXT_WIDTH,
    SavedFigure,
    count_axis,
    save_both,
)
from iot2.security import curves
from iot2.security.bayes import Bounds, observed, observed_units
from iot2.security.moduli import FIGURE_MODULUS
from iot2.security.samples import (
    FOURTH_POWER,
    NO_FOURTH_POWER,
    Plan,
    read_moduli,
    read_posterior,
)
from iot2.security.verdict import Verdict

NAME: Final = "bayesian"

MOST_TRANSFERS: Final = 1 << 14
MARGINS: Final = (64, 128)
LOG2_TRANSFERS: Final = tuple(range(0, 61, 4))
LEAST_ERROR: Final = 1e-5
"""Where the axis of the error ends."""

_LINEAR: dict[str, Any] = {"color": INK, "linewidth": 0.9, "linestyle": (0.0, (4.0, 1.5))}
_ROOT: dict[str, Any] = {"color": INK, "linewidth": 0.9, "linestyle": (0.0, (1.0, 1.2))}
_EXACT: dict[str, Any] = {"color": SERIES[0].color}
_SAMPLED: dict[str, Any] = {
    "color": SERIES[1].color,
    "marker": "s",
    "markersize": 2.6,
    "linestyle": "none",
    "elinewidth": 0.8,
    "zorder": 3,
}
_CONTROL: dict[str, Any] = {
    "color": CONTROL.series.color,
    "marker": "^",
    "markersize": 5.0,
    "markerfacecolor": "none",
    "linestyle": "none",
}


def bayesian_figure(data: Path, verdicts: Sequence[Verdict], folder: Path) -> SavedFigure:
    """Draw the observer of y on a toy modulus and at real size, and the one with a stopwatch.

    Args:
        data: the folder of `iot2 security`.
        verdicts: of one platform's recordings, from `judge_all`.
        folder: where `bayesian.png` and `bayesian.pdf` go.
    """
    N, bits = FIGURE_MODULUS.N, Plan().posterior_bits
    bounds = Bounds(N, bits)
    exact = curves.exact_errors(
        observed(N, bits, FOURTH_POWER), bounds, curves.powers_of_two(MOST_TRANSFERS)
    )
    control = curves.exact_errors(observed(N, bits, NO_FOURTH_POWER), bounds, [1, 2])
    sampled = curves.sampled_errors(read_posterior(data, N, bits, FOURTH_POWER).frame)
    seen = curves.sampled_errors(read_posterior(data, N, bits, NO_FOURTH_POWER).frame)
    units = float(observed_units(N, bits, NO_FOURTH_POWER).bayes_error())
    real = curves.real_bounds(read_moduli(data), MARGINS, LOG2_TRANSFERS)

    def draw(figure: Figure) -> None:
        upper, lower = figure.subfigures(2, 1, height_ratios=(1.0, 1.12), squeeze=False)[:, 0]
        a, b, c = upper.subplots(1, 3, width_ratios=(1.0, 1.6, 1.0))
        plot_advantage(exact, a)
        a.set_title(f"(a) N = {N}, ℓ = {bits}: advantage", loc="left")
        plot_errors(exact, sampled, b)
        plot_control(control, seen, units, b)
        legend_errors(b)
        b.set_title(f"(b) N = {N}, ℓ = {bits}: Bayes error", loc="left")
        plot_real_bounds(real, c)
        c.set_title("(c) real sizes: the bound", loc="left")
        grid = lower.add_gridspec(2, 3)
        d, e = (lower.add_subplot(grid[:, k]) for k in range(2))
        plot_times(verdicts, d)
        d.set_title("(d) stopwatch: one time", loc="left")
        plot_accuracy(verdicts, e)
        e.set_title("(e) stopwatch: one guess", loc="left")
        f = lower.add_subplot(grid[0, 2])
        plot_posteriors(verdicts, f, control=True)
        f.set_title("(f) many times: control", loc="left")
        f.tick_params(labelbottom=False)
        f.set_xlabel("")
        g = lower.add_subplot(grid[1, 2], sharex=f)
        plot_posteriors(verdicts, g, control=False)
        g.set_title("(g) many times: receivers", loc="left")
        lower.legend(handles=legend_handles(), loc="outside upper center", ncols=5)

    return save_both(draw, folder, NAME, width=TEXT_WIDTH, height=5.8)


def plot_advantage(exact: pd.DataFrame, axes: Axes) -> list[Artist]:
    """The exact advantage of `exact_errors` against T with both bounds, on log axes."""
    inside = exact["linear"] <= 1
    root = exact["root"] <= 1
    T = exact["transfers"].to_numpy()
    # √T sets in when most sequences hold a y that tells something: the guide meets it there.
    guide = T[(T >= 4) & (T <= 256)]
    anchor = float(exact.loc[exact["transfers"] == 64, "advantage"].iloc[0])
    drawn: list[Artist] = [
        *axes.plot(T[inside], exact["linear"][inside], label="bound 2·T·ERR", **_LINEAR),
        *axes.plot(T[root], exact["root"][root], label="bound $\\sqrt{2T·r(N−r)}/2^ℓ$", **_ROOT),
        *axes.plot(T, exact["advantage"], label="exact", marker="o", markersize=2.2, **_EXACT),
        *axes.plot(
            guide,
            0.75 * anchor * np.sqrt(guide / 64),
            color=MUTED,
            linewidth=0.7,
            label="a slope of √T",
        ),
    ]
    count_axis(axes)
    axes.set_yscale("log")
    axes.set_ylim(0.003, 1.5)
    axes.set_xlabel("transfers T with one choice")
    axes.set_ylabel("advantage")
    axes.legend(loc="lower right")
    return drawn


def plot_errors(exact: pd.DataFrame, sampled: pd.DataFrame, axes: Axes) -> list[Artist]:
    """The exact Bayes error against T, sampled points, the bounds below and Chernoff's above."""
    T = exact["transfers"]
    fine = np.geomspace(1, float(T.max()), 400)
    linear = float(exact["linear"].iloc[0]) * fine
    root = float(exact["root"].iloc[0]) * np.sqrt(fine)
    exponent = -float(np.log(2 * exact["chernoff"].iloc[0])) / float(T.iloc[0])
    low = 0.5 * LEAST_ERROR
    drawn: list[Artist] = [
        *axes.plot(fine, np.clip((1 - linear) / 2, low, None), **_LINEAR),
        *axes.plot(fine, np.clip((1 - root) / 2, low, None), **_ROOT),
        *axes.plot(
            fine,
            np.exp(-exponent * fine) / 2,
            color=MUTED,
            linewidth=0.7,
            label="Chernoff, e$^{−CT}$/2",
        ),
        *axes.plot(T, exact["bayes_error"], label="exact", marker="o", markersize=2.2, **_EXACT),
    ]
    shown = sampled[sampled["bayes_error"] > 0]
    whiskers = [shown["bayes_error"] - shown["low"], shown["high"] - shown["bayes_error"]]
    points = axes.errorbar(
        shown["transfers"], shown["bayes_error"], yerr=whiskers, label="sampled", **_SAMPLED
    )
    count_axis(axes)
    axes.set_yscale("log")
    axes.set_ylim(LEAST_ERROR, 1)
    axes.set_xlabel("transfers T with one choice")
    axes.set_ylabel("Bayes error")
    return [*drawn, points.lines[0]]


def plot_control(
    control: pd.DataFrame, sampled: pd.DataFrame, units: float, axes: Axes
) -> list[Artist]:
    """The positive control, z no fourth power: what non-unit w leave of the error.

    Args:
        control: from `exact_errors`.
        sampled: from `sampled_errors`.
        units: the exact error if w is redrawn until it is a unit.
        axes: those of `plot_errors`.
    """
    first = sampled.iloc[:1]
    error = float(control["bayes_error"].iloc[0])
    whiskers = [first["bayes_error"] - first["low"], first["high"] - first["bayes_error"]]
    return [
        *axes.plot(
            control["transfers"],
            control["bayes_error"],
            label=f"{CONTROL.name}: z no 4th power",
            **_CONTROL,
        ),
        axes.errorbar(first["transfers"], first["bayes_error"], yerr=whiskers, **_SAMPLED).lines[0],
        axes.annotate(
            f"{CONTROL.name} at\nT = 1: {error:.4f}\n({units:g} if every\nw is a unit)",
            (0.03, 0.34),
            xycoords="axes fraction",
            va="top",
            fontsize=SMALL_SIZE,
        ),
    ]


def legend_errors(axes: Axes) -> Legend:
    """Name what `plot_errors` and `plot_control` drew, between the bounds and the curve."""
    handles, labels = axes.get_legend_handles_labels()
    bounds = (Line2D([], [], **_LINEAR), Line2D([], [], **_ROOT))
    return axes.legend(
        [bounds, *handles],
        ["the two bounds of (a)", *labels],
        handler_map={tuple: HandlerTuple(ndivide=None, pad=0.6)},
        handlelength=2.8,
        loc="lower left",
        bbox_to_anchor=(0.36, 0.0),
    )


def plot_real_bounds(real: pd.DataFrame, axes: Axes) -> list[Artist]:
    """log2 of the bound on the advantage against log2 T, for each size and ℓ of `real_bounds`."""
    drawn: list[Artist] = []
    for place, (bits, of_size) in enumerate(real.groupby("bits")):
        for margin, rows in of_size.groupby("margin"):
            series = SIZES[place]
            drawn += axes.plot(
                rows["log2_transfers"],
                rows["log2_advantage"],
                color=series.color,
                linestyle=series.linestyle,
                marker=series.marker,
                markersize=2.4,
                markevery=(place, 3),
                label=f"{bits} bits" if margin == MARGINS[0] else None,
            )
    for margin in MARGINS:
        rows = real[real["margin"] == margin]
        last = float(rows.loc[rows["log2_transfers"] == LOG2_TRANSFERS[-1], "log2_advantage"].max())
        drawn.append(
            axes.annotate(
                f"ℓ = bits + {margin}:\nat T = 2$^{{60}}$ below 2$^{{{int(np.ceil(last))}}}$",
                (60, last),
                xytext=(0, -20),
                textcoords="offset points",
                ha="right",
                va="top",
                fontsize=SMALL_SIZE,
            )
        )
    drawn.append(axes.axhline(0, color=INK, linewidth=0.8))
    axes.set_xticks(range(0, 61, 10))
    axes.set_ylim(-145, 4)
    axes.set_xlabel("log₂ T, transfers with one choice")
    axes.set_ylabel("log₂ of the bound on the advantage")
    axes.legend(loc="upper left", bbox_to_anchor=(0.0, 0.96))
    return drawn
