"""The sender of pre-computed OT."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from iot2.arithmetic.uniform import RandBytes, draw
from iot2.errors import MessageError, ParameterError, StateError
from iot2.parties.arguments import Messages, check_count, check_messages
from iot2.parties.intervals import IntervalSet
from iot2.parties.precomputed.base import BaseSender, answer_all, base_choices, indexes_of
from iot2.parties.uncopied import Uncopied
from iot2.protocol.framing import u64, xor
from iot2.wire.ciphertexts import CIPHERTEXTS
from iot2.wire.header import VERSION
from iot2.wire.precomputed import (
    CORRECTION,
    PRECOMPUTED_REPLY,
    Correction,
    CorrectionBatch,
    PrecomputedReply,
    PrecomputedReplyBatch,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BODY = CIPHERTEXTS.size  # where the ciphertexts of a reply begin


class PrecomputedSender(Uncopied):
    """The sender of pre-computed OT. Safe to share between threads.

    Args:
        base: the sender that runs the offline transfers, for nothing else.
        length: L >= 1, the bytes of every message that will be sent.
        randbytes: count -> bytes; c L are drawn for each transfer.

    Example:
        >>> from iot2 import PrecomputedReceiver, PrecomputedSender
        >>> from iot2 import SimplestReceiver, SimplestSender
        >>> base = SimplestSender("secp256k1")
        >>> sender = PrecomputedSender(base, 4)
        >>> receiver = PrecomputedReceiver(
        ...     SimplestReceiver(base.public, base.sid, group="secp256k1")
        ... )
        >>> receiver.finish(sender.prepare(receiver.prepare(10)))     # offline
        >>> reply = sender.answer(receiver.choose(1), (b"left", b"rite"))
        >>> receiver.retrieve(reply)
        b'rite'
    """

    def __init__(self, base: BaseSender, length: int, *, randbytes: RandBytes = os.urandom) -> None:
        if not isinstance(length, int) or not 1 <= length < 1 << 32:
            raise ParameterError(f"length must be an integer from 1 to 2^32 - 1, got {length!r}")
        self.base, self.length, self.choices = base, length, base_choices(base)
        self.sid = base.sid
        self.prepared = IntervalSet()
        self._randbytes = randbytes
        self._reply_start = bytes((VERSION, PRECOMPUTED_REPLY)) + self.sid
        self._shape = self.choices.to_bytes(2, "big") + length.to_bytes(4, "big")
        self._pads: dict[int, bytes] = {}
        self._lock = threading.Lock()

    @property
    def available(self) -> int:
        """How many transfers were run offline and not yet used."""
        return len(self._pads)

    def offers(self, count: int) -> list[Any]:
        """The base's offers for `count` transfers, where it begins with an offer.

        Raises:
            ParameterError: `count` is no integer >= 0, or the base makes no offers.
        """
        count = check_count(count)
        if not hasattr(self.base, "offer"):
            raise ParameterError(f"a {type(self.base).__name__} makes no offers")
        return [self.base.offer() for _ in range(count)]

    def prepare(self, queries: Any) -> Any:
        """The base's replies to its queries, with random messages r_0 ... r_(c-1).

        Args:
            queries: a batch or a sequence of the base's queries.

        Returns:
            What the base's `answer_many` gives: a batch for a batch, else a list.

        Raises:
            MessageError, StateError: as the base.
        """
        import numpy as np

        indexes = indexes_of(queries)
        count, size = len(indexes), self.choices * self.length
        drawn = draw(self._randbytes, count * size)
        messages = np.frombuffer(drawn, np.uint8).reshape(count, self.choices, self.length)
        replies = answer_all(self.base, queries, messages)
        pads = (drawn[k : k + size] for k in range(0, len(drawn), size))
        with self._lock:
            self.prepared.update(indexes)
            self._pads.update(zip(indexes, pads, strict=True))
        return replies

    def answer(self, correction: Correction, messages: Sequence[bytes]) -> PrecomputedReply:
        """e_j = m_j ^ r_(j - d mod c): the reply to one correction, once.

        Args:
            correction: from the receiver.
            messages: m_0 ... m_(c-1), `length` bytes each.

        Raises:
            ParameterError: the messages do not fit; nothing is consumed.
            MessageError: the correction is of another session, or d >= c; no
                index is consumed.
            StateError: the index was answered before, or not run offline.
        """
        check_messages(messages, self.choices)
        if len(messages[0]) != self.length:
            raise ParameterError(
                f"the messages must have the {self.length} bytes fixed offline, "
                f"have {len(messages[0])}"
            )
        if type(correction) is not Correction:
            raise MessageError(f"expected a Correction, got {type(correction).__name__}")
        if correction.sid != self.sid:
            raise MessageError("this correction belongs to another session")
        index, d = correction.index, correction.d
        if d >= self.choices:
            raise MessageError(f"a correction must be below {self.choices}, is {d}")
        with self._lock:
            pads = self._pads.pop(index, None)
        if pads is None:
            raise self._missing(index)
        turn = len(pads) - d * self.length
        body = xor(b"".join(messages), pads[turn:] + pads[:turn])
        encoded = self._reply_start + u64(index) + self._shape + body
        return PrecomputedReply.from_bytes(encoded)

    @overload
    def answer_many(  # type: ignore[overload-overlap]
        self, corrections: CorrectionBatch, messages: NDArray[np.uint8]
    ) -> PrecomputedReplyBatch: ...
    @overload
    def answer_many(
        self, corrections: Sequence[Correction], messages: Messages
    ) -> list[PrecomputedReply]: ...
    def answer_many(
        self, corrections: CorrectionBatch | Sequence[Correction], messages: Messages
    ) -> PrecomputedReplyBatch | list[PrecomputedReply]:
        """Replies to many corrections, checked whole before any is answered.

        Args:
            corrections: a `CorrectionBatch`, or a sequence of `Correction`,
                which may be empty.
            messages: for each its c messages: a sequence of sequences of
                bytes, or an array of shape (count, c, L), uint8.

        Returns:
            A `PrecomputedReplyBatch` for a batch, else a list, in order.

        Raises:
            ParameterError, MessageError, StateError: as `answer`, and
                `StateError` where two have one index; nothing is consumed.
        """
        batch = corrections
        if not isinstance(batch, CorrectionBatch):
            for correction in corrections:
                if type(correction) is not Correction:
                    came = type(correction).__name__
                    raise MessageError(f"expected a Correction, got {came}")
            if not len(corrections):
                self._array(messages, 0)
                return []  # a batch has at least one
            batch = CorrectionBatch.from_bytes(b"".join(c.to_bytes() for c in corrections))
        replies = self._answer_batch(batch, self._array(messages, len(batch)))
        return replies if batch is corrections else list(replies)

    def _array(self, messages: Messages, count: int) -> NDArray[np.uint8]:
        """The messages as an array (count, c, L), uint8, checked."""
        import numpy as np

        shape = (count, self.choices, self.length)
        if isinstance(messages, Sequence):
            for row in messages:
                check_messages(row, self.choices)
            joined = b"".join(m for row in messages for m in row)
            lengths = {len(row[0]) for row in messages}
            if len(messages) != count or lengths - {self.length}:
                raise ParameterError(
                    f"expected the messages of {count} transfers, {self.length} bytes each"
                )
            return np.frombuffer(joined, np.uint8).reshape(shape)
        if messages.dtype != "uint8" or messages.shape != shape:
            raise ParameterError(
                f"an array of messages must be uint8 of shape {shape}, "
                f"got {messages.dtype} of shape {messages.shape}"
            )
        return messages

    def _answer_batch(
        self, batch: CorrectionBatch, messages: NDArray[np.uint8]
    ) -> PrecomputedReplyBatch:
        import numpy as np

        if not batch.starts_with(bytes((VERSION, CORRECTION)) + self.sid):
            raise MessageError("a correction of this batch belongs to another session")
        d, count = batch.d.astype(np.intp), len(batch)
        if d.max() >= self.choices:
            raise MessageError(f"every correction must be below {self.choices}, one is not")
        taken = self._take(batch.indexes.tolist())
        pads = np.frombuffer(b"".join(taken), np.uint8).reshape(messages.shape)
        turned = (np.arange(self.choices) - d[:, None]) % self.choices
        rows = np.empty((count, BODY + self.choices * self.length), np.uint8)
        rows[:, :18] = np.frombuffer(self._reply_start, np.uint8)
        rows[:, 18:26] = batch.rows[:, 18:26]
        rows[:, 26:BODY] = np.frombuffer(self._shape, np.uint8)
        body = pads[np.arange(count)[:, None], turned] ^ messages
        rows[:, BODY:] = body.reshape(count, -1)
        return PrecomputedReplyBatch(rows.tobytes(), rows.shape[1])

    def _take(self, indexes: Sequence[int]) -> list[bytes]:
        """The pads of these indexes, all or none, which are spent by it."""
        with self._lock:
            if len(set(indexes)) != len(indexes):
                raise StateError("two corrections of this batch have one index")
            for index in indexes:
                if index not in self._pads:
                    raise self._missing(index)
            return list(map(self._pads.pop, indexes))

    def _missing(self, index: int) -> StateError:
        reason = "was answered before" if index in self.prepared else "was not run offline"
        return StateError(f"index {index} {reason}")

    def __repr__(self) -> str:
        return f"PrecomputedSender({self.base!r}, length={self.length}, available={self.available})"
