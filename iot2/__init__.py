"""I-(OT)^2: oblivious transfer for receivers on low-power hardware.

A sender holds c messages; a receiver obtains one of them, the sender does not
learn which, and the receiver learns nothing of the others. The receiver
pre-computes a little offline and then spends next to nothing online.

Most people want the compact variant:

    key = SenderKey.generate()                      # sender, once
    sender = Sender(key)                            # sender, a session
    receiver = Receiver(key.public, sender.sid)     # receiver, verifies the key
    receiver.precompute(100)                        # receiver, offline
    reply = sender.answer(receiver.choose(1), (m0, m1))
    m1 = receiver.retrieve(reply)

Every message has `to_bytes` and `from_bytes`. The channel must be authentic
(TLS, say). `docs/protocol.md` is the specification.

Research software: Python around the exponentiation is not constant-time, and
nothing here is post-quantum.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from iot2.version import __version__

if TYPE_CHECKING:
    from iot2.errors import (
        DataError,
        Iot2Error,
        MessageError,
        ParameterError,
        ProofError,
        StateError,
    )
    from iot2.parties.compact import Receiver, Sender
    from iot2.parties.precomputed import PrecomputedReceiver, PrecomputedSender
    from iot2.parties.sender_key import SenderKey
    from iot2.parties.six import SixReceiver, SixSender
    from iot2.simplest import SimplestReceiver, SimplestSender
    from iot2.wire.batch import QueryBatch, ReplyBatch
    from iot2.wire.messages import Offer, Query, Reply, Session, SixQuery, SixReply
    from iot2.wire.public_key import PublicKey

_HOMES = {
    "iot2.errors": (
        "DataError",
        "Iot2Error",
        "MessageError",
        "ParameterError",
        "ProofError",
        "StateError",
    ),
    "iot2.parties.compact": ("Receiver", "Sender"),
    "iot2.parties.precomputed": ("PrecomputedReceiver", "PrecomputedSender"),
    "iot2.parties.sender_key": ("SenderKey",),
    "iot2.parties.six": ("SixReceiver", "SixSender"),
    "iot2.simplest": ("SimplestReceiver", "SimplestSender"),
    "iot2.wire.batch": ("QueryBatch", "ReplyBatch"),
    "iot2.wire.messages": ("Offer", "Query", "Reply", "Session", "SixQuery", "SixReply"),
    "iot2.wire.public_key": ("PublicKey",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "DataError",
    "Iot2Error",
    "MessageError",
    "Offer",
    "ParameterError",
    "PrecomputedReceiver",
    "PrecomputedSender",
    "ProofError",
    "PublicKey",
    "Query",
    "QueryBatch",
    "Receiver",
    "Reply",
    "ReplyBatch",
    "Sender",
    "SenderKey",
    "Session",
    "SimplestReceiver",
    "SimplestSender",
    "SixQuery",
    "SixReceiver",
    "SixReply",
    "SixSender",
    "StateError",
    "__version__",
]


def __getattr__(name: str) -> object:
    """Import a public name on first use, so that `import iot2` stays fast."""
    if name not in _HOME:
        raise AttributeError(f"module 'iot2' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
