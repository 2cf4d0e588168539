"""Online times labelled with what they must not tell, real parties and controls interleaved.

Every transfer's case and label are drawn at random, so that whatever drifts (caches,
clock frequency, other processes) drifts alike for both labels of every case. What
is drawn, parsed and checked around a step is outside its time, which begins where a
party holds bytes or a choice and ends where it holds bytes again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pandas as pd
from gmpy2 import gcd, jacobi, mpz

from iot2 import (
    Offer,
    Query,
    Receiver,
    Reply,
    Sender,
    SenderKey,
    SixQuery,
    SixReceiver,
    SixReply,
    SixSender,
)
from iot2.benchmark.series import no_collection, random_messages
from iot2.benchmark.transfers import check_opened
from iot2.errors import ParameterError
from iot2.security.controls import HastySender, LazyReceiver

RECEIVERS: Final = ("six_index", "six_masked", "compact_index", "compact_masked", "control")
"""Receivers by variant and selection, and the one that multiplies only when b = 1."""

SENDERS: Final = ("six", "compact", "control")
"""Senders, and the one that stops at a non-square."""

ROUND: Final = 100
"""Transfers of each case that go through a step before any takes the next."""

LEAST: Final = 100
"""Transfers of a case below which its halves may lack times of one label."""

now = time.perf_counter_ns


@dataclass(slots=True)
class ReceiverCase:
    """One receiver, its sender, and the times taken so far."""

    name: str
    receiver: Any
    sender: Any
    to_query: Callable[[bytes], Any]
    to_reply: Callable[[bytes], Any]
    six: bool
    labels: list[int] = field(default_factory=list)
    choose_ns: list[int] = field(default_factory=list)
    retrieve_ns: list[int] = field(default_factory=list)

    def offers(self, count: int) -> list[Offer | None]:
        """Offers of the six-message variant, parsed by the receiver within its time."""
        return [self.sender.offer() if self.six else None for _ in range(count)]

    def answer(self, query: bytes, messages: tuple[bytes, bytes]) -> bytes:
        """The sender's reply, outside every time."""
        parsed = self.to_query(query)
        reply = self.sender.answer(parsed, *(messages if self.six else (messages,)))
        return bytes(reply.to_bytes())

    def frame(self) -> pd.DataFrame:
        """The times as they are stored."""
        columns = {
            "choice": self.labels,
            "receiver_choose_ns": self.choose_ns,
            "receiver_retrieve_ns": self.retrieve_ns,
        }
        return pd.DataFrame(columns, dtype="int64")


def receiver_cases(key: SenderKey) -> list[ReceiverCase]:
    """A session for each of `RECEIVERS`, all with one key."""
    cases = []
    for masked in (False, True):
        sender = SixSender(key)
        receiver = SixReceiver(key.public, sender.sid, masked=masked)
        cases.append(_six_case("six_masked" if masked else "six_index", receiver, sender))
    for masked in (False, True):
        compact = Sender(key)
        cases.append(
            ReceiverCase(
                "compact_masked" if masked else "compact_index",
                Receiver(
                    key.public, compact.sid, trusted_fingerprint=key.fingerprint, masked=masked
                ),
                compact,
                Query.from_bytes,
                Reply.from_bytes,
                six=False,
            )
        )
    sender = SixSender(key)
    cases.append(_six_case("control", LazyReceiver(key.public, sender.sid), sender))
    return cases


def _six_case(name: str, receiver: object, sender: SixSender) -> ReceiverCase:
    return ReceiverCase(name, receiver, sender, SixQuery.from_bytes, SixReply.from_bytes, six=True)


def record_receivers(key: SenderKey, count: int) -> Iterator[list[ReceiverCase]]:
    """Take `count` transfers of every receiver; give the cases after each round.

    Args:
        key: the sender's, with c = 2.
        count: transfers of each case.
    """
    cases = receiver_cases(key)
    _receiver_round(cases, ROUND)  # warm-up
    for case in cases:
        case.labels, case.choose_ns, case.retrieve_ns = [], [], []
    taken = 0
    while taken < count:
        with no_collection():
            _receiver_round(cases, min(ROUND, count - taken))
        taken += min(ROUND, count - taken)
        yield cases


def _receiver_round(cases: Sequence[ReceiverCase], count: int) -> None:
    """`count` transfers of each case, in random order within each step."""
    plan: list[tuple[ReceiverCase, bytes | None]] = []
    for case in cases:
        case.receiver.precompute(count)
        for offer in case.offers(count):
            plan.append((case, None if offer is None else offer.to_bytes()))
    random.shuffle(plan)
    choices = [random.getrandbits(1) for _ in plan]
    messages = [random_messages() for _ in plan]
    queries: list[bytes] = []
    for (case, data), b in zip(plan, choices, strict=True):
        receiver = case.receiver
        if data is None:
            start = now()
            query = receiver.choose(b).to_bytes()
            stop = now()
        else:
            start = now()
            query = receiver.choose(Offer.from_bytes(data), b).to_bytes()
            stop = now()
        case.labels.append(b)
        case.choose_ns.append(stop - start)
        queries.append(query)
    replies = [
        case.answer(query, pair)
        for (case, _), query, pair in zip(plan, queries, messages, strict=True)
    ]
    opened: list[bytes] = []
    for (case, _), reply in zip(plan, replies, strict=True):
        receiver, parse = case.receiver, case.to_reply
        start = now()
        message = receiver.retrieve(parse(reply))
        stop = now()
        case.retrieve_ns.append(stop - start)
        opened.append(message)
    check_opened(opened, choices, messages)


@dataclass(slots=True)
class SenderCase:
    """One sender and the times taken so far."""

    name: str
    sender: Any
    sid: bytes
    six: bool
    labels: list[int] = field(default_factory=list)
    online_ns: list[int] = field(default_factory=list)
    asked: int = 0

    def query(self, residue: bytes) -> bytes:
        """A query for the next index."""
        make = SixQuery if self.six else Query
        encoded = make(self.sid, self.asked, residue).to_bytes()
        self.asked += 1
        return encoded

    def frame(self) -> pd.DataFrame:
        """The times as they are stored."""
        return pd.DataFrame(
            {"square": self.labels, "sender_online_ns": self.online_ns}, dtype="int64"
        )


def sender_cases(key: SenderKey) -> list[SenderCase]:
    """A session for each of `SENDERS`."""
    six, compact = SixSender(key), Sender(key)
    return [
        SenderCase("six", six, six.sid, six=True),
        SenderCase("compact", compact, compact.sid, six=False),
        SenderCase("control", HastySender(key, bytes(16)), bytes(16), six=False),
    ]


def record_senders(key: SenderKey, count: int) -> Iterator[list[SenderCase]]:
    """Take `count` answers of every sender to squares and non-squares; give the cases each round.

    Half of the queries are squares, as a receiver sends them; of the others half have
    either Jacobi symbol.
    """
    cases = sender_cases(key)
    _sender_round(cases, key, 10)  # warm-up
    for case in cases:
        case.labels, case.online_ns = [], []
    taken = 0
    while taken < count:
        part = min(ROUND // 4, count - taken)
        with no_collection():
            _sender_round(cases, key, part)
        taken += part
        yield cases


def _sender_round(cases: Sequence[SenderCase], key: SenderKey, count: int) -> None:
    plan = []
    for case in cases:
        for _ in range(count):
            if case.six:
                case.sender.offer()
            square = random.getrandbits(1)
            plan.append((case, square, case.query(random_residue(key, square=bool(square)))))
    random.shuffle(plan)
    for case, square, query in plan:
        messages = random_messages()
        sender = case.sender
        if case.six:
            start = now()
            reply = sender.answer(SixQuery.from_bytes(query), *messages).to_bytes()
            stop = now()
        else:
            start = now()
            reply = sender.answer(Query.from_bytes(query), messages).to_bytes()
            stop = now()
        case.labels.append(square)
        case.online_ns.append(stop - start)
        del reply


def random_residue(key: SenderKey, *, square: bool) -> bytes:
    """A random unit as n bytes: a square, or a non-square with a random Jacobi symbol."""
    N = key.public.modulus
    while True:
        x = mpz(random.SystemRandom().randrange(1, int(N)))
        if gcd(x, N) != 1:
            continue
        y = x * x % N if square else x
        signs = jacobi(y, key.secret.p), jacobi(y, key.secret.q)
        if square or signs != (1, 1):
            # Of three kinds of non-squares two have symbol −1: half of those are left out.
            if not square and signs[0] != signs[1] and random.getrandbits(1):
                continue
            return bytes(y.to_bytes(key.public.size, "big"))


def check_count(count: int) -> None:
    """Raise unless there are enough transfers to compare anything."""
    if count < LEAST:
        raise ParameterError(f"at least {LEAST} transfers of each case are needed, got {count}")
