import numpy as np
import pytest
from drawn import check_texts, letters
from matplotlib.figure import Figure

from iot2.benchmark.published import PUBLISHED
from iot2.benchmark.storage import read_platform
from iot2.errors import DataError
from iot2.plots.costs import select
from iot2.plots.labels import three_figures
from iot2.plots.performance import (
    label_medians,
    name_missing,
    performance_figure,
    plot_published,
    plot_step,
    receiver_costs,
)


@pytest.fixture
def axes():
    return Figure(figsize=(3, 3)).add_subplot()


def test_every_platform_variant_and_timing_is_drawn(platforms, axes):
    costs = receiver_costs(platforms)
    assert len(plot_step(select(costs, step="receiver_online", timing="batch"), axes)) == 2
    drawn = plot_step(select(costs, step="receiver_online", timing="single"), axes)
    assert len(drawn) == 2 * 2  # platforms and variants
    assert axes.get_yscale() == "log"
    online = {"variant": "six", "timing": "single", "step": "receiver_online"}
    rows = select(costs, **online, platform="linux").sort_values("bits")
    line, _, (bars,) = drawn[0]
    assert list(line.get_ydata()) == rows["median"].to_list()
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    assert ends == pytest.approx(rows[["p5", "p95"]].to_numpy())


def test_published_points_are_hollow_and_joined_to_nothing(axes):
    drawn = plot_published(PUBLISHED, axes)
    assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in drawn] == [
        (3072, 2.80),
        (3072, 39.90),
    ]
    for line in drawn:
        assert line.get_markerfacecolor() == "white"
        assert line.get_linestyle() == "None"


def test_published_points_are_no_data(platforms):
    costs = receiver_costs(platforms)
    assert set(costs["platform"]) == {"linux", "raspberry"}


def test_labels_are_medians_and_do_not_meet(platforms, axes):
    costs = select(receiver_costs(platforms), step="receiver_online", timing="single")
    plot_step(costs, axes)
    plot_published(PUBLISHED, axes)
    labels = label_medians(costs, axes)
    boxes = [label.get_window_extent() for label in labels]
    for place, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:place])
    rows = select(costs, bits=3072)
    assert [label.get_text() for label in labels] == [
        three_figures(value) for value in rows["median"]
    ]


@pytest.mark.parametrize(("scale", "place"), [(1.0, 0.03), (1e-3, 0.97)])
def test_a_variant_that_is_missing_is_named_where_there_is_room(platforms, axes, scale, place):
    costs = select(receiver_costs(platforms[:1]), step="receiver_online", timing="batch")
    measured = ["p5", "median", "p95"]
    costs = costs.assign(**{name: scale * costs[name] for name in measured})
    plot_step(costs, axes)
    axes.set_ylim(1e-5, 1.0)
    (note,) = name_missing(costs, axes)
    assert note.get_text() == "six-message: singly only"
    assert note.xy[1] == place
    both = costs.iloc[:2].assign(variant=["six", "compact"])
    assert name_missing(both, axes) == []


def test_neighbours_stand_apart(platforms, axes):
    costs = select(receiver_costs(platforms), step="receiver_online", timing="single")
    places = np.array([bars[0].get_xdata() for bars in plot_step(costs, axes)])
    assert (np.diff(places, axis=0) > 100).all()
    assert (np.abs(places - places.mean(axis=0)) < 300).all()


def test_every_panel_has_a_letter_and_texts_keep_apart(platforms, tmp_path):
    figure = performance_figure(platforms, tmp_path)._figure
    assert letters(figure) == "abcd"
    assert [axes.get_title(loc="left")[4:] for axes in figure.get_axes()] == [
        "online, one at a time",
        "offline, one at a time",
        "online, 10,000 at once",
        "offline, 10,000 at once",
    ]
    assert len({axes.get_ylim() for axes in figure.get_axes()}) == 1
    check_texts(figure)


def test_the_legend_names_platforms_and_publications(platforms, tmp_path, monkeypatch):
    legends = []
    monkeypatch.setattr(Figure, "legend", lambda self, handles, **kw: legends.append(handles))
    performance_figure(platforms, tmp_path)
    labels = [handle.get_label() for handle in legends[0]]
    assert {"linux", "raspberry", "six-message", "compact"} < set(labels)
    assert [label for label in labels if "published" in label] == [
        "published: 2.80 µs, Core i9-13900H",
        "published: 39.90 µs, Raspberry Pi Zero 2W",
    ]


def test_a_platform_without_batches_is_drawn_too(performances, tmp_path):
    platform = read_platform(performances / "linux")
    without = {table: frame for table, frame in platform.tables.items() if table.kind != "batch"}
    bare = type(platform)(platform.folder, platform.record, without)
    assert letters(performance_figure([bare], tmp_path)._figure) == "ab"


def test_without_a_transfer_there_is_no_figure(performances, tmp_path):
    platform = read_platform(performances / "linux")
    others = {t: frame for t, frame in platform.tables.items() if t.kind in ("simplest", "bytes")}
    with pytest.raises(DataError, match="expected a transfer of either variant"):
        performance_figure([type(platform)(platform.folder, platform.record, others)], tmp_path)
