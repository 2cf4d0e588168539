import numpy as np
import pytest
from matplotlib.figure import Figure

from iot2.plots.labels import label_points, three_figures


@pytest.fixture
def axes():
    axes = Figure(figsize=(3, 3), dpi=300).add_subplot()
    axes.set(xlim=(0, 10), ylim=(0, 10))
    return axes


def box(text):
    return text.get_window_extent()


def test_a_text_stands_beside_its_point_in_its_colour(axes):
    (text,) = label_points([(5.0, 5.0, "12.5", "#123456")], axes)
    assert (text.get_text(), text.get_color()) == ("12.5", "#123456")
    point = axes.transData.transform((5, 5))
    near = box(text)
    gap = max(near.x0 - point[0], point[0] - near.x1, near.y0 - point[1], point[1] - near.y1)
    assert 0 < gap < 30  # pixels: 7 points


def test_a_text_keeps_off_lines_whiskers_and_markers(axes):
    free = box(label_points([(5.0, 5.0, "12.5", "k")], axes)[0])
    axes.texts[0].remove()
    middle = axes.transData.inverted().transform((free.x0 + free.width / 2, free.y0 + 5))
    axes.plot(*middle, "o")  # where it would stand
    axes.plot([5, 10], [5, 6])
    axes.errorbar([5.0], [5.0], yerr=[2.0])
    axes.figure.draw_without_rendering()
    (text,) = label_points([(5.0, 5.0, "12.5", "k")], axes)
    found = box(text)
    assert not found.contains(*axes.transData.transform(middle))
    for x, y in [(x, 5 + (x - 5) / 5) for x in np.linspace(5, 10, 200)]:
        assert not found.contains(*axes.transData.transform((x, y)))
    for y in np.linspace(3, 7, 200):
        assert not found.contains(*axes.transData.transform((5, y)))


def test_texts_of_one_point_do_not_meet(axes):
    texts = label_points([(5.0, 5.0, "one of them", "k")] * 4, axes)
    boxes = [box(text) for text in texts]
    for place, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[:place])


@pytest.mark.parametrize("corner", [(0, 0), (0, 10), (10, 0), (10, 10)])
def test_a_text_stays_in_the_panel(axes, corner):
    (text,) = label_points([(*corner, "12.5", "k")], axes)
    assert all(axes.bbox.contains(*end) for end in box(text).get_points())


@pytest.mark.parametrize(
    ("value", "text"), [(0.8824, "0.882"), (26, "26.0"), (129.1, "129"), (1585.2, "1,585")]
)
def test_values_have_three_figures_or_are_whole(value, text):
    assert three_figures(value) == text
