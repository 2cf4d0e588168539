import itertools

import numpy as np
import pytest

from iot2 import QueryBatch, Receiver, ReplyBatch, Sender, SenderKey
from iot2.benchmark import batches, blocks
from iot2.benchmark.blocks import PRODUCTS, Step, Yardstick, summed
from iot2.benchmark.transfers import WrongMessageError

KEY = SenderKey.generate(512, insecure=True)
RECEIVER = {"receiver_offline", "receiver_choose", "receiver_retrieve"}
SUMS = {"receiver_online", "receiver_total"}


class Ticking:
    """A clock that moves on by the next of these steps at each reading."""

    def __init__(self, *steps: int) -> None:
        self.readings = itertools.accumulate(itertools.chain(steps, itertools.repeat(0)))

    def __call__(self) -> int:
        return next(self.readings)


def test_a_step_is_divided_by_its_transfers_and_stands_between_two_products(monkeypatch) -> None:
    # Readings: product block from 0 to 100, the step from 100 to 1100, product block 300 long.
    monkeypatch.setattr(blocks.time, "perf_counter_ns", Ticking(0, 100, 0, 1000, 0, 300))
    step, result = Yardstick(KEY).step("a", 4, lambda: "done")
    assert result == "done"
    assert step == Step("a", 250, (100 + 300) / 2 / PRODUCTS)
    assert step.products == 250 / 4


def test_the_yardstick_multiplies_numbers_of_the_key() -> None:
    yardstick = Yardstick(KEY)
    assert yardstick._modulus == KEY.public.modulus
    assert yardstick._z == KEY.public.z[0]
    assert yardstick._u.bit_length() > 256


def test_sums_add_nanoseconds_and_products() -> None:
    block = summed(
        [
            Step("receiver_offline", 600, 100),
            Step("receiver_choose", 100, 50),
            Step("receiver_retrieve", 90, 30),
        ]
    )
    assert block["receiver_online"].ns == 190
    assert block["receiver_online"].products == pytest.approx(2 + 3)
    assert block["receiver_total"].ns == 790
    assert block["receiver_total"].products == pytest.approx(6 + 5)


@pytest.mark.parametrize(
    ("next_block", "extra"),
    [
        (blocks.compact_blocks(KEY, 3), set()),
        (blocks.compact_blocks(KEY, 3, masked=True), set()),
        (blocks.six_blocks(KEY, 3), {"sender_offline"}),
        (blocks.six_blocks(KEY, 3, masked=True), {"sender_offline"}),
        (blocks.simplest_known_blocks("secp256k1", 3, Yardstick(KEY)), set()),
        (blocks.simplest_known_blocks("ristretto255", 3, Yardstick(KEY)), set()),
        (blocks.simplest_fresh_blocks("secp256k1", 3, Yardstick(KEY)), {"sender_offline"}),
        (blocks.simplest_fresh_blocks("ristretto255", 3, Yardstick(KEY)), {"sender_offline"}),
        (batches.batch_blocks(KEY, 30, genuine=4), {"sender_online"}),
        (batches.batch_blocks(KEY, 30, genuine=4, masked=True), {"sender_online"}),
        (batches.batch_blocks(KEY, 3, genuine=4), {"sender_online"}),
        (
            batches.simplest_batch_blocks("ristretto255", 30, Yardstick(KEY), genuine=4),
            {"sender_online"},
        ),
    ],
)
def test_blocks_follow_each_other_with_every_step(next_block, extra) -> None:
    for _ in range(3):
        block = next_block()
        assert set(block) == RECEIVER | SUMS | extra
        assert all(step.name == name and step.ns > 0 for name, step in block.items())


def test_the_six_message_batch_has_its_offline_step_alone() -> None:
    assert set(batches.six_batch_blocks(KEY, 5)()) == {"receiver_offline"}


def test_a_wrong_message_stops_a_block(monkeypatch) -> None:
    monkeypatch.setattr(Receiver, "retrieve", lambda self, reply: b"another")
    with pytest.raises(WrongMessageError):
        blocks.compact_blocks(KEY, 2)()


def test_a_wrong_message_stops_a_batch(monkeypatch) -> None:
    real = Receiver.retrieve_many
    monkeypatch.setattr(Receiver, "retrieve_many", lambda self, replies: real(self, replies) ^ 1)
    with pytest.raises(WrongMessageError):
        batches.batch_blocks(KEY, 30, genuine=4)()


def test_unanswered_queries_get_well_formed_replies_to_their_indexes() -> None:
    sender = Sender(KEY)
    receiver = Receiver(KEY.public, sender.sid)
    receiver.precompute(9)
    queries = receiver.choose_many(np.zeros(9, dtype=int))
    genuine = sender.answer_many(queries[:4], [(b"l" * 16, b"r" * 16)] * 4).to_bytes()
    rest = batches.unanswered(queries, 4, genuine[1])
    replies = ReplyBatch.from_bytes(genuine + rest)
    assert list(replies.indexes) == list(QueryBatch.indexes.fget(queries)) == list(range(9))
    assert replies[8].sid == sender.sid
    opened = receiver.retrieve_many(replies)
    assert [row.tobytes() for row in opened[:4]] == [b"l" * 16] * 4
    assert len({row.tobytes() for row in opened[4:]}) == 5
