"""The sender of SimplestOT: one answer for an index, and every refusal."""

from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import numpy as np
import pytest
from baseline import SPLITS, M, choose, frame, parties

from iot2 import SimplestSender
from iot2.errors import MessageError, ParameterError, StateError
from iot2.simplest.groups import GROUPS, load_group
from iot2.simplest.messages import SimplestQuery, SimplestReply


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


@pytest.mark.parametrize("split", SPLITS)
def test_an_index_is_answered_once_among_threads(split: str) -> None:
    sender, receiver = parties("secp256k1", split, count=10)
    for _ in range(10):
        query = choose(sender, receiver, 1)

        def answer(_: int, query: SimplestQuery = query) -> SimplestReply | None:
            try:
                return sender.answer(query, M)
            except StateError:
                return None

        with ThreadPoolExecutor(4) as pool:
            replies = [reply for reply in pool.map(answer, range(8)) if reply]
        assert len(replies) == 1
        assert receiver.retrieve(replies[0]) == M[1]


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
