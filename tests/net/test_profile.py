"""`iot2 profile`: its files, its verdicts, and the panel that is drawn from them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from iot2 import SenderKey
from iot2.cli import main
from iot2.errors import DataError, Iot2Error
from iot2.net import Client, Options, Trace, log_table
from iot2.net.local import LocalServer
from iot2.net.profile import Load, cpu_seconds, describe, measure_load
from iot2.net.timings import (
    COLUMNS,
    COUNTS,
    NetworkRecord,
    from_csv,
    read_network,
    to_csv,
    write_network,
)
from iot2.plots.network import PARTS, plot_network

KEY = SenderKey.generate(512, insecure=True)


def made_up(rows: int = 4) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({name: rng.integers(0, 1 << 40, rows) for name in COUNTS})
    frame.insert(0, "variant", ["compact", "six"] * (rows // 2))
    frame.insert(0, "client", ["sync", "async"] * (rows // 2))
    return frame


def test_files_come_back_as_they_were(tmp_path: Path) -> None:
    frame = made_up()
    record = NetworkRecord.now("here", (512,), 1, {"512": [{"clients": 2}]})
    (tmp_path / "timings_net_64.csv").write_text("of an earlier run")
    (tmp_path / "README.md").write_text("stays")
    write_network(tmp_path, record, {512: frame, 1024: made_up(2)})
    back, frames = read_network(tmp_path)
    assert (back.run_id, back.bits, back.load) == (record.run_id, (512,), record.load)
    pd.testing.assert_frame_equal(frames[512], frame)
    assert set(frames) == {512, 1024}
    assert not (tmp_path / "timings_net_64.csv").exists()
    assert (tmp_path / "README.md").exists()


def test_a_mixture_of_runs_is_refused(tmp_path: Path) -> None:
    write_network(tmp_path, NetworkRecord.now("here", (512,), 1, {}), {512: made_up()})
    path = tmp_path / "timings_net_512.csv"
    path.write_bytes(path.read_bytes() + b"sync,six,1,1,1,1,1,1,1,1\n")
    with pytest.raises(DataError, match=r"timings_net_512.csv.*expected the file of run"):
        read_network(tmp_path)
    (tmp_path / "network.json").write_text("{}")
    with pytest.raises(DataError, match=r"network.json"):
        read_network(tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"sync", b"slow"), (b"compact", b"other"), (b"client", b"kind"), (b"\n", b",1\n"),
     (b",0,", b",-1,"), (b",0,", b",0.5,")],
    ids=range(6),
)  # fmt: skip
def test_rows_that_break_the_schema(old: bytes, new: bytes) -> None:
    frame = made_up()
    frame["choice"] = 0
    data = to_csv(frame)
    assert old in data
    with pytest.raises(DataError, match=r"f\.csv, line [12]:"):
        from_csv(data.replace(old, new, 1), "f.csv")
    with pytest.raises(DataError, match="at least one row"):
        from_csv(data.splitlines()[0] + b"\n", "f.csv")


@pytest.mark.parametrize("batch", [1, 5])
def test_load_of_a_few_clients(batch: int) -> None:
    load = measure_load(KEY, 6, 10, batch, workers=2, alone_s=0.05)
    assert (load.transfers, load.wrong) == (60, 0)
    assert load.server_cpu_us > 0
    assert load.alone_cpu_us > 0
    assert 0 < load.median_ms <= load.p99_ms
    assert load.commits > 0
    assert 0 < load.commit_cpu_us < 10_000


def test_targets_are_judged_at_their_size_alone() -> None:
    good = Load(2, 1, 10, 0, 1.0, 1500.0, 1000.0, 5, 10.0, 1.0, 2.0, 3.0, 1 << 20)
    assert [met for _, met in describe([good], 3072)][:2] == [True, True]
    assert [met for _, met in describe([good], 1024)][:2] == [True, None]


def test_the_median_of_the_rounds_is_judged() -> None:
    def load(ratio: float, wrong: int = 0) -> Load:
        return Load(2, 100, 10, wrong, 1.0, 1000 * ratio, 1000.0, 5, 1.0, 1, 2, 10 * ratio, 1)

    lines = describe([load(1.1), load(0.9), load(1.04)], 3072)
    assert [met for _, met in lines][:2] == [True, True]
    assert "30 of 30 transfers right" in lines[0][0]
    assert "ratio 1.04 [0.90, 1.10] (target 1.05)" in lines[1][0]
    assert "stall in batches of 100: 11 ms" in lines[4][0]
    lines = describe([load(1.1, 1), load(0.9), load(1.06)], 3072)
    assert [met for _, met in lines][:2] == [False, False]
    assert "29 of 30 transfers right" in lines[0][0]


def test_profile_command(tmp_path: Path, capsys: Any) -> None:
    call = ["profile", "-l", "1024", "--count", "4", "--platform", "x", "--output", str(tmp_path)]
    assert main(call) == 0
    assert "sync compact: handshake" in capsys.readouterr().out
    record, frames = read_network(tmp_path / "x")
    assert record.bits == (1024,)
    assert json.loads((tmp_path / "x" / "network.json").read_text())["machine"]["cores_logical"]
    frame = frames[1024]
    assert list(frame.columns) == list(COLUMNS)
    assert len(frame) == 16
    assert (frame["round_trip_ns"] > frame["sender_compute_ns"]).all()
    assert (frame["sender_compute_ns"] > 0).all()
    assert (frame["handshake_ns"] > frame["receiver_offline_ns"]).all()
    assert set(frame["choice"]) == {0, 1}
    compact = frame[frame["variant"] == "compact"]
    # The query is 26 + 128 bytes, the reply 32 + 2 * 8; the rest are the events around them.
    assert compact["up_bytes"].between(154, 220).all()
    assert compact["down_bytes"].between(48, 120).all()


def test_wrong_calls_of_profile(tmp_path: Path, capsys: Any) -> None:
    for call, text in (
        (["-l", "1000"], "1000"),
        (["--count", "0"], "--count must be at least 1, got 0"),
        (["--clients", "-1"], "--clients must be at least 0, got -1"),
        (["--workers", "0"], "expected 1 to 256 workers, got 0"),
        (["--workers", "2"], "--workers concerns the load of --clients"),
        (["--workers", "-3", "--clients", "1"], "expected 1 to 256 workers, got -3"),
    ):
        assert main(["profile", "--output", str(tmp_path), *call]) == 2, call
        assert text in capsys.readouterr().err, call
    assert list(tmp_path.iterdir()) == []


def test_cpu_time_of_another_process(demo: LocalServer) -> None:
    before = cpu_seconds(demo.process.pid)
    assert before > 0.05
    with Client(demo.url, Options(count=300, demo=(1, 2), insecure=True)) as client:
        for _ in range(300):
            client.transfer(1)
    assert cpu_seconds(demo.process.pid) > before
    with pytest.raises(DataError):
        cpu_seconds(1 << 30)


def test_panel_shows_the_parts_of_a_round_trip() -> None:
    costs = pd.DataFrame(
        {
            "bits": [1024, 3072], "variant": ["compact", "six"], "client": ["sync", "async"],
            "receiver_us": [4.0, 14.0], "sender_us": [200.0, 2000.0], "rest_us": [600.0, 900.0],
        }
    )  # fmt: skip
    axes = Figure().add_subplot()
    bars = plot_network(costs, axes)
    widths = [[bar.get_width() for bar in part] for part in bars]
    assert np.array(widths) == pytest.approx(np.array([[0.004, 0.014], [0.2, 2.0], [0.6, 0.9]]))
    assert len(bars) == len(PARTS)
    assert [t.get_text() for t in axes.get_yticklabels()] == [
        "compact, 1024 bits, sync", "six-message, 3072 bits, async",
    ]  # fmt: skip
    # The parts stand one after the other.
    assert [bar.get_x() for bar in bars[2]] == pytest.approx([0.204, 2.014])


@pytest.mark.parametrize("variant", ["compact", "six"])
def test_trace_names_every_frame(demo: LocalServer, variant: str) -> None:
    trace = Trace()
    options = Options(variant=variant, count=1, demo=(1, 2), insecure=True)
    with Client(demo.url, options, observer=trace) as client:
        client.transfer(1)
    told = [frame.what for frame in trace.frames]
    expected = {
        "compact": ("query (kind 2)", "reply (kind 3)"),
        "six": ("sid and index", "offer (kind 4)", "six-query (kind 5)", "six-reply (kind 6)"),
    }[variant]
    for name in ("public key (kind 1)", "session (kind 7)", *expected):
        assert any(name in what for what in told), (name, told)
    assert trace.total("up") + trace.total("down") == sum(f.size for f in trace.frames)
    assert str(trace).splitlines()[0].split() == ["frame", "way", "bytes", "what", "begins", "with"]
    assert trace._repr_html_().count("<tr>") == len(trace.frames) + 1
    table = log_table(demo.log())
    assert any(row[0] == "query" and row[3] == "OK" for row in table.rows)


def test_log_cells_are_escaped() -> None:
    assert "&lt;b&gt;" in log_table([{"event": "<b>"}])._repr_html_()


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    from iot2.net import local_server

    with pytest.raises(Iot2Error, match="No such file"), local_server("--key", str(tmp_path / "k")):
        pass
