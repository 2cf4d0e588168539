"""The sender of the compact variant (specification, sections 3 and 5)."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

from gmpy2 import mpz

from iot2.arithmetic.uniform import RandBytes, draw
from iot2.errors import MessageError, StateError
from iot2.parties.arguments import (
    Messages,
    check_kind,
    check_messages,
    check_workers,
    messages_of_each,
)
from iot2.parties.intervals import IntervalSet
from iot2.parties.sender_key import SenderKey
from iot2.parties.uncopied import Uncopied
from iot2.parties.workers import in_threads
from iot2.protocol import compact as steps
from iot2.protocol.framing import SID_BYTES
from iot2.wire.header import HEADER, QUERY, VERSION, check_sid
from iot2.wire.messages import Query, Reply, Session

if TYPE_CHECKING:
    from iot2.wire.batch import QueryBatch, ReplyBatch


def check_residue(key: SenderKey, residue: bytes) -> mpz:
    """The y of these bytes; `MessageError` unless n bytes, 0 < y < N and gcd(y, N) = 1."""
    size = key.public.size
    if len(residue) != size:
        raise MessageError(f"y must have {size} bytes, has {len(residue)}")
    y = mpz.from_bytes(residue, "big")
    if not 0 < y < key.public.modulus:
        raise MessageError("y must satisfy 0 < y < N, and does not")
    if not key.secret.is_unit(y):
        # y = 0 mod p would open messages under more roots than one.
        raise MessageError("y must be a unit mod N, and is not")
    return y


def check_query(key: SenderKey, sid: bytes, query: Query) -> mpz:
    """The y of a query to this session, every check of section 3 made but those of state.

    Raises:
        MessageError: another kind or sid, y not n bytes, not 0 < y < N, or no unit.
    """
    if type(query) is not Query:
        raise MessageError(f"expected a Query, got {type(query).__name__}")
    if query.sid != sid:
        raise MessageError("this query belongs to another session")
    return check_residue(key, query.residue)


def seal(key: SenderKey, sid: bytes, query: Query, messages: Sequence[bytes]) -> Reply:
    """The reply to a query, without one-use bookkeeping: the caller must never ask twice.

    Raises:
        MessageError: the query is refused (`check_query`).
        ParameterError: the messages are not `key.choices` of one length.
    """
    check_messages(messages, key.choices)
    y = check_query(key, sid, query)
    return _sealed(key, sid, query.index, y, messages)


def _sealed(key: SenderKey, sid: bytes, index: int, y: mpz, messages: Sequence[bytes]) -> Reply:
    keys = steps.sender_keys(
        key.secret, key.rho_inverse, key.reject_seed, key.fingerprint, sid, index, y
    )
    return Reply(sid, index, steps.encrypt(keys, messages))


class Sender(Uncopied):
    """The sender of one compact session: answers each index once.

    A `Sender` keeps no replies: a repeated query is refused. Safe to share
    between threads.

    Args:
        key: the sender's key.
        sid: 16 bytes, fresh for every session; drawn from `randbytes` by default.
        randbytes: count -> bytes.

    Example:
        >>> from iot2 import Receiver, Sender, SenderKey
        >>> sender = Sender(SenderKey.generate(512, insecure=True))
        >>> receiver = Receiver(sender.key.public, sender.sid)
        >>> receiver.precompute(1)
        >>> reply = sender.answer(receiver.choose(1), (b"left", b"rite"))
        >>> receiver.retrieve(reply)
        b'rite'
    """

    def __init__(
        self, key: SenderKey, sid: bytes | None = None, *, randbytes: RandBytes = os.urandom
    ) -> None:
        check_kind(key, SenderKey, "the key")
        self.key = key
        self.sid = draw(randbytes, SID_BYTES) if sid is None else sid
        check_sid(self.sid)
        self.used = IntervalSet()
        self._lock = threading.Lock()

    @property
    def session(self) -> Session:
        """The message (kind 7) that opens the session."""
        return Session(Session.COMPACT, self.sid, self.key.fingerprint)

    def answer(self, query: Query, messages: Sequence[bytes]) -> Reply:
        """c_j = m_j ^ pad(k_j): the reply to one query, once.

        Args:
            query: from the receiver.
            messages: m_0 ... m_(c-1), bytes of one length >= 1.

        Raises:
            ParameterError: the messages do not fit; nothing is consumed.
            MessageError: the query is malformed or out of range; no index is consumed.
            StateError: the index was answered before.
        """
        check_messages(messages, self.key.choices)
        y = check_query(self.key, self.sid, query)
        self.mark_used([query.index])
        return _sealed(self.key, self.sid, query.index, y, messages)

    @overload
    def answer_many(  # type: ignore[overload-overlap]
        self, queries: QueryBatch, messages: Messages, *, workers: int = 1
    ) -> ReplyBatch: ...
    @overload
    def answer_many(
        self, queries: Sequence[Query], messages: Messages, *, workers: int = 1
    ) -> list[Reply]: ...
    def answer_many(
        self,
        queries: QueryBatch | Sequence[Query],
        messages: Messages,
        *,
        workers: int = 1,
    ) -> ReplyBatch | list[Reply]:
        """Replies to many queries, checked whole before any is answered.

        Args:
            queries: a `QueryBatch`, or a sequence of `Query`, which may be empty.
            messages: for each query its c messages: a sequence of sequences of
                bytes, or an array of shape (count, c, L), uint8.
            workers: threads for the square roots; they run side by side
                because the exponentiation releases the interpreter lock.

        Returns:
            A `ReplyBatch` for a `QueryBatch` (all messages then have one
            length), else a list of `Reply`, in the order of the queries.

        Raises:
            ParameterError, MessageError, StateError: as `answer`, and
                `StateError` where two queries have one index; nothing is consumed.
        """
        from iot2.wire.batch import QueryBatch, ReplyBatch

        workers = check_workers(workers)
        as_batch = isinstance(queries, QueryBatch)
        if not isinstance(queries, QueryBatch):
            residues = [check_query(self.key, self.sid, query) for query in queries]
            indexes = [query.index for query in queries]
        else:
            residues, indexes = self._check_batch(queries)
        rows = messages_of_each(messages, len(indexes), self.key.choices, as_batch=as_batch)
        self.mark_used(indexes)

        def sealed(index: int, y: mpz, row: Sequence[bytes]) -> Reply:
            return _sealed(self.key, self.sid, index, y, row)

        replies = in_threads(workers, sealed, indexes, residues, rows)
        if as_batch:
            return ReplyBatch.from_bytes(b"".join(reply.encoded for reply in replies))
        return replies

    def _check_batch(self, queries: QueryBatch) -> tuple[list[mpz], list[int]]:
        """The residues and indexes of a batch, checked as `check_query` does."""
        if not queries.starts_with(bytes((VERSION, QUERY)) + self.sid):
            raise MessageError("a query of this batch belongs to another session")
        data, stride = queries.encoded, queries.stride
        residues = [
            check_residue(self.key, data[at + HEADER.size : at + stride])
            for at in range(0, len(data), stride)
        ]
        return residues, queries.indexes.tolist()

    def mark_used(self, indexes: Sequence[int]) -> None:
        """Mark indexes as answered, all or none.

        Raises:
            StateError: one was answered before, or stands here twice.
        """
        with self._lock:
            if len(set(indexes)) != len(indexes):
                raise StateError("two queries of this batch have one index")
            for index in indexes:
                if index in self.used:
                    raise StateError(f"index {index} was answered before")
            self.used.update(indexes)

    def __repr__(self) -> str:
        return f"Sender(sid={self.sid.hex()[:8]}..., {self.key!r}, answered={len(self.used)})"
