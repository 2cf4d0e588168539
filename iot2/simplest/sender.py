"""The sender of SimplestOT, with a known or with fresh keys (specification, section 9)."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import overload

from iot2.arithmetic.uniform import RandBytes, draw
from iot2.errors import MessageError, ParameterError, StateError
from iot2.parties.arguments import (
    Messages,
    check_messages,
    check_workers,
    messages_of_each,
)
from iot2.parties.intervals import IntervalSet
from iot2.parties.uncopied import Uncopied
from iot2.parties.workers import in_threads
from iot2.protocol.compact import encrypt
from iot2.protocol.framing import INDEX_LIMIT, SID_BYTES
from iot2.simplest.batch import SimplestQueryBatch, SimplestReplyBatch
from iot2.simplest.groups import Point, draw_scalars, load_group
from iot2.simplest.messages import SimplestOffer, SimplestQuery, SimplestReply
from iot2.simplest.steps import key_frame, sender_points
from iot2.wire.header import check_sid

SPLITS = ("known", "fresh")
"""Whether A is long-term, or arrives online for each transfer."""


def check_split(split: str) -> None:
    """Raise `ParameterError` unless this is the name of a split."""
    if split not in SPLITS:
        raise ParameterError(f"split must be known or fresh, got {split!r}")


class _Key:
    """a, A = aG (encoded too) and -aA: of the sender, or of one transfer."""

    __slots__ = ("A", "a", "minus_aA")

    def __init__(self, a: bytes, A: bytes, minus_aA: Point) -> None:
        self.a, self.A, self.minus_aA = a, A, minus_aA


class SimplestSender(Uncopied):
    """The sender of one session of SimplestOT (c = 2): answers each index once.

    Like `Sender`, it keeps no replies: a repeated query is refused. Safe to
    share between threads.

    Args:
        group: "ristretto255" or "secp256k1".
        sid: 16 bytes, fresh for every session; drawn from `randbytes` by default.
        split: "known", with one key A for the session, or "fresh", with one
            from `offer` for each transfer.
        randbytes: count -> bytes; each scalar takes `group.draw_size`.

    Attributes:
        public: A, encoded, in the known split; empty in the fresh one.

    Example:
        >>> from iot2 import SimplestReceiver, SimplestSender
        >>> sender = SimplestSender("secp256k1")
        >>> receiver = SimplestReceiver(sender.public, sender.sid, group="secp256k1")
        >>> receiver.precompute(1)
        >>> reply = sender.answer(receiver.choose(1), (b"left", b"rite"))
        >>> receiver.retrieve(reply)
        b'rite'
    """

    def __init__(
        self,
        group: str = "ristretto255",
        sid: bytes | None = None,
        *,
        split: str = "known",
        randbytes: RandBytes = os.urandom,
    ) -> None:
        check_split(split)
        self.group, self.split = load_group(group), split
        self.sid = draw(randbytes, SID_BYTES) if sid is None else sid
        check_sid(self.sid)
        self.used = IntervalSet()
        self._randbytes = randbytes
        self._frame = key_frame(self.group, self.sid)
        self._lock = threading.Lock()
        self._offered = 0
        self._offers: dict[int, _Key] = {}
        self._key = self._new_key() if split == "known" else None
        self.public = b"" if self._key is None else self._key.A

    def _new_key(self) -> _Key:
        group = self.group
        (a,) = draw_scalars(group, 1, self._randbytes)
        A = group.base(a)
        return _Key(a, group.encode(A), group.multiply(A, group.opposite(a)))

    def offer(self) -> SimplestOffer:
        """A = aG for the next index, in the fresh split.

        Raises:
            StateError: the key of this sender is known: it makes no offers.
        """
        if self._key is not None:
            raise StateError("a sender with a known key makes no offers: use split='fresh'")
        key = self._new_key()
        with self._lock:
            index = self._offered
            if index >= INDEX_LIMIT:
                raise StateError("every index of this session was offered")
            self._offered += 1
            self._offers[index] = key
        return SimplestOffer(self.sid, index, key.A)

    def answer(self, query: SimplestQuery, messages: Sequence[bytes]) -> SimplestReply:
        """c_0 = m_0 ^ pad(H(aB)), c_1 = m_1 ^ pad(H(aB - aA)): the reply to one query, once.

        Args:
            query: from the receiver.
            messages: m_0 and m_1, bytes of one length >= 1.

        Raises:
            ParameterError: the messages do not fit; nothing is consumed.
            MessageError: the query is malformed or its point refused; no index
                is consumed.
            StateError: the index was answered before, or not yet offered.
        """
        check_messages(messages, 2)
        keys = self._open(query)
        self._mark_used([query.index])
        return self._sealed(query.index, keys, messages)

    @overload
    def answer_many(  # type: ignore[overload-overlap]
        self, queries: SimplestQueryBatch, messages: Messages, *, workers: int = 1
    ) -> SimplestReplyBatch: ...
    @overload
    def answer_many(
        self, queries: Sequence[SimplestQuery], messages: Messages, *, workers: int = 1
    ) -> list[SimplestReply]: ...
    def answer_many(
        self,
        queries: SimplestQueryBatch | Sequence[SimplestQuery],
        messages: Messages,
        *,
        workers: int = 1,
    ) -> SimplestReplyBatch | list[SimplestReply]:
        """Replies to many queries, checked whole before any is answered.

        Args:
            queries: a `SimplestQueryBatch`, or a sequence of `SimplestQuery`,
                which may be empty.
            messages: for each query its two messages: a sequence of pairs of
                bytes, or an array of shape (count, 2, L), uint8.
            workers: threads for the points; both bindings release the
                interpreter lock.

        Returns:
            A `SimplestReplyBatch` for a batch (all messages then have one
            length), else a list, in the order of the queries.

        Raises:
            ParameterError, MessageError, StateError: as `answer`, and
                `StateError` where two queries have one index; nothing is consumed.
        """
        listed, workers = list(queries), check_workers(workers)
        as_batch = isinstance(queries, SimplestQueryBatch)
        rows = messages_of_each(messages, len(listed), 2, as_batch=as_batch)
        keys = in_threads(workers, self._open, listed)
        indexes = [query.index for query in listed]
        self._mark_used(indexes)
        replies = [self._sealed(*each) for each in zip(indexes, keys, rows, strict=True)]
        if as_batch:
            return SimplestReplyBatch.from_bytes(b"".join(reply.encoded for reply in replies))
        return replies

    def _open(self, query: SimplestQuery) -> tuple[bytes, bytes]:
        """(k_0, k_1) of a query, every check made but that an index is used once."""
        if type(query) is not SimplestQuery:
            raise MessageError(f"expected a SimplestQuery, got {type(query).__name__}")
        if query.sid != self.sid:
            raise MessageError("this query belongs to another session")
        index, B = query.index, query.point
        key = self._offers.get(index) if self._key is None else self._key
        if key is None:
            # A refused point is a MessageError whatever the state is.
            self.group.decode(B)
            answered = index < self._offered
            reason = "was answered before" if answered else "was not offered"
            raise StateError(f"index {index} {reason}")
        P_0, P_1 = sender_points(self.group, key.a, key.minus_aA, B)
        frame, A = self._frame, key.A
        return frame.key(index, A, B, P_0), frame.key(index, A, B, P_1)

    def _sealed(
        self, index: int, keys: tuple[bytes, bytes], messages: Sequence[bytes]
    ) -> SimplestReply:
        return SimplestReply(self.sid, index, encrypt(keys, messages))

    def _mark_used(self, indexes: Sequence[int]) -> None:
        """Mark indexes as answered, all or none, and forget the keys offered for them."""
        with self._lock:
            if len(set(indexes)) != len(indexes):
                raise StateError("two queries of this batch have one index")
            for index in indexes:
                if index in self.used:
                    raise StateError(f"index {index} was answered before")
            self.used.update(indexes)
            for index in indexes:
                self._offers.pop(index, None)

    def __repr__(self) -> str:
        return (
            f"SimplestSender({self.group.name}, split={self.split}, "
            f"sid={self.sid.hex()[:8]}..., answered={len(self.used)})"
        )
