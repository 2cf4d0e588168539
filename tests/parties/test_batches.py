"""What receivers of batches share: choices are checked, errors give up what they name."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from adversaries import MESSAGES, OTHER_SID, SID, sender_key

from iot2 import (
    MessageError,
    ParameterError,
    PrecomputedReceiver,
    PrecomputedSender,
    Receiver,
    ReplyBatch,
    Sender,
    SimplestReceiver,
    SimplestSender,
    StateError,
)
from iot2.simplest.batch import SimplestReplyBatch
from iot2.wire.precomputed import PrecomputedReplyBatch


@dataclass
class Pair:
    """A sender, and a receiver with four transfers to choose for."""

    sender: Any
    receiver: Any
    reply_batch: Any


def compact() -> Pair:
    key = sender_key()
    receiver = Receiver(key.public, SID)
    receiver.precompute(4)
    return Pair(Sender(key, SID), receiver, ReplyBatch)


def simplest() -> Pair:
    sender = SimplestSender(sid=SID)
    receiver = SimplestReceiver(sender.public, SID)
    receiver.precompute(4)
    return Pair(sender, receiver, SimplestReplyBatch)


def precomputed() -> Pair:
    base = compact()
    sender = PrecomputedSender(base.sender, len(MESSAGES[0]))
    receiver = PrecomputedReceiver(base.receiver)
    receiver.finish(sender.prepare(receiver.prepare(4)))
    return Pair(sender, receiver, PrecomputedReplyBatch)


EACH = pytest.mark.parametrize("make", [compact, simplest, precomputed])


@EACH
@pytest.mark.parametrize(
    "choices",
    [[], [0, 2], [-1], [0.0], ["0"], [[0, 1]], [[0], [1, 1]], [None], [1 << 70], np.array(1)],
    ids=str,
)
def test_choices_out_of_range_spend_nothing(make: Callable[[], Pair], choices: Any) -> None:
    receiver = make().receiver
    with pytest.raises(ParameterError, match="choice"):
        receiver.choose_many(choices)
    assert receiver.available == 4


@EACH
@pytest.mark.parametrize("choices", [[1, 0], [True, False], np.array([True, False])], ids=str)
def test_lists_give_lists_and_arrays_batches(make: Callable[[], Pair], choices: Any) -> None:
    pair = make()
    queries = pair.receiver.choose_many(choices)
    assert isinstance(queries, list) == isinstance(choices, list)
    array = np.frombuffer(b"".join(MESSAGES) * 2, np.uint8).reshape(2, 2, -1)
    opened = pair.receiver.retrieve_many(pair.sender.answer_many(queries, array))
    assert [bytes(message) for message in opened] == [MESSAGES[1], MESSAGES[0]]


@EACH
def test_no_queries_get_no_replies(make: Callable[[], Pair]) -> None:
    sender = make().sender
    for none in ([], np.empty((0, 2, len(MESSAGES[0])), np.uint8)):
        assert sender.answer_many([], none) == []
    for some in ([MESSAGES], np.zeros((1, 2, len(MESSAGES[0])), np.uint8)):
        with pytest.raises(ParameterError, match=r"of 0 transfers|of shape \(0, 2, "):
            sender.answer_many([], some)


@EACH
@pytest.mark.parametrize("as_batch", [False, True], ids=["list", "batch"])
@pytest.mark.parametrize("place", [0, 2], ids=["first", "last"])
def test_a_reply_of_another_session_gives_up_the_others(
    make: Callable[[], Pair], as_batch: bool, place: int
) -> None:
    pair = make()
    replies = pair.sender.answer_many(pair.receiver.choose_many([0, 1]), [MESSAGES] * 2)
    foreign = type(replies[0])(OTHER_SID, 2, MESSAGES)
    listed = [*replies[:place], foreign, *replies[place:]]
    batch = pair.reply_batch.from_bytes(b"".join(reply.to_bytes() for reply in listed))
    with pytest.raises(MessageError, match="another session"):
        pair.receiver.retrieve_many(batch if as_batch else listed)
    for reply in replies:
        with pytest.raises(StateError):
            pair.receiver.retrieve(reply)
    assert pair.receiver.available == 2


@EACH
def test_no_party_is_copied_or_stored(make: Callable[[], Pair]) -> None:
    pair = make()
    for party in (pair.sender, pair.receiver):
        for store in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(StateError, match="must not be copied or stored"):
                store(party)
