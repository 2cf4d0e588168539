"""Both parties of pre-computed OT, over every base."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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

KEY = SenderKey.generate(512, insecure=True)
KEY_OF_5 = SenderKey.generate(512, 5, insecure=True)


def compact(key: SenderKey = KEY) -> tuple[Any, Any]:
    sender = Sender(key)
    return sender, Receiver(key.public, sender.sid, trusted_fingerprint=key.fingerprint)


def six() -> tuple[Any, Any]:
    sender = SixSender(KEY)
    return sender, SixReceiver(KEY.public, sender.sid)


def simplest(group: str, split: str) -> Callable[[], tuple[Any, Any]]:
    def make() -> tuple[Any, Any]:
        sender = SimplestSender(group, split=split)
        return sender, SimplestReceiver(sender.public, sender.sid, group=group, split=split)

    return make


BASES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "compact": compact,
    "compact 1-of-5": lambda: compact(KEY_OF_5),
    "six": six,
    "ristretto255 known": simplest("ristretto255", "known"),
    "secp256k1 known": simplest("secp256k1", "known"),
    "ristretto255 fresh": simplest("ristretto255", "fresh"),
    "secp256k1 fresh": simplest("secp256k1", "fresh"),
}


def asked(sender: PrecomputedSender, receiver: PrecomputedReceiver, count: int) -> Any:
    """The base's queries for `count` transfers, after its offers where it makes any."""
    if isinstance(sender.base, SixSender) or getattr(sender.base, "split", "") == "fresh":
        return receiver.prepare(offers=sender.offers(count))
    return receiver.prepare(count)


def offline(sender: PrecomputedSender, receiver: PrecomputedReceiver, count: int) -> None:
    """Run the offline phase of `count` transfers."""
    receiver.finish(sender.prepare(asked(sender, receiver, count)))


def parties(
    base: str = "secp256k1 known", length: int = 4, count: int = 3
) -> tuple[PrecomputedSender, PrecomputedReceiver]:
    """Both parties, with `count` transfers run offline."""
    base_sender, base_receiver = BASES[base]()
    sender = PrecomputedSender(base_sender, length)
    receiver = PrecomputedReceiver(base_receiver)
    offline(sender, receiver, count)
    return sender, receiver


def messages_for(sender: PrecomputedSender) -> tuple[bytes, ...]:
    """Messages of the sender's length, as many as a transfer takes."""
    return tuple(bytes([65 + j]) * sender.length for j in range(sender.choices))
