"""Pre-computed OT over every base: transfers, the exact online algebra, the offline phase."""

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prepared import BASES, KEY_OF_5, asked, compact, messages_for, offline, parties

from iot2 import PrecomputedReceiver, PrecomputedSender
from iot2.errors import MessageError, ParameterError, StateError
from iot2.parties.precomputed.receiver import uniform_choices
from iot2.wire.precomputed import (
    Correction,
    CorrectionBatch,
    PrecomputedReply,
    PrecomputedReplyBatch,
)

# Transfers


@pytest.mark.parametrize("base", BASES)
def test_transfers_over_every_base(base: str) -> None:
    sender, receiver = parties(base, length=40, count=10)
    messages = messages_for(sender)
    for k in range(10):
        b = k % sender.choices
        correction = Correction.from_bytes(receiver.choose(b).to_bytes())
        reply = sender.answer(correction, messages)
        reply = PrecomputedReply.from_bytes(reply.to_bytes())
        assert receiver.retrieve(reply) == messages[b]
    assert receiver.available == sender.available == 0


@pytest.mark.parametrize("base", BASES)
def test_batches_over_every_base(base: str) -> None:
    count, length = 12, 33
    sender, receiver = parties(base, length, count)
    rng = np.random.default_rng(1)
    choices = rng.integers(0, sender.choices, count)
    shape = (count, sender.choices, length)
    messages = rng.integers(0, 256, shape, dtype=np.uint8)
    corrections = receiver.choose_many(choices)
    assert isinstance(corrections, CorrectionBatch)
    corrections = CorrectionBatch.from_bytes(corrections.to_bytes())
    replies = sender.answer_many(corrections, messages)
    assert isinstance(replies, PrecomputedReplyBatch)
    replies = PrecomputedReplyBatch.from_bytes(replies.to_bytes())
    opened = receiver.retrieve_many(replies)
    assert opened.shape == (count, length)
    assert (opened == messages[np.arange(count), choices]).all()


@settings(max_examples=25, deadline=None)
@given(
    length=st.integers(1, 70),
    choices=st.lists(st.integers(0, 4), min_size=1, max_size=6),
    data=st.data(),
)
def test_every_choice_of_every_length_arrives(
    length: int, choices: list[int], data: st.DataObject
) -> None:
    sender, receiver = parties("compact 1-of-5", length, len(choices))
    one = st.binary(min_size=length, max_size=length)
    rows = [tuple(data.draw(one) for _ in range(5)) for _ in choices]
    corrections = receiver.choose_many(choices)
    replies = sender.answer_many(corrections, rows)
    assert isinstance(corrections, list)
    assert isinstance(replies, list)
    expected = [row[b] for row, b in zip(rows, choices, strict=True)]
    assert receiver.retrieve_many(replies) == expected


def test_single_and_batch_mix_and_replies_come_in_any_order() -> None:
    sender, receiver = parties(count=6)
    messages = messages_for(sender)
    batch = receiver.choose_many(np.array([1, 0]))
    single = receiver.choose(1)
    rest = receiver.choose_many([0, 1, 1])
    assert [m.index for m in (*batch, single, *rest)] == [0, 1, 2, 3, 4, 5]
    replies = [sender.answer(single, messages)]
    replies += sender.answer_many(rest[::-1], [messages] * 3)
    replies += list(sender.answer_many(batch, np.array([[[*m] for m in messages]] * 2, np.uint8)))
    assert receiver.retrieve_many(replies) == [messages[b] for b in (1, 1, 1, 0, 1, 0)]


def test_the_offline_phase_may_run_again() -> None:
    sender, receiver = parties(count=2)
    offline(sender, receiver, 3)
    assert receiver.available == sender.available == 5
    messages = messages_for(sender)
    for k in range(5):
        correction = receiver.choose(k & 1)
        assert correction.index == k
        assert receiver.retrieve(sender.answer(correction, messages)) == messages[k & 1]


# The online algebra, with known draws


@pytest.mark.parametrize("many", [False, True])
def test_corrections_and_replies_are_those_of_the_specification(many: bool) -> None:
    gammas, length, c = [3, 0, 4, 2, 1], 3, 5
    base_sender, base_receiver = compact(KEY_OF_5)
    r = os.urandom(len(gammas) * c * length)
    sender = PrecomputedSender(base_sender, length, randbytes=lambda n: r[:n])
    receiver = PrecomputedReceiver(base_receiver, randbytes=lambda n: bytes(gammas))
    offline(sender, receiver, len(gammas))
    rows = [[os.urandom(length) for _ in range(c)] for _ in gammas]
    choices = [2, 0, 1, 4, 4]
    if many:
        corrections: Any = receiver.choose_many(np.array(choices))
        replies: Any = sender.answer_many(
            corrections,
            np.frombuffer(b"".join(m for row in rows for m in row), np.uint8).reshape(5, c, length),
        )
    else:
        corrections = [receiver.choose(b) for b in choices]
        replies = [sender.answer(*pair) for pair in zip(corrections, rows, strict=True)]
    for k, (correction, reply) in enumerate(zip(corrections, replies, strict=True)):
        start = bytes([1, 0x91]) + sender.sid + k.to_bytes(8, "big")
        d = (choices[k] - gammas[k]) % c
        assert correction.to_bytes() == start + bytes([d])
        r_k = [r[(k * c + j) * length :][:length] for j in range(c)]
        e = b"".join(
            bytes(x ^ y for x, y in zip(rows[k][j], r_k[(j - d) % c], strict=True))
            for j in range(c)
        )
        start = bytes([1, 0x92]) + start[2:]
        assert reply.to_bytes() == start + b"\0\x05\0\0\0\x03" + e


def test_for_two_choices_differences_are_xors() -> None:
    for gamma in (0, 1):
        for b in (0, 1):
            base_sender, base_receiver = compact()
            sender = PrecomputedSender(base_sender, 1, randbytes=lambda n: b"\x0f\xf0"[:n])
            receiver = PrecomputedReceiver(
                base_receiver, randbytes=lambda n, gamma=gamma: bytes([gamma])
            )
            offline(sender, receiver, 1)
            correction = receiver.choose(b)
            assert correction.d == b ^ gamma
            reply = sender.answer(correction, (b"\0", b"\0"))
            assert reply.ciphertexts == ((b"\x0f", b"\xf0"), (b"\xf0", b"\x0f"))[b ^ gamma]


@pytest.mark.parametrize("choices", [2, 3, 5, 200, 256])
def test_gammas_are_uniform_by_rejection(choices: int) -> None:
    every_byte = bytes(range(256))
    reads: list[int] = []

    def randbytes(count: int) -> bytes:
        reads.append(count)
        return every_byte if len(reads) == 1 else bytes([7 % choices]) * count

    drawn = uniform_choices(256, choices, randbytes)
    limit = 256 - 256 % choices
    kept = [value % choices for value in every_byte[:limit]]
    assert drawn.tolist() == kept + [7 % choices] * (256 - limit)
    assert reads == ([256] if limit == 256 else [256, 256 - limit])
    assert len({kept.count(value) for value in range(choices)}) == 1


# The offline phase


@pytest.mark.parametrize("base", BASES)
def test_replies_of_the_offline_phase_are_taken_once(base: str) -> None:
    base_sender, base_receiver = BASES[base]()
    sender, receiver = PrecomputedSender(base_sender, 4), PrecomputedReceiver(base_receiver)
    queries = asked(sender, receiver, 2)
    with pytest.raises(ParameterError, match="at least one reply"):
        receiver.finish([])
    replies = list(sender.prepare(queries))
    receiver.finish(replies[:1])
    with pytest.raises(StateError, match="with index 0 is open"):
        receiver.finish(replies)
    with pytest.raises(StateError, match="with index 1 is open"):
        receiver.finish(replies[1:])
    assert receiver.available == 1
    messages = messages_for(sender)
    assert receiver.retrieve(sender.answer(receiver.choose(1), messages)) == messages[1]


@pytest.mark.parametrize("base", BASES)
def test_the_length_is_fixed_by_the_first_replies(base: str) -> None:
    base_sender, base_receiver = BASES[base]()
    receiver = PrecomputedReceiver(base_receiver)
    short, long = PrecomputedSender(base_sender, 4), PrecomputedSender(base_sender, 5)
    offline(short, receiver, 1)
    with pytest.raises(MessageError, match="one length, these carry \\[4, 5\\]"):
        offline(long, receiver, 1)
    assert receiver.length == 4
    assert receiver.available == 1


@pytest.mark.parametrize("base", ["compact", "secp256k1 known", "secp256k1 fresh", "six"])
def test_an_error_of_the_base_gives_up_all_that_is_named(base: str) -> None:
    base_sender, base_receiver = BASES[base]()
    sender, receiver = PrecomputedSender(base_sender, 4), PrecomputedReceiver(base_receiver)
    queries = asked(sender, receiver, 2)
    replies = list(sender.prepare(queries))
    first = replies[0].to_bytes()
    stranger = type(replies[0]).from_bytes(first[:2] + bytes(16) + first[18:])
    with pytest.raises(MessageError, match="another session"):
        receiver.finish([stranger, replies[1]])
    assert receiver.available == 0
    with pytest.raises(StateError):
        base_receiver.retrieve(replies[1])
    with pytest.raises(StateError):
        receiver.finish(replies)


def test_a_query_is_answered_once_offline_too() -> None:
    base_sender, base_receiver = compact()
    sender, receiver = PrecomputedSender(base_sender, 4), PrecomputedReceiver(base_receiver)
    queries = receiver.prepare(2)
    sender.prepare(queries)
    with pytest.raises(StateError, match="answered before"):
        sender.prepare(queries)
    assert sender.available == 2
