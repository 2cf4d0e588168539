"""Sessions in any order of steps, against a model that keeps plain sets.

The machines mix single transfers, lists and arrays, replays, discards,
foreign and malformed messages; after each step what the parties say of
themselves must be what the model says.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from adversaries import OTHER_SID, SID, sender_key
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from iot2 import (
    MessageError,
    Offer,
    ParameterError,
    Query,
    QueryBatch,
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

LENGTH = 20
WAYS = st.sampled_from(("one", "list", "batch"))
SETTINGS = settings(
    deadline=None,
    max_examples=60,
    stateful_step_count=40,
    suppress_health_check=[HealthCheck.too_slow],
)


def rows(count: int, choices: int) -> list[list[bytes]]:
    return [[os.urandom(LENGTH) for _ in range(choices)] for _ in range(count)]


def drawn(data: st.DataObject, good: set[int], every: set[int]) -> list[int]:
    """Indexes for a batch: distinct ones of which all will do, or any of them, repeats too."""
    if good and data.draw(st.booleans()):
        return data.draw(
            st.lists(st.sampled_from(sorted(good)), min_size=1, max_size=5, unique=True)
        )
    return data.draw(st.lists(st.sampled_from(sorted(every)), min_size=1, max_size=5))


class CompactSession(RuleBasedStateMachine):
    """One sender and one receiver of the compact variant."""

    @initialize(five=st.booleans(), masked=st.booleans())
    def open(self, five: bool, masked: bool) -> None:
        self.key = sender_key("iot2_512_1of5" if five else "iot2_512")
        self.c = self.key.choices
        self.sender = Sender(self.key, SID)
        self.receiver = Receiver(
            self.key.public, SID, trusted_fingerprint=self.key.fingerprint, masked=masked
        )
        self.made = self.chosen = 0
        self.choices: dict[int, int] = {}
        self.queries: dict[int, Query] = {}
        self.replies: dict[int, tuple[Reply, list[bytes]]] = {}
        self.open_: set[int] = set()
        self.residues: set[bytes] = set()
        self.precompute(8)

    # The receiver's steps.

    @rule(count=st.integers(0, 8))
    def precompute(self, count: int) -> None:
        self.receiver.precompute(count)
        self.made += count

    def sent(self, query: Query, choice: int) -> None:
        assert query.index == self.chosen
        assert query.residue not in self.residues, "no residue is ever sent twice"
        self.residues.add(query.residue)
        self.choices[query.index], self.queries[query.index] = choice, query
        self.open_.add(query.index)
        self.chosen += 1

    def choose_out_of_range(self, choice: int) -> None:
        for asked in ([0, choice], np.array([choice, 1])):
            with pytest.raises(ParameterError):
                self.receiver.choose_many(asked)
        with pytest.raises(ParameterError):
            self.receiver.choose(choice)

    @rule(choice=st.integers(0, 4))
    def choose(self, choice: int) -> None:
        choice %= self.c
        if self.chosen == self.made:
            with pytest.raises(StateError):
                self.receiver.choose(choice)
        else:
            self.sent(self.receiver.choose(choice), choice)

    @rule(choices=st.lists(st.integers(0, 4), min_size=1, max_size=6), array=st.booleans())
    def choose_many(self, choices: list[int], array: bool) -> None:
        choices = [choice % self.c for choice in choices]
        asked: Any = np.array(choices) if array else choices
        if len(choices) > self.made - self.chosen:
            with pytest.raises(StateError):
                self.receiver.choose_many(asked)
        else:
            queries = self.receiver.choose_many(asked)
            assert isinstance(queries, QueryBatch) == array
            for query, choice in zip(queries, choices, strict=True):
                self.sent(query, choice)

    # The sender's steps.

    @precondition(lambda self: self.queries)
    @rule(data=st.data(), way=WAYS)
    def answer(self, data: st.DataObject, way: str) -> None:
        """Any indexes that were sent: new ones, old ones, or one of them twice."""
        self.answer_these(drawn(data, self.unanswered(), set(self.queries)), way)

    def unanswered(self) -> set[int]:
        return set(self.queries) - set(self.replies)

    def answer_these(self, indexes: list[int], way: str) -> None:
        indexes = indexes[:1] if way == "one" else indexes
        queries, messages = [self.queries[k] for k in indexes], rows(len(indexes), self.c)
        new = not set(indexes) & set(self.replies) and len(set(indexes)) == len(indexes)

        def answered() -> list[Reply]:
            if way == "one":
                return [self.sender.answer(queries[0], messages[0])]
            if way == "list":
                return self.sender.answer_many(queries, messages)
            joined = b"".join(query.to_bytes() for query in queries)
            batch = QueryBatch.from_bytes(joined, len(joined) // len(queries))
            array = np.frombuffer(b"".join(map(b"".join, messages)), np.uint8)
            return list(self.sender.answer_many(batch, array.reshape(-1, self.c, LENGTH)))

        if new:
            for index, reply, row in zip(indexes, answered(), messages, strict=True):
                assert reply.index == index
                self.replies[index] = reply, row
        else:
            with pytest.raises(StateError):
                answered()

    def answer_with_one_malformed(self) -> None:
        """One bad query among good ones, and nothing of it is answered."""
        good = list(self.queries.values())
        bad = Query(SID, self.chosen + 5, bytes(self.key.public.size))
        with pytest.raises(MessageError):
            self.sender.answer_many([*good, bad], rows(len(good) + 1, self.c))

    # The receiver's steps again.

    @precondition(lambda self: self.replies)
    @rule(data=st.data(), way=WAYS)
    def retrieve(self, data: st.DataObject, way: str) -> None:
        self.retrieve_these(drawn(data, set(self.replies) & self.open_, set(self.replies)), way)

    @rule(order=st.sampled_from((1, -1)), ways=st.lists(WAYS, min_size=2, max_size=2))
    def catch_up(self, order: int, ways: list[str]) -> None:
        """Everything that is open is answered and opened."""
        if self.unanswered():
            self.answer_these(sorted(self.unanswered())[::order], ways[0])
        if ready := sorted(set(self.replies) & self.open_):
            self.retrieve_these(ready[::order], ways[1])

    def retrieve_these(self, indexes: list[int], way: str) -> None:
        indexes = indexes[:1] if way == "one" else indexes
        replies = [self.replies[k][0] for k in indexes]

        def opened() -> list[bytes]:
            if way == "one":
                return [self.receiver.retrieve(replies[0])]
            if way == "list":
                return self.receiver.retrieve_many(replies)
            batch = ReplyBatch.from_bytes(b"".join(reply.to_bytes() for reply in replies))
            return [row.tobytes() for row in self.receiver.retrieve_many(batch)]

        if set(indexes) <= self.open_ and len(set(indexes)) == len(indexes):
            assert opened() == [self.replies[k][1][self.choices[k]] for k in indexes]
        else:
            with pytest.raises(StateError):
                opened()
        self.open_ -= set(indexes)  # opened, or given up with the refused batch

    @rule(data=st.data())
    def discard(self, data: st.DataObject) -> None:
        index = data.draw(st.sampled_from([*self.open_, 0, self.chosen, self.made, self.made + 1]))
        self.receiver.discard(index)
        self.open_.discard(index)

    @rule(index=st.integers(0, 30))
    def refused(self, index: int) -> None:
        self.choose_out_of_range((-1, 5, 2**40)[index % 3])
        self.answer_with_one_malformed()
        self.foreign(index)

    def foreign(self, index: int) -> None:
        """Of another session: nothing changes on either side."""
        ciphertexts = (bytes(LENGTH),) * self.c
        with pytest.raises(MessageError):
            self.receiver.retrieve(Reply(OTHER_SID, index, ciphertexts))
        foreign = Query(OTHER_SID, index, b"\0" * (self.key.public.size - 1) + b"\4")
        with pytest.raises(MessageError):
            self.sender.answer(foreign, rows(1, self.c)[0])

    @rule(data=st.data(), batch=st.booleans())
    def another_number_of_ciphertexts(self, data: st.DataObject, batch: bool) -> None:
        index = data.draw(st.integers(0, self.made + 1))
        reply = Reply(SID, index, (bytes(LENGTH),) * (self.c + 1))
        retrieve: Any = self.receiver.retrieve_many if batch else self.receiver.retrieve
        with pytest.raises(MessageError):
            retrieve(ReplyBatch.from_bytes(reply.to_bytes()) if batch else reply)
        self.open_.discard(index)

    # What must always hold.

    @invariant()
    def they_say_what_the_model_says(self) -> None:
        if not hasattr(self, "receiver"):
            return
        assert self.receiver.available == self.made - self.chosen
        assert len(self.sender.used) == len(self.replies)
        assert all(index in self.sender.used for index in self.replies)
        assert self.chosen not in self.sender.used

    @invariant()
    def what_is_spent_is_erased(self) -> None:
        if not hasattr(self, "receiver"):
            return
        receiver = self.receiver
        for position, (key, options) in enumerate(
            zip(receiver._keys, receiver._queries, strict=True)
        ):
            index = receiver._first + position
            assert bool(options) == (index >= self.chosen)
            assert bool(key) == (index >= self.chosen or index in self.open_)
            if index not in self.open_:
                assert receiver._chosen[position] == 0
        assert len(receiver._keys) == len(receiver._states) == len(receiver._chosen)


class SixSession(RuleBasedStateMachine):
    """One sender and one receiver of the six-message variant."""

    @initialize(masked=st.booleans())
    def open(self, masked: bool) -> None:
        self.key = sender_key()
        self.sender = SixSender(self.key, SID)
        self.receiver = SixReceiver(self.key.public, SID, masked=masked)
        self.made = 0
        self.offers: list[Offer] = []
        self.choices: dict[int, int] = {}
        self.queries: dict[int, SixQuery] = {}
        self.replies: dict[int, tuple[SixReply, list[bytes]]] = {}
        self.open_: set[int] = set()
        self.precompute(6)

    @rule(count=st.integers(0, 4))
    def precompute(self, count: int) -> None:
        self.receiver.precompute(count)
        self.made += count

    @rule()
    def offer(self) -> None:
        offer = self.sender.offer()
        assert offer.index == len(self.offers)
        self.offers.append(offer)

    @rule(data=st.data(), b=st.integers(0, 1))
    @precondition(lambda self: self.offers)
    def choose(self, data: st.DataObject, b: int) -> None:
        self.choose_for(data.draw(st.sampled_from(self.offers)), b)

    @rule(b=st.integers(0, 1))
    def transfer(self, b: int) -> None:
        """All of one transfer that can be done now."""
        self.offer()
        self.choose_for(self.offers[-1], b)
        for index in sorted(set(self.queries) - set(self.replies)):
            self.answer_this(index)
        for index in sorted(set(self.replies) & self.open_)[:2]:
            self.retrieve_this(index, spoiled=False)

    def choose_for(self, offer: Offer, b: int) -> None:
        if offer.index < self.made and offer.index not in self.queries:
            query = self.receiver.choose(offer, b)
            assert query.index == offer.index
            self.queries[offer.index], self.choices[offer.index] = query, b
            self.open_.add(offer.index)
        else:
            with pytest.raises(StateError):
                self.receiver.choose(offer, b)

    def choose_a_bad_offer(self, index: int) -> None:
        for bad in (Offer(SID, index, bytes(64)), Offer(OTHER_SID, index, b"\0" * 63 + b"\4")):
            with pytest.raises(MessageError):
                self.receiver.choose(bad, 0)

    @rule(data=st.data())
    @precondition(lambda self: self.queries)
    def answer(self, data: st.DataObject) -> None:
        self.answer_this(data.draw(st.sampled_from(sorted(self.queries))))

    def answer_this(self, index: int) -> None:
        messages = rows(1, 2)[0]
        if index in self.replies:
            with pytest.raises(StateError):
                self.sender.answer(self.queries[index], *messages)
        else:
            self.replies[index] = self.sender.answer(self.queries[index], *messages), messages

    @rule(index=st.integers(0, 9))
    def refused(self, index: int) -> None:
        self.choose_a_bad_offer(index)
        self.answer_what_was_not_offered_or_is_malformed(index)

    def answer_what_was_not_offered_or_is_malformed(self, index: int) -> None:
        square = b"\0" * 63 + b"\4"
        with pytest.raises(StateError):
            self.sender.answer(SixQuery(SID, len(self.offers) + index, square), *rows(1, 2)[0])
        for bad in (SixQuery(SID, index, bytes(64)), SixQuery(OTHER_SID, index, square)):
            with pytest.raises(MessageError):
                self.sender.answer(bad, *rows(1, 2)[0])

    @rule(data=st.data(), spoiled=st.booleans())
    @precondition(lambda self: self.replies)
    def retrieve(self, data: st.DataObject, spoiled: bool) -> None:
        self.retrieve_this(data.draw(st.sampled_from(sorted(self.replies))), spoiled)

    def retrieve_this(self, index: int, spoiled: bool) -> None:
        reply, messages = self.replies[index]
        if index not in self.open_:
            with pytest.raises(StateError):
                self.receiver.retrieve(reply)
        elif spoiled:
            with pytest.raises(MessageError):
                self.receiver.retrieve(SixReply(SID, index, reply.ciphertexts, (bytes(32),) * 4))
        else:
            assert self.receiver.retrieve(reply) == messages[self.choices[index]]
        self.open_.discard(index)

    @rule(data=st.data())
    def discard(self, data: st.DataObject) -> None:
        index = data.draw(st.sampled_from([*self.open_, 0, len(self.offers), self.made]))
        self.receiver.discard(index)
        self.open_.discard(index)

    @invariant()
    def they_say_what_the_model_says(self) -> None:
        if not hasattr(self, "receiver"):
            return
        assert self.receiver.available == self.made - len(self.queries)
        assert set(self.receiver._open) == self.open_
        assert len(self.sender.used) == len(self.replies)
        assert all(index in self.sender.used for index in self.replies)
        kept = set(self.sender._inverses)
        assert kept == {offer.index for offer in self.offers} - set(self.replies)


CompactSession.TestCase.settings = SETTINGS
SixSession.TestCase.settings = SETTINGS
TestCompactSession = CompactSession.TestCase
TestSixSession = SixSession.TestCase


@pytest.mark.parametrize(
    ("machine", "owner", "name", "broken"),
    [
        (CompactSession, Receiver, "_erase", lambda self, position: None),
        (SixSession, SixReceiver, "discard", lambda self, index: None),
    ],
    ids=["compact", "six"],
)
def test_a_broken_party_would_be_found(
    machine: type[RuleBasedStateMachine],
    owner: Any,
    name: str,
    broken: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A receiver that does not close what it opened fails its machine within a few runs."""
    monkeypatch.setattr(owner, name, broken)
    few = settings(
        SETTINGS,
        max_examples=2000,
        database=None,
        phases=[Phase.generate],
        report_multiple_bugs=False,
    )
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        run_state_machine_as_test(machine, settings=few)
