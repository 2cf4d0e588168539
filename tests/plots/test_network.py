"""The panel of the network: its parts, its file, and what it needs."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from iot2.benchmark.storage import read_platform
from iot2.errors import DataError
from iot2.net.timings import COLUMNS, NetworkRecord, write_network
from iot2.plots.costs import only, step_costs
from iot2.plots.network import NAME, network_costs, network_figure


def profile(folder: Path, bits: int) -> None:
    rng = np.random.default_rng(bits)
    rows = [
        (client, variant, k, k % 2, 40_000_000, 20_000,
         int(rng.integers(3_000_000, 4_000_000)), 2_000_000, 26 + bits // 8, 100)
        for variant in ("compact", "six")
        for client in ("sync", "async")
        for k in range(9)
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    write_network(folder, NetworkRecord.now(folder.name, (bits,), 9, {}), {bits: frame})


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


def test_a_benchmark_that_lacks_the_size(folder: Path) -> None:
    profile(folder, 8)
    frame = pd.read_csv(folder / "timings_net_8.csv")
    with pytest.raises(DataError, match="one measurement"):
        network_costs(read_platform(folder), {8: frame})
