"""What pre-computed OT asks of the protocol below it, whichever that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from iot2.errors import MessageError, StateError
from iot2.wire.batch import Batch
from iot2.wire.message import Message

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from iot2.parties.compact import Receiver, Sender
    from iot2.parties.six import SixReceiver, SixSender
    from iot2.simplest import SimplestReceiver, SimplestSender

BaseSender: TypeAlias = "Sender | SixSender | SimplestSender"
BaseReceiver: TypeAlias = "Receiver | SixReceiver | SimplestReceiver"


def base_choices(base: BaseSender | BaseReceiver) -> int:
    """c of the base: of its key, or 2 where a key is no matter of c."""
    key = getattr(base, "key", getattr(base, "public", None))
    choices: int = getattr(key, "choices", 2)
    return choices


def answer_all(base: Any, queries: Any, messages: NDArray[np.uint8]) -> Any:
    """The base's replies to queries in a batch or a sequence; messages of shape (count, c, L)."""
    if hasattr(base, "answer_many"):
        return base.answer_many(queries, messages)
    base.check_many(queries)
    pairs = ([row.tobytes() for row in rows] for rows in messages)
    return [base.answer(query, *pair) for query, pair in zip(queries, pairs, strict=True)]


def choose_all(base: Any, offers: Sequence[Any] | None, choices: NDArray[np.uint8]) -> Any:
    """The base's queries for these choices, as a batch, or for its offers, as a list."""
    if offers is None:
        return base.choose_many(choices)
    return [
        base.choose(offer, choice) for offer, choice in zip(offers, choices.tolist(), strict=True)
    ]


def retrieve_all(base: Any, replies: Any) -> list[bytes]:
    """The base's messages from replies in a batch or a sequence; all are given up by an error."""
    if hasattr(base, "retrieve_many"):
        opened = base.retrieve_many(replies)
        return opened if isinstance(opened, list) else [row.tobytes() for row in opened]
    try:
        return [base.retrieve(reply) for reply in replies]
    except (MessageError, StateError):
        discard_all(base, indexes_of(replies))
        raise


def discard_all(base: Any, indexes: Sequence[int]) -> None:
    """Give up every open transfer among these indexes."""
    for index in indexes:
        base.discard(index)


def indexes_of(messages: Any) -> list[int]:
    """The index of each message of a batch or a sequence; `MessageError` where one is none."""
    if isinstance(messages, Batch):
        listed: list[int] = messages.indexes.tolist()
        return listed
    for message in messages:
        if not isinstance(message, Message):
            came = type(message).__name__
            raise MessageError(f"expected a message of the protocol below, got {came}")
    return [message.index for message in messages]
