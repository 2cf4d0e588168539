"""One index, one answer (specification, section 3)."""

from __future__ import annotations

import pytest
from adversaries import (
    M0,
    M1,
    MESSAGES,
    OTHER_SID,
    SID,
    hostile_query,
    open_with,
    residue,
    sender_key,
)
from weakening import weakened

from iot2 import (
    MessageError,
    Query,
    QueryBatch,
    Reply,
    Sender,
    SixQuery,
    SixReply,
    SixSender,
    StateError,
)
from iot2.arithmetic.blum import absolute
from iot2.parties.compact import sender as compact_sender
from iot2.protocol.compact import decrypt, xor
from iot2.protocol.six import key_and_digest

KEY = sender_key()
OTHER_MESSAGES = (b"another text 0!!", b"another text 1!!")


def both_messages(sender: Sender) -> tuple[bytes, bytes]:
    """Ask twice under one index, for m_0 and for m_1."""
    first = sender.answer(hostile_query(KEY.public, 0, 5, 0), MESSAGES)
    second = sender.answer(hostile_query(KEY.public, 0, 7, 1), MESSAGES)
    return open_with(KEY.public, first, 0, 5**2), open_with(KEY.public, second, 1, 7**2)


def test_an_index_replayed_with_another_query() -> None:
    with weakened(Sender, "mark_used", ("if index in self.used:", "if False:")):
        assert both_messages(Sender(KEY, SID)) == (M0, M1)
    with pytest.raises(StateError, match="index 0 was answered before"):
        both_messages(Sender(KEY, SID))


def difference(answer_first: Sender, answer_second: Sender) -> bytes:
    """m_1 ^ m_1' of two transfers in both of which m_0 was chosen."""
    query = hostile_query(KEY.public, 0, 5, 0)
    first = answer_first.answer(query, MESSAGES)
    second = answer_second.answer(query, OTHER_MESSAGES)
    return xor(first.ciphertexts[1], second.ciphertexts[1])


def test_a_query_replayed_with_other_messages() -> None:
    with weakened(Sender, "mark_used", ("if index in self.used:", "if False:")):
        sender = Sender(KEY, SID)
        assert difference(sender, sender) == xor(M1, OTHER_MESSAGES[1])
    sender = Sender(KEY, SID)
    with pytest.raises(StateError, match="index 0 was answered before"):
        difference(sender, sender)


def test_a_query_replayed_after_a_restart() -> None:
    def replay() -> bytes:
        before, after = Sender(KEY), Sender(KEY)
        query = hostile_query(KEY.public, 0, 5, 0, sid=before.sid)
        replies = before.answer(query, MESSAGES), after.answer(query, OTHER_MESSAGES)
        return xor(replies[0].ciphertexts[1], replies[1].ciphertexts[1])

    # A sender that comes back under its old sid, and with no memory of what it answered.
    with weakened(Sender, "__init__", ("draw(randbytes, SID_BYTES) if", "bytes(SID_BYTES) if")):
        assert replay() == xor(M1, OTHER_MESSAGES[1])
    with pytest.raises(MessageError, match="another session"):
        replay()


@pytest.mark.parametrize("as_batch", [False, True], ids=["list", "batch"])
def test_two_entries_of_a_batch_with_one_index(as_batch: bool) -> None:
    queries = [hostile_query(KEY.public, 0, 5, 0), hostile_query(KEY.public, 0, 7, 1)]

    def both(sender: Sender) -> list[bytes]:
        rows = [MESSAGES, MESSAGES]
        replies: list[Reply]
        if as_batch:
            joined = b"".join(query.to_bytes() for query in queries)
            batch = QueryBatch.from_bytes(joined, len(joined) // 2)
            replies = list(sender.answer_many(batch, rows))
        else:
            replies = sender.answer_many(queries, rows)
        return [open_with(KEY.public, replies[b], b, root) for b, root in ((0, 25), (1, 49))]

    with weakened(Sender, "mark_used", ("if len(set(indexes)) != len(indexes):", "if False:")):
        assert both(Sender(KEY, SID)) == [M0, M1]
    sender = Sender(KEY, SID)
    with pytest.raises(StateError, match="two queries of this batch have one index"):
        both(sender)
    assert len(sender.used) == 0, "a batch is checked whole before any of it is answered"


def test_two_identical_entries_are_refused_too() -> None:
    query = hostile_query(KEY.public, 3, 5, 0)
    sender = Sender(KEY, SID)
    with pytest.raises(StateError, match="two queries of this batch have one index"):
        sender.answer_many([query, query], [MESSAGES, OTHER_MESSAGES])
    assert len(sender.used) == 0


def test_one_bad_entry_leaves_the_whole_batch_unanswered() -> None:
    good = hostile_query(KEY.public, 0, 5, 0)
    sender = Sender(KEY, SID)

    def answer(bad: Query) -> None:
        sender.answer_many([good, bad], [MESSAGES, MESSAGES])

    # Weakened: answering as it goes, it would have spent index 0 before it looked at the next.
    zero = Query(SID, 1, residue(KEY.public, 0))
    rule = "residues = [check_query(self.key, self.sid, query) for query in queries]"
    instead = "return [self.answer(q, row) for q, row in zip(queries, messages)]"
    with weakened(Sender, "answer_many", (rule, instead)):
        with pytest.raises(MessageError):
            answer(zero)
        assert sender.used.intervals == [(0, 1)]
    sender = Sender(KEY, SID)
    with pytest.raises(MessageError, match="0 < y < N"):
        answer(zero)
    assert len(sender.used) == 0


# The six-message variant.


def six_query(offer_index: int, y: int) -> SixQuery:
    return SixQuery(SID, offer_index, residue(KEY.public, y % KEY.public.modulus))


def six_opened(reply: bytes, x: int, b: int) -> bytes:
    """What whoever knows the root x of y or of y / z_i reads in the pair of m_b."""
    parsed = SixReply.from_bytes(reply)
    N = KEY.public.modulus
    k, digest = key_and_digest(KEY.fingerprint, SID, parsed.index, absolute(x % N, N), N)
    (place,) = [j for j in (2 * b, 2 * b + 1) if parsed.digests[j] == digest]
    return decrypt(k, parsed.ciphertexts[place])


def test_a_six_message_index_replayed_with_another_query() -> None:
    def both(sender: SixSender) -> tuple[bytes, bytes]:
        z = int.from_bytes(sender.offer().residue)
        first = sender.answer(six_query(0, 5**2), M0, M1)
        second = sender.answer(six_query(0, 7**2 * z), M0, M1)
        return six_opened(first.to_bytes(), 5, 0), six_opened(second.to_bytes(), 7, 1)

    unmarked = ("if index in self.used:", "if False:")
    kept = ("self._inverses.pop(index)", "self._inverses[0]")
    with weakened(SixSender, "_check_open", unmarked), weakened(SixSender, "answer", kept):
        assert both(SixSender(KEY, SID)) == (M0, M1)
    with pytest.raises(StateError, match="index 0 was answered before"):
        both(SixSender(KEY, SID))


def test_a_six_message_query_replayed_with_other_messages() -> None:
    def pads_agree(sender: SixSender) -> bool:
        sender.offer()
        query = six_query(0, 5**2)
        first = sender.answer(query, M0, M1).ciphertexts
        second = sender.answer(query, *OTHER_MESSAGES).ciphertexts
        # The pairs come in random order, so either of the second pair may be the match.
        return xor(M1, OTHER_MESSAGES[1]) in (xor(first[2], second[2]), xor(first[2], second[3]))

    unmarked = ("if index in self.used:", "if False:")
    kept = ("self._inverses.pop(index)", "self._inverses[0]")
    with weakened(SixSender, "_check_open", unmarked), weakened(SixSender, "answer", kept):
        assert pads_agree(SixSender(KEY, SID))
    with pytest.raises(StateError, match="index 0 was answered before"):
        pads_agree(SixSender(KEY, SID))


def test_a_six_message_query_before_its_offer() -> None:
    def answer(sender: SixSender) -> bytes:
        return six_opened(sender.answer(six_query(0, 5**2), M0, M1).to_bytes(), 5, 0)

    unoffered = ("if index not in self._inverses:", "if False:")
    made_up = ("self._inverses.pop(index)", "self._inverses.pop(index, mpz(1))")
    # Without the rule z_i is 1: one root opens both messages.
    with weakened(SixSender, "_check_open", unoffered), weakened(SixSender, "answer", made_up):
        reply = SixSender(KEY, SID).answer(six_query(0, 5**2), M0, M1).to_bytes()
        assert (six_opened(reply, 5, 0), six_opened(reply, 5, 1)) == (M0, M1)
    with pytest.raises(StateError, match="index 0 was not offered"):
        answer(SixSender(KEY, SID))


def test_a_query_of_another_session() -> None:
    foreign = hostile_query(KEY.public, 0, 5, 0, sid=OTHER_SID)

    def burns_an_index(sender: Sender) -> bool:
        sender.answer(foreign, MESSAGES)
        return 0 in sender.used

    with weakened(compact_sender, "check_query", ("if query.sid != sid:", "if False:")):
        assert burns_an_index(Sender(KEY, SID))
    sender = Sender(KEY, SID)
    with pytest.raises(MessageError, match="another session"):
        burns_an_index(sender)
    batch = QueryBatch.from_bytes(foreign.to_bytes(), len(foreign.to_bytes()))
    with pytest.raises(MessageError, match="another session"):
        sender.answer_many(batch, [MESSAGES])
    assert len(sender.used) == 0
