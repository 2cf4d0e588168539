"""A receiver's tuples where a fresh key A arrives online for each transfer.

Offline xG. `choose` is what is done before the receiver's message leaves: the
addition and a selection. xA and the hash wait for `retrieve`.
"""

from __future__ import annotations

from collections.abc import Sequence

from iot2.errors import MessageError, ParameterError, StateError
from iot2.parties.arguments import check_choice
from iot2.protocol.compact import decrypt
from iot2.protocol.framing import u64
from iot2.protocol.selection import masked as masked_selection
from iot2.simplest.groups import Group, Point
from iot2.simplest.known import BODY, foreign
from iot2.simplest.messages import (
    SIMPLEST_OFFER,
    SIMPLEST_QUERY,
    SIMPLEST_REPLY,
    SimplestOffer,
    SimplestQuery,
    SimplestReply,
)
from iot2.simplest.steps import key_frame
from iot2.wire.header import HEADER, VERSION

_Ready = tuple[bytes, Point, bytes, bytes]
"""x, xG, the header of the query, and xG encoded."""

_Sent = tuple[int, bytes, Point, bytes, bytes]
"""b, and what the key is made of: x, A, and A and B encoded."""


class FreshTuples:
    """The tuples of one session with fresh keys; the offer's index names the tuple it spends.

    Args:
        group: the session's.
        sid: 16 bytes.
        masked: select by masks over both options instead of by index.
    """

    def __init__(self, group: Group, sid: bytes, masked: bool) -> None:
        self._group, self._masked = group, masked
        self._frame = key_frame(group, sid)
        self._offer_start = bytes((VERSION, SIMPLEST_OFFER)) + sid
        self._query_start = bytes((VERSION, SIMPLEST_QUERY)) + sid
        self._reply_start = bytes((VERSION, SIMPLEST_REPLY)) + sid
        self._ready: dict[int, _Ready] = {}
        self._sent: dict[int, _Sent] = {}
        self._count = 0

    @property
    def available(self) -> int:
        """How many are ready."""
        return len(self._ready)

    def precompute(self, scalars: Sequence[bytes]) -> None:
        """A tuple for each x: xG."""
        base, encode = self._group.base, self._group.encode
        for index, x in enumerate(scalars, self._count):
            xG = base(x)
            self._ready[index] = (x, xG, self._query_start + u64(index), encode(xG))
        self._count += len(scalars)

    def choose(self, offer: SimplestOffer, choice: int | None) -> SimplestQuery:
        """B = xG + bA; both options are computed, then one is selected."""
        if choice is None:
            raise ParameterError("with fresh keys a choice is made for an offer: choose(offer, b)")
        if type(choice) is not int or not 0 <= choice < 2:
            choice = check_choice(choice, 2)
        if type(offer) is not SimplestOffer:
            raise MessageError(f"expected a SimplestOffer, got {type(offer).__name__}")
        group, index, data = self._group, offer.index, offer.encoded
        if data[:18] != self._offer_start:
            raise MessageError("this offer belongs to another session")
        A_bytes = data[HEADER.size :]
        entry = self._ready.get(index)
        if entry is None:
            # A refused point is a MessageError whatever the state is.
            group.decode(A_bytes)
            raise StateError(
                f"no pre-computed transfer is left for index {index}: "
                "it was not pre-computed, or an offer for it was taken before"
            )
        x, xG, head, B_0 = entry
        A = group.decode_late(A_bytes)
        total = group.encode(group.add(xG, A))
        if total == group.identity:
            raise MessageError(f"the A of an offer must be a canonical {group.name} point")
        del self._ready[index]
        if self._masked:
            B = masked_selection((B_0, total), choice)
        else:
            B = (B_0, total)[choice]
        self._sent[index] = (choice, x, A, A_bytes, B)
        return SimplestQuery.trusted(head + B, index)

    def retrieve(self, reply: SimplestReply) -> bytes:
        """m_b = c_b ^ pad(H(xA))."""
        if type(reply) is not SimplestReply or reply.encoded[:18] != self._reply_start:
            raise foreign(reply)
        index, group = reply.index, self._group
        if reply.choices != 2:
            self.discard(index)
            raise MessageError(f"a reply must carry 2 ciphertexts, carries {reply.choices}")
        entry = self._sent.pop(index, None)
        if entry is None:
            raise StateError(f"no query with index {index} is open")
        choice, x, A, A_bytes, B = entry
        P = group.encode(group.multiply(A, x))
        key = self._frame.key(index, A_bytes, B, P)
        if self._masked:
            return decrypt(key, masked_selection(reply.ciphertexts, choice))
        start = BODY + choice * reply.length
        return decrypt(key, reply.encoded[start : start + reply.length])

    def discard(self, index: int) -> None:
        """Give up the transfer with this index, if its query is open."""
        self._sent.pop(index, None)

    def choose_many(
        self, offers: Sequence[SimplestOffer], choices: Sequence[int] | None
    ) -> list[SimplestQuery]:
        """Queries for these offers, in order."""
        if choices is None or len(offers) != len(choices) or not len(offers):
            raise ParameterError("expected as many choices as offers, at least one")
        chosen = [check_choice(choice, 2) for choice in choices]
        return [self.choose(*pair) for pair in zip(offers, chosen, strict=True)]
