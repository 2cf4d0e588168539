"""A scheme looks the same in every figure, and no part of a bar looks like one."""

from matplotlib.figure import Figure

from iot2.plots import comparison, network, performance, stopwatch
from iot2.plots.break_even import KeyCost, plot_break_even
from iot2.plots.costs import select
from iot2.plots.schemes import COMPACT, CONTROL, SIMPLEST, SIX, VARIANTS

SCHEMES = (SIX, COMPACT, SIMPLEST, CONTROL)


def test_schemes_differ_in_all_that_tells_them_apart():
    for looks in zip(*((s.name, s.series.color, s.series.marker) for s in SCHEMES), strict=True):
        assert len(set(looks)) == len(SCHEMES)


def test_a_variant_has_its_colour_and_name_in_every_figure(platforms):
    axes = Figure().add_subplot()
    costs = select(performance.receiver_costs(platforms[:1]), step="receiver_online")
    drawn = performance.plot_step(select(costs, timing="single"), axes)
    assert [bars[0].get_color() for bars in drawn] == [SIX.series.color, COMPACT.series.color]
    lines = plot_break_even(KeyCost(3000.0, 300.0), 20.0, 80.0, axes)
    expected = [SIMPLEST.series.color, COMPACT.series.color, COMPACT.series.color]
    assert [line.get_color() for line in lines] == expected
    for (_, case), (name, scheme) in stopwatch.LOOKS.items():
        assert scheme is VARIANTS.get(case.split("_")[0], CONTROL)
        assert name.startswith(scheme.name)


def test_parts_of_bars_are_no_schemes():
    parts = [*comparison.SENDER, *comparison.DIRECTIONS, *network.PARTS]
    parts += [part for split in comparison.SPLITS for part in split.receiver]
    shown = {scheme.series.color for scheme in (SIX, COMPACT, SIMPLEST)}
    assert not shown & {series.color for *_, series in parts}
