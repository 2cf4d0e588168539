"""The receiver of SimplestOT: one use of a tuple, every refusal, and what it keeps."""

import os
import subprocess
import sys

import numpy as np
import pytest
from baseline import SPLITS, M, choose, parties

from iot2 import SimplestReceiver, SimplestSender
from iot2.errors import MessageError, ParameterError, StateError
from iot2.simplest.batch import SimplestReplyBatch
from iot2.simplest.groups import GROUPS, load_group
from iot2.simplest.messages import SimplestOffer, SimplestReply


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("split", SPLITS)
def test_a_tuple_serves_one_choice(group: str, split: str) -> None:
    sender, receiver = parties(group, split, count=1)
    if split == "known":
        receiver.choose(0)
        with pytest.raises(StateError, match="call precompute first"):
            receiver.choose(1)
    else:
        offer = sender.offer()
        receiver.choose(offer, 0)
        for again in (offer, SimplestOffer(sender.sid, 0, sender.offer().point)):
            with pytest.raises(StateError, match="taken before"):
                receiver.choose(again, 1)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("split", SPLITS)
def test_a_reply_is_opened_once(group: str, split: str) -> None:
    sender, receiver = parties(group, split)
    reply = sender.answer(choose(sender, receiver, 1), M)
    receiver.retrieve(reply)
    with pytest.raises(StateError, match="no query with index 0 is open"):
        receiver.retrieve(reply)


@pytest.mark.parametrize("split", SPLITS)
def test_a_reply_before_its_query_is_refused(split: str) -> None:
    sender, receiver = parties("ristretto255", split)
    for index in (0, 3, 4, 2**64 - 1):
        with pytest.raises(StateError, match=f"index {index} is open"):
            receiver.retrieve(SimplestReply(sender.sid, index, M))
    assert receiver.retrieve(sender.answer(choose(sender, receiver, 1), M)) == M[1]


@pytest.mark.parametrize("split", SPLITS)
def test_foreign_replies_are_refused_and_spend_nothing(split: str) -> None:
    sender, receiver = parties("ristretto255", split)
    reply = sender.answer(choose(sender, receiver, 1), M)
    with pytest.raises(MessageError, match="another session"):
        receiver.retrieve(SimplestReply(bytes(16), 0, M))
    with pytest.raises(MessageError, match="expected a SimplestReply"):
        receiver.retrieve(reply.to_bytes())  # type: ignore[arg-type]
    assert receiver.retrieve(reply) == M[1]


@pytest.mark.parametrize("split", SPLITS)
def test_a_reply_with_three_ciphertexts_discards_the_tuple(split: str) -> None:
    sender, receiver = parties("ristretto255", split)
    reply = sender.answer(choose(sender, receiver, 1), M)
    with pytest.raises(MessageError, match="must carry 2 ciphertexts, carries 3"):
        receiver.retrieve(SimplestReply(sender.sid, 0, (b"a", b"b", b"c")))
    with pytest.raises(StateError, match="index 0 is open"):
        receiver.retrieve(reply)


@pytest.mark.parametrize("split", SPLITS)
def test_discard_gives_a_transfer_up(split: str) -> None:
    sender, receiver = parties("ristretto255", split)
    reply = sender.answer(choose(sender, receiver, 1), M)
    receiver.discard(99)
    receiver.discard(0)
    with pytest.raises(StateError, match="index 0 is open"):
        receiver.retrieve(reply)


@pytest.mark.parametrize("as_batch", [False, True])
@pytest.mark.parametrize("split", SPLITS)
def test_an_error_in_a_batch_discards_all_that_it_names(split: str, as_batch: bool) -> None:
    sender, receiver = parties("ristretto255", split)
    replies = [sender.answer(choose(sender, receiver, b), M) for b in (0, 1, 0)]
    named = [replies[0], replies[1], replies[1]]
    many = SimplestReplyBatch.from_bytes(b"".join(r.to_bytes() for r in named))
    with pytest.raises(StateError):
        receiver.retrieve_many(many if as_batch else named)
    for reply in replies[:2]:
        with pytest.raises(StateError):
            receiver.retrieve(reply)
    assert receiver.retrieve(replies[2]) == M[0]


def test_batches_of_replies_are_checked() -> None:
    sender, receiver = parties("ristretto255")
    receiver.choose_many([0, 1])
    three = SimplestReply(sender.sid, 0, (b"a", b"b", b"c")).to_bytes()
    with pytest.raises(MessageError, match="2 ciphertexts, carries 3"):
        receiver.retrieve_many(SimplestReplyBatch.from_bytes(three))
    foreign = SimplestReply(bytes(16), 1, M).to_bytes()
    with pytest.raises(MessageError, match="another session"):
        receiver.retrieve_many(SimplestReplyBatch.from_bytes(foreign))
    uneven = SimplestReply(sender.sid, 1, M).to_bytes() + three
    with pytest.raises(MessageError):
        SimplestReplyBatch.from_bytes(uneven)


@pytest.mark.parametrize("group", GROUPS)
def test_refused_offers_spend_nothing(group: str) -> None:
    sender, receiver = parties(group, "fresh", count=1)
    offer, size = sender.offer(), load_group(group).size
    for point in (bytes(size), b"\xff" * size, bytes(65 - size), b"\x02" + b"\xff" * (size - 1)):
        for index in (0, 5):
            with pytest.raises(MessageError, match="point"):
                receiver.choose(SimplestOffer(sender.sid, index, point), 1)
    with pytest.raises(MessageError, match="another session"):
        receiver.choose(SimplestOffer(bytes(16), 0, offer.point), 1)
    with pytest.raises(MessageError, match="expected a SimplestOffer"):
        receiver.choose(offer.to_bytes(), 1)  # type: ignore[call-overload]
    with pytest.raises(StateError, match="index 5"):
        receiver.choose(SimplestOffer(sender.sid, 5, offer.point), 1)
    assert receiver.retrieve(sender.answer(receiver.choose(offer, 1), M)) == M[1]


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("choice", [-1, 2, 0.5, "1"])
def test_choices_are_zero_or_one(split: str, choice: int) -> None:
    sender, receiver = parties("secp256k1", split, count=1)
    with pytest.raises(ParameterError, match="from 0 to 1"):
        choose(sender, receiver, choice)
    assert receiver.available == 1


@pytest.mark.parametrize("choices", [[], [0, 2], [-1], [[0, 1]], [0.5], ["0"]])
def test_choices_of_a_batch_are_zeros_and_ones(choices: list[int]) -> None:
    _, receiver = parties("secp256k1")
    with pytest.raises(ParameterError, match="choice"):
        receiver.choose_many(choices)
    with pytest.raises(ParameterError, match="choice"):
        receiver.choose_many(np.array(choices))
    assert receiver.available == 4


def test_a_batch_takes_no_more_than_is_there() -> None:
    _, receiver = parties("secp256k1")
    with pytest.raises(StateError, match="4 pre-computed transfers are left, 5"):
        receiver.choose_many([0] * 5)
    assert receiver.available == 4


def test_arguments_of_the_other_split_are_refused() -> None:
    sender, known = parties("secp256k1")
    fresh_sender, fresh = parties("secp256k1", "fresh")
    offer = fresh_sender.offer()
    with pytest.raises(ParameterError, match="no offers"):
        known.choose(offer, 1)
    with pytest.raises(ParameterError, match="no offers"):
        known.choose_many([offer], [1])
    with pytest.raises(ParameterError, match="choose\\(offer, b\\)"):
        fresh.choose(1)
    with pytest.raises(ParameterError, match="as many choices as offers"):
        fresh.choose_many([offer], [1, 0])
    with pytest.raises(ParameterError, match="public must be b''"):
        SimplestReceiver(sender.public, sender.sid, group="secp256k1", split="fresh")


@pytest.mark.parametrize("group", GROUPS)
def test_a_known_key_is_checked_once_and_for_all(group: str) -> None:
    size = load_group(group).size
    for public in (b"", bytes(size), b"\xff" * size, b"\x02" + b"\xff" * (size - 1)):
        with pytest.raises(MessageError, match="point"):
            SimplestReceiver(public, bytes(16), group=group)


def test_arguments_of_the_parties_are_checked() -> None:
    sender = SimplestSender()
    for sid in (b"", bytes(15), bytes(17)):
        with pytest.raises(ParameterError, match="16 bytes"):
            SimplestSender(sid=sid)
        with pytest.raises(ParameterError, match="16 bytes"):
            SimplestReceiver(sender.public, sid)
    for make in (SimplestSender, lambda group: SimplestReceiver(b"", bytes(16), group=group)):
        with pytest.raises(ParameterError, match="group must be one of"):
            make("edwards25519")
    for split in ("", "warm"):
        with pytest.raises(ParameterError, match="split must be known or fresh"):
            SimplestSender(split=split)
        with pytest.raises(ParameterError, match="split must be known or fresh"):
            SimplestReceiver(sender.public, sender.sid, split=split)
    for count in (-1, 0.5, "2"):
        with pytest.raises(ParameterError, match="count must be"):
            SimplestReceiver(sender.public, sender.sid).precompute(count)  # type: ignore[arg-type]


# Secrets


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("split", SPLITS)
def test_reprs_show_no_secret(group: str, split: str) -> None:
    drawn = [os.urandom(64), os.urandom(64)]
    sender = SimplestSender(group, bytes(16), split=split, randbytes=lambda n: drawn[0][:n])
    receiver = SimplestReceiver(
        sender.public, sender.sid, group=group, split=split, randbytes=lambda n: drawn[1][:n]
    )
    receiver.precompute(1)
    loaded = load_group(group)
    secrets = [loaded.to_scalar(text[: loaded.draw_size]) for text in drawn]
    query = choose(sender, receiver, 1)
    key = sender.answer(query, (bytes(32), bytes(32))).ciphertexts
    inner = vars(receiver)["_tuples"]
    shown = " ".join(
        repr(item) for item in (sender, receiver, query, inner, loaded, *sender._offers.values())
    )
    for secret in (*secrets, *key):
        assert secret.hex() not in shown
        assert repr(secret)[2:-1] not in shown
    assert f"{group}, split={split}" in shown


@pytest.mark.parametrize("masked", [False, True])
def test_only_one_key_outlives_a_query_and_nothing_a_reply(masked: bool) -> None:
    sender, receiver = parties("secp256k1", masked=masked, count=2)
    tuples = receiver._tuples
    (head, B_0, B_1, k_0, k_1), last = tuples._ready
    query = receiver.choose(1)
    assert query.to_bytes() == head + B_1 != head + B_0
    assert list(tuples._ready) == [last]
    assert tuples._sent == {0: (1, k_1)}
    assert k_0 != k_1
    receiver.retrieve(sender.answer(query, M))
    batch = receiver.choose_many(np.array([0]))
    assert batch.to_bytes() == last[0] + last[1]
    assert (list(tuples._ready), tuples._sent) == ([], {1: (0, last[3])})
    receiver.retrieve_many(sender.answer_many(batch, [M]))
    assert tuples._sent == {}


@pytest.mark.parametrize("split", SPLITS)
def test_nothing_outlives_a_transfer_that_is_given_up(split: str) -> None:
    sender, receiver = parties("secp256k1", split, count=1)
    choose(sender, receiver, 1)
    assert len(receiver._tuples._sent) == 1
    receiver.discard(0)
    assert (len(receiver._tuples._ready), len(receiver._tuples._sent)) == (0, 0)


def test_bindings_and_numpy_are_imported_on_first_use() -> None:
    program = (
        "import sys, iot2.simplest\n"
        "heavy = {'rbcl', 'coincurve', 'numpy'}\n"
        "assert not heavy & set(sys.modules), sorted(heavy & set(sys.modules))\n"
        "sender = iot2.simplest.SimplestSender('secp256k1')\n"
        "receiver = iot2.simplest.SimplestReceiver(sender.public, sender.sid, group='secp256k1')\n"
        "receiver.precompute(1)\n"
        "reply = sender.answer(receiver.choose(1), (b'a', b'b'))\n"
        "assert receiver.retrieve(reply) == b'b'\n"
        "assert heavy & set(sys.modules) == {'coincurve'}\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
