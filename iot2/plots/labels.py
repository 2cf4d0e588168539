"""Numbers beside the points of a panel, each where it hides least of what is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.path import Path
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from iot2.plots.style import SMALL_SIZE

_NEAR: Final = ((3, -3), (3, 3), (-3, 3), (-3, -3), (0, 5), (0, -5), (5, 0), (-5, 0))
_FAR: Final = tuple((x, y * sign) for y in (7, 11, 15) for x in (3, -3) for sign in (1, -1))
_PLACES: Final = _NEAR + _FAR
"""Points from a point to its text, right and up, in the order of preference."""
_ALIGNED: Final[dict[str, tuple[Any, ...]]] = {
    "horizontal": ("center", "left", "right"),
    "vertical": ("center", "bottom", "top"),
}
"""By the sign of the way there: 0, 1, −1."""

_ON_LINE, _ON_MARKER, _ON_TEXT, _OUTSIDE = 1, 4, 100, 1000

Label = tuple[float, float, str, str]
"""x, y, text and colour."""


def label_points(labels: Sequence[Label], axes: Axes) -> list[Annotation]:
    """Write a text beside each point, where it meets fewest lines, markers and other texts.

    Everything else must be drawn and laid out before: what is in the way is
    looked up in the panel itself. The texts stay inside of it.
    """
    scale = axes.get_figure(root=True).dpi / 72  # type: ignore[union-attr]
    lines, markers = _paths(axes), _markers(axes, scale)
    taken: list[Bbox] = []
    drawn = []
    for x, y, text, color in labels:
        annotation = axes.annotate(
            text,
            (x, y),
            xytext=(0, 0),
            textcoords="offset points",
            color=color,
            fontsize=SMALL_SIZE,
        )
        annotation.set_in_layout(False)
        size = np.array(annotation.get_window_extent().size)
        point = axes.transData.transform((x, y))

        def cost(
            place: tuple[int, int],
            point: NDArray[np.float64] = point,
            size: NDArray[np.float64] = size,
        ) -> int:
            box = _box(point, place, size, scale)
            met = _ON_LINE * sum(path.intersects_bbox(box, filled=False) for path in lines)
            met += _ON_MARKER * sum(box.overlaps(marker) for marker in markers)
            met += _ON_TEXT * sum(box.overlaps(other) for other in taken)
            inside = all(axes.bbox.contains(*end) for end in box.get_points())
            return met + (0 if inside else _OUTSIDE)

        best = min(_PLACES, key=cost)
        taken.append(_box(point, best, size, scale))
        annotation.set_position(best)
        annotation.set_horizontalalignment(_ALIGNED["horizontal"][int(np.sign(best[0]))])
        annotation.set_verticalalignment(_ALIGNED["vertical"][int(np.sign(best[1]))])
        drawn.append(annotation)
    return drawn


def three_figures(value: float) -> str:
    """A value with three figures, or whole.

    >>> three_figures(3.2), three_figures(26.04), three_figures(129.1), three_figures(1585.2)
    ('3.20', '26.0', '129', '1,585')
    """
    return f"{value:#.3g}".rstrip(".") if value < 999.5 else f"{value:,.0f}"


def _box(
    point: NDArray[np.float64], place: tuple[int, int], size: NDArray[np.float64], scale: float
) -> Bbox:
    """In pixels, what a text takes."""
    middle = point + np.array(place) * scale + np.sign(place) * size / 2
    return Bbox([middle - size / 2, middle + size / 2])


def _paths(axes: Axes) -> list[Path]:
    """In pixels, every line and whisker."""
    lines = [line for line in axes.lines if line.get_linestyle() not in ("None", "none", "")]
    found = [line.get_transform().transform_path(line.get_path()) for line in lines]
    for collection in axes.collections:
        if isinstance(collection, LineCollection):
            found += [collection.get_transform().transform_path(p) for p in collection.get_paths()]
    return found


def _markers(axes: Axes, scale: float) -> list[Bbox]:
    """In pixels, the square around every marker."""
    found = []
    for line in axes.lines:
        if line.get_marker() not in ("None", "none", "", None):
            half = float(line.get_markersize()) * scale / 2
            points = line.get_transform().transform(line.get_xydata())
            found += [Bbox([point - half, point + half]) for point in points]
    return found
