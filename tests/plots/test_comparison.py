import pytest
from drawn import check_texts, letters
from matplotlib.figure import Figure

from iot2.benchmark.storage import read_platform
from iot2.errors import DataError
from iot2.plots.comparison import (
    DIRECTIONS,
    SENDER,
    SPLITS,
    compared_bytes,
    compared_costs,
    comparison_figure,
    plot_parts,
    write_ratios,
    write_values,
)
from iot2.plots.costs import select


@pytest.fixture(scope="module")
def platform(performances):
    return read_platform(performances / "linux")


@pytest.fixture(scope="module")
def costs(platform):
    return compared_costs(platform, 3072)


@pytest.fixture
def axes():
    return Figure().add_subplot()


def test_each_split_has_ours_and_then_the_groups_faster_first(costs):
    rows = costs[["split", "variant", "group", "bits"]].to_numpy().tolist()
    assert rows == [
        ["fresh", "six", "", 3072],
        ["fresh", "simplest", "secp256k1", 0],
        ["fresh", "simplest", "ristretto255", 0],
        ["known_key", "compact", "", 3072],
        ["known_key", "simplest", "secp256k1", 0],
        ["known_key", "simplest", "ristretto255", 0],
    ]


def test_fresh_compares_online_and_known_key_total_work():
    assert [(split.name, split.variant, split.compared) for split in SPLITS] == [
        ("fresh", "six", "receiver_online"),
        ("known_key", "compact", "receiver_total"),
    ]


@pytest.mark.parametrize("split", SPLITS, ids=lambda split: split.name)
def test_bars_stack_the_parts_and_tell_value_and_ratio(costs, axes, split):
    rows = select(costs, split=split.name)
    bars = plot_parts(rows, split.receiver, axes)
    for (column, *_), container in zip(split.receiver, bars, strict=True):
        widths = [bar.get_width() for bar in container]
        assert widths == pytest.approx(rows[column].to_list())
    texts = write_ratios(rows, split.receiver, axes, split.compared, split.besides)
    ours, fastest = (rows[split.compared].iloc[place] for place in (0, 1))
    assert texts[0].get_text().splitlines()[0] == f"{ours:#.3g}"
    assert texts[1].get_text().startswith(f"{fastest:#.3g}  ({fastest / ours:.2g}×)\n")
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [
        "ours",
        "SimplestOT\nsecp256k1",
        "SimplestOT\nristretto255",
    ]


def test_the_senders_ratio_says_which_part_of_ours(costs, axes):
    rows = select(costs, split="known_key")
    texts = write_ratios(rows, SENDER, axes, "sender_online")
    assert texts[0].get_text() == f"{rows['sender_online'].iloc[0]:,.0f}"
    assert texts[1].get_text().endswith("(1/61)")


def test_bytes_are_given_in_each_direction(platform, costs, axes):
    sizes = compared_bytes(platform, 3072, costs)
    assert sizes["label"].to_list() == costs["label"].to_list()
    rows = select(sizes, split="fresh")
    texts = write_values(rows, DIRECTIONS, axes)
    assert texts[0].get_text() == "up: 410\ndown: 632"
    assert texts[1].get_text() == "up: 59\ndown: 123"


def test_every_platform_has_a_block(performances, platform, tmp_path, monkeypatch):
    titles = []
    monkeypatch.setattr(
        "matplotlib.figure.SubFigure.suptitle", lambda self, text, **_: titles.append(text)
    )
    comparison_figure([platform, read_platform(performances / "raspberry")], tmp_path)
    assert titles == [
        f"{platform}, 3072-bit modulus\nSimplestOT: secp256k1 (coincurve), ristretto255 (rbcl)"
        for platform in ("linux (Toy 9000)", "raspberry (Toy Pi Zero)")
    ]


def test_every_panel_has_a_letter_and_texts_keep_apart(performances, platform, tmp_path):
    figure = comparison_figure([platform], tmp_path)._figure
    assert sorted(letters(figure)) == list("abcdefg")
    check_texts(figure)
    two = comparison_figure([platform, read_platform(performances / "raspberry")], tmp_path)._figure
    assert sorted(letters(two)) == list("aabbccddeefg")  # a block each, and bytes once
    check_texts(two)


def test_a_size_that_was_not_measured_is_refused(platform, tmp_path):
    with pytest.raises(DataError, match="linux: expected measurements of transfers at 512 bits"):
        comparison_figure([platform], tmp_path, bits=512)


def test_without_the_baseline_there_is_nothing_to_compare(platform):
    without = {t: frame for t, frame in platform.tables.items() if t.kind != "simplest"}
    with pytest.raises(DataError, match="expected measurements of SimplestOT"):
        compared_costs(type(platform)(platform.folder, platform.record, without), 3072)


def test_a_layout_with_much_to_solve_is_the_same_every_time(platform, tmp_path):
    drawn = [
        comparison_figure([platform], tmp_path / str(turn)).path.read_bytes() for turn in range(4)
    ]
    assert len(set(drawn)) == 1
