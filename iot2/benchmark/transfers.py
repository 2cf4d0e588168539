"""One transfer at a time through the public classes, bytes in to bytes out, with its readings.

Each function here opens a session and returns a `Once`: a callable that runs
one whole transfer and gives back what each step took. A step begins where the
party holds bytes or a choice, and ends where it holds bytes again; the other
party's work is never inside it.
"""

from collections.abc import Callable
from typing import NamedTuple

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
from iot2.errors import Iot2Error

Now = Callable[[], int]
"""A reading of the clock or of a cycle counter."""

Messages = tuple[bytes, bytes]


class Sample(NamedTuple):
    """What the steps of one transfer took, in the unit of the readings."""

    sender_offline: int
    sender_online: int
    receiver_offline: int
    receiver_choose: int
    receiver_retrieve: int


Once = Callable[[int, Messages, Now], Sample]
"""(choice, messages, now): one transfer."""


class WrongMessageError(Iot2Error):
    """A transfer gave another message than the chosen one: nothing measured is worth keeping."""

    def __init__(self) -> None:
        super().__init__("a transfer gave another message than the chosen one")


def compact(key: SenderKey, *, masked: bool = False) -> Once:
    """The compact variant, the key's fingerprint pinned: its proof is a cost per key."""
    sender = Sender(key)
    receiver = Receiver(key.public, sender.sid, trusted_fingerprint=key.fingerprint, masked=masked)

    def once(choice: int, messages: Messages, now: Now) -> Sample:
        t0 = now()
        receiver.precompute(1)
        t1 = now()
        query = receiver.choose(choice).to_bytes()
        t2 = now()
        reply = sender.answer(Query.from_bytes(query), messages).to_bytes()
        t3 = now()
        message = receiver.retrieve(Reply.from_bytes(reply))
        t4 = now()
        if message != messages[choice]:
            raise WrongMessageError
        return Sample(0, t3 - t2, t1 - t0, t2 - t1, t4 - t3)

    return once


def six(key: SenderKey, *, masked: bool = False) -> Once:
    """The six-message variant."""
    sender = SixSender(key)
    receiver = SixReceiver(key.public, sender.sid, masked=masked)

    def once(choice: int, messages: Messages, now: Now) -> Sample:
        t0 = now()
        offer = sender.offer().to_bytes()
        t1 = now()
        receiver.precompute(1)
        t2 = now()
        query = receiver.choose(Offer.from_bytes(offer), choice).to_bytes()
        t3 = now()
        reply = sender.answer(SixQuery.from_bytes(query), *messages).to_bytes()
        t4 = now()
        message = receiver.retrieve(SixReply.from_bytes(reply))
        t5 = now()
        if message != messages[choice]:
            raise WrongMessageError
        return Sample(t1 - t0, t4 - t3, t2 - t1, t3 - t2, t5 - t4)

    return once
