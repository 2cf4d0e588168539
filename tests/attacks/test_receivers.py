"""What a hostile sender, or someone between, may send to a receiver (specification, section 3)."""

from __future__ import annotations

import copy
import pickle

import pytest
from adversaries import (
    CHOICES,
    M0,
    M1,
    MESSAGES,
    OTHER_SID,
    SID,
    made_public,
    no_square,
    residue,
    sender_key,
)
from gmpy2 import invert, jacobi, mpz
from weakening import weakened

from iot2 import (
    Iot2Error,
    MessageError,
    Offer,
    Query,
    Receiver,
    Reply,
    ReplyBatch,
    Sender,
    SixQuery,
    SixReceiver,
    SixReply,
    SixSender,
    StateError,
)
from iot2.parties.uncopied import Uncopied
from iot2.protocol import compact

KEY = sender_key()
PUBLIC = KEY.public
N = PUBLIC.modulus
FORGED = (b"what the sender ", b"likes to be read")

IS_OPEN = "self._states[position] != _SENT"
ANY_STATE = (f"if not 0 <= position < len(self._states) or {IS_OPEN}:", "if False:")


def a_receiver(count: int = 3) -> Receiver:
    receiver = Receiver(PUBLIC, SID)
    receiver.precompute(count)
    return receiver


def value(query: Query | SixQuery) -> mpz:
    return mpz.from_bytes(query.residue, "big")


def test_a_reply_before_its_query() -> None:
    """A reply to a tuple that is only pre-computed would be taken for one of choice 0."""
    key = a_receiver()._keys[0]
    assert len(key) == 32

    def opened_unasked() -> tuple[bytes, bytes]:
        receiver = a_receiver()
        return receiver.retrieve(Reply(SID, 0, FORGED)), receiver._keys[0]

    with weakened(Receiver, "retrieve", ANY_STATE):
        message, left = opened_unasked()
        assert len(message) == len(FORGED[0])
        assert left == b"", "and its key is gone: the transfer to come is lost"
    with pytest.raises(StateError, match="no query with index 0 is open"):
        opened_unasked()
    receiver = a_receiver(1)
    with pytest.raises(StateError):
        receiver.retrieve(Reply(SID, 0, FORGED))
    reply = Sender(KEY, SID).answer(receiver.choose(1), MESSAGES)
    assert receiver.retrieve(reply) == M1


def test_a_second_reply() -> None:
    def second() -> bytes:
        receiver = a_receiver()
        reply = Sender(KEY, SID).answer(receiver.choose(1), MESSAGES)
        assert receiver.retrieve(reply) == M1
        return receiver.retrieve(Reply(SID, 0, FORGED))

    # The key is erased, and nothing is XORed: the sender's bytes are read as a message.
    with weakened(Receiver, "retrieve", ANY_STATE):
        assert second() in FORGED
    with pytest.raises(StateError, match="no query with index 0 is open"):
        second()


def test_a_second_reply_in_a_batch() -> None:
    def second(count: int) -> list[bytes]:
        receiver = a_receiver()
        reply = Sender(KEY, SID).answer(receiver.choose(1), MESSAGES).to_bytes()
        rows = receiver.retrieve_many(ReplyBatch.from_bytes(reply * count))
        return [row.tobytes() for row in rows]

    rules = (
        ("if len(named) != count or len(np.unique(named)) != count:", "if False:"),
        ('self._keys[position] = b""', "pass"),
    )
    with weakened(Receiver, "_retrieve_batch", *rules):
        assert second(2) == [M1, M1]
    with pytest.raises(StateError, match="two have one index"):
        second(2)
    assert second(1) == [M1]


def test_a_reply_for_another_index() -> None:
    """Relabelled, a reply opens nothing, for the index is in the key. Unasked, it is refused."""
    rows = [MESSAGES, (b"text of transfer", b"no 1, not of 0!!")]

    def exchanged() -> list[bytes]:
        """What a receiver with a poor generator reads when its two replies are exchanged."""
        receiver = Receiver(PUBLIC, SID, randbytes=lambda count: b"\7" * count)
        sender = Sender(KEY, SID)
        receiver.precompute(1)
        receiver.precompute(1)
        replies = [sender.answer(receiver.choose(0), row) for row in rows]
        relabelled = [Reply(SID, 1 - reply.index, reply.ciphertexts) for reply in replies]
        return [receiver.retrieve(reply) for reply in relabelled]

    with (
        weakened(Receiver, "_precompute", ("hashed.update(index + ", "hashed.update(u64(0) + ")),
        weakened(compact, "root_key", ("u64(index)", "u64(0)")),
    ):
        assert exchanged() == [rows[0][0], rows[1][0]]  # of the reply with that label, not its own
    assert not {*exchanged()} & {*rows[0], *rows[1]}
    receiver = a_receiver()
    receiver.choose(0)
    for index in (1, 2, 3, 2**64 - 1):
        with pytest.raises(StateError, match=f"no query with index {index} is open"):
            receiver.retrieve(Reply(SID, index, FORGED))


def test_a_reply_of_another_session() -> None:
    def opened(receiver: Receiver) -> bytes:
        receiver.choose(0)
        return receiver.retrieve(Reply(OTHER_SID, 0, FORGED))

    rule = ("if type(reply) is not Reply or reply.encoded[:18] != self._reply_start:", "if False:")
    with weakened(Receiver, "retrieve", rule):
        receiver = a_receiver()
        opened(receiver)
        assert receiver._keys[0] == b"", "a stranger spends the tuple"
    receiver = a_receiver()
    with pytest.raises(MessageError, match="another session"):
        opened(receiver)
    assert len(receiver._keys[0]) == 32


def test_a_reply_with_another_number_of_ciphertexts() -> None:
    def opened(receiver: Receiver, count: int) -> bytes:
        receiver.choose(1)
        return receiver.retrieve(Reply(SID, 0, (M0,) * count))

    # Fewer, and the choice would read past the end; more, and the sender counts who complains.
    rule = ("if reply.choices != self._choices:", "if False:")
    with weakened(Receiver, "retrieve", rule):
        assert len(opened(a_receiver(), 3)) == len(M0)
    receiver = a_receiver()
    with pytest.raises(MessageError, match="must carry 2 ciphertexts, carries 3"):
        opened(receiver, 3)
    with pytest.raises(StateError):  # the tuple that was tried is discarded
        receiver.retrieve(Reply(SID, 0, MESSAGES))


def test_a_tuple_used_twice() -> None:
    """y and y z of one tuple tell the two choices apart: their quotient is z or 1/z."""

    def choices_of_two(receiver: Receiver, b: int) -> tuple[int, int]:
        first, second = (value(receiver.choose(choice)) for choice in (b, 1 - b))
        quotient = first * invert(second, N) % N
        z = PUBLIC.z[0]
        return {z: (1, 0), invert(z, N): (0, 1)}[quotient]

    again = (
        ("self._next = position + 1", "self._next = position"),
        ("self._queries[position] = ", "_ = "),
    )
    with weakened(Receiver, "choose", *again):
        assert [choices_of_two(a_receiver(), b) for b in (0, 1)] == [(0, 1), (1, 0)]
    with pytest.raises(KeyError):  # the quotient is neither
        choices_of_two(a_receiver(), 0)
    receiver = a_receiver(1)
    receiver.choose(0)
    assert not any(receiver._queries), "the residues are gone with the first use"
    for _ in range(2):
        with pytest.raises(StateError, match="call precompute first"):
            receiver.choose(1)
    with pytest.raises(StateError, match="0 pre-computed transfers are left, 1 are asked"):
        receiver.choose_many([1])


def test_a_tuple_used_by_a_batch_and_again() -> None:
    def quotient(receiver: Receiver) -> mpz:
        first = receiver.choose_many([1])[0]
        second = receiver.choose(0)
        return value(first) * invert(value(second), N) % N

    again = (("self._next += count", "pass"), ("self._queries[here] = ", "_ = "))
    with weakened(Receiver, "choose_many", *again):
        assert quotient(a_receiver()) == PUBLIC.z[0]
    assert quotient(a_receiver()) != PUBLIC.z[0]
    receiver = a_receiver(3)
    with pytest.raises(StateError, match="3 pre-computed transfers are left, 4 are asked"):
        receiver.choose_many([0, 1, 0, 1])
    assert receiver.available == 3


# The six-message variant.


def a_six_receiver() -> SixReceiver:
    receiver = SixReceiver(PUBLIC, SID)
    receiver.precompute(1)
    return receiver


def offer(z: int | mpz, index: int = 0) -> Offer:
    return Offer(SID, index, residue(PUBLIC, z))


def test_a_second_offer_for_an_index() -> None:
    def read(receiver: SixReceiver, b: int) -> int:
        """b, from the answers to two offers: u and u, or u z and u z'."""
        first, second = (value(receiver.choose(offer(z), b)) for z in (4, 9))
        return int(first != second)

    again = (
        ("self._ready.pop(index, None)", "self._ready.get(index)"),
        ("entry.u = entry.framed_u = None", "pass"),
    )
    with weakened(SixReceiver, "choose", *again):
        assert [read(a_six_receiver(), b) for b in CHOICES] == CHOICES
    for b in (0, 1):
        with pytest.raises(StateError, match="an offer for it was taken before"):
            read(a_six_receiver(), b)
    receiver = a_six_receiver()
    receiver.choose(offer(4), 0)
    with pytest.raises(StateError):
        receiver.choose(offer(4), 0)


@pytest.mark.parametrize("z", [0, N, N + 1, (1 << 512) - 1])
def test_an_offer_out_of_range(z: int) -> None:
    def read(b: int) -> int:
        return int(value(a_six_receiver().choose(offer(z), b)) == 0)

    with weakened(SixReceiver, "choose", ("if not 0 < z_i < self._N:", "if False:")):
        if z % N == 0:
            assert [read(b) for b in CHOICES] == CHOICES
        else:
            a_six_receiver().choose(offer(z), 1)
    for b in (0, 1):
        with pytest.raises(MessageError, match="0 < z_i < N"):
            read(b)
    receiver = a_six_receiver()
    with pytest.raises(MessageError):
        receiver.choose(offer(z), 1)
    assert receiver.available == 1


def test_a_hostile_offer_shows_the_choice_in_the_six_message_variant_alone() -> None:
    """A limit of the published shape, stated in section 4: z_i has no proof.

    The attack works against the real code of that variant. In the compact one
    the same z is stopped by the proof.
    """
    bad = N - 4

    def read(b: int) -> int:
        return no_square(value(a_six_receiver().choose(offer(bad), b)), KEY.secret.p)

    assert [read(b) for b in CHOICES] == CHOICES
    symbol = next(z for z in range(2, 100) if jacobi(z, N) == -1)
    seen = [value(a_six_receiver().choose(offer(symbol), b)) for b in CHOICES]
    assert [int(jacobi(y, N) == -1) for y in seen] == CHOICES
    with pytest.raises(Iot2Error, match="does not show"):
        Receiver(made_public(N, [bad]), SID)


def six_transfer(b: int) -> tuple[SixReceiver, SixReply]:
    sender, receiver = SixSender(KEY, SID), a_six_receiver()
    return receiver, sender.answer(receiver.choose(sender.offer(), b), M0, M1)


@pytest.mark.parametrize("b", [0, 1])
def test_four_digests_none_of_which_fits(b: int) -> None:
    def opened(receiver: SixReceiver, reply: SixReply) -> bytes:
        return receiver.retrieve(SixReply(SID, 0, reply.ciphertexts, (bytes(32),) * 4))

    rule = ("if not (first or second):", "if False:")
    with weakened(SixReceiver, "retrieve", rule):
        receiver, reply = six_transfer(b)
        message = opened(receiver, reply)
        assert len(message) == len(M0), "something is read, whatever it is"
    receiver, reply = six_transfer(b)
    with pytest.raises(MessageError, match="none of the digests for index 0 fits"):
        opened(receiver, reply)
    with pytest.raises(StateError):  # the tuple that was tried is discarded
        receiver.retrieve(reply)


def test_wrong_digests_show_the_choice_in_the_six_message_variant_alone() -> None:
    """A limit of the published shape, stated in section 4: whether it aborts shows b.

    The compact receiver has nothing to abort for.
    """

    def aborts(b: int) -> int:
        receiver, reply = six_transfer(b)
        digests = (*reply.digests[:2], bytes(32), bytes(32))
        try:
            receiver.retrieve(SixReply(SID, 0, reply.ciphertexts, digests))
        except MessageError:
            return 1
        return 0

    assert [aborts(b) for b in CHOICES] == CHOICES

    def compact_aborts(b: int) -> int:
        receiver = a_receiver(1)
        reply = Sender(KEY, SID).answer(receiver.choose(b), MESSAGES)
        receiver.retrieve(Reply(SID, 0, (reply.ciphertexts[0], FORGED[1])))
        return 0

    assert [compact_aborts(b) for b in CHOICES] == [0] * len(CHOICES)


def test_a_six_message_reply_before_its_query_again_or_of_another_session() -> None:
    receiver, reply = six_transfer(1)
    foreign = SixReply(OTHER_SID, 0, reply.ciphertexts, reply.digests)
    with pytest.raises(MessageError, match="another session"):
        receiver.retrieve(foreign)
    other = SixReply(SID, 1, reply.ciphertexts, reply.digests)
    with pytest.raises(StateError, match="no query with index 1 is open"):
        receiver.retrieve(other)

    def twice() -> bytes:
        assert receiver.retrieve(reply) == M1
        return receiver.retrieve(reply)

    rule = ("entry = self._open.pop(reply.index, None)", "entry = self._open.get(reply.index)")
    with weakened(SixReceiver, "retrieve", rule):
        assert twice() == M1
    with pytest.raises(StateError, match="no query with index 0 is open"):
        twice()
    with pytest.raises(StateError, match="no query with index 0 is open"):
        a_six_receiver().retrieve(reply)


def test_a_receiver_restored_from_a_copy() -> None:
    """A copy sends y and y z of one tuple: the two queries tell the two choices apart."""

    def quotient(b: int) -> mpz:
        receiver = a_six_receiver()
        copied = copy.deepcopy(receiver)
        first, second = (
            value(party.choose(offer(PUBLIC.z[0]), choice))
            for party, choice in ((receiver, b), (copied, 1 - b))
        )
        return first * invert(second, N) % N

    allowed = ("name = type(self).__name__", "return object.__reduce_ex__(self, protocol)")
    with weakened(Uncopied, "__reduce_ex__", allowed):
        assert [quotient(b) for b in (0, 1)] == [invert(PUBLIC.z[0], N), PUBLIC.z[0]]
    with pytest.raises(StateError, match="serves once and must not be copied or stored"):
        quotient(0)
    parties = (a_receiver(), a_six_receiver(), Sender(KEY), SixSender(KEY))
    for party in parties:
        for store in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(StateError, match=f"the state of a {type(party).__name__} serves"):
                store(party)
