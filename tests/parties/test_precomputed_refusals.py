"""Pre-computed OT: one-use rules, arguments, messages, and what is never shown."""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prepared import KEY, compact, messages_for, offline, parties

from iot2 import PrecomputedReceiver, PrecomputedSender, SixQuery, SixReceiver, SixSender
from iot2.errors import MessageError, ParameterError, StateError
from iot2.wire.precomputed import (
    Correction,
    PrecomputedReply,
    PrecomputedReplyBatch,
)

# State rules


def test_a_correction_is_answered_once() -> None:
    sender, receiver = parties()
    messages = messages_for(sender)
    correction = receiver.choose(0)
    sender.answer(correction, messages)
    other = Correction(sender.sid, correction.index, 1 - correction.d)
    for again in (correction, other):
        with pytest.raises(StateError, match="index 0 was answered before"):
            sender.answer(again, messages)
        with pytest.raises(StateError, match="index 0 was answered before"):
            sender.answer_many([again], [messages])


def test_a_correction_is_answered_once_among_threads() -> None:
    sender, receiver = parties(count=20)
    messages = messages_for(sender)
    for _ in range(20):
        correction = receiver.choose(1)

        def answer(many: bool, correction: Correction = correction) -> PrecomputedReply | None:
            try:
                if many:
                    return sender.answer_many([correction], [messages])[0]
                return sender.answer(correction, messages)
            except StateError:
                return None

        with ThreadPoolExecutor(4) as pool:
            replies = [reply for reply in pool.map(answer, [True, False] * 4) if reply]
        assert len(replies) == 1
        assert receiver.retrieve(replies[0]) == messages[1]


def test_only_transfers_run_offline_are_answered() -> None:
    sender, _ = parties()
    with pytest.raises(StateError, match="index 9 was not run offline"):
        sender.answer(Correction(sender.sid, 9, 0), messages_for(sender))


def test_a_batch_is_refused_whole() -> None:
    sender, receiver = parties()
    messages = messages_for(sender)
    first, second = receiver.choose(0), receiver.choose(1)
    bad: list[tuple[list[Any], type[Exception]]] = [
        ([first, second, first], StateError),
        ([first, Correction(sender.sid, 9, 0)], StateError),
        ([first, Correction(sender.sid, 1, 2)], MessageError),
        ([first, Correction(bytes(16), 1, 0)], MessageError),
        ([first, second.to_bytes()], MessageError),
    ]
    for corrections, error in bad:
        with pytest.raises(error):
            sender.answer_many(corrections, [messages] * len(corrections))
    assert sender.available == 3
    assert receiver.retrieve(sender.answer(first, messages)) == messages[0]


@pytest.mark.parametrize(
    ("spoil", "error"),
    [
        (lambda q: [q[0], SixQuery(q[1].sid, 1, bytes(64)), q[2]], MessageError),
        (lambda q: [q[0], q[2], q[0]], StateError),
        (lambda q: [q[0], SixQuery(q[1].sid, 7, q[1].residue), q[2]], StateError),
        (lambda q: [q[0], None, q[2]], MessageError),
    ],
    ids=["range", "twice", "not offered", "kind"],
)
def test_the_offline_phase_over_six_messages_is_refused_whole(spoil: Any, error: Any) -> None:
    base = SixSender(KEY)
    sender = PrecomputedSender(base, 4)
    receiver = PrecomputedReceiver(SixReceiver(KEY.public, base.sid))
    queries = receiver.prepare(offers=sender.offers(3))
    with pytest.raises(error):
        sender.prepare(spoil(queries))
    assert len(base.used) == 0
    replies = sender.prepare(queries)
    with pytest.raises(MessageError):
        receiver.finish([replies[0], None])
    receiver.finish(replies)
    messages = messages_for(sender)
    assert receiver.retrieve(sender.answer(receiver.choose(1), messages)) == messages[1]


def test_a_transfer_serves_one_choice_and_one_reply() -> None:
    sender, receiver = parties(count=1)
    reply = sender.answer(receiver.choose(1), messages_for(sender))
    with pytest.raises(StateError, match="run the offline phase first"):
        receiver.choose(0)
    with pytest.raises(StateError, match="0 transfers are left, 2 are asked"):
        receiver.choose_many([0, 1])
    receiver.retrieve(reply)
    with pytest.raises(StateError, match="no correction with index 0 is open"):
        receiver.retrieve(reply)
    with pytest.raises(StateError, match="no open correction"):
        receiver.retrieve_many(PrecomputedReplyBatch.from_bytes(reply.to_bytes()))


def test_a_reply_before_its_correction_is_refused() -> None:
    sender, receiver = parties()
    with pytest.raises(StateError, match="no correction with index 0 is open"):
        receiver.retrieve(PrecomputedReply(sender.sid, 0, messages_for(sender)))


def test_foreign_replies_spend_nothing() -> None:
    sender, receiver = parties()
    messages = messages_for(sender)
    reply = sender.answer(receiver.choose(1), messages)
    foreign = PrecomputedReply(bytes(16), 0, messages)
    with pytest.raises(MessageError, match="another session"):
        receiver.retrieve(foreign)
    with pytest.raises(MessageError, match="another session"):
        receiver.retrieve_many(PrecomputedReplyBatch.from_bytes(foreign.to_bytes()))
    with pytest.raises(MessageError, match="expected a PrecomputedReply, got bytes"):
        receiver.retrieve(reply.to_bytes())  # type: ignore[arg-type]
    assert receiver.retrieve(reply) == messages[1]


@pytest.mark.parametrize("as_batch", [False, True])
@pytest.mark.parametrize("ciphertexts", [(b"abc", b"def"), (b"abcd",) * 3])
def test_a_reply_of_another_shape_gives_the_transfer_up(
    as_batch: bool, ciphertexts: tuple[bytes, ...]
) -> None:
    sender, receiver = parties()
    good = sender.answer(receiver.choose(1), messages_for(sender))
    bad = PrecomputedReply(sender.sid, 0, ciphertexts)
    batch = PrecomputedReplyBatch.from_bytes(bad.to_bytes())
    retrieve: Any = receiver.retrieve_many if as_batch else receiver.retrieve
    with pytest.raises(MessageError, match="must carry 2 ciphertexts of 4 bytes"):
        retrieve(batch if as_batch else bad)
    with pytest.raises(StateError):
        receiver.retrieve(good)


@pytest.mark.parametrize("as_batch", [False, True])
def test_an_error_in_a_batch_gives_up_all_that_it_names(as_batch: bool) -> None:
    sender, receiver = parties()
    messages = messages_for(sender)
    replies = [sender.answer(receiver.choose(b), messages) for b in (0, 1, 0)]
    named = [replies[0], replies[1], replies[1]]
    many = PrecomputedReplyBatch.from_bytes(b"".join(r.to_bytes() for r in named))
    with pytest.raises(StateError):
        receiver.retrieve_many(many if as_batch else named)
    for reply in replies[:2]:
        with pytest.raises(StateError):
            receiver.retrieve(reply)
    assert receiver.retrieve(replies[2]) == messages[0]


def test_discard_gives_a_transfer_up() -> None:
    sender, receiver = parties()
    reply = sender.answer(receiver.choose(1), messages_for(sender))
    receiver.discard(7)
    receiver.discard(0)
    with pytest.raises(StateError):
        receiver.retrieve(reply)


# Arguments


@pytest.mark.parametrize(
    "messages", [(b"", b""), (b"a", b"bc"), (b"abcd",), (b"abc", b"def"), ("abcd", "efgh")]
)
def test_messages_have_the_length_fixed_offline(messages: tuple[bytes, ...]) -> None:
    sender, receiver = parties()
    correction = receiver.choose(0)
    with pytest.raises(ParameterError):
        sender.answer(correction, messages)
    with pytest.raises(ParameterError):
        sender.answer_many([correction], [messages])
    assert receiver.retrieve(sender.answer(correction, (b"abcd", b"efgh"))) == b"abcd"


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((1, 2, 3), np.uint8),
        np.zeros((2, 2, 4), np.uint8),
        np.zeros((1, 3, 4), np.uint8),
        np.zeros((1, 2, 4), np.int64),
    ],
)
def test_arrays_of_messages_have_the_agreed_shape(array: Any) -> None:
    sender, receiver = parties()
    with pytest.raises(ParameterError, match="uint8 of shape \\(1, 2, 4\\)"):
        sender.answer_many(receiver.choose_many(np.array([1])), array)
    assert sender.available == 3


def test_a_batch_takes_as_many_messages_as_corrections() -> None:
    sender, receiver = parties()
    corrections = receiver.choose_many([0, 1])
    with pytest.raises(ParameterError, match="messages of 2 transfers"):
        sender.answer_many(corrections, [messages_for(sender)])


def test_foreign_corrections_are_refused() -> None:
    sender, receiver = parties()
    messages = messages_for(sender)
    correction = receiver.choose(0)
    with pytest.raises(MessageError, match="another session"):
        sender.answer(Correction(bytes(16), 0, 0), messages)
    with pytest.raises(MessageError, match="must be below 2, is 2"):
        sender.answer(Correction(sender.sid, 0, 2), messages)
    with pytest.raises(MessageError, match="expected a Correction, got bytes"):
        sender.answer(correction.to_bytes(), messages)  # type: ignore[arg-type]
    assert receiver.retrieve(sender.answer(correction, messages)) == messages[0]


@pytest.mark.parametrize("choice", [-1, 2, 0.5, "1"])
def test_choices_are_below_c(choice: Any) -> None:
    _, receiver = parties()
    with pytest.raises(ParameterError, match="from 0 to 1"):
        receiver.choose(choice)
    for choices in ([choice], np.array([choice])):
        with pytest.raises(ParameterError, match="choice"):
            receiver.choose_many(choices)
    assert receiver.available == 3


def test_no_choice_at_all_is_refused() -> None:
    _, receiver = parties()
    for choices in ([], [[0, 1]]):
        with pytest.raises(ParameterError, match="at least one integer"):
            receiver.choose_many(choices)


def test_arguments_of_the_offline_phase_are_checked() -> None:
    base_sender, base_receiver = compact()
    for length in (0, -1, 2**32, 1.5):
        with pytest.raises(ParameterError, match="length must be"):
            PrecomputedSender(base_sender, length)  # type: ignore[arg-type]
    sender, receiver = PrecomputedSender(base_sender, 4), PrecomputedReceiver(base_receiver)
    with pytest.raises(ParameterError, match="exactly one of both"):
        receiver.prepare()
    with pytest.raises(ParameterError, match="exactly one of both"):
        receiver.prepare(2, offers=[])
    for empty in ({"count": 0}, {"offers": []}):
        with pytest.raises(ParameterError, match="at least one transfer"):
            receiver.prepare(**empty)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="count must be"):
        receiver.prepare(-1)
    with pytest.raises(ParameterError, match="a Sender makes no offers"):
        sender.offers(1)


# Messages and secrets


@given(
    sid=st.binary(min_size=16, max_size=16),
    index=st.integers(0, 2**64 - 1),
    d=st.integers(0, 255),
)
def test_corrections_round_trip(sid: bytes, index: int, d: int) -> None:
    correction = Correction(sid, index, d)
    encoded = correction.to_bytes()
    assert encoded == b"\x01\x91" + sid + index.to_bytes(8, "big") + bytes([d])
    again = Correction.from_bytes(encoded)
    assert again == correction
    assert (again.sid, again.index, again.d) == (sid, index, d)


def test_corrections_are_parsed_strictly() -> None:
    encoded = Correction(bytes(16), 3, 1).to_bytes()
    for data in (*(encoded[:k] for k in range(27)), encoded + b"\0", b"\x02" + encoded[1:]):
        with pytest.raises(MessageError, match="correction"):
            Correction.from_bytes(data)
    for d in (-1, 256, 0.5):
        with pytest.raises(ParameterError, match="from 0 to 255"):
            Correction(bytes(16), 0, d)  # type: ignore[arg-type]


def test_reprs_show_no_secret() -> None:
    base_sender, base_receiver = compact()
    r = os.urandom(64)
    sender = PrecomputedSender(base_sender, 32, randbytes=lambda n: r[:n])
    receiver = PrecomputedReceiver(base_receiver)
    offline(sender, receiver, 1)
    correction = receiver.choose(1)
    reply = sender.answer(correction, (bytes(32), bytes(32)))
    shown = repr((sender, receiver, correction, reply))
    for half in (r[:32], r[32:]):
        assert half.hex() not in shown
        assert repr(half)[2:-1] not in shown
    assert "PrecomputedSender(Sender(sid=" in shown
