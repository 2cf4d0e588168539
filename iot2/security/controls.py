"""Positive controls: a receiver and a sender that give themselves away by the time they take.

Each does what an honest party does, but only the part that this transfer needs.
They are measured beside the real ones: an analysis that does not find them finds
nothing, and its silence about the others means nothing.
"""

from __future__ import annotations

import os

from gmpy2 import mpz

from iot2.arithmetic.uniform import uniform_mod
from iot2.parties.compact import check_query
from iot2.parties.sender_key import SenderKey
from iot2.protocol import compact, six
from iot2.wire.messages import Offer, Query, Reply, SixQuery, SixReply
from iot2.wire.public_key import PublicKey


class LazyReceiver:
    """A receiver of the six-message variant that multiplies only when b = 1."""

    def __init__(self, public: PublicKey, sid: bytes) -> None:
        self._N, self._size, self._fp = public.modulus, public.size, public.fingerprint
        self._sid = sid
        self._ready: list[tuple[mpz, bytes, bytes]] = []
        self._choices: dict[int, int] = {}

    def precompute(self, count: int) -> None:
        """x ← uniform, u = x², h = digest(x), k = key(x), for `count` more indexes."""
        for _ in range(count):
            x = uniform_mod(self._N, os.urandom)
            key, digest = six.key_and_digest(self._fp, self._sid, len(self._ready), x, self._N)
            self._ready.append((x * x % self._N, key, digest))

    def choose(self, offer: Offer, b: int) -> SixQuery:
        """y = u if b = 0, u·z_i if b = 1: the product is left out where it is not needed."""
        y = self._ready[offer.index][0]
        if b:
            y = y * mpz.from_bytes(offer.residue, "big") % self._N
        self._choices[offer.index] = b
        return SixQuery(self._sid, offer.index, y.to_bytes(self._size, "big"))

    def retrieve(self, reply: SixReply) -> bytes:
        """m_b, as the honest receiver does."""
        _, key, digest = self._ready[reply.index]
        pair = self._choices.pop(reply.index)
        place = reply.digests.index(digest, 2 * pair, 2 * pair + 2)
        return compact.decrypt(key, reply.ciphertexts[place])


class HastySender:
    """A compact sender that stops at a non-square: its answer is random bytes, and early.

    What it sends cannot be told from an honest answer to a non-square; when it
    sends it can.
    """

    def __init__(self, key: SenderKey, sid: bytes) -> None:
        self._key, self._sid = key, sid

    def answer(self, query: Query, messages: tuple[bytes, bytes]) -> Reply:
        """The reply, without the work that a non-square makes useless."""
        key = self._key
        N = key.public.modulus
        y = check_query(key, self._sid, query)
        s = key.secret.sqrt(y)
        if s * s % N != y:
            ciphertexts = tuple(os.urandom(len(m)) for m in messages)
        else:
            roots = (s, s * key.rho_inverse[0] % N)
            keys = [compact.key(key.fingerprint, self._sid, query.index, root, N) for root in roots]
            ciphertexts = compact.encrypt(keys, messages)
        return Reply(self._sid, query.index, ciphertexts)
