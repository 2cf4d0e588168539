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

from iot2 import SenderKey
from iot2.benchmark import sessions
from iot2.benchmark.sessions import Messages, Parse, Parties
from iot2.errors import Iot2Error

Now = Callable[[], int]
"""A reading of the clock or of a cycle counter."""

Times = list[int]
"""One step of each transfer, in the unit of the readings."""


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
    """The compact variant."""
    return _each_timed(sessions.compact(key, masked=masked))


def simplest_known(group: str) -> Chunk:
    """SimplestOT with a long-term A."""
    return _each_timed(sessions.simplest_known(group))


def six(key: SenderKey, *, masked: bool = False) -> Chunk:
    """The six-message variant."""
    return _each_timed(sessions.six(key, masked=masked))


def simplest_fresh(group: str) -> Chunk:
    """SimplestOT with a new A for each transfer."""
    return _each_timed(sessions.simplest_fresh(group))


def _each_timed(parties: Parties) -> Chunk:
    sender, receiver, to_offer = parties.sender, parties.receiver, parties.to_offer

    def chunk(choices: Sequence[int], messages: Sequence[Messages], now: Now) -> list[Sample]:
        if to_offer is None:
            ready = [0] * len(choices)
            offline = _precompute(receiver, len(choices), now)
            choose, queries = _choose(receiver, choices, now)
        else:
            ready, offers = _offer(sender, len(choices), now)
            offline = _precompute(receiver, len(choices), now)
            choose, queries = _choose_for_offers(receiver, to_offer, offers, choices, now)
        online, retrieve = _finish(parties, queries, choices, messages, now)
        return list(map(Sample, ready, online, offline, choose, retrieve))

    return chunk


def choose_answer_retrieve(
    parties: Parties, choices: Sequence[int], messages: Sequence[Messages], now: Now
) -> tuple[Times, Times, Times]:
    """The three online steps of transfers without offers, each step's times."""
    choose, queries = _choose(parties.receiver, choices, now)
    return choose, *_finish(parties, queries, choices, messages, now)


def _finish(
    parties: Parties,
    queries: Sequence[bytes],
    choices: Sequence[int],
    messages: Sequence[Messages],
    now: Now,
) -> tuple[Times, Times]:
    """Answer and retrieve, what comes out compared with what was chosen."""
    online, replies = _answer(parties.answer, parties.to_query, queries, messages, now)
    retrieve, opened = _retrieve(parties.receiver, parties.to_reply, replies, now)
    check_opened(opened, choices, messages)
    return online, retrieve


# Below, one step each: its times, and the bytes that it made. A reading ends up
# in a variable before anything is done with it: in `times.append(now() - start)`
# the look-up of `append` would be timed too. And the loops are written out, since
# a call around the step would be timed with it.


def _offer(sender: Any, count: int, now: Now) -> tuple[Times, list[bytes]]:
    times, offers = [], []
    for _ in range(count):
        start = now()
        offer = sender.offer().to_bytes()
        stop = now()
        times.append(stop - start)
        offers.append(offer)
    return times, offers


def _precompute(receiver: Any, count: int, now: Now) -> Times:
    times = []
    for _ in range(count):
        start = now()
        receiver.precompute(1)
        stop = now()
        times.append(stop - start)
    return times


def _choose(receiver: Any, choices: Sequence[int], now: Now) -> tuple[Times, list[bytes]]:
    times, queries = [], []
    for b in choices:
        start = now()
        query = receiver.choose(b).to_bytes()
        stop = now()
        times.append(stop - start)
        queries.append(query)
    return times, queries


def _choose_for_offers(
    receiver: Any, to_offer: Parse, offers: Sequence[bytes], choices: Sequence[int], now: Now
) -> tuple[Times, list[bytes]]:
    times, queries = [], []
    for offer, b in zip(offers, choices, strict=True):
        start = now()
        query = receiver.choose(to_offer(offer), b).to_bytes()
        stop = now()
        times.append(stop - start)
        queries.append(query)
    return times, queries


def _answer(
    answer: Callable[[Any, Messages], Any],
    to_query: Parse,
    queries: Sequence[bytes],
    messages: Sequence[Messages],
    now: Now,
) -> tuple[Times, list[bytes]]:
    times, replies = [], []
    for query, pair in zip(queries, messages, strict=True):
        start = now()
        reply = answer(to_query(query), pair).to_bytes()
        stop = now()
        times.append(stop - start)
        replies.append(reply)
    return times, replies


def _retrieve(
    receiver: Any, to_reply: Parse, replies: Sequence[bytes], now: Now
) -> tuple[Times, list[bytes]]:
    times, opened = [], []
    for reply in replies:
        start = now()
        message = receiver.retrieve(to_reply(reply))
        stop = now()
        times.append(stop - start)
        opened.append(message)
    return times, opened
