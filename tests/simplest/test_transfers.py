"""SimplestOT from both sides: transfers, batches, and keys against independent references."""

import os
from collections.abc import Callable
from hashlib import sha256, shake_256

import numpy as np
import pytest
from baseline import SPLITS, M, choose, frame, parties
from hypothesis import given, settings
from hypothesis import strategies as st

from iot2 import SimplestReceiver, SimplestSender
from iot2.simplest.batch import SimplestQueryBatch, SimplestReplyBatch
from iot2.simplest.groups import GROUPS, draw_scalars, load_group
from iot2.simplest.messages import SimplestQuery, SimplestReply

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
