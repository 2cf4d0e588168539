import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from iot2.benchmark.storage import read_platform
from iot2.plots.break_even import KeyCost, break_even, key_cost, label_break_even, plot_break_even

# Whole numbers: a tie is a tie, and not a question of rounding.
COST = st.integers(1, 10**6)


@given(once=COST, ours=COST, theirs=COST)
def test_it_is_the_first_transfer_that_pays(once, ours, theirs):
    n = break_even(once, ours, theirs)
    if n is None:
        assert ours >= theirs
    else:
        assert n >= 1
        assert once + n * ours < n * theirs
        assert n == 1 or once + (n - 1) * ours >= (n - 1) * theirs


def test_the_proof_comes_on_top_of_parsing(performances):
    key = key_cost(read_platform(performances / "linux"), 3072)
    assert key.pinned == pytest.approx(30.002)
    assert key.with_proof == pytest.approx(3030.004)


def test_the_crossings_are_marked_and_named():
    axes = Figure().add_subplot()
    case = (KeyCost(3000.0, 300.0), 20.0, 80.0, axes)
    plot_break_even(*case)
    assert [text.get_text() for text in label_break_even(*case)] == ["from 51", "from 6"]
    marks = [line.get_xdata()[0] for line in axes.lines if len(line.get_xdata()) == 1]
    assert marks == [51, 6]


def test_without_a_crossing_there_is_no_mark():
    axes = Figure().add_subplot()
    case = (KeyCost(3000.0, 300.0), 90.0, 80.0, axes)
    plot_break_even(*case)
    assert not label_break_even(*case)
    assert len(axes.lines) == 3
