"""`PDF-Sl` and `ERR-Sl`: what a device with ℓ random bits samples, and how far it is from uniform.

Specification, section 8. Exact laws come from `iot2.security.curves`, points from the
samples that `iot2 security` stores.
"""

from __future__ import annotations

from pathlib import Path
from string import ascii_lowercase
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from iot2.plots.style import (
    INK,
    MUTED,
    SERIES,
    SIZES,
    SMALL_SIZE,
    TEXT_WIDTH,
    SavedFigure,
    save_both,
)
from iot2.security import curves
from iot2.security.moduli import FIGURE_MODULUS, HONEST
from iot2.security.samples import FIGURE_BITS, read_moduli, read_sampling
from iot2.security.sampling import excess, split

PDF_NAME: Final = "PDF-Sl"
ERR_NAME: Final = "ERR-Sl"

_EXACT = SERIES[0].color
_SAMPLED: dict[str, Any] = {
    "color": SERIES[1].color,
    "marker": "o",
    "markersize": 1.4,
    "linestyle": "none",
    "elinewidth": 0.7,
    "zorder": 3,
}
_STEP: dict[str, Any] = {"color": INK, "linewidth": 0.7, "linestyle": (0.0, (2.0, 1.5))}
_ROWS: Final = {
    "w": "N·Pr[S$_ℓ$ = v]",
    "|w|": "Pr[|w| = v], over what\nit is for w uniform",
    "w^4": "Pr[w⁴ = v], over what\nit is for w uniform",
}
_BINS: Final = 40


def pdf_figure(data: Path, folder: Path) -> SavedFigure:
    """Draw the law of S_ℓ, |w| and w⁴ for four ℓ on a toy modulus, exact and sampled.

    Args:
        data: the folder of `iot2 security`.
        folder: where `PDF-Sl.png` and `PDF-Sl.pdf` go.
    """
    N = FIGURE_MODULUS.N
    sampled = {bits: read_sampling(data, N, bits).frame["count"].to_numpy() for bits in FIGURE_BITS}

    def draw(figure: Figure) -> None:
        panels = figure.subplots(3, len(FIGURE_BITS), sharey="row", squeeze=False)
        for row, which in enumerate(curves.LAWS):
            for column, bits in enumerate(FIGURE_BITS):
                axes = panels[row, column]
                grouped = None if which == "w^4" else _BINS
                points = curves.relative_samples(which, sampled[bits], bits, bins=grouped)
                exact = curves.relative_law(which, N, bits)
                plot_samples(points, axes, bars=which != "w^4")
                plot_law(exact, axes, joined=which != "w^4")
                if which != "w^4":
                    mark_step(N, bits, axes, folded=which == "|w|")
                most = 0.5 if which == "|w|" else 1.0
                axes.set_xticks([0, most / 2, most], ["0", f"{most / 2:g}", f"{most:g}"])
                axes.set_xlim(-0.02 * most, 1.03 * most)
                axes.set_xlabel("v / N", labelpad=1)
            panels[row, 0].set_ylabel(_ROWS[which])
        for letter, axes in zip(ascii_lowercase, panels.flat, strict=False):
            axes.set_title(f"({letter})", loc="left")
        for axes, bits in zip(panels[0], FIGURE_BITS, strict=True):
            name = f"{axes.get_title(loc='left')} ℓ = {bits}, ℓ − log₂N = {excess(N, bits):.2f}"
            axes.set_title(name, loc="left")
        figure.legend(handles=_pdf_legend(), loc="outside upper center", ncols=4)

    return save_both(draw, folder, PDF_NAME, width=TEXT_WIDTH, height=5.3)


def plot_law(exact: pd.DataFrame, axes: Axes, *, joined: bool) -> list[Artist]:
    """An exact law of `relative_law`: a line, or where neighbours have no order, a dash each."""
    look: dict[str, Any] = {"color": _EXACT, "zorder": 2.5}
    if joined:
        return [*axes.step(exact["x"], exact["exact"], where="post", linewidth=0.9, **look)]
    dash: dict[str, Any] = {"marker": "_", "markersize": 4.5, "markeredgewidth": 0.8}
    return [*axes.plot(exact["x"], exact["exact"], linestyle="none", **dash, **look)]


def plot_samples(points: pd.DataFrame, axes: Axes, *, bars: bool = True) -> list[Artist]:
    """Points of `relative_samples`, with their 95 % intervals unless there are too many."""
    whiskers = [points["sampled"] - points["low"], points["high"] - points["sampled"]]
    look = _SAMPLED if bars else {**_SAMPLED, "markersize": 0.8}
    drawn = axes.errorbar(points["x"], points["sampled"], yerr=whiskers if bars else None, **look)
    return [drawn.lines[0]]


def mark_step(modulus: int, bits: int, axes: Axes, *, folded: bool) -> list[Artist]:
    """A vertical line where the law steps: at r, or for |w| at min(r, N − r)."""
    r = split(modulus, bits).r
    place = min(r, modulus - r) if folded else r
    name = "r" if place == r else "(N − r)"
    line = axes.axvline(place / modulus, **_STEP)
    right = place / modulus < (0.25 if folded else 0.5)
    text = axes.annotate(
        f"{name}/N = {place / modulus:.3f}",
        (place / modulus, 0.9),
        xycoords=axes.get_xaxis_transform(),
        xytext=(3 if right else -3, 0),
        textcoords="offset points",
        ha="left" if right else "right",
        fontsize=SMALL_SIZE,
    )
    return [line, text]


def _pdf_legend() -> list[Line2D]:
    dot: dict[str, Any] = {"color": SERIES[1].color, "marker": "o", "markersize": 3.0}
    return [
        Line2D([], [], color=_EXACT, label="exact"),
        Line2D([], [], color=_EXACT, marker="_", linestyle="none", label="exact, one value of w⁴"),
        Line2D([], [], linestyle="none", label="sampled (95 % interval, but for w⁴)", **dot),
        Line2D([], [], label="the step", **_STEP),
    ]


def err_figure(data: Path, folder: Path) -> SavedFigure:
    """Draw ERR against ℓ − log2 N, and ERR and the distance of the two laws of y against r/N.

    Args:
        data: the folder of `iot2 security`.
        folder: where `ERR-Sl.png` and `ERR-Sl.pdf` go.
    """
    toys = curves.error_curve(HONEST, range(25))
    real = curves.real_errors(read_moduli(data))
    across = curves.distance_curve()

    def draw(figure: Figure) -> None:
        grid = figure.add_gridspec(2, 2, height_ratios=(2.0, 1.0), width_ratios=(1.25, 1.0))
        upper = figure.add_subplot(grid[0, 0])
        lower = figure.add_subplot(grid[1, 0], sharex=upper)
        right = figure.add_subplot(grid[:, 1])
        plot_errors(toys, real, upper)
        plot_below_bound(toys, real, lower)
        upper.tick_params(labelbottom=False)
        upper.set_title("(a) distance of S$_ℓ$ from uniform", loc="left")
        lower.set_title("(b) the same, over the bound", loc="left")
        plot_distances(across, right)
        right.set_title("(c) at ℓ = 12, every honest N with ⌊2$^ℓ$/N⌋ = 2", loc="left")

    return save_both(draw, folder, ERR_NAME, width=TEXT_WIDTH, height=3.9)


_TOY_LOOK: dict[str, Any] = {
    "color": SERIES[2].color,
    "marker": ".",
    "markersize": 3.0,
    "linestyle": "none",
}


def _real_look(place: int) -> dict[str, Any]:
    series = SIZES[place]
    return {
        "color": series.color,
        "marker": series.marker,
        "markersize": (7.0, 5.0, 3.6)[place],
        "markerfacecolor": "none",
        "linestyle": "none",
    }


def plot_errors(toys: pd.DataFrame, real: pd.DataFrame, axes: Axes) -> list[Artist]:
    """log2 ERR against ℓ − log2 N, with the bound N/2^(ℓ+2) as a line."""
    most = float(real["excess_bits"].max()) + 4
    line = np.array([0.0, most])
    drawn: list[Artist] = [
        *axes.plot(line, -line - 2, color=INK, linewidth=0.8, label="bound, N/2$^{ℓ+2}$"),
        *axes.plot(
            toys["excess_bits"], toys["log2_err"], label="toy moduli, 21 to 1441", **_TOY_LOOK
        ),
    ]
    for place, (name, rows) in enumerate(real.groupby("name", sort=False)):
        drawn += axes.plot(
            rows["excess_bits"], rows["log2_err"], label=str(name), **_real_look(place)
        )
    least = float(min(toys["log2_err"].min(), real["log2_err"].min()))
    axes.set_ylim(min(least - 16, -152), 4)
    for margin in (64, 128):
        drawn.append(_margin(margin, axes, -margin - 2))
        drawn.append(
            axes.annotate(
                f"ℓ = bits + {margin}" + (",\nas the protocol draws" if margin == 128 else ""),
                (margin, -margin - 2),
                xytext=(-10, -2),
                textcoords="offset points",
                ha="right",
                va="top",
                fontsize=SMALL_SIZE,
            )
        )
    axes.set_ylabel("log₂ ERR")
    axes.legend(loc="upper right")
    axes.set_xticks(range(0, int(most) + 1, 16))
    return drawn


def plot_below_bound(toys: pd.DataFrame, real: pd.DataFrame, axes: Axes) -> list[Artist]:
    """log2 of ERR over its bound, 4(r/N)(1 − r/N): at most 0, and near it unless r is near 0, N."""
    drawn: list[Artist] = [axes.axhline(0, color=INK, linewidth=0.8)]
    drawn += axes.plot(toys["excess_bits"], toys["log2_ratio"], **_TOY_LOOK)
    for place, (_, rows) in enumerate(real.groupby("name", sort=False)):
        drawn += axes.plot(rows["excess_bits"], rows["log2_ratio"], **_real_look(place))
    axes.set_xlabel("ℓ − log₂N (bits)")
    axes.set_ylim(float(min(toys["log2_ratio"].min(), real["log2_ratio"].min())) - 0.8, 0.4)
    drawn += [_margin(margin, axes, 0.0) for margin in (64, 128)]
    axes.set_ylabel("log₂(ERR/bound)")
    return drawn


def _margin(margin: int, axes: Axes, top: float) -> Line2D:
    """A dotted line at a margin, up to a height: above it may be a legend."""
    low, _ = axes.get_ylim()
    look: dict[str, Any] = {"color": MUTED, "linewidth": 0.6, "linestyle": (0.0, (2.0, 2.0))}
    return axes.plot([margin, margin], [low, top], **look)[0]


def plot_distances(across: pd.DataFrame, axes: Axes) -> list[Artist]:
    """ERR, its double, and the counted distance of the two laws of y against r/N."""
    f = np.linspace(0, 1, 201)
    drawn: list[Artist] = [
        *axes.plot(f, 2 * f * (1 - f), color=INK, linewidth=0.8, linestyle=(0.0, (4.0, 2.0)),
                   label="2·ERR, the bound on the distance"),
        *axes.plot(f, f * (1 - f), color=SERIES[0].color, label="ERR = (r/N)(1 − r/N)·N/2$^ℓ$"),
        *axes.plot(across["remainder"], across["err"], color=SERIES[0].color, marker="o",
                   markersize=2.2, linestyle="none", label="ERR of each N, counted"),
        *axes.plot(across["remainder"], across["worst"], color=SERIES[1].color, marker="s",
                   markersize=2.8, linestyle="none",
                   label="distance of the laws of y\nfor b = 0 and b = 1, worst z"),
        *axes.plot(across["remainder"], across["median"], color=SERIES[3].color, marker="^",
                   markersize=2.4, linestyle="none", label="the same, median z"),
    ]  # fmt: skip
    near = int(np.argmin(np.abs(across["remainder"] - 0.5)))
    place, least = float(across["remainder"].iloc[near]), float(across["worst"].iloc[near])
    drawn.append(
        axes.annotate(
            f"r ≈ N/2: {least:.4f}",
            (place, least),
            xytext=(0, -3),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=SMALL_SIZE,
        )
    )
    axes.set_xlabel("r/N")
    axes.set_ylabel("distance, in units of N/2$^ℓ$")
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.04, 0.78)
    axes.legend(loc="upper center", ncols=1)
    return drawn
