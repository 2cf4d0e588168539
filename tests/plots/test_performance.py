import numpy as np
import pytest
from matplotlib.figure import Figure

from iot2.benchmark.published import PUBLISHED
from iot2.benchmark.storage import read_platform
from iot2.errors import DataError
from iot2.plots.costs import only, select
from iot2.plots.performance import (
    label_medians,
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
    drawn = plot_step(select(costs, step="receiver_online"), axes)
    assert len(drawn) == 2 * 3  # two variants singly, compact in batches
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
    costs = select(receiver_costs(platforms), step="receiver_online")
    plot_step(costs, axes)
    labels = label_medians(costs, axes, [point.receiver_online_us for point in PUBLISHED])
    axes.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in labels]
    assert len(boxes) >= 4
    for place, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:place])
    linux = only(costs, "median", platform="linux", variant="six", bits=3072, timing="single")
    assert f"{linux:.3g}" in [label.get_text() for label in labels]


def test_the_legend_names_platforms_and_publications(platforms, tmp_path, monkeypatch):
    legends = []
    monkeypatch.setattr(Figure, "legend", lambda self, handles, **kw: legends.append(handles))
    performance_figure(platforms, tmp_path)
    labels = [handle.get_label() for handle in legends[0]]
    assert {"linux", "raspberry", "in batches of 10,000"} < set(labels)
    assert [label for label in labels if "published" in label] == [
        "published: 2.80 µs, Core i9-13900H",
        "published: 39.90 µs, Raspberry Pi Zero 2W",
    ]


def test_a_platform_without_batches_is_drawn_too(performances, tmp_path):
    platform = read_platform(performances / "linux")
    without = {table: frame for table, frame in platform.tables.items() if table.kind != "batch"}
    bare = type(platform)(platform.folder, platform.record, without)
    assert performance_figure([bare], tmp_path).size > 10_000


def test_without_a_transfer_there_is_no_figure(performances, tmp_path):
    platform = read_platform(performances / "linux")
    others = {t: frame for t, frame in platform.tables.items() if t.kind in ("simplest", "bytes")}
    with pytest.raises(DataError, match="expected a transfer of either variant"):
        performance_figure([type(platform)(platform.folder, platform.record, others)], tmp_path)
