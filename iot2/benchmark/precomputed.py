"""Pre-computed transfers, timed like the others; over which base, the table says.

Offline the base runs for all transfers of a chunk at once, and each of them
bears an equal share; online each is timed by itself.
"""

from collections.abc import Callable, Sequence
from typing import Any

from iot2 import (
    Offer,
    PrecomputedReceiver,
    PrecomputedSender,
    QueryBatch,
    ReplyBatch,
    SenderKey,
    SixQuery,
    SixReply,
)
from iot2.benchmark import sessions
from iot2.benchmark.sessions import Messages, Parties
from iot2.benchmark.transfers import Chunk, Now, Sample, choose_answer_retrieve
from iot2.simplest.batch import SimplestQueryBatch, SimplestReplyBatch
from iot2.wire.precomputed import Correction, PrecomputedReply

Offline = Callable[[int, Now], tuple[int, int]]
"""(count, now): run that many transfers of the base; the sender's and the receiver's time."""


def over_compact(key: SenderKey, length: int) -> Chunk:
    """Pre-computed OT over the compact variant."""
    sender, receiver = _over(sessions.compact(key), length)
    return _online(sender, receiver, _in_batches(sender, receiver, QueryBatch, ReplyBatch))


def over_simplest(group: str, length: int) -> Chunk:
    """Pre-computed OT over SimplestOT with a long-term A."""
    sender, receiver = _over(sessions.simplest_known(group), length)
    offline = _in_batches(sender, receiver, SimplestQueryBatch, SimplestReplyBatch)
    return _online(sender, receiver, offline)


def over_six(key: SenderKey, length: int) -> Chunk:
    """Pre-computed OT over the six-message variant, whose offers come first."""
    sender, receiver = _over(sessions.six(key), length)

    def offline(count: int, now: Now) -> tuple[int, int]:
        t0 = now()
        offers = [offer.to_bytes() for offer in sender.offers(count)]
        t1 = now()
        parsed = [Offer.from_bytes(offer) for offer in offers]
        queries = [query.to_bytes() for query in receiver.prepare(offers=parsed)]
        t2 = now()
        asked = [SixQuery.from_bytes(query) for query in queries]
        replies = [reply.to_bytes() for reply in sender.prepare(asked)]
        t3 = now()
        receiver.finish([SixReply.from_bytes(reply) for reply in replies])
        t4 = now()
        return t1 - t0 + t3 - t2, t2 - t1 + t4 - t3

    return _online(sender, receiver, offline)


def _over(base: Parties, length: int) -> tuple[PrecomputedSender, PrecomputedReceiver]:
    return PrecomputedSender(base.sender, length), PrecomputedReceiver(base.receiver)


def _in_batches(
    sender: PrecomputedSender, receiver: PrecomputedReceiver, query_batch: Any, reply_batch: Any
) -> Offline:
    def offline(count: int, now: Now) -> tuple[int, int]:
        t0 = now()
        queries = receiver.prepare(count).to_bytes()
        t1 = now()
        asked = query_batch.from_bytes(queries, len(queries) // count)
        replies = sender.prepare(asked).to_bytes()
        t2 = now()
        receiver.finish(reply_batch.from_bytes(replies))
        t3 = now()
        return t2 - t1, t1 - t0 + t3 - t2

    return offline


def _online(sender: PrecomputedSender, receiver: PrecomputedReceiver, offline: Offline) -> Chunk:
    parties = Parties(
        sender, receiver, sender.answer, Correction.from_bytes, PrecomputedReply.from_bytes
    )

    def chunk(choices: Sequence[int], messages: Sequence[Messages], now: Now) -> list[Sample]:
        count = len(choices)
        by_sender, by_receiver = (share // count for share in offline(count, now))
        choose, online, retrieve = choose_answer_retrieve(parties, choices, messages, now)
        return list(
            map(Sample, [by_sender] * count, online, [by_receiver] * count, choose, retrieve)
        )

    return chunk
