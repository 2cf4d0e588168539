"""What a real transfer sends and computes, counted: messages, digests, square roots."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FrameType

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
from iot2.arithmetic.blum import BlumModulus
from iot2.benchmark.transfers import check_opened
from iot2.errors import DataError
from iot2.protocol.framing import KEY_BYTES
from iot2.wire.ciphertexts import CIPHERTEXTS
from iot2.wire.header import HEADER

_LENGTH_BYTES = 4


@dataclass(frozen=True, slots=True)
class Counted:
    """One transfer.

    Attributes:
        frames: encoded messages online, in both directions.
        messages: the same in the words of the specification, where a six-reply is four
            messages, one for each ciphertext, and a compact reply is one.
        digests: digests online, out of the bytes of the reply that nothing else fills.
        roots: square roots that the sender took.
    """

    frames: int
    messages: int
    digests: int
    roots: int


def count_six(key: SenderKey, *, length: int = 16) -> Counted:
    """One transfer of the six-message variant, through bytes."""
    sender = SixSender(key)
    receiver = SixReceiver(key.public, sender.sid)
    receiver.precompute(1)
    offer = sender.offer().to_bytes()
    query = receiver.choose(Offer.from_bytes(offer), 1).to_bytes()
    messages = bytes(length), bytes([255]) * length
    with calls_of(BlumModulus.sqrt) as roots:
        reply = sender.answer(SixQuery.from_bytes(query), *messages).to_bytes()
    parsed = SixReply.from_bytes(reply)
    check_opened([receiver.retrieve(parsed)], [1], [messages])
    ciphertexts = len(parsed.ciphertexts)
    rest = len(reply) - HEADER.size - _LENGTH_BYTES - ciphertexts * length
    return Counted(3, 2 + ciphertexts, _digests(rest), roots[0])


def count_compact(key: SenderKey, *, length: int = 16) -> Counted:
    """One transfer of the compact variant, through bytes."""
    sender = Sender(key)
    receiver = Receiver(key.public, sender.sid, trusted_fingerprint=key.fingerprint)
    receiver.precompute(1)
    query = receiver.choose(1).to_bytes()
    messages = [bytes([j]) * length for j in range(key.choices)]
    with calls_of(BlumModulus.sqrt) as roots:
        reply = sender.answer(Query.from_bytes(query), messages).to_bytes()
    parsed = Reply.from_bytes(reply)
    check_opened([receiver.retrieve(parsed)], [1], [(messages[0], messages[1])])
    rest = len(reply) - CIPHERTEXTS.size - len(parsed.ciphertexts) * length
    return Counted(2, 2, _digests(rest), roots[0])


def _digests(rest: int) -> int:
    """How many digests fill exactly the bytes of a reply that nothing else does."""
    if rest % KEY_BYTES:
        raise DataError(f"expected digests of {KEY_BYTES} bytes in a reply, came {rest} bytes")
    return rest // KEY_BYTES


@contextmanager
def calls_of(function: Callable[..., object]) -> Iterator[list[int]]:
    """Count the calls of a Python function in this thread while the context lasts.

    Yields:
        A list whose only entry is the number of calls so far.
    """
    code: CodeType = function.__code__
    count = [0]

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is code:
            count[0] += 1

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield count
    finally:
        sys.setprofile(before)
