"""What a reader of a figure meets: letters of panels, texts, and whether they meet each other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from iot2.plots.style import SMALL_SIZE, figure_style


def letters(figure: Figure) -> str:
    """The letters that the panels' titles begin with, in the order of the panels."""
    found = [re.match(r"\(([a-z])\)", axes.get_title(loc="left")) for axes in figure.get_axes()]
    return "".join(match[1] if match else "?" for match in found)


def check_texts(figure: Figure) -> None:
    """Fail where a text is too small, leaves the page or covers another."""
    with figure_style():
        figure.draw_without_rendering()
        extents = [(text, text.get_window_extent()) for text in _texts(figure)]
    assert len(extents) > 10
    page = figure.bbox.padded(0.5)
    for text, box in extents:
        assert text.get_fontsize() >= SMALL_SIZE, text
        assert page.contains(*box.min), text
        assert page.contains(*box.max), text
    for (one, here), (other, there) in combinations(extents, 2):
        assert not Bbox.overlaps(here.padded(-1), there.padded(-1)), (one, other)


def _texts(figure: Figure) -> Iterator[Text]:
    beyond = set(_beyond(figure))
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip() and text not in beyond:
            yield text


def _beyond(figure: Figure) -> Iterator[Text]:
    """The labels of ticks that are not drawn: they lie outside of what an axis shows."""
    for axes in figure.get_axes():
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not low <= tick.get_loc() <= high:
                    yield from (tick.label1, tick.label2)
