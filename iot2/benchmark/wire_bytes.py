"""Bytes on the wire, counted from encoded messages of real transfers."""

from collections.abc import Mapping

import pandas as pd

from iot2 import (
    PrecomputedReceiver,
    PrecomputedSender,
    Receiver,
    Sender,
    SenderKey,
    SimplestReceiver,
    SimplestSender,
    SixReceiver,
    SixSender,
)
from iot2.benchmark.schema import Table
from iot2.benchmark.series import random_messages
from iot2.simplest.groups import GROUPS

Row = tuple[str, str, str, int]
"""phase, direction, message, bytes"""


def wire_table(keys: Mapping[int, SenderKey]) -> pd.DataFrame:
    """The table of kind `bytes`, for messages as long as the benchmark's."""
    rows: list[tuple[str, int, str, str, str, str, str, int]] = []
    for bits, key in keys.items():
        rows += [("compact", bits, "none", "known_key", *row) for row in compact_bytes(key)]
        rows += [("six", bits, "none", "fresh", *row) for row in six_bytes(key)]
        rows += [("precomputed", bits, "none", "known_key", *row) for row in corrected_bytes(key)]
    for group in GROUPS:
        rows += [("simplest", 0, group, "known_key", *row) for row in known_bytes(group)]
        rows += [("simplest", 0, group, "fresh", *row) for row in fresh_bytes(group)]
    return pd.DataFrame(rows, columns=[column.name for column in Table("bytes").columns])


def compact_bytes(key: SenderKey) -> list[Row]:
    """One key, one session and one transfer of the compact variant."""
    sender = Sender(key)
    receiver = Receiver(key.public, sender.sid, trusted_fingerprint=key.fingerprint)
    receiver.precompute(1)
    query = receiver.choose(0)
    reply = sender.answer(query, random_messages())
    return [
        ("once", "down", "public_key", len(key.public.to_bytes())),
        ("once", "down", "session", len(sender.session.to_bytes())),
        ("online", "up", "query", len(query.to_bytes())),
        ("online", "down", "reply", len(reply.to_bytes())),
    ]


def six_bytes(key: SenderKey) -> list[Row]:
    """One key, one session and one transfer of the six-message variant."""
    sender = SixSender(key)
    receiver = SixReceiver(key.public, sender.sid)
    receiver.precompute(1)
    offer = sender.offer()
    query = receiver.choose(offer, 0)
    reply = sender.answer(query, *random_messages())
    return [
        ("once", "down", "public_key", len(key.public.to_bytes())),
        ("once", "down", "session", len(sender.session.to_bytes())),
        ("online", "down", "offer", len(offer.to_bytes())),
        ("online", "up", "query", len(query.to_bytes())),
        ("online", "down", "reply", len(reply.to_bytes())),
    ]


def known_bytes(group: str) -> list[Row]:
    """A long-term A and one transfer of SimplestOT; sid and A are sent as they are."""
    sender = SimplestSender(group)
    receiver = SimplestReceiver(sender.public, sender.sid, group=group)
    receiver.precompute(1)
    query = receiver.choose(0)
    reply = sender.answer(query, random_messages())
    return [
        ("once", "down", "public_key", len(sender.public)),
        ("once", "down", "session", len(sender.sid)),
        ("online", "up", "query", len(query.to_bytes())),
        ("online", "down", "reply", len(reply.to_bytes())),
    ]


def fresh_bytes(group: str) -> list[Row]:
    """One transfer of SimplestOT with an A of its own."""
    sender = SimplestSender(group, split="fresh")
    receiver = SimplestReceiver(b"", sender.sid, group=group, split="fresh")
    receiver.precompute(1)
    offer = sender.offer()
    query = receiver.choose(offer, 0)
    reply = sender.answer(query, random_messages())
    return [
        ("once", "down", "session", len(sender.sid)),
        ("online", "down", "offer", len(offer.to_bytes())),
        ("online", "up", "query", len(query.to_bytes())),
        ("online", "down", "reply", len(reply.to_bytes())),
    ]


def corrected_bytes(key: SenderKey) -> list[Row]:
    """One pre-computed transfer over the compact variant."""
    base, messages = Sender(key), random_messages()
    sender = PrecomputedSender(base, len(messages[0]))
    receiver = PrecomputedReceiver(
        Receiver(key.public, base.sid, trusted_fingerprint=key.fingerprint)
    )
    queries = receiver.prepare(1)
    replies = sender.prepare(queries)
    receiver.finish(replies)
    correction = receiver.choose(0)
    reply = sender.answer(correction, messages)
    return [
        ("once", "down", "public_key", len(key.public.to_bytes())),
        ("once", "down", "session", len(base.session.to_bytes())),
        ("offline", "up", "query", len(queries.to_bytes())),
        ("offline", "down", "reply", len(replies.to_bytes())),
        ("online", "up", "correction", len(correction.to_bytes())),
        ("online", "down", "reply", len(reply.to_bytes())),
    ]
