"""The six-message parties: transfers of every shape, and every refusal by itself."""

from __future__ import annotations

import os
from typing import Any

import pytest
from adversaries import MESSAGES, OTHER_SID, SID, residue, sender_key
from gmpy2 import mpz

from iot2 import (
    MessageError,
    Offer,
    ParameterError,
    Session,
    SixQuery,
    SixReceiver,
    SixReply,
    SixSender,
    StateError,
)
from iot2.parties import six as six_module
from iot2.parties.six import check_query, make_offer, seal

KEY = sender_key()
PUBLIC = KEY.public
BOTH_SELECTIONS = pytest.mark.parametrize("masked", [False, True], ids=["index", "masked"])


def parties(count: int = 3, **options: Any) -> tuple[SixSender, SixReceiver]:
    receiver = SixReceiver(PUBLIC, SID, **options)
    receiver.precompute(count)
    return SixSender(KEY, SID), receiver


@BOTH_SELECTIONS
@pytest.mark.parametrize("b", [0, 1])
@pytest.mark.parametrize("length", [1, 31, 32, 33, 500])
def test_the_receiver_gets_what_it_chose(masked: bool, b: int, length: int) -> None:
    sender, receiver = parties(masked=masked)
    for index in range(3):
        messages = os.urandom(length), os.urandom(length)
        offer = Offer.from_bytes(sender.offer().to_bytes())
        query = SixQuery.from_bytes(receiver.choose(offer, b).to_bytes())
        assert (offer.index, query.index) == (index, index)
        reply = SixReply.from_bytes(sender.answer(query, *messages).to_bytes())
        assert receiver.retrieve(reply) == messages[b]
    assert receiver.available == 0
    assert sender.used.intervals == [(0, 3)]


def test_six_messages_and_four_digests_are_counted() -> None:
    """Offer, query, and a reply of four ciphertexts with their digests (section 4)."""
    sender, receiver = parties()
    offer = sender.offer()
    query = receiver.choose(offer, 1)
    reply = sender.answer(query, *MESSAGES)
    assert 1 + 1 + len(reply.ciphertexts) == 6
    assert len(reply.digests) == 4
    assert len(set(reply.digests)) == 4
    assert [len(x.to_bytes()) for x in (offer, query)] == [26 + 64] * 2
    assert len(reply.to_bytes()) == 30 + 4 * (len(MESSAGES[0]) + 32)


@BOTH_SELECTIONS
def test_masks_are_used_where_asked_and_there_alone(
    masked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    real = six_module.masked_selection
    monkeypatch.setattr(
        six_module, "masked_selection", lambda *given: (calls.append(1), real(*given))[1]
    )
    sender, receiver = parties(masked=masked)
    query = receiver.choose(sender.offer(), 1)
    assert len(calls) == masked
    receiver.retrieve(sender.answer(query, *MESSAGES))
    assert len(calls) == 2 * masked


@BOTH_SELECTIONS
@pytest.mark.parametrize("swaps", range(4))
@pytest.mark.parametrize("b", [0, 1])
def test_every_order_of_the_pairs_opens(masked: bool, swaps: int, b: int) -> None:
    _, receiver = parties(masked=masked)
    a = mpz(12345)
    query = receiver.choose(make_offer(KEY, SID, 0, a), b)
    reply = seal(KEY, SID, query, a, swaps, *MESSAGES)
    assert receiver.retrieve(reply) == MESSAGES[b]
    straight = seal(KEY, SID, query, a, 0, *MESSAGES).digests
    first = straight[:2][:: -1 if swaps & 1 else 1]
    second = straight[2:][:: -1 if swaps & 2 else 1]
    assert reply.digests == first + second


def test_only_the_two_low_bits_of_the_random_byte_count() -> None:
    _, receiver = parties()
    query = receiver.choose(make_offer(KEY, SID, 0, mpz(5)), 0)
    replies = [seal(KEY, SID, query, mpz(5), 2 + 4 * k, *MESSAGES) for k in range(3)]
    assert replies[0] == replies[1] == replies[2]


def test_two_equal_digests_take_the_first() -> None:
    sender, receiver = parties()
    reply = sender.answer(receiver.choose(sender.offer(), 0), *MESSAGES)
    fits = [receiver._open[0].digest == digest for digest in reply.digests].index(True)
    ciphertexts = (reply.ciphertexts[fits], bytes(16), *reply.ciphertexts[2:])
    doubled = SixReply(SID, 0, ciphertexts, (reply.digests[fits],) * 2 + reply.digests[2:])
    assert receiver.retrieve(doubled) == MESSAGES[0]


def test_indexes_may_be_skipped_and_replies_come_late() -> None:
    sender, receiver = parties(4)
    offers = [sender.offer() for _ in range(4)]
    queries = [receiver.choose(offers[k], k % 2) for k in (2, 0, 3)]
    replies = [sender.answer(query, *MESSAGES) for query in reversed(queries)]
    assert [receiver.retrieve(reply) for reply in reversed(replies)] == [
        MESSAGES[0],
        MESSAGES[0],
        MESSAGES[1],
    ]
    assert receiver.available == 1
    assert sender.used.intervals == [(0, 1), (2, 4)]


def test_what_the_sender_draws() -> None:
    asked = []

    def randbytes(count: int) -> bytes:
        asked.append(count)
        return os.urandom(count)

    sender = SixSender(KEY, SID, randbytes=randbytes)
    _, receiver = parties()
    query = receiver.choose(sender.offer(), 1)
    assert asked == [80]
    sender.answer(query, *MESSAGES)
    assert asked == [80, 1]
    drawing = SixSender(KEY, randbytes=lambda count: b"\5" * count)
    assert drawing.sid == b"\5" * 16


# What is refused, and what is left then.


def test_a_key_for_more_than_two_choices() -> None:
    five = sender_key("iot2_512_1of5")
    for make in (lambda: SixSender(five), lambda: SixReceiver(five.public, SID)):
        with pytest.raises(ParameterError, match="a key with 2 choices, has 5"):
            make()


@pytest.mark.parametrize("sid", [b"", bytes(15), bytes(17), "x" * 16])
def test_a_sid_of_another_shape(sid: Any) -> None:
    for make in (SixSender, lambda key, sid: SixReceiver(key.public, sid)):
        with pytest.raises(ParameterError, match="a sid must be 16 bytes"):
            make(KEY, sid)


def test_the_session_names_its_variant() -> None:
    session = SixSender(KEY, SID).session
    assert session == Session(Session.SIX, SID, KEY.fingerprint)
    assert len({SixSender(KEY).sid for _ in range(10)}) == 10


@pytest.mark.parametrize("choice", [-1, 2, "1", 1.0, None])
def test_a_choice_out_of_range_spends_nothing(choice: Any) -> None:
    sender, receiver = parties()
    with pytest.raises(ParameterError, match=r"a choice must be an integer from 0 to 1$"):
        receiver.choose(sender.offer(), choice)
    assert receiver.available == 3


@pytest.mark.parametrize("count", [-1, 1.0, "1", None])
def test_a_count_that_is_none(count: Any) -> None:
    _, receiver = parties()
    with pytest.raises(ParameterError, match="count must be an integer of at least 0"):
        receiver.precompute(count)
    assert receiver.available == 3


@pytest.mark.parametrize("offer", [None, b"x", SixQuery(SID, 0, residue(PUBLIC, 4))])
def test_what_is_no_offer(offer: Any) -> None:
    _, receiver = parties()
    with pytest.raises(MessageError, match=f"expected an Offer, got {type(offer).__name__}"):
        receiver.choose(offer, 0)
    assert receiver.available == 3


def test_offers_that_are_refused_spend_nothing() -> None:
    _, receiver = parties()
    for offer, text in (
        (Offer(OTHER_SID, 0, residue(PUBLIC, 4)), "another session"),
        (Offer(SID, 0, b"\4"), "must have 64 bytes, has 1"),
        (Offer(SID, 0, b"\0" + residue(PUBLIC, 4)), "must have 64 bytes, has 65"),
        (Offer(SID, 0, residue(PUBLIC, 0)), "0 < z_i < N"),
        (Offer(SID, 0, residue(PUBLIC, PUBLIC.modulus)), "0 < z_i < N"),
    ):
        with pytest.raises(MessageError, match=text):
            receiver.choose(offer, 0)
    assert receiver.available == 3
    with pytest.raises(StateError, match="no pre-computed transfer is left for index 3"):
        receiver.choose(Offer(SID, 3, residue(PUBLIC, 4)), 0)
    receiver.choose(Offer(SID, 0, residue(PUBLIC, 4)), 0)
    assert receiver.available == 2


BAD_PAIRS: list[tuple[Any, Any, str]] = [
    (b"a", b"bc", r"one length of at least 1 byte, got \[1, 2\]"),
    (b"", b"", r"one length of at least 1 byte, got \[0\]"),
    (b"a", "b", "messages must be bytes"),
    (None, b"b", "messages must be bytes"),
]


@pytest.mark.parametrize(("m0", "m1", "text"), BAD_PAIRS)
def test_messages_that_are_refused(m0: Any, m1: Any, text: str) -> None:
    sender, receiver = parties()
    query = receiver.choose(sender.offer(), 0)
    with pytest.raises(ParameterError, match=text):
        sender.answer(query, m0, m1)
    with pytest.raises(ParameterError, match=text):
        seal(KEY, SID, query, mpz(5), 0, m0, m1)
    assert len(sender.used) == 0
    assert receiver.retrieve(sender.answer(query, *MESSAGES)) == MESSAGES[0]


@pytest.mark.parametrize("query", [None, b"x", Offer(SID, 0, residue(PUBLIC, 4))])
def test_what_is_no_query(query: Any) -> None:
    sender, _ = parties()
    sender.offer()
    name = type(query).__name__
    for ask in (
        lambda: sender.answer(query, *MESSAGES),
        lambda: seal(KEY, SID, query, mpz(5), 0, *MESSAGES),
        lambda: check_query(KEY, SID, query),
    ):
        with pytest.raises(MessageError, match=f"expected a SixQuery, got {name}"):
            ask()


def test_a_query_of_another_session() -> None:
    sender, _ = parties()
    sender.offer()
    with pytest.raises(MessageError, match="another session"):
        sender.answer(SixQuery(OTHER_SID, 0, residue(PUBLIC, 25)), *MESSAGES)
    assert len(sender.used) == 0


def test_the_last_index_is_offered_and_no_more() -> None:
    sender, _ = parties()
    sender._next = 2**64 - 1
    assert sender.offer().index == 2**64 - 1
    for _ in range(2):
        with pytest.raises(StateError, match="every index of this session was offered"):
            sender.offer()


def test_a_source_that_fails_spends_no_index() -> None:
    source = [os.urandom(80), b"", b"\1"]
    sender = SixSender(KEY, SID, randbytes=lambda count: source.pop(0))
    _, receiver = parties()
    query = receiver.choose(sender.offer(), 1)
    with pytest.raises(ParameterError, match=r"randbytes\(1\) must give 1 bytes, gave 0"):
        sender.answer(query, *MESSAGES)
    assert receiver.retrieve(sender.answer(query, *MESSAGES)) == MESSAGES[1]


@pytest.mark.parametrize("reply", [None, b"x", Offer(SID, 0, residue(PUBLIC, 4))])
def test_what_is_no_reply(reply: Any) -> None:
    sender, receiver = parties()
    real = sender.answer(receiver.choose(sender.offer(), 1), *MESSAGES)
    with pytest.raises(MessageError, match=f"expected a SixReply, got {type(reply).__name__}"):
        receiver.retrieve(reply)
    assert receiver.retrieve(real) == MESSAGES[1]


def test_a_discarded_transfer_stays_closed() -> None:
    sender, receiver = parties()
    reply = sender.answer(receiver.choose(sender.offer(), 0), *MESSAGES)
    for index in (1, 7, -1):
        receiver.discard(index)
    assert receiver.available == 2
    receiver.discard(0)
    with pytest.raises(StateError, match="no query with index 0 is open"):
        receiver.retrieve(reply)


def test_no_secret_shows() -> None:
    sender, receiver = parties()
    offer = sender.offer()
    query = receiver.choose(offer, 1)
    texts = [repr(x) for x in (sender, receiver, offer, query)]
    entry = receiver._open[0]
    secrets = [entry.key.hex(), entry.digest.hex(), repr(entry.key), str(sender._inverses.get(0))]
    assert not [text for text in (*texts, repr(entry)) for secret in secrets if secret in text]
    assert "choice" not in repr(entry)
