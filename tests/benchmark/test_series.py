import gc
from contextlib import suppress

import pytest

from iot2.benchmark.schema import STEPS, Table, to_csv
from iot2.benchmark.series import (
    MESSAGE_BYTES,
    Series,
    gather,
    interleaved,
    no_collection,
    random_transfers,
    settled,
)
from iot2.benchmark.transfers import Sample


def fake_series(count: int, log: list[tuple[str, int]], name: str = "index") -> Series:
    def chunk(choices, messages, now):
        log.append((name, len(choices)))
        return [Sample(1, 20, 300, 4000 + b, now()) for b in choices]

    return Series(Table("six", 512), {"selection": name}, chunk, lambda: 7, count)


def test_a_frame_holds_choices_sums_and_labels() -> None:
    series = fake_series(9, [])
    assert series.take(100) == 9
    frame = series.frame()
    to_csv(series.table, frame)
    assert list(frame["iteration"]) == list(range(9))
    assert (frame["receiver_choose_ns"] == 4000 + frame["choice"]).all()
    assert (frame["receiver_online_ns"] == 4007 + frame["choice"]).all()
    assert (frame["receiver_total_ns"] == 4307 + frame["choice"]).all()
    assert set(frame["selection"]) == {"index"}


def test_warm_up_leaves_no_sample() -> None:
    log = []
    series = fake_series(3, log)
    series.warm_up(5)
    assert (log, series.samples, series.choices) == ([("index", 5)], [], [])


def test_cases_take_turns_until_each_has_its_samples() -> None:
    log = []
    one, other = fake_series(9, log, "index"), fake_series(4, log, "masked")
    assert list(interleaved([one, other], 4)) == [4, 2, 4, 2, 1]
    assert log == [("index", 4), ("masked", 2), ("index", 4), ("masked", 2), ("index", 1)]
    frame = gather([one, other])[Table("six", 512)]
    assert list(frame["selection"]) == ["index"] * 9 + ["masked"] * 4
    assert list(frame["iteration"]) == [*range(9), *range(4)]


def test_both_choices_occur_and_messages_are_fresh() -> None:
    choices, messages = random_transfers(200)
    assert set(choices) == {0, 1}
    assert len({message for pair in messages for message in pair}) == 400
    assert {len(message) for pair in messages for message in pair} == {MESSAGE_BYTES}


def test_no_garbage_is_collected_inside_a_timed_region() -> None:
    was_enabled = gc.isenabled()
    seen = []

    def chunk(choices, messages, now):
        seen.append(gc.isenabled())
        return [Sample(0, 0, 0, 0, 0) for _ in choices]

    series = Series(Table("six", 512), {"selection": "index"}, chunk, lambda: 0, 4)
    list(interleaved([series], 2))
    assert seen == [False, False]
    assert gc.isenabled() == was_enabled


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_left_as_it_was(enabled: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with suppress(KeyboardInterrupt), no_collection():
            assert not gc.isenabled()
            raise KeyboardInterrupt
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()


def test_what_was_loaded_is_set_apart_for_the_while() -> None:
    gc.unfreeze()
    try:
        with settled():
            assert gc.get_freeze_count() > 1000
            with settled():
                pass
            assert gc.get_freeze_count() > 1000
        assert gc.get_freeze_count() == 0
    finally:
        gc.freeze()


def test_every_step_is_measured_or_summed() -> None:
    sums = {"receiver_online", "receiver_total"}
    assert set(Sample._fields) | sums == set(STEPS)
    assert not set(Sample._fields) & sums
