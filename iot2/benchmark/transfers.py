"""Transfers through the public classes, bytes in to bytes out, each step of each one timed.

Each function here opens a session and returns a `Chunk`: a callable that runs
some transfers and gives back what every step of every one took. A step begins
where a party holds bytes or a choice and ends where it holds bytes again; the
other party's work is never inside it.

The transfers of a chunk go through a step one after the other before any of
them takes the next. Both parties share one processor here, and a receiver on a
device of its own would not find its caches swept by the sender's square root
each time it takes its next step.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from iot2 import (
    Offer,
    Query,
    Receiver,
    Reply,
    Sender,
    SenderKey,
    SimplestReceiver,
    SimplestSender,
    SixQuery,
    SixReceiver,
    SixReply,
    SixSender,
)
from iot2.errors import Iot2Error
from iot2.simplest.messages import SimplestOffer, SimplestQuery, SimplestReply

Now = Callable[[], int]
"""A reading of the clock or of a cycle counter."""

Messages = tuple[bytes, bytes]

Parse = Callable[[bytes], Any]


class Sample(NamedTuple):
    """What the steps of one transfer took, in the unit of the readings."""

    sender_offline: int
    sender_online: int
    receiver_offline: int
    receiver_choose: int
    receiver_retrieve: int


Chunk = Callable[[Sequence[int], Sequence[Messages], Now], list[Sample]]
"""(choices, messages, now): as many transfers as choices."""


class WrongMessageError(Iot2Error):
    """A transfer gave another message than the chosen one: nothing measured is worth keeping."""

    def __init__(self) -> None:
        super().__init__("a transfer gave another message than the chosen one")


def check_opened(
    opened: Sequence[bytes], choices: Sequence[int], messages: Sequence[Messages]
) -> None:
    """Raise unless every transfer gave the message that was chosen."""
    if list(opened) != [pair[b] for pair, b in zip(messages, choices, strict=True)]:
        raise WrongMessageError


def compact(key: SenderKey, *, masked: bool = False) -> Chunk:
    """The compact variant, the key's fingerprint pinned: its proof is a cost per key."""
    sender = Sender(key)
    receiver = Receiver(key.public, sender.sid, trusted_fingerprint=key.fingerprint, masked=masked)
    return _with_known_key(sender, receiver, Query.from_bytes, Reply.from_bytes)


def simplest_known(group: str) -> Chunk:
    """SimplestOT with a long-term A: both keys are made offline."""
    sender = SimplestSender(group)
    receiver = SimplestReceiver(sender.public, sender.sid, group=group)
    return _with_known_key(sender, receiver, SimplestQuery.from_bytes, SimplestReply.from_bytes)


def six(key: SenderKey, *, masked: bool = False) -> Chunk:
    """The six-message variant."""
    sender = SixSender(key)
    receiver = SixReceiver(key.public, sender.sid, masked=masked)
    return _with_offers(
        sender,
        receiver,
        lambda query, pair: sender.answer(query, *pair),
        Offer.from_bytes,
        SixQuery.from_bytes,
        SixReply.from_bytes,
    )


def simplest_fresh(group: str) -> Chunk:
    """SimplestOT with a new A for each transfer: xA waits for the reply."""
    sender = SimplestSender(group, split="fresh")
    receiver = SimplestReceiver(b"", sender.sid, group=group, split="fresh")
    return _with_offers(
        sender,
        receiver,
        sender.answer,
        SimplestOffer.from_bytes,
        SimplestQuery.from_bytes,
        SimplestReply.from_bytes,
    )


# Below, a reading ends up in a variable before anything is done with it: in
# `times.append(now() - start)` the look-up of `append` would be timed too.


def _with_known_key(sender: Any, receiver: Any, to_query: Parse, to_reply: Parse) -> Chunk:
    def chunk(choices: Sequence[int], messages: Sequence[Messages], now: Now) -> list[Sample]:
        offline = _precompute(receiver, len(choices), now)
        choose, online, retrieve = [], [], []
        queries, replies, opened = [], [], []
        for b in choices:
            start = now()
            query = receiver.choose(b).to_bytes()
            stop = now()
            choose.append(stop - start)
            queries.append(query)
        for query, pair in zip(queries, messages, strict=True):
            start = now()
            reply = sender.answer(to_query(query), pair).to_bytes()
            stop = now()
            online.append(stop - start)
            replies.append(reply)
        for reply in replies:
            start = now()
            message = receiver.retrieve(to_reply(reply))
            stop = now()
            retrieve.append(stop - start)
            opened.append(message)
        check_opened(opened, choices, messages)
        nothing = [0] * len(choices)
        return list(map(Sample, nothing, online, offline, choose, retrieve))

    return chunk


def _with_offers(
    sender: Any,
    receiver: Any,
    answer: Callable[[Any, Messages], Any],
    to_offer: Parse,
    to_query: Parse,
    to_reply: Parse,
) -> Chunk:
    def chunk(choices: Sequence[int], messages: Sequence[Messages], now: Now) -> list[Sample]:
        ready, choose, online, retrieve = [], [], [], []
        offers, queries, replies, opened = [], [], [], []
        for _ in choices:
            start = now()
            offer = sender.offer().to_bytes()
            stop = now()
            ready.append(stop - start)
            offers.append(offer)
        offline = _precompute(receiver, len(choices), now)
        for offer, b in zip(offers, choices, strict=True):
            start = now()
            query = receiver.choose(to_offer(offer), b).to_bytes()
            stop = now()
            choose.append(stop - start)
            queries.append(query)
        for query, pair in zip(queries, messages, strict=True):
            start = now()
            reply = answer(to_query(query), pair).to_bytes()
            stop = now()
            online.append(stop - start)
            replies.append(reply)
        for reply in replies:
            start = now()
            message = receiver.retrieve(to_reply(reply))
            stop = now()
            retrieve.append(stop - start)
            opened.append(message)
        check_opened(opened, choices, messages)
        return list(map(Sample, ready, online, offline, choose, retrieve))

    return chunk


def _precompute(receiver: Any, count: int, now: Now) -> list[int]:
    times = []
    for _ in range(count):
        start = now()
        receiver.precompute(1)
        stop = now()
        times.append(stop - start)
    return times
