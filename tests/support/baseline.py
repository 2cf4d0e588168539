"""Both parties of SimplestOT, whichever the group and the split."""

from __future__ import annotations

from iot2 import SimplestReceiver, SimplestSender
from iot2.simplest.messages import SimplestOffer, SimplestQuery

M = (b"left", b"rite")
SPLITS = ("known", "fresh")


def parties(
    group: str, split: str = "known", *, masked: bool = False, count: int = 4
) -> tuple[SimplestSender, SimplestReceiver]:
    """A sender, and its receiver with `count` transfers to choose for."""
    sender = SimplestSender(group, split=split)
    receiver = SimplestReceiver(sender.public, sender.sid, group=group, split=split, masked=masked)
    receiver.precompute(count)
    return sender, receiver


def choose(sender: SimplestSender, receiver: SimplestReceiver, b: int) -> SimplestQuery:
    """The query for b, after an offer where the split wants one."""
    if sender.split == "known":
        return receiver.choose(b)
    return receiver.choose(SimplestOffer.from_bytes(sender.offer().to_bytes()), b)


def frame(*parts: bytes) -> bytes:
    """What a key of SimplestOT is the hash of, spelt out here."""
    joined = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return b"iot2/v1/simplest/key\0" + joined
