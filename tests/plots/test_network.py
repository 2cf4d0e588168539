"""The panel of the network: its parts, its file, and what it needs."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from drawn import check_texts, letters
from matplotlib.figure import Figure

from iot2.benchmark.storage import read_platform
from iot2.errors import DataError
from iot2.net.timings import COLUMNS, NetworkRecord, read_network, write_network
from iot2.plots.costs import only, step_costs
from iot2.plots.network import NAME, network_costs, network_figure, plot_network


def profile(folder: Path, *sizes: int) -> None:
    frames = {bits: transfers(bits) for bits in sizes}
    write_network(folder, NetworkRecord.now(folder.name, sizes, 9, {}), frames)


def transfers(bits: int) -> pd.DataFrame:
    rng = np.random.default_rng(bits)
    rows = [
        (client, variant, k, k % 2, 40_000_000, 20_000,
         int(rng.integers(3_000_000, 4_000_000)), 2_000_000, 26 + bits // 8, 100)
        for variant in ("compact", "six")
        for client in ("sync", "async")
        for k in range(9)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(COLUMNS))


@pytest.fixture
def folder(performances: Path, tmp_path: Path) -> Path:
    shutil.copytree(performances / "linux", tmp_path / "linux")
    return tmp_path / "linux"


def test_parts_add_up_to_the_round_trip(folder: Path) -> None:
    platform = read_platform(folder)
    bits = platform.bits[-1]
    profile(folder, bits)
    frame = pd.read_csv(folder / f"timings_net_{bits}.csv")
    costs = network_costs(platform, {bits: frame})
    assert len(costs) == 4
    parts = costs[["receiver_us", "sender_us", "rest_us"]].sum(axis=1)
    assert np.allclose(parts, costs["round_trip_us"])
    one = costs[(costs["variant"] == "six") & (costs["client"] == "sync")].iloc[0]
    rows = frame[(frame["variant"] == "six") & (frame["client"] == "sync")]
    assert one["round_trip_us"] == pytest.approx(rows["round_trip_ns"].median() / 1000)
    measured = only(
        step_costs(platform), "median", timing="single", variant="six", bits=bits,
        selection="index", step="receiver_online",
    )  # fmt: skip
    assert one["receiver_us"] == measured


def test_figure_shows_the_platforms_with_a_profile(folder: Path, performances: Path) -> None:
    said = network_figure([read_platform(folder)], folder / "none")._figure
    assert "iot2 profile --platform NAME" in said.texts[0].get_text()
    profile(folder, read_platform(folder).bits[-1])
    platforms = [read_platform(performances / "raspberry"), read_platform(folder)]
    saved = network_figure(platforms, folder / "figures")
    assert saved.path.name == f"{NAME}.pdf"
    first = saved.path.read_bytes()
    assert first.startswith(b"%PDF")
    network_figure(platforms, folder / "figures")
    assert saved.path.read_bytes() == first, "the same data give the same bytes"


def test_the_receiver_is_written_once_for_each_variant_and_size(folder: Path) -> None:
    platform = read_platform(folder)
    profile(folder, *platform.bits[-2:])
    costs = network_costs(platform, read_network(folder)[1])
    axes = Figure().add_subplot()
    plot_network(costs, axes)
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [
        name
        for bits in platform.bits[-2:]
        for variant in ("compact", "six-message")
        for name in (f"{variant}, {bits} bits, sync", "async")
    ]
    assert len(axes.texts) == 4
    assert all(text.get_text().startswith("receiver ") for text in axes.texts)


def test_several_panels_have_letters_and_texts_keep_apart(
    folder: Path, performances: Path, tmp_path: Path
) -> None:
    other = shutil.copytree(performances / "raspberry", tmp_path / "raspberry")
    platforms = [read_platform(folder), read_platform(other)]
    for platform in platforms:
        profile(platform.folder, platform.bits[-1])
    figure = network_figure(platforms, tmp_path / "figures")._figure
    assert letters(figure) == "ab"
    check_texts(figure)


def test_a_benchmark_that_lacks_the_size(folder: Path) -> None:
    profile(folder, 8)
    frame = pd.read_csv(folder / "timings_net_8.csv")
    with pytest.raises(DataError, match="one measurement"):
        network_costs(read_platform(folder), {8: frame})
