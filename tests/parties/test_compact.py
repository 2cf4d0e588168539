"""The compact parties: transfers of every shape, and every refusal by itself."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import pytest
from adversaries import (
    MESSAGES,
    OTHER_SID,
    SID,
    hostile_query,
    made_public,
    residue,
    sender_key,
)

from iot2 import (
    MessageError,
    ParameterError,
    ProofError,
    Query,
    QueryBatch,
    Receiver,
    Reply,
    ReplyBatch,
    Sender,
    SenderKey,
    Session,
    StateError,
)
from iot2.parties.compact import check_query, seal
from iot2.parties.compact import receiver as receiver_module

KEY = sender_key()
FIVE = sender_key("iot2_512_1of5")
BOTH_KEYS = pytest.mark.parametrize("key", [KEY, FIVE], ids=["1 of 2", "1 of 5"])
BOTH_SELECTIONS = pytest.mark.parametrize("masked", [False, True], ids=["index", "masked"])


def parties(key: SenderKey = KEY, count: int = 3, **options: Any) -> tuple[Sender, Receiver]:
    sender = Sender(key, SID)
    receiver = Receiver(key.public, SID, **options)
    receiver.precompute(count)
    return sender, receiver


def random_messages(choices: int, length: int) -> list[bytes]:
    return [os.urandom(length) for _ in range(choices)]


# What works.


@BOTH_KEYS
@BOTH_SELECTIONS
@pytest.mark.parametrize("length", [1, 31, 32, 33, 64, 1000])
def test_the_receiver_gets_what_it_chose(key: SenderKey, masked: bool, length: int) -> None:
    sender, receiver = parties(key, key.choices, masked=masked)
    for choice in range(key.choices):
        messages = random_messages(key.choices, length)
        query = Query.from_bytes(receiver.choose(choice).to_bytes())
        reply = Reply.from_bytes(sender.answer(query, messages).to_bytes())
        assert receiver.retrieve(reply) == messages[choice]
    assert receiver.available == 0
    assert sender.used.intervals == [(0, key.choices)]


@BOTH_KEYS
@BOTH_SELECTIONS
@pytest.mark.parametrize("length", [1, 32, 100])
@pytest.mark.parametrize("workers", [1, 2])
def test_arrays_of_transfers(key: SenderKey, masked: bool, length: int, workers: int) -> None:
    count = 9
    sender, receiver = parties(key, count + 2, masked=masked)
    rng = np.random.default_rng()
    receiver.choose(0)
    choices = rng.integers(0, key.choices, count)
    messages = rng.integers(0, 256, (count, key.choices, length), np.uint8)
    queries = QueryBatch.from_bytes(receiver.choose_many(choices).to_bytes(), 26 + 64)
    assert queries.indexes.tolist() == list(range(1, count + 1))
    replies = sender.answer_many(queries, messages, workers=workers)
    opened = receiver.retrieve_many(ReplyBatch.from_bytes(replies.to_bytes()))
    assert opened.dtype == np.uint8
    assert np.array_equal(opened, messages[np.arange(count), choices])
    assert receiver.available == 1


@BOTH_SELECTIONS
def test_lists_of_transfers_with_messages_of_several_lengths(masked: bool) -> None:
    sender, receiver = parties(masked=masked)
    rows = [random_messages(2, length) for length in (5, 40, 1)]
    queries = receiver.choose_many([1, 0, 1])
    assert all(type(query) is Query for query in queries)
    replies = sender.answer_many(queries, rows)
    assert receiver.retrieve_many(replies[::-1]) == [rows[2][1], rows[1][0], rows[0][1]]


@pytest.mark.parametrize(
    "choices",
    [np.array([True, False]), np.array([1, 0], np.int8), np.array([1, 0], np.uint64)],
    ids=lambda array: str(array.dtype),
)
def test_arrays_of_choices_of_every_integer_type(choices: Any) -> None:
    sender, receiver = parties()
    replies = sender.answer_many(receiver.choose_many(choices), [MESSAGES] * 2)
    assert [row.tobytes() for row in receiver.retrieve_many(replies)] == list(MESSAGES)[::-1]


@pytest.mark.parametrize("choice", [True, np.int64(1), np.uint8(1), np.True_])
def test_integers_of_other_types_are_choices(choice: Any) -> None:
    sender, receiver = parties()
    assert receiver.retrieve(sender.answer(receiver.choose(choice), MESSAGES)) == MESSAGES[1]


@pytest.mark.parametrize("count", [np.int64(2), np.uint8(2)])
def test_integers_of_other_types_are_counts(count: Any) -> None:
    sender, _ = parties()
    receiver = Receiver(sender.key.public, sender.sid)
    receiver.precompute(count)
    assert receiver.available == 2


@BOTH_SELECTIONS
def test_masks_are_used_where_asked_and_there_alone(
    masked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both selections give the same bytes, so what is called is counted."""
    calls = []
    for name in ("masked_selection", "masked_rows"):
        real = getattr(receiver_module, name)

        def counting(*options: Any, name: str = name, real: Any = real) -> Any:
            calls.append(name)
            return real(*options)

        monkeypatch.setattr(receiver_module, name, counting)
    sender, receiver = parties(masked=masked)
    receiver.retrieve(sender.answer(receiver.choose(1), MESSAGES))
    singly = ["masked_selection"] * 2
    assert calls == (singly if masked else [])
    batch = sender.answer_many(receiver.choose_many(np.array([0, 1])), [MESSAGES] * 2)
    receiver.retrieve_many(batch)
    assert calls == (singly + ["masked_rows"] * 2 if masked else [])


def test_replies_may_come_in_any_order_and_late() -> None:
    sender, receiver = parties(count=4)
    replies = [sender.answer(receiver.choose(b), MESSAGES) for b in (0, 1, 1, 0)]
    assert receiver.retrieve(replies[2]) == MESSAGES[1]
    receiver.precompute(2)
    assert receiver.retrieve(replies[0]) == MESSAGES[0]
    receiver.precompute(1)
    later = sender.answer(receiver.choose(1), MESSAGES)
    assert later.index == 4
    assert receiver.retrieve(later) == MESSAGES[1]
    assert receiver.retrieve_many([replies[3], replies[1]]) == list(MESSAGES)
    assert receiver.available == 2


def test_the_room_of_finished_transfers_is_given_back() -> None:
    sender, receiver = parties(count=0)
    for start in range(0, 30, 3):
        receiver.precompute(3)
        assert len(receiver._keys) <= 3
        for k in range(3):
            query = receiver.choose(k % 2)
            assert query.index == start + k
            assert receiver.retrieve(sender.answer(query, MESSAGES)) == MESSAGES[k % 2]
    assert sender.used.intervals == [(0, 30)]


def test_a_source_that_fails_leaves_whole_tuples() -> None:
    """One read serves 512 transfers; what was made before the failure serves."""
    reads = []

    def failing(count: int) -> bytes:
        reads.append(count)
        if len(reads) == 2:
            raise OSError("no entropy")
        return os.urandom(count)

    sender, receiver = Sender(KEY, SID), Receiver(KEY.public, SID, randbytes=failing)
    with pytest.raises(OSError, match="no entropy"):
        receiver.precompute(600)
    assert receiver.available == 512
    receiver.precompute(1)
    assert receiver.available == 513
    choices = np.array([k % 2 for k in range(513)])
    queries = receiver.choose_many(choices)
    assert len({query.residue for query in queries}) == 513
    reply = sender.answer(queries[512], MESSAGES)
    assert receiver.retrieve(reply) == MESSAGES[0]


def test_an_interruption_between_the_columns_leaves_no_half_tuple() -> None:
    """As when a notebook is stopped: the next tuples take the place of the unfinished ones."""

    class Interrupted(bytearray):
        def __setitem__(self, key: Any, value: Any) -> None:
            raise KeyboardInterrupt

        def __iadd__(self, value: Any) -> Any:
            raise KeyboardInterrupt

    sender, receiver = parties(count=2)
    whole, receiver._chosen = receiver._chosen, Interrupted(receiver._chosen)
    with pytest.raises(KeyboardInterrupt):
        receiver.precompute(3)
    receiver._chosen = whole
    assert receiver.available == 2
    receiver.precompute(2)
    for k in range(4):
        query = receiver.choose(k % 2)
        assert (query.index, int.from_bytes(query.to_bytes()[18:26])) == (k, k)
        assert receiver.retrieve(sender.answer(query, MESSAGES)) == MESSAGES[k % 2]
    assert receiver.available == 0


def test_draws_are_consumed_in_order_and_nothing_else() -> None:
    stream = os.urandom(80 * 5)

    def queries(*counts: int) -> list[bytes]:
        position = 0

        def randbytes(count: int) -> bytes:
            nonlocal position
            position += count
            return stream[position - count : position]

        receiver = Receiver(KEY.public, SID, randbytes=randbytes)
        for count in counts:
            receiver.precompute(count)
        assert position == 80 * sum(counts)
        return [receiver.choose(0).to_bytes() for _ in range(sum(counts))]

    assert queries(5) == queries(1, 1, 3) == queries(2, 3)


def test_seal_answers_without_a_memory() -> None:
    query = hostile_query(KEY.public, 7, 5, 1)
    replies = [seal(KEY, SID, query, MESSAGES) for _ in range(2)]
    assert replies[0] == replies[1] == Sender(KEY, SID).answer(query, MESSAGES)
    assert check_query(KEY, SID, query) == int.from_bytes(query.residue)


def test_one_index_is_answered_once_among_many_threads() -> None:
    sender = Sender(KEY, SID)
    query = hostile_query(KEY.public, 0, 5, 0)
    start = threading.Barrier(8)
    outcomes = []

    def work() -> None:
        start.wait()
        try:
            outcomes.append(sender.answer(query, random_messages(2, 16)))
        except StateError as error:
            outcomes.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 8
    assert sum(isinstance(outcome, Reply) for outcome in outcomes) == 1


# What is refused, and what is left then.


def test_a_key_is_verified_before_it_is_used() -> None:
    bad = made_public(KEY.public.modulus, [4])
    with pytest.raises(ProofError):
        Receiver(bad, SID)
    trusting = Receiver(bad, SID, trusted_fingerprint=bad.fingerprint)
    assert trusting.available == 0
    with pytest.raises(ProofError, match=f"expected the key with fingerprint {'00' * 32}"):
        Receiver(KEY.public, SID, trusted_fingerprint=bytes(32))
    for wrong in (KEY.fingerprint.hex(), KEY.fingerprint[:-1], b"", 5):
        with pytest.raises(ParameterError, match="a fingerprint must be 32 bytes"):
            Receiver(KEY.public, SID, trusted_fingerprint=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("sid", [b"", bytes(15), bytes(17), "x" * 16, bytearray(16)])
def test_a_sid_of_another_shape(sid: Any) -> None:
    for make in (Sender, lambda key, sid: Receiver(key.public, sid)):
        with pytest.raises(ParameterError, match="a sid must be 16 bytes"):
            make(KEY, sid)


def test_sids_are_drawn_anew() -> None:
    assert len({Sender(KEY).sid for _ in range(20)}) == 20
    assert Sender(KEY, randbytes=lambda count: b"\7" * count).sid == b"\7" * 16
    session = Sender(KEY, SID).session
    assert (session.variant, session.sid, session.fingerprint) == (
        Session.COMPACT,
        SID,
        KEY.fingerprint,
    )


@pytest.mark.parametrize("choice", [-1, 2, 255, 256, 1 << 70, "1", 1.0, None, b"\1", [0]])
def test_a_choice_out_of_range_is_not_told_and_spends_nothing(choice: Any) -> None:
    _, receiver = parties()
    with pytest.raises(ParameterError, match=r"a choice must be an integer from 0 to 1$"):
        receiver.choose(choice)
    assert receiver.available == 3
    assert receiver.choose(1).index == 0


@pytest.mark.parametrize(
    "choices",
    [
        [],
        [0, 2],
        [0, -1],
        [0.0, 1.0],
        ["0"],
        [[0, 1]],
        [[0], [1, 1]],
        [None],
        [1 << 70],
        [0, 256],
        np.array([[0], [1]]),
        np.array([0.5]),
        np.array([], int),
        np.array(1),
        np.array([-1]),
        np.array([2], np.uint8),
        np.array([256]),
    ],
    ids=str,
)
def test_choices_out_of_range_spend_nothing(choices: Any) -> None:
    _, receiver = parties()
    with pytest.raises(ParameterError, match="choice"):
        receiver.choose_many(choices)
    assert receiver.available == 3
    assert receiver.choose(1).index == 0


@pytest.mark.parametrize("count", [-1, 1.0, "1", None])
def test_a_count_that_is_none(count: Any) -> None:
    _, receiver = parties()
    with pytest.raises(ParameterError, match="count must be an integer of at least 0"):
        receiver.precompute(count)
    receiver.precompute(0)
    assert receiver.available == 3


BAD_ROWS: list[tuple[Any, str]] = [
    ((), "takes 2 messages, got 0"),
    ((b"a",), "takes 2 messages, got 1"),
    ((b"a", b"b", b"c"), "takes 2 messages, got 3"),
    ((b"a", b"bc"), r"one length of at least 1 byte, got \[1, 2\]"),
    ((b"", b""), r"one length of at least 1 byte, got \[0\]"),
    ((b"a", "b"), "messages must be bytes"),
    ((b"a", bytearray(b"b")), "messages must be bytes"),
    (b"ab", "messages must be bytes"),
]


@pytest.mark.parametrize(("messages", "text"), BAD_ROWS)
def test_messages_that_are_refused(messages: Any, text: str) -> None:
    sender = Sender(KEY, SID)
    query = hostile_query(KEY.public, 0, 5, 0)
    with pytest.raises(ParameterError, match=text):
        sender.answer(query, messages)
    with pytest.raises(ParameterError, match=text):
        sender.answer_many([query], [messages])
    with pytest.raises(ParameterError, match=text):
        seal(KEY, SID, query, messages)
    assert len(sender.used) == 0
    sender.answer(query, MESSAGES)


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ([], "expected the messages of 2 transfers, got 0"),
        ([MESSAGES], "expected the messages of 2 transfers, got 1"),
        ([MESSAGES] * 3, "expected the messages of 2 transfers, got 3"),
        ([MESSAGES, (b"a", b"b")], "must have one length, and have several"),
        (np.zeros((2, 2, 4), np.int8), r"uint8 of shape \(2, 2, L\), got int8"),
        (np.zeros((2, 2), np.uint8), r"got uint8 of shape \(2, 2\)"),
        (np.zeros((1, 2, 4), np.uint8), r"got uint8 of shape \(1, 2, 4\)"),
        (np.zeros((2, 3, 4), np.uint8), r"got uint8 of shape \(2, 3, 4\)"),
        (np.zeros((2, 2, 0), np.uint8), r"got uint8 of shape \(2, 2, 0\)"),
    ],
)
def test_messages_of_a_batch_that_are_refused(messages: Any, text: str) -> None:
    sender, receiver = parties()
    batch = receiver.choose_many(np.array([0, 1]))
    with pytest.raises(ParameterError, match=text):
        sender.answer_many(batch, messages)
    assert len(sender.used) == 0
    sender.answer_many(batch, [MESSAGES] * 2)


@pytest.mark.parametrize("query", [None, b"bytes", "Query", Reply(SID, 0, MESSAGES)])
def test_what_is_no_query(query: Any) -> None:
    sender = Sender(KEY, SID)
    name = type(query).__name__
    for ask in (
        lambda: sender.answer(query, MESSAGES),
        lambda: sender.answer_many([query], [MESSAGES]),
        lambda: seal(KEY, SID, query, MESSAGES),
        lambda: check_query(KEY, SID, query),
    ):
        with pytest.raises(MessageError, match=f"expected a Query, got {name}"):
            ask()
    assert len(sender.used) == 0


@pytest.mark.parametrize("size", [1, 63, 65])
def test_a_batch_of_queries_of_another_length(size: int) -> None:
    sender = Sender(KEY, SID)
    query = Query(SID, 0, b"\1" * size).to_bytes()
    with pytest.raises(MessageError, match=f"y must have 64 bytes, has {size}"):
        sender.answer_many(QueryBatch.from_bytes(query * 2, len(query)), [MESSAGES] * 2)
    assert len(sender.used) == 0


def test_a_batch_with_one_query_of_another_session() -> None:
    sender = Sender(KEY, SID)
    good, foreign = (hostile_query(KEY.public, 0, 5, 0, sid=sid) for sid in (SID, OTHER_SID))
    for order in ((good, foreign), (foreign, good)):
        batch = QueryBatch.from_bytes(b"".join(query.to_bytes() for query in order), 26 + 64)
        with pytest.raises(MessageError, match="another session"):
            sender.answer_many(batch, [MESSAGES] * 2)
        with pytest.raises(MessageError, match="another session"):
            sender.answer_many(list(order), [MESSAGES] * 2)
    assert len(sender.used) == 0


@pytest.mark.parametrize("reply", [None, b"bytes", hostile_query(KEY.public, 0, 5, 0)])
def test_what_is_no_reply(reply: Any) -> None:
    sender, receiver = parties()
    real = sender.answer(receiver.choose(1), MESSAGES)
    name = type(reply).__name__
    with pytest.raises(MessageError, match=f"expected a Reply, got {name}"):
        receiver.retrieve(reply)
    assert receiver.retrieve(real) == MESSAGES[1]
    with pytest.raises(MessageError, match=f"expected a Reply, got {name}"):
        receiver.retrieve_many([reply])


def test_a_discarded_transfer_stays_closed() -> None:
    sender, receiver = parties()
    reply = sender.answer(receiver.choose(0), MESSAGES)
    for index in (1, 2, 3, -1, 1 << 70):  # ready, not there, impossible: nothing happens
        receiver.discard(index)
    assert receiver.available == 2
    receiver.discard(0)
    assert receiver._keys[0] == b""
    with pytest.raises(StateError, match="no query with index 0 is open"):
        receiver.retrieve(reply)
    receiver.discard(0)


Bad = list[tuple[str, list[Reply], type[Exception]]]


def bad_batches(replies: list[Reply]) -> Bad:
    """Two replies, beside a third that no batch may hold."""
    first, second = replies
    ciphertexts = first.ciphertexts
    return [
        ("repeated", [first, second, first], StateError),
        ("not open", [first, second, Reply(SID, 9, ciphertexts)], StateError),
        ("only ready", [first, second, Reply(SID, 2, ciphertexts)], StateError),
        ("index far away", [first, second, Reply(SID, 2**64 - 1, ciphertexts)], StateError),
        ("other session", [first, second, Reply(OTHER_SID, 2, ciphertexts)], MessageError),
        ("other session first", [Reply(OTHER_SID, 0, ciphertexts), first, second], MessageError),
    ]


@BOTH_SELECTIONS
@pytest.mark.parametrize("as_batch", [False, True], ids=["list", "batch"])
@pytest.mark.parametrize("case", range(6))
def test_a_refused_batch_of_replies_gives_up_what_it_names(
    masked: bool, as_batch: bool, case: int
) -> None:
    sender, receiver = parties(count=4, masked=masked)
    good = sender.answer_many(receiver.choose_many([1, 0]), [MESSAGES] * 2)
    _, replies, expected = bad_batches(good)[case]
    joined = ReplyBatch.from_bytes(b"".join(reply.to_bytes() for reply in replies))
    with pytest.raises(expected):
        receiver.retrieve_many(joined if as_batch else replies)
    for reply in good:
        with pytest.raises(StateError):
            receiver.retrieve(reply)
    assert receiver._keys[:2] == [b"", b""]
    # The tuples that it did not open go on.
    assert receiver.available == 2
    query = receiver.choose(1)
    assert query.index == 2
    assert receiver.retrieve(sender.answer(query, MESSAGES)) == MESSAGES[1]


def test_a_batch_of_replies_with_another_number_of_ciphertexts() -> None:
    sender, receiver = parties()
    sender.answer(receiver.choose(1), MESSAGES)
    batch = ReplyBatch.from_bytes(Reply(SID, 0, (b"abc",) * 3).to_bytes())
    with pytest.raises(MessageError, match="must carry 2 ciphertexts, carries 3"):
        receiver.retrieve_many(batch)
    with pytest.raises(StateError):
        receiver.retrieve(Reply(SID, 0, MESSAGES))


def test_no_secret_shows() -> None:
    sender, receiver = parties()
    query = receiver.choose(1)
    reply = sender.answer(query, MESSAGES)
    texts = [repr(x) for x in (sender, receiver, query, reply, KEY)]
    assert "answered=1" in texts[0]
    assert "available=2" in texts[1]
    secrets = [key.hex() for key in receiver._keys] + [residue(KEY.public, KEY.secret.p).hex()]
    secrets += [repr(key) for key in receiver._keys]
    assert not [text for text in texts for secret in secrets if secret in text]
    assert all("choice" not in text for text in texts[1:4])
