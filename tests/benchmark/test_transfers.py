import pytest
from clocks import Clock, slow

from iot2 import (
    PrecomputedReceiver,
    PrecomputedSender,
    Receiver,
    Sender,
    SenderKey,
    SimplestReceiver,
    SimplestSender,
    SixReceiver,
    SixSender,
)
from iot2.benchmark import precomputed, transfers
from iot2.benchmark.series import random_transfers
from iot2.benchmark.transfers import Sample, WrongMessageError
from iot2.errors import Iot2Error

KEY = SenderKey.generate(512, insecure=True)

CASES = {
    "compact": lambda: transfers.compact(KEY),
    "compact masked": lambda: transfers.compact(KEY, masked=True),
    "six": lambda: transfers.six(KEY),
    "six masked": lambda: transfers.six(KEY, masked=True),
    "known ristretto255": lambda: transfers.simplest_known("ristretto255"),
    "known secp256k1": lambda: transfers.simplest_known("secp256k1"),
    "fresh ristretto255": lambda: transfers.simplest_fresh("ristretto255"),
    "fresh secp256k1": lambda: transfers.simplest_fresh("secp256k1"),
    "over compact": lambda: precomputed.over_compact(KEY, 16),
    "over six": lambda: precomputed.over_six(KEY, 16),
    "over simplest": lambda: precomputed.over_simplest("ristretto255", 16),
}

COSTS = {"offer": 3, "answer": 500, "precompute": 70, "choose": 11, "retrieve": 13}
PARTIES = (Sender, Receiver, SixSender, SixReceiver, SimplestSender, SimplestReceiver)


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    for cls in PARTIES:
        for name, cost in COSTS.items():
            if hasattr(cls, name):
                slow(monkeypatch, clock, cls, name, cost)
    return clock


@pytest.mark.parametrize("case", ["compact", "compact masked", "known secp256k1"])
def test_with_a_known_key_each_step_bears_its_own_work(clock, case: str) -> None:
    samples = CASES[case]()(*random_transfers(4), clock)
    assert samples == [Sample(0, 500, 70, 11, 13)] * 4


@pytest.mark.parametrize("case", ["six", "six masked", "fresh ristretto255"])
def test_with_offers_the_senders_offline_work_is_its_own(clock, case: str) -> None:
    samples = CASES[case]()(*random_transfers(4), clock)
    assert samples == [Sample(3, 500, 70, 11, 13)] * 4


def test_a_precomputed_transfer_bears_its_share_of_the_base(monkeypatch) -> None:
    clock = Clock()
    for cls, costs in (
        (PrecomputedSender, {"offers": 40, "prepare": 400, "answer": 7}),
        (PrecomputedReceiver, {"prepare": 80, "finish": 20, "choose": 11, "retrieve": 13}),
    ):
        for name, cost in costs.items():
            slow(monkeypatch, clock, cls, name, cost)
    for case, by_sender in (("over compact", 100), ("over simplest", 100), ("over six", 110)):
        samples = CASES[case]()(*random_transfers(4), clock)
        assert samples == [Sample(by_sender, 7, 25, 11, 13)] * 4


@pytest.mark.parametrize("case", CASES)
def test_chunks_of_any_size_follow_each_other(case: str) -> None:
    chunk, ticks = CASES[case](), iter(range(10**6))
    for size in (1, 3, 2):
        samples = chunk(*random_transfers(size), lambda: next(ticks))
        assert len(samples) == size
        # Every reading is one tick after the last, so a step that is timed takes one.
        assert {sample.receiver_choose for sample in samples} == {1}
        assert {sample.receiver_retrieve for sample in samples} == {1}


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_message_stops_the_benchmark(case: str, monkeypatch) -> None:
    for cls in (Receiver, SixReceiver, SimplestReceiver, PrecomputedReceiver):
        monkeypatch.setattr(cls, "retrieve", lambda self, reply: b"another message.")
    with pytest.raises(WrongMessageError) as caught:
        CASES[case]()([1], [(b"left of the two.", b"right of the two")], lambda: 0)
    assert isinstance(caught.value, Iot2Error)
