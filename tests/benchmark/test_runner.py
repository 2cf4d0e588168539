import json

import numpy as np
import pytest

from iot2.benchmark import runner
from iot2.benchmark.clock import TimerCost
from iot2.benchmark.cycles import CycleCounter
from iot2.benchmark.plan import Effort
from iot2.benchmark.runner import Settings, run_benchmark, short_steps
from iot2.benchmark.schema import SELECTIONS, STEPS, Table
from iot2.benchmark.series import MESSAGE_BYTES
from iot2.benchmark.storage import read_platform
from iot2.errors import DataError, ParameterError

from .conftest import made_up

TINY = Effort(
    iterations=8, warm_up=1, chunk=3, generations=1, checks=2, blocks=2, block_transfers=2,
    batches=2, batch_sizes=(2, 5),
)  # fmt: skip


def no_counter() -> CycleCounter:
    return CycleCounter("none", "none", "none", None, lambda: None, "refused for the test")


def counting() -> CycleCounter:
    ticks = iter(range(0, 10**9, 3))
    return CycleCounter("tsc", "reference", "test", lambda: next(ticks), lambda: None, "")


@pytest.fixture(scope="module")
def platform(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setattr(runner, "open_counter", counting)
    root = tmp_path_factory.mktemp("performances")
    try:
        run_benchmark(root, Settings("toy", (520, 512)), effort=TINY)
    finally:
        patch.undo()
    return read_platform(root / "toy")


def test_a_run_writes_every_table(platform) -> None:
    expected = {Table(kind, bits) for bits in (512, 520)
                for kind in ("six", "compact", "batch", "blocks", "keys")}  # fmt: skip
    expected |= {Table(kind, bits, "cycles") for bits in (512, 520) for kind in ("six", "compact")}
    expected |= {Table("simplest"), Table("simplest", unit="cycles")}
    expected |= {Table("precomputed"), Table("bytes")}
    assert set(platform.tables) == expected
    assert platform.bits == (512, 520)


@pytest.mark.parametrize("unit", ["ns", "cycles"])
@pytest.mark.parametrize("kind", ["six", "compact"])
def test_each_selection_has_its_transfers(platform, kind: str, unit: str) -> None:
    frame = platform.table(kind, 512, unit)
    part = 2 if unit == "cycles" else 1
    assert frame.groupby("selection").size().to_dict() == {"index": 8 // part, "masked": 2 // part}
    offline = frame[f"sender_offline_{unit}"]
    assert (offline > 0).all() if kind == "six" else (offline == 0).all()


def test_cycles_are_read_from_the_counter(platform) -> None:
    # The counter of this run moves on by 3 at each reading and so cannot be a clock's.
    frame = platform.table("compact", 512, "cycles")
    assert set(frame["receiver_choose_cycles"]) == {3}
    assert set(frame["receiver_online_cycles"]) == {6}


def test_the_baseline_is_measured_in_both_groups_and_splits(platform) -> None:
    frame = platform.table("simplest")
    assert frame.groupby(["group", "binding", "split"]).size().to_dict() == {
        (group, binding, split): 4
        for group, binding in (("ristretto255", "rbcl"), ("secp256k1", "coincurve"))
        for split in ("fresh", "known_key")
    }


def test_precomputed_runs_over_every_base(platform) -> None:
    frame = platform.table("precomputed")
    assert frame.groupby(["base", "bits"]).size().to_dict() == {
        ("compact", 520): 2, ("six", 520): 2, ("simplest", 0): 2,
    }  # fmt: skip


def test_blocks_and_batches_cover_every_case(platform) -> None:
    blocks = platform.table("blocks", 512)
    cases = set(blocks[["variant", "selection", "step"]].itertuples(index=False, name=None))
    receiver = [step for step in STEPS if step.startswith("receiver")]
    assert cases == {
        *(("compact", s, step) for s in SELECTIONS for step in receiver),
        *(("six", s, step) for s in SELECTIONS for step in [*receiver, "sender_offline"]),
        ("yardstick", "index", "product"),
    }
    assert set(blocks.groupby(["variant", "selection", "step"]).size()) == {2}
    batches = platform.table("batch", 512)
    assert set(batches["batch_size"]) == {2, 5}
    compact = batches[batches["variant"] == "compact"]
    assert set(compact["step"]) == {*receiver, "sender_online"}
    assert set(compact["selection"]) == set(SELECTIONS)
    assert set(batches[batches["variant"] == "six"]["step"]) == {"receiver_offline"}


def test_the_record_says_what_was_measured(platform) -> None:
    record = platform.record
    assert (record.platform, record.complete) == ("toy", True)
    assert (record.iterations, record.warm_up) == (8, 1)
    assert record.message_bytes == MESSAGE_BYTES
    assert record.clocks.cycle_source == "tsc"
    assert record.clocks.cycle_kind == "reference"
    assert record.clocks.timer_cost_ns > 0
    assert "mod_exp" in record.exponentiation or "powm_sec" in record.exponentiation
    assert record.stable == (not record.warnings)
    assert len(record.sha256) == len(platform.tables)
    assert any("too few to judge" in warning for warning in record.warnings)


def test_two_runs_have_two_names(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(runner, "open_counter", no_counter)
    names = {
        run_benchmark(tmp_path, Settings("toy", (512,), force=True), effort=TINY).run_id
        for _ in range(2)
    }
    assert len(names) == 2


def test_without_a_counter_there_is_no_file_of_cycles(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(runner, "open_counter", no_counter)
    record = run_benchmark(tmp_path, Settings("toy", (512,), quick=True), effort=TINY)
    assert not [name for name in record.sha256 if name.startswith("cycles")]
    assert record.clocks.cycle_note == "refused for the test"
    assert (record.clocks.cycle_cost, record.clocks.cycle_frequency_hz) == (None, None)
    assert not record.complete


def test_what_may_not_be_replaced_is_known_before_anything_is_measured(
    platform, monkeypatch
) -> None:
    monkeypatch.setattr(runner, "timer_cost", lambda: pytest.fail("measured something"))
    root = platform.folder.parent
    with pytest.raises(DataError, match="--force"):
        run_benchmark(root, Settings("toy", (512,)))
    with pytest.raises(DataError, match="quick run never"):
        run_benchmark(root, Settings("toy", (512,), quick=True, force=True))


def test_an_interrupted_run_changes_nothing(platform, monkeypatch) -> None:
    def interrupted(*arguments):
        raise KeyboardInterrupt

    before = (platform.folder / "platform.json").read_bytes()
    monkeypatch.setattr(runner, "wire_table", interrupted)
    monkeypatch.setattr(runner, "open_counter", no_counter)
    with pytest.raises(KeyboardInterrupt):
        run_benchmark(platform.folder.parent, Settings("toy", (512,), force=True), effort=TINY)
    assert (platform.folder / "platform.json").read_bytes() == before
    assert read_platform(platform.folder).record == platform.record


def test_the_counter_is_given_back_even_after_an_error(tmp_path, monkeypatch) -> None:
    closed = []
    counter = CycleCounter("none", "none", "none", None, lambda: closed.append(1), "")
    monkeypatch.setattr(runner, "open_counter", lambda: counter)
    monkeypatch.setattr(runner, "all_series", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run_benchmark(tmp_path, Settings("toy", (512,)), effort=TINY)
    assert closed == [1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"platform": ""}, {"platform": ".."}, {"platform": "a/b"}, {"platform": "-x"},
        {"platform": ".hidden"}, {"bits": ()}, {"bits": (1023,)}, {"bits": (128,)},
        {"bits": (3072, 10**6)}, {"iterations": 0}, {"iterations": 10**8},
    ],
)  # fmt: skip
def test_settings_are_checked(wrong) -> None:
    with pytest.raises(ParameterError):
        Settings(**wrong)


def test_an_effort_may_have_its_own_number_of_iterations() -> None:
    assert Settings(iterations=7).effort.iterations == 7
    assert Settings(quick=True).effort.batch_sizes == Effort.quick().batch_sizes
    assert Settings().effort == Effort.complete()
    assert max(Effort.complete().batch_sizes) == 10_000
    assert Effort.complete(2).count(Table("six", 512), "masked") == 1


def test_short_steps_are_named_by_their_median() -> None:
    table = Table("compact", 512)
    frame = made_up(table, rows=9)
    for step in STEPS:
        frame[f"{step}_ns"] = np.full(9, 10_000)
    frame["selection"] = "index"
    frame["sender_offline_ns"] = 0
    frame["receiver_choose_ns"] = [10, 10, 10, 10, 999, 5000, 5000, 5000, 5000]
    frame["receiver_retrieve_ns"] = [10, 10, 10, 10, 1000, 5000, 5000, 5000, 5000]
    found = short_steps({table: frame}, TimerCost(cost=50.0, resolution=1.0))
    assert found == ["timings_512_compact.csv: index receiver_choose"]


def test_nothing_of_the_machine_names_its_owner(platform) -> None:
    import getpass
    import os
    import socket

    record = json.loads((platform.folder / "platform.json").read_text())
    words = {word for value in _texts(record) for word in value.replace("/", " ").split()}
    assert socket.gethostname() not in words
    assert getpass.getuser() not in words
    assert os.path.expanduser("~") not in json.dumps(record)


def _texts(value):
    if isinstance(value, dict):
        for entry in value.values():
            yield from _texts(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _texts(entry)
    elif isinstance(value, str):
        yield value
