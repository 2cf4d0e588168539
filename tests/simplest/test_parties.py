"""SimplestOT from both sides: transfers, an independent reference, state rules, refusals."""

import os
from collections.abc import Callable
from hashlib import sha256, shake_256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iot2 import SimplestReceiver, SimplestSender
from iot2.errors import MessageError, ParameterError, StateError
from iot2.simplest.batch import SimplestQueryBatch, SimplestReplyBatch
from iot2.simplest.groups import GROUPS, draw_scalars, load_group
from iot2.simplest.messages import SimplestOffer, SimplestQuery, SimplestReply

M = (b"left", b"rite")
SPLITS = ("known", "fresh")


def parties(
    group: str, split: str = "known", *, masked: bool = False, count: int = 4
) -> tuple[SimplestSender, SimplestReceiver]:
    sender = SimplestSender(group, split=split)
    receiver = SimplestReceiver(sender.public, sender.sid, group=group, split=split, masked=masked)
    receiver.precompute(count)
    return sender, receiver


def choose(sender: SimplestSender, receiver: SimplestReceiver, b: int) -> SimplestQuery:
    if sender.split == "known":
        return receiver.choose(b)
    return receiver.choose(SimplestOffer.from_bytes(sender.offer().to_bytes()), b)


def frame(*parts: bytes) -> bytes:
    joined = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return b"iot2/v1/simplest/key\0" + joined


# Transfers


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("masked", [False, True])
def test_transfers_bytes_in_bytes_out(group: str, split: str, masked: bool) -> None:
    sender, receiver = parties(group, split, masked=masked)
    for b in (1, 0, 0, 1):
        query = SimplestQuery.from_bytes(choose(sender, receiver, b).to_bytes())
        reply = SimplestReply.from_bytes(sender.answer(query, M).to_bytes())
        assert receiver.retrieve(reply) == M[b]
    assert receiver.available == 0


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("split", SPLITS)
@settings(max_examples=15, deadline=None)
@given(
    length=st.integers(1, 100),
    choices=st.lists(st.integers(0, 1), min_size=1, max_size=4),
    masked=st.booleans(),
    data=st.data(),
)
def test_every_choice_of_every_length_arrives(
    group: str, split: str, length: int, choices: list[int], masked: bool, data: st.DataObject
) -> None:
    sender, receiver = parties(group, split, masked=masked, count=len(choices))
    one = st.binary(min_size=length, max_size=length)
    for b in choices:
        pair = (data.draw(one), data.draw(one))
        assert receiver.retrieve(sender.answer(choose(sender, receiver, b), pair)) == pair[b]


@pytest.mark.parametrize("group", GROUPS)
def test_replies_may_come_in_any_order(group: str) -> None:
    sender, receiver = parties(group)
    queries = [receiver.choose(b) for b in (0, 1, 1, 0)]
    replies = [sender.answer(query, M) for query in reversed(queries)]
    assert [receiver.retrieve(reply) for reply in replies] == [M[b] for b in (0, 1, 1, 0)]


@pytest.mark.parametrize("split", SPLITS)
def test_ristretto255_matches_direct_calls_of_libsodium(split: str) -> None:
    import rbcl

    draws = [os.urandom(64) for _ in range(2)]
    a, x = (rbcl.crypto_core_ristretto255_scalar_reduce(drawn) for drawn in draws)
    A = rbcl.crypto_scalarmult_ristretto255_base(a)
    xG = rbcl.crypto_scalarmult_ristretto255_base(x)
    xA = rbcl.crypto_scalarmult_ristretto255(x, A)
    sid = os.urandom(16)
    sender = SimplestSender("ristretto255", sid, split=split, randbytes=lambda n: draws[0])
    receiver = SimplestReceiver(sender.public, sid, split=split, randbytes=lambda n: draws[1])
    receiver.precompute(1)
    assert sender.public == (A if split == "known" else b"")
    query = choose(sender, receiver, 1)
    B = rbcl.crypto_core_ristretto255_add(xG, A)
    assert query.point == B
    reply = sender.answer(query, (bytes(32), bytes(32)))
    k_1 = sha256(frame(b"ristretto255", sid, bytes(8), A, B, xA)).digest()
    aB = rbcl.crypto_scalarmult_ristretto255(a, B)
    k_0 = sha256(frame(b"ristretto255", sid, bytes(8), A, B, aB)).digest()
    assert reply.ciphertexts == (k_0, k_1)
    assert receiver.retrieve(reply) == bytes(32)


# secp256k1 over integers: short, slow, and sharing nothing with libsecp256k1.
PRIME = 2**256 - 2**32 - 977
Affine = tuple[int, int] | None


def plus(p: Affine, q: Affine) -> Affine:
    if p is None or q is None:
        return p or q
    if p[0] == q[0] and (p[1] + q[1]) % PRIME == 0:
        return None
    if p == q:
        slope = 3 * p[0] * p[0] * pow(2 * p[1], -1, PRIME)
    else:
        slope = (q[1] - p[1]) * pow(q[0] - p[0], -1, PRIME)
    x = (slope * slope - p[0] - q[0]) % PRIME
    return x, (slope * (p[0] - x) - p[1]) % PRIME


def times(k: int, p: Affine) -> Affine:
    total: Affine = None
    for bit in f"{k:b}":
        total = plus(total, total)
        if bit == "1":
            total = plus(total, p)
    return total


def compressed(p: Affine) -> bytes:
    assert p is not None
    return bytes([2 + (p[1] & 1)]) + p[0].to_bytes(32, "big")


G = (
    0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
    0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
)


@pytest.mark.parametrize("split", SPLITS)
def test_secp256k1_matches_a_reference_over_integers(split: str) -> None:
    a, x = (int.from_bytes(os.urandom(31), "big") + 1 for _ in range(2))
    sid = os.urandom(16)
    sender = SimplestSender(
        "secp256k1", sid, split=split, randbytes=lambda n: a.to_bytes(32, "big")
    )
    receiver = SimplestReceiver(
        sender.public,
        sid,
        group="secp256k1",
        split=split,
        randbytes=lambda n: x.to_bytes(32, "big"),
    )
    receiver.precompute(1)
    query = choose(sender, receiver, 1)
    A = times(a, G)
    B, xA = plus(times(x, G), A), times(x, A)
    assert query.point == compressed(B)
    reply = sender.answer(query, (bytes(40), bytes(40)))
    keys = [
        sha256(frame(b"secp256k1", sid, bytes(8), compressed(A), compressed(B), P)).digest()
        for P in (compressed(times(a, B)), compressed(xA))
    ]
    pads = [shake_256(b"iot2/v1/pad\0" + (32).to_bytes(4, "big") + key).digest(40) for key in keys]
    assert reply.ciphertexts == tuple(pads)
    assert receiver.retrieve(reply) == bytes(40)


@pytest.mark.parametrize("group", GROUPS)
def test_keys_depend_on_sid_index_and_transcript(group: str) -> None:
    loaded = load_group(group)
    scalars = draw_scalars(loaded, 3, os.urandom)
    sizes = iter([*scalars])

    def replies(sid: bytes, drawn: bytes, index: int) -> tuple[bytes, ...]:
        sender = SimplestSender(group, sid, randbytes=lambda n: drawn)
        (x,) = scalars[1:2]
        query = SimplestQuery(sid, index, loaded.encode(loaded.base(x)))
        return sender.answer(query, (bytes(32), bytes(32))).ciphertexts

    first = next(sizes).ljust(loaded.draw_size, b"\0")
    other = scalars[2].ljust(loaded.draw_size, b"\0")
    base = replies(bytes(16), first, 0)
    assert replies(bytes(16), first, 0) == base
    for changed in (
        replies(b"\1" + bytes(15), first, 0),
        replies(bytes(16), first, 1),
        replies(bytes(16), other, 0),
    ):
        assert not {*changed} & {*base}


# What each split computes when


@pytest.mark.parametrize("group", GROUPS)
def test_draws_do_not_depend_on_how_they_are_grouped(group: str) -> None:
    stream = os.urandom(64 * 6)

    def source() -> Callable[[int], bytes]:
        taken = 0

        def randbytes(count: int) -> bytes:
            nonlocal taken
            taken += count
            return stream[taken - count : taken]

        return randbytes

    sender = SimplestSender(group)
    queries = []
    for parts in ((6,), (1, 1, 1, 1, 1, 1), (2, 4)):
        receiver = SimplestReceiver(sender.public, sender.sid, group=group, randbytes=source())
        for part in parts:
            receiver.precompute(part)
        queries.append([receiver.choose(k & 1).to_bytes() for k in range(6)])
    assert queries[0] == queries[1] == queries[2]
    assert len({*queries[0]}) == 6


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("split", SPLITS)
def test_many_tuples_in_several_reads(group: str, split: str) -> None:
    sender, receiver = parties(group, split, count=600)
    assert receiver.available == 600
    queries = [choose(sender, receiver, k & 1) for k in range(600)]
    assert [query.index for query in queries] == list(range(600))
    for k in (0, 511, 512, 599):
        assert receiver.retrieve(sender.answer(queries[k], M)) == M[k & 1]


# Batches


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("length", [1, 16, 32, 33, 80])
def test_batches_as_arrays(group: str, masked: bool, length: int) -> None:
    count = 9
    rng = np.random.default_rng(length)
    choices = rng.integers(0, 2, count)
    messages = rng.integers(0, 256, (count, 2, length), dtype=np.uint8)
    sender, receiver = parties(group, masked=masked, count=count)
    queries = receiver.choose_many(choices)
    assert isinstance(queries, SimplestQueryBatch)
    stride = 26 + load_group(group).size
    again = SimplestQueryBatch.from_bytes(queries.to_bytes(), stride)
    replies = sender.answer_many(again, messages, workers=2)
    assert isinstance(replies, SimplestReplyBatch)
    opened = receiver.retrieve_many(SimplestReplyBatch.from_bytes(replies.to_bytes()))
    assert opened.shape == (count, length)
    assert (opened == messages[np.arange(count), choices]).all()
    assert receiver.available == 0


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("split", SPLITS)
def test_batches_as_lists(group: str, split: str) -> None:
    choices = [0, 1, 1]
    sender, receiver = parties(group, split, count=3)
    pairs = [(b"a0", b"a1"), (b"bb0", b"bb1"), (b"c", b"d")]
    if split == "known":
        queries = receiver.choose_many(choices)
    else:
        queries = receiver.choose_many([sender.offer() for _ in choices], choices)
    replies = sender.answer_many(queries, pairs)
    assert receiver.retrieve_many(replies) == [b"a0", b"bb1", b"d"]


def test_a_batch_of_one_equals_a_transfer() -> None:
    drawn = os.urandom(64)
    sender = SimplestSender()
    queries = []
    for many in (False, True):
        receiver = SimplestReceiver(sender.public, sender.sid, randbytes=lambda n: drawn)
        receiver.precompute(1)
        query = receiver.choose_many(np.array([1]))[0] if many else receiver.choose(1)
        queries.append(query.to_bytes())
    assert queries[0] == queries[1]


def test_fresh_batches_may_be_retrieved_as_arrays() -> None:
    sender, receiver = parties("secp256k1", "fresh", count=2)
    queries = receiver.choose_many([sender.offer(), sender.offer()], [1, 0])
    joined = SimplestQueryBatch.from_bytes(b"".join(q.to_bytes() for q in queries), 59)
    messages = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    opened = receiver.retrieve_many(sender.answer_many(joined, messages))
    assert opened.tolist() == [[3, 4, 5], [6, 7, 8]]


# State rules of the sender


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("split", SPLITS)
def test_an_index_is_answered_once(group: str, split: str) -> None:
    sender, receiver = parties(group, split)
    query = choose(sender, receiver, 0)
    sender.answer(query, M)
    with pytest.raises(StateError, match="index 0 was answered before"):
        sender.answer(query, M)
    with pytest.raises(StateError, match="index 0 was answered before"):
        sender.answer(SimplestQuery(sender.sid, 0, query.point), (b"x", b"y"))
    with pytest.raises(StateError, match="index 0 was answered before"):
        sender.answer_many([query], [M])


def test_a_batch_with_one_index_twice_is_refused_whole() -> None:
    sender, receiver = parties("secp256k1")
    first, second = receiver.choose(0), receiver.choose(1)
    with pytest.raises(StateError, match="one index"):
        sender.answer_many([first, second, first], [M, M, M])
    assert receiver.retrieve(sender.answer(first, M)) == M[0]


def test_a_batch_with_one_bad_query_consumes_nothing() -> None:
    sender, receiver = parties("ristretto255")
    good = receiver.choose(0)
    bad = SimplestQuery(sender.sid, 1, b"\xff" * 32)
    with pytest.raises(MessageError):
        sender.answer_many([good, bad], [M, M])
    with pytest.raises(ParameterError, match="2 transfers, got 1"):
        sender.answer_many([good, receiver.choose(1)], [M])
    assert len(sender.used) == 0
    assert receiver.retrieve(sender.answer(good, M)) == M[0]


def test_messages_of_a_batch_have_one_length() -> None:
    sender, receiver = parties("ristretto255")
    queries = receiver.choose_many(np.array([0, 1]))
    with pytest.raises(ParameterError, match="one length"):
        sender.answer_many(queries, [(b"a", b"b"), (b"cc", b"dd")])
    assert len(sender.used) == 0


@pytest.mark.parametrize(
    "messages", [(b"", b""), (b"a", b"bc"), (b"a",), (b"a", b"b", b"c"), ("a", "b")]
)
def test_messages_are_two_of_one_length(messages: tuple[bytes, ...]) -> None:
    sender, receiver = parties("secp256k1")
    query = receiver.choose(1)
    with pytest.raises(ParameterError):
        sender.answer(query, messages)
    assert receiver.retrieve(sender.answer(query, M)) == M[1]


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("split", SPLITS)
def test_refused_points_consume_no_index(group: str, split: str) -> None:
    sender, receiver = parties(group, split)
    query = choose(sender, receiver, 1)
    size = load_group(group).size
    points = [bytes(size), b"\xff" * size, bytes(65 - size), b"\x02" + b"\xff" * (size - 1)]
    for point in points:
        for index in (query.index, 77):
            with pytest.raises(MessageError, match="point"):
                sender.answer(SimplestQuery(sender.sid, index, point), M)
    assert receiver.retrieve(sender.answer(query, M)) == M[1]
    # After its use too: a point is looked at before any state.
    with pytest.raises(MessageError, match="point"):
        sender.answer(SimplestQuery(sender.sid, query.index, points[1]), M)


@pytest.mark.parametrize("group", GROUPS)
def test_b_equal_to_a_opens_m1_alone(group: str) -> None:
    sender = SimplestSender(group)
    loaded = load_group(group)
    reply = sender.answer(SimplestQuery(sender.sid, 0, sender.public), (bytes(32), bytes(32)))
    parts = (group.encode(), sender.sid, bytes(8), sender.public, sender.public)
    assert reply.ciphertexts[1] == sha256(frame(*parts, loaded.identity)).digest()
    assert reply.ciphertexts[0] != reply.ciphertexts[1]


@pytest.mark.parametrize("split", SPLITS)
def test_foreign_queries_are_refused(split: str) -> None:
    sender, receiver = parties("ristretto255", split)
    other, _ = parties("ristretto255", split)
    query = choose(sender, receiver, 0)
    with pytest.raises(MessageError, match="another session"):
        other.answer(query, M)
    with pytest.raises(MessageError, match="expected a SimplestQuery, got bytes"):
        sender.answer(query.to_bytes(), M)  # type: ignore[arg-type]


def test_a_query_before_its_offer_is_refused() -> None:
    sender, receiver = parties("secp256k1", "fresh")
    point = choose(sender, receiver, 0).point
    with pytest.raises(StateError, match="index 1 was not offered"):
        sender.answer(SimplestQuery(sender.sid, 1, point), M)


def test_offers_count_from_zero_and_differ() -> None:
    sender, _ = parties("secp256k1", "fresh")
    offers = [sender.offer() for _ in range(3)]
    assert [offer.index for offer in offers] == [0, 1, 2]
    assert len({offer.point for offer in offers}) == 3


def test_a_known_key_makes_no_offers() -> None:
    with pytest.raises(StateError, match="makes no offers"):
        SimplestSender().offer()


# State rules of the receiver


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
