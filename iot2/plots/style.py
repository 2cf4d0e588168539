"""The one look of every figure, and the one way a figure reaches the disk.

Draw into a figure that is handed to you, and let `save_figure` make it:

    from iot2.plots.style import COLUMN_WIDTH, SERIES, save_figure

    def draw(figure):
        axes = figure.add_subplot()
        axes.plot(x, first, label="first", **SERIES[0].line())
        axes.plot(x, second, label="second", **SERIES[1].line(hollow=True))
        axes.bar(names, heights, **SERIES[2].bar())
        axes.legend()

    save_figure(draw, folder / "name.pdf", width=COLUMN_WIDTH, height=2.4)

`draw` runs inside `figure_style`, which starts from matplotlib's own defaults
and not from the user's settings, with the fonts that matplotlib bundles, a
fixed date and no version in the metadata: the same data give the same bytes
whatever the matplotlibrc, the time zone and the locale. The suffix picks the
format: `.pdf` with embedded TrueType fonts, `.png` at 300 dots per inch.
No pyplot is involved, so no window, backend or global figure is touched.

What `save_figure` returns shows itself as a picture in a notebook.

The page is never cropped to its content (the width would change with it):
the layout is matplotlib's constrained one, which makes room for labels. For
readability in grey the colours of `SERIES` differ in lightness, and each
comes with a marker, a dash pattern and a hatch of its own.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from iot2.errors import ParameterError
from iot2.files import write_atomically

COLUMN_WIDTH = 3.5
"""Inches: one column of a two-column paper."""

TEXT_WIDTH = 7.16
"""Inches: both columns of a two-column paper."""

PNG_DPI = 300
PREVIEW_DPI = 160
FONT = "DejaVu Sans"
FONT_SIZE = 7.0
SMALL_SIZE = 6.0
"""Points: annotations; nothing in a figure is set smaller."""

INK = "#1a1a1a"
MUTED = "#6b6b6b"
GRID = "#d9d9d9"

_POSITION_DIGITS = 5
"""Of a page's width or height: a hundredth of a pixel at 300 dots per inch."""

# Nothing in a file tells when or with what it was made: the data do not change with it.
_DATE = datetime(2026, 1, 1, tzinfo=UTC)
_PDF_METADATA = {"Creator": "iot2", "Producer": None, "CreationDate": _DATE}
_PNG_METADATA = {"Software": None}

_SETTINGS: Any = {
    "font.family": [FONT],
    "mathtext.fontset": "dejavusans",
    "mathtext.default": "regular",  # as the same letters are in plain text
    "font.size": FONT_SIZE,
    "axes.labelsize": FONT_SIZE,
    "axes.titlesize": FONT_SIZE,
    "axes.titleweight": "bold",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": GRID,
    "grid.linewidth": 0.4,
    "text.color": INK,
    "xtick.labelsize": SMALL_SIZE,
    "ytick.labelsize": SMALL_SIZE,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "lines.linewidth": 1.1,
    "lines.markersize": 4.0,
    "hatch.linewidth": 0.5,
    "legend.fontsize": SMALL_SIZE,
    "legend.frameon": False,
    "legend.handlelength": 2.2,
    "figure.facecolor": "white",
    "pdf.fonttype": 42,
    "savefig.bbox": None,
    "timezone": "UTC",
}


@dataclass(frozen=True, slots=True)
class Series:
    """How one series looks: a colour, and what tells it apart without colour."""

    color: str
    marker: str
    linestyle: str | tuple[float, tuple[float, ...]]
    hatch: str

    def line(self, *, hollow: bool = False) -> dict[str, Any]:
        """Keywords for `Axes.plot` and `Axes.errorbar`; hollow markers are white inside."""
        return {
            "color": self.color,
            "marker": self.marker,
            "linestyle": self.linestyle,
            "markerfacecolor": "white" if hollow else self.color,
            "markeredgecolor": self.color,
        }

    def bar(self) -> dict[str, Any]:
        """Keywords for `Axes.bar` and `Axes.barh`: a light hatch on the colour."""
        return {
            "facecolor": self.color,
            "hatch": self.hatch,
            "hatchcolor": "white",
            "edgecolor": INK,
            "linewidth": 0.5,
        }


SERIES = (
    Series("#0b3c5d", "o", "-", ""),
    Series("#c8501e", "s", (0.0, (4.0, 1.5)), "////"),
    Series("#4fb0a0", "^", (0.0, (1.0, 1.2)), "...."),
    Series("#e8b04a", "D", (0.0, (5.0, 1.2, 1.0, 1.2)), "\\\\\\\\"),
    Series("#c5ccd3", "v", (0.0, (7.0, 2.0)), "xxxx"),
    Series("#7b3f8c", "P", (0.0, (3.0, 1.0, 1.0, 1.0, 1.0, 1.0)), "----"),
)
"""From dark to light (the last, a spare, between the first two): use them in order."""

SIZES = (SERIES[0], SERIES[1], SERIES[5])
"""Real modulus sizes in the figures of the security analysis, the smallest first."""


@dataclass(frozen=True, slots=True)
class SavedFigure:
    """A figure on the disk, and the picture of it that a notebook shows."""

    path: Path
    size: int
    _figure: Figure = field(repr=False)

    def _repr_png_(self) -> bytes:
        with figure_style():
            return _rendered(self._figure, "png", PREVIEW_DPI)


@contextmanager
def figure_style() -> Iterator[None]:
    """Matplotlib's defaults and then ours, whatever the user's settings; undone at exit."""
    with mpl.rc_context():
        # rcdefaults alone leaves what concerns the screen, which no file depends on.
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        _prefer_bundled_fonts()
        yield


def save_figure(
    draw: Callable[[Figure], object],
    path: Path | str,
    *,
    width: float = COLUMN_WIDTH,
    height: float = 2.4,
) -> SavedFigure:
    """Draw a figure and write it, whole or not at all, in bytes that depend on the data alone.

    Args:
        draw: fills the empty figure that it is given.
        path: the file, `.pdf` or `.png`; its folder is made where it is missing.
        width: inches, one of the named widths above.
        height: inches.

    Returns:
        The path and size in bytes of what was written; a notebook shows it as a picture.

    Raises:
        ParameterError: the suffix names another format.
    """
    return _save(draw, [Path(path)], width, height)


def save_both(
    draw: Callable[[Figure], object], folder: Path, name: str, *, width: float, height: float
) -> SavedFigure:
    """Save a figure as `name.png`, for pages, and as `name.pdf`, for print; give the PDF."""
    return _save(draw, [folder / f"{name}{suffix}" for suffix in (".png", ".pdf")], width, height)


def count_axis(axes: Axes) -> None:
    """An x axis of powers of two, labelled with numbers and not with exponents."""
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(LogLocator(base=16))
    axes.xaxis.set_minor_locator(LogLocator(base=2, numticks=99))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _save(
    draw: Callable[[Figure], object], targets: Sequence[Path], width: float, height: float
) -> SavedFigure:
    """Draw once, write to each target, and give the last."""
    for target in targets:
        if target.suffix not in (".pdf", ".png"):
            raise ParameterError(f"figures are .pdf or .png, not {target.suffix!r} ({target.name})")
    with figure_style():
        # At the resolution of the PNG: text measured at a lower one, with hinted
        # glyphs, comes out wider in the end than the room that was made for it.
        figure = Figure(figsize=(width, height), dpi=PNG_DPI, layout="constrained")
        draw(figure)
        _settle_layout(figure)
        written = [_rendered(figure, target.suffix[1:], PNG_DPI) for target in targets]
    for target, data in zip(targets, written, strict=True):
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, data)
    return SavedFigure(targets[-1], len(written[-1]), figure)


def _settle_layout(figure: Figure) -> None:
    """Lay the figure out once, and round where everything went.

    The solver behind the constrained layout takes its constraints in an order
    that depends on memory addresses, so that its last digits differ between
    runs; they would be in the file.
    """
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for nested in _nested(figure):
        nested.bbox_relative.set_points(_rounded(nested.bbox_relative.get_points()))
    for whole in (figure, *_nested(figure)):
        for text in whole.texts:  # the titles of whole figures among them
            text.set_position(tuple(_rounded(np.array(text.get_position()))))
    for axes in figure.get_axes():
        if axes.get_axes_locator() is None:
            axes.set_position(Bbox(_rounded(axes.get_position(original=True).get_points())))


def _nested(figure: Figure | SubFigure) -> Iterator[SubFigure]:
    for child in figure.subfigs:
        yield child
        yield from _nested(child)


def _rounded(points: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.round(points, _POSITION_DIGITS) + 0.0  # no negative zeros


def _rendered(figure: Figure, form: str, dpi: float) -> bytes:
    stream = io.BytesIO()
    metadata = _PDF_METADATA if form == "pdf" else _PNG_METADATA
    figure.savefig(stream, format=form, dpi=dpi, metadata=metadata)
    return stream.getvalue()


def _prefer_bundled_fonts() -> None:
    """Put matplotlib's own font files before a system's copy of the same family."""
    bundled = os.path.join(mpl.get_data_path(), "fonts")
    if font_manager.findfont(FONT).startswith(bundled):
        return
    manager = font_manager.fontManager
    manager.ttflist = [font for font in manager.ttflist if not font.fname.startswith(bundled)]
    system = manager.ttflist
    manager.ttflist = []
    for path in sorted(font_manager.findSystemFonts(os.path.join(bundled, "ttf"))):
        manager.addfont(path)  # also forgets what was looked up before
    manager.ttflist += system
