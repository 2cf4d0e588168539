"""Sender and receiver of the six-message variant (specification, sections 3 and 4)."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from gmpy2 import invert, mpz

from iot2.arithmetic.uniform import EXTRA_BYTES, RandBytes, draw, unit
from iot2.errors import MessageError, ParameterError, StateError
from iot2.parties.arguments import check_choice, check_count, check_kind, check_messages
from iot2.parties.compact.sender import check_residue
from iot2.parties.intervals import IntervalSet
from iot2.parties.sender_key import SenderKey
from iot2.parties.uncopied import Uncopied
from iot2.protocol import six as steps
from iot2.protocol.compact import decrypt
from iot2.protocol.framing import INDEX_LIMIT, KEY_BYTES, SID_BYTES, u64
from iot2.protocol.selection import masked as masked_selection
from iot2.wire.header import OFFER, SIX_QUERY, SIX_REPLY, VERSION, check_sid
from iot2.wire.messages import Offer, Session, SixQuery, SixReply
from iot2.wire.public_key import PublicKey


def check_query(key: SenderKey, sid: bytes, query: SixQuery) -> mpz:
    """The y of a query to this session; `MessageError` unless it is well formed and a unit."""
    if type(query) is not SixQuery:
        raise MessageError(f"expected a SixQuery, got {type(query).__name__}")
    if query.sid != sid:
        raise MessageError("this query belongs to another session")
    return check_residue(key, query.residue)


def seal(
    key: SenderKey, sid: bytes, query: SixQuery, a: mpz, swaps: int, m0: bytes, m1: bytes
) -> SixReply:
    """The reply to a query, without one-use bookkeeping: the caller must never ask twice.

    Args:
        key: with c = 2.
        sid: of this session.
        query: from the receiver.
        a: the unit whose square was offered for this index.
        swaps: a random byte, for the order of the two pairs.
        m0: bytes, at least 1.
        m1: bytes, as many.

    Raises:
        MessageError: the query is refused.
        ParameterError: the messages differ in length or are empty.
    """
    check_messages((m0, m1), 2)
    y = check_query(key, sid, query)
    a_inverse = invert(a, key.public.modulus)
    return _sealed(key, sid, query.index, y, a_inverse, swaps, m0, m1)


def _sealed(
    key: SenderKey,
    sid: bytes,
    index: int,
    y: mpz,
    a_inverse: mpz,
    swaps: int,
    m0: bytes,
    m1: bytes,
) -> SixReply:
    fp = key.fingerprint
    slots = steps.sender_slots(key.secret, key.reject_seed, fp, sid, index, y, a_inverse)
    return SixReply(sid, index, *steps.encrypt(steps.arrange(slots, swaps), m0, m1))


def make_offer(key: SenderKey, sid: bytes, index: int, a: mpz) -> Offer:
    """z_i = a^2, for a unit a."""
    N = key.public.modulus
    return Offer(sid, index, (a * a % N).to_bytes(key.public.size, "big"))


class SixSender(Uncopied):
    """The sender of one six-message session. Safe to share between threads.

    Args:
        key: the sender's key, with c = 2.
        sid: 16 bytes, fresh for every session; drawn from `randbytes` by default.
        randbytes: count -> bytes; an offer draws n + 16 bytes (again where
            they give no unit), an answer one.

    Raises:
        ParameterError: a key with c > 2.
    """

    def __init__(
        self, key: SenderKey, sid: bytes | None = None, *, randbytes: RandBytes = os.urandom
    ) -> None:
        check_kind(key, SenderKey, "the key")
        if key.choices != 2:
            raise ParameterError(f"this variant takes a key with 2 choices, has {key.choices}")
        self.key = key
        self.sid = draw(randbytes, SID_BYTES) if sid is None else sid
        check_sid(self.sid)
        self.used = IntervalSet()
        self._randbytes = randbytes
        self._inverses: dict[int, mpz] = {}
        self._next = 0
        self._lock = threading.Lock()

    @property
    def session(self) -> Session:
        """The message (kind 7) that opens the session."""
        return Session(Session.SIX, self.sid, self.key.fingerprint)

    def offer(self) -> Offer:
        """z_i = a^2 for a fresh unit a and the next index, counted from 0."""
        a = unit(self.key.public.modulus, self._randbytes)
        a_inverse = invert(a, self.key.public.modulus)  # offline: all that an answer needs of a
        with self._lock:
            index = self._next
            if index >= INDEX_LIMIT:
                raise StateError("every index of this session was offered")
            self._next += 1
            self._inverses[index] = a_inverse
        return make_offer(self.key, self.sid, index, a)

    def answer(self, query: SixQuery, m0: bytes, m1: bytes) -> SixReply:
        """The four ciphertexts and four digests for one query, once.

        Raises:
            ParameterError: the messages differ in length or are empty; nothing is consumed.
            MessageError: the query is malformed or out of range; no index is consumed.
            StateError: the index was not offered, or was answered before.
        """
        check_messages((m0, m1), 2)
        y = check_query(self.key, self.sid, query)
        index = query.index
        with self._lock:
            self._check_open(index)
            swaps = draw(self._randbytes, 1)[0]
            a_inverse = self._inverses.pop(index)
            self.used.add(index)
        return _sealed(self.key, self.sid, index, y, a_inverse, swaps, m0, m1)

    def check_many(self, queries: Sequence[SixQuery]) -> None:
        """Raise what `answer` would for any of these, or for two of one index; nothing is consumed.

        For a caller that answers several and must refuse them whole.
        """
        for query in queries:
            check_query(self.key, self.sid, query)
        indexes = [query.index for query in queries]
        if len(set(indexes)) != len(indexes):
            raise StateError("two queries of this batch have one index")
        with self._lock:
            for index in indexes:
                self._check_open(index)

    def _check_open(self, index: int) -> None:
        if index in self.used:
            raise StateError(f"index {index} was answered before")
        if index not in self._inverses:
            raise StateError(f"index {index} was not offered")

    def __repr__(self) -> str:
        return f"SixSender(sid={self.sid.hex()[:8]}..., {self.key!r}, answered={len(self.used)})"


@dataclass(slots=True, repr=False)
class _Tuple:
    """What the receiver holds of one transfer."""

    u: mpz | None
    framed_u: bytes | None
    key: bytes
    digest: bytes
    choice: int = field(default=0)


class SixReceiver(Uncopied):
    """The receiver of one six-message session.

    It trusts the sender to follow the protocol and needs no proof of its key.

    Args:
        public: the sender's key, with c = 2.
        sid: 16 bytes, from the sender's `Session`.
        masked: select by masks over both options instead of by index.
        randbytes: count -> bytes; n + 16 bytes are drawn for each transfer.

    Raises:
        ParameterError: a key with c > 2.
    """

    def __init__(
        self,
        public: PublicKey,
        sid: bytes,
        *,
        masked: bool = False,
        randbytes: RandBytes = os.urandom,
    ) -> None:
        check_kind(public, PublicKey, "the public key")
        check_sid(sid)
        if public.choices != 2:
            raise ParameterError(f"this variant takes a key with 2 choices, has {public.choices}")
        self.public, self.sid, self.masked = public, sid, masked
        self._randbytes = randbytes
        self._N, self._size = public.modulus, public.size
        self._offer_start = bytes((VERSION, OFFER)) + sid
        self._query_start = bytes((VERSION, SIX_QUERY)) + sid
        self._reply_start = bytes((VERSION, SIX_REPLY)) + sid
        self._ready: dict[int, _Tuple] = {}
        self._open: dict[int, _Tuple] = {}
        self._count = 0

    @property
    def available(self) -> int:
        """How many transfers are pre-computed and not yet used."""
        return len(self._ready)

    def precompute(self, count: int) -> None:
        """x <- uniform, u = x^2, h = digest(x), k = key(x), for `count` more indexes.

        Raises:
            ParameterError: `count` is negative or no integer.
        """
        count = check_count(count)
        N, size, fp = self._N, self._size, self.public.fingerprint
        for index in range(self._count, self._count + count):
            x = mpz.from_bytes(draw(self._randbytes, size + EXTRA_BYTES), "big") % N
            u = x * x % N
            k, digest = steps.key_and_digest(fp, self.sid, index, x, N)
            framed_u = self._query_start + u64(index) + u.to_bytes(size, "big")
            self._ready[index] = _Tuple(u, framed_u, k, digest)
            self._count = index + 1

    def choose(self, offer: Offer, b: int) -> SixQuery:
        """y = u if b = 0, u z_i if b = 1; both are computed, then one is selected.

        Args:
            offer: from the sender; its index names the tuple that is spent.
            b: the choice, 0 or 1.

        Raises:
            ParameterError: b is neither 0 nor 1; no tuple is spent.
            MessageError: the offer is of another session, or not 0 < z_i < N.
            StateError: no tuple is pre-computed for this index, or it is spent.
        """
        b = check_choice(b, 2)
        if type(offer) is not Offer:
            raise MessageError(f"expected an Offer, got {type(offer).__name__}")
        start, residue = offer.encoded[:18], offer.encoded[26:]
        if start != self._offer_start:
            raise MessageError("this offer belongs to another session")
        if len(residue) != self._size:
            raise MessageError(f"z_i must have {self._size} bytes, has {len(residue)}")
        z_i = mpz.from_bytes(residue, "big")
        if not 0 < z_i < self._N:
            raise MessageError("z_i must satisfy 0 < z_i < N, and does not")
        index = offer.index
        entry = self._ready.pop(index, None)
        if entry is None or entry.u is None or entry.framed_u is None:
            raise StateError(
                f"no pre-computed transfer is left for index {index}: "
                "it was not pre-computed, or an offer for it was taken before"
            )
        entry.choice = b
        self._open[index] = entry
        product = entry.u * z_i % self._N
        options = (entry.framed_u, entry.framed_u[:26] + product.to_bytes(self._size, "big"))
        entry.u = entry.framed_u = None
        encoded = masked_selection(options, b) if self.masked else options[b]
        return SixQuery.trusted(encoded, index)

    def retrieve(self, reply: SixReply) -> bytes:
        """m_b = the ciphertext of pair b whose digest is h, ^ pad(k).

        Raises:
            MessageError: no reply of this session, or none of the two digests
                is ours (which discards the tuple).
            StateError: no query for this index is open: not sent, or answered before.
        """
        if type(reply) is not SixReply:
            raise MessageError(f"expected a SixReply, got {type(reply).__name__}")
        if reply.encoded[:18] != self._reply_start:
            raise MessageError("this reply belongs to another session")
        entry = self._open.pop(reply.index, None)
        if entry is None:
            raise StateError(f"no query with index {reply.index} is open")
        b, length = entry.choice, reply.length
        pair = masked_selection((reply.pair(0), reply.pair(1)), b) if self.masked else reply.pair(b)
        digests_at = 2 * length
        first = pair[digests_at : digests_at + KEY_BYTES] == entry.digest
        second = pair[digests_at + KEY_BYTES :] == entry.digest
        if not (first or second):
            raise MessageError(f"none of the digests for index {reply.index} fits")
        return decrypt(entry.key, pair[:length] if first else pair[length:digests_at])

    def discard(self, index: int) -> None:
        """Give up the transfer with this index, if its query is open."""
        self._open.pop(index, None)

    def __repr__(self) -> str:
        fp = self.public.fingerprint.hex()[:16]
        return (
            f"SixReceiver(sid={self.sid.hex()[:8]}..., fingerprint={fp}..., "
            f"available={self.available})"
        )
