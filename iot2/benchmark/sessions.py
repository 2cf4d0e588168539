"""The sessions that are measured: both parties, and how each reads the other's bytes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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
from iot2.simplest.messages import SimplestOffer, SimplestQuery, SimplestReply

Messages = tuple[bytes, bytes]

Parse = Callable[[bytes], Any]


@dataclass(frozen=True, slots=True)
class Parties:
    """The sender and the receiver of one session.

    Attributes:
        answer: (query, messages): the sender's answer.
        to_offer: None where a transfer begins without an offer.
    """

    sender: Any
    receiver: Any
    answer: Callable[[Any, Messages], Any]
    to_query: Parse
    to_reply: Parse
    to_offer: Parse | None = None


def compact(key: SenderKey, *, masked: bool = False) -> Parties:
    """The compact variant, the key's fingerprint pinned: its proof is a cost per key."""
    sender = Sender(key)
    receiver = Receiver(key.public, sender.sid, trusted_fingerprint=key.fingerprint, masked=masked)
    return Parties(sender, receiver, sender.answer, Query.from_bytes, Reply.from_bytes)


def simplest_known(group: str) -> Parties:
    """SimplestOT with a long-term A: both keys are made offline."""
    sender = SimplestSender(group)
    receiver = SimplestReceiver(sender.public, sender.sid, group=group)
    return Parties(
        sender, receiver, sender.answer, SimplestQuery.from_bytes, SimplestReply.from_bytes
    )


def six(key: SenderKey, *, masked: bool = False) -> Parties:
    """The six-message variant."""
    sender = SixSender(key)
    receiver = SixReceiver(key.public, sender.sid, masked=masked)
    return Parties(
        sender,
        receiver,
        lambda query, messages: sender.answer(query, *messages),
        SixQuery.from_bytes,
        SixReply.from_bytes,
        Offer.from_bytes,
    )


def simplest_fresh(group: str) -> Parties:
    """SimplestOT with a new A for each transfer: xA waits for the reply."""
    sender = SimplestSender(group, split="fresh")
    receiver = SimplestReceiver(b"", sender.sid, group=group, split="fresh")
    return Parties(
        sender,
        receiver,
        sender.answer,
        SimplestQuery.from_bytes,
        SimplestReply.from_bytes,
        SimplestOffer.from_bytes,
    )
