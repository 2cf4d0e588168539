"""Messages that are not what they should be (specification, sections 3 and 10)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from adversaries import (
    M0,
    M1,
    MESSAGES,
    OTHER_SID,
    SID,
    hostile_query,
    residue,
    sender_key,
)
from weakening import weakened

from iot2 import (
    MessageError,
    Offer,
    ParameterError,
    PublicKey,
    Query,
    QueryBatch,
    Receiver,
    Reply,
    ReplyBatch,
    Sender,
    Session,
    SixQuery,
    SixReceiver,
    SixReply,
    SixSender,
    StateError,
)
from iot2.parties.compact import sender as compact_sender
from iot2.wire.ciphertexts import CiphertextsMessage

KEY = sender_key()
PUBLIC = KEY.public


def transfer(messages: tuple[bytes, bytes] = MESSAGES, b: int = 1) -> tuple[Receiver, Reply]:
    """A receiver with one open query, and the reply to it."""
    sender, receiver = Sender(KEY, SID), Receiver(PUBLIC, SID)
    receiver.precompute(1)
    return receiver, sender.answer(receiver.choose(b), messages)


@pytest.mark.parametrize("messages", [(b"short", b"longer"), (b"", b"")], ids=["unequal", "empty"])
def test_unequal_or_empty_messages(messages: tuple[bytes, bytes]) -> None:
    query = hostile_query(PUBLIC, 0, 5, 0)

    def burns_the_index() -> bool:
        sender = Sender(KEY, SID)
        with pytest.raises(ParameterError):
            sender.answer(query, messages)
        return 0 in sender.used

    # Found too late, by the reply that cannot be made, they cost the receiver its transfer.
    late = ("if len(lengths) != 1 or not 1 <= lengths[0] < 1 << 32:", "if False:")
    with weakened(compact_sender, "check_messages", late):
        assert burns_the_index()
    assert not burns_the_index()

    sender = Sender(KEY, SID)
    honest = [query, hostile_query(PUBLIC, 1, 5, 0)]
    for rows in ([MESSAGES, messages], [messages, MESSAGES]):
        with pytest.raises(ParameterError, match="one length of at least 1 byte"):
            sender.answer_many(honest, rows)
    six = SixSender(KEY, SID)
    six.offer()
    with pytest.raises(ParameterError, match="one length of at least 1 byte"):
        six.answer(SixQuery(SID, 0, residue(PUBLIC, 25)), *messages)
    six.answer(SixQuery(SID, 0, residue(PUBLIC, 25)), *MESSAGES)
    assert len(sender.used) == 0


def six_reply() -> bytes:
    sender, receiver = SixSender(KEY, SID), SixReceiver(PUBLIC, SID)
    receiver.precompute(1)
    return sender.answer(receiver.choose(sender.offer(), 1), M0, M1).to_bytes()


Parse = Callable[[bytes], object]
EXACT: dict[str, tuple[Parse, Callable[[], bytes]]] = {
    "public key": (lambda b: PublicKey.from_bytes(b, insecure=True), PUBLIC.to_bytes),
    "reply": (Reply.from_bytes, lambda: transfer()[1].to_bytes()),
    "six-reply": (SixReply.from_bytes, six_reply),
    "session": (Session.from_bytes, lambda: Sender(KEY, SID).session.to_bytes()),
    "batch of replies": (ReplyBatch.from_bytes, lambda: transfer()[1].to_bytes()),
    "batch of queries": (
        lambda b: QueryBatch.from_bytes(b, 26 + PUBLIC.size),
        lambda: hostile_query(PUBLIC, 0, 5, 0).to_bytes(),
    ),
}


def shortened_reply_opens() -> bytes:
    receiver, reply = transfer()
    return receiver.retrieve(Reply.from_bytes(reply.to_bytes()[:-1]))


@pytest.mark.parametrize("name", EXACT)
def test_messages_cut_at_every_byte(name: str) -> None:
    rule = ("if len(data) != CIPHERTEXTS.size + choices * length:", "if False:")
    with weakened(CiphertextsMessage, "from_bytes", rule):
        assert shortened_reply_opens() == M1[:-1], "cut, and nobody notices"
    parse, make = EXACT[name]
    whole = make()
    parse(whole)
    step = max(1, len(whole) // 700)  # a public key is long: its parts are repeated
    for length in {*range(0, len(whole), step), *range(200), len(whole) - 1}:
        if length < len(whole):
            with pytest.raises(MessageError):
                parse(whole[:length])


@pytest.mark.parametrize("name", EXACT)
def test_messages_with_bytes_appended(name: str) -> None:
    def longer_reply_opens() -> bytes:
        receiver, reply = transfer()
        return receiver.retrieve(Reply.from_bytes(reply.to_bytes() + b"\0"))

    rule = ("if len(data) != CIPHERTEXTS.size + choices * length:", "if False:")
    with weakened(CiphertextsMessage, "from_bytes", rule):
        assert longer_reply_opens() == M1, "a second spelling of one reply"
    with pytest.raises(MessageError, match="exactly"):
        longer_reply_opens()
    parse, make = EXACT[name]
    whole = make()
    for tail in (b"\0", b"\xff", whole[:-1]):
        with pytest.raises(MessageError):
            parse(whole + tail)


@pytest.mark.parametrize("kind", [Query, SixQuery, Offer])
@pytest.mark.parametrize("change", ["cut", "appended"])
def test_a_residue_cut_or_appended_to(kind: type[Query | SixQuery | Offer], change: str) -> None:
    """Their length is known to the party alone, which refuses them and spends nothing."""
    whole = kind(SID, 0, residue(PUBLIC, 16)).to_bytes()
    sender, six = Sender(KEY, SID), SixSender(KEY, SID)
    receiver = SixReceiver(PUBLIC, SID)
    receiver.precompute(1)
    six.offer()

    def deliver(message: object) -> None:
        if isinstance(message, Query):
            sender.answer(message, MESSAGES)
        elif isinstance(message, SixQuery):
            six.answer(message, M0, M1)
        else:
            assert isinstance(message, Offer)
            receiver.choose(message, 0)

    damaged = (
        [whole[:length] for length in range(len(whole))]
        if change == "cut"
        else [whole + b"\0", whole + whole]
    )
    for data in damaged:
        with pytest.raises(MessageError):
            deliver(kind.from_bytes(data))
    deliver(kind.from_bytes(whole))


@pytest.mark.parametrize("position", [0, 1], ids=["version", "kind"])
def test_another_version_or_kind(position: int) -> None:
    def foreign_reply_opens() -> bytes:
        receiver, reply = transfer()
        data = bytearray(reply.to_bytes())
        data[position] ^= 0x40
        return receiver.retrieve(Reply.from_bytes(bytes(data)))

    parsing = ("if version != VERSION or kind != cls.KIND or type(data) is not bytes:", "if False:")
    opening = ("reply.encoded[:18] != self._reply_start", "reply.sid != self.sid")
    with (
        weakened(CiphertextsMessage, "from_bytes", parsing),
        weakened(Receiver, "retrieve", opening),
    ):
        assert foreign_reply_opens() == M1, "a message of another meaning is taken for a reply"
    with pytest.raises(MessageError, match="must begin with version 1 and kind 3"):
        foreign_reply_opens()
    for kind in (Query, SixQuery, Offer):
        whole = kind(SID, 0, b"residue").to_bytes()
        for value in set(range(256)) - {whole[position]}:
            with pytest.raises(MessageError, match="must begin with version 1 and kind"):
                kind.from_bytes(whole[:position] + bytes([value]) + whole[position + 1 :])
    for parse, make in EXACT.values():
        whole = make()
        for value in {0, 2, 3, 4, 8, 0x82, 255} - {whole[position]}:
            with pytest.raises(MessageError):
                parse(whole[:position] + bytes([value]) + whole[position + 1 :])


def test_a_reply_of_another_session_does_not_parse_into_ours() -> None:
    """A sid is compared before any state is looked at: the tuple stays open."""
    receiver, reply = transfer()
    foreign = Reply(OTHER_SID, 0, reply.ciphertexts)
    with pytest.raises(MessageError, match="another session"):
        receiver.retrieve(foreign)
    assert receiver.retrieve(reply) == M1
    with pytest.raises(StateError):
        receiver.retrieve(reply)
