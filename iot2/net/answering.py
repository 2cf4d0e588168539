"""What a worker computes: the reply to a query that passed every check of form.

Pure functions of the key, the session, the index, the query and the messages.
Even the six-message variant draws nothing at random here: its unit a and its
swaps are derived from the key's secret seed, the session and the index, under
a label of their own. So an offer that was lost can be made again with the same
bytes, without keeping secrets in the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gmpy2 import gcd, mpz

from iot2.arithmetic.uniform import EXTRA_BYTES
from iot2.errors import MessageError
from iot2.net.events import Code, Refusal
from iot2.parties import compact, six
from iot2.parties.sender_key import SenderKey
from iot2.protocol.framing import X, u64
from iot2.wire.messages import Query, SixQuery

_OFFER: Final = "net/offer"
_SWAPS: Final = "net/swaps"


def _unit(key: SenderKey, sid: bytes, index: int) -> mpz:
    """The secret a of an index: X("net/offer", n + 16; seed, fp, sid, u64(i), attempt) mod N."""
    N, size = key.public.modulus, key.public.size + EXTRA_BYTES
    attempt = 0
    while True:
        parts = (key.reject_seed, key.fingerprint, sid, u64(index), u64(attempt))
        a = mpz.from_bytes(X(_OFFER, size, *parts), "big") % N
        if gcd(a, N) == 1:
            return a
        attempt += 1


def offer(key: SenderKey, sid: bytes, index: int) -> bytes:
    """Kind 4: z_i = a^2, the same bytes whenever it is asked for."""
    return six.make_offer(key, sid, index, _unit(key, sid, index)).to_bytes()


def reply_compact(key: SenderKey, sid: bytes, query: Query, messages: Sequence[bytes]) -> bytes:
    """Kind 3, for a query that was checked."""
    return compact.seal(key, sid, query, messages).to_bytes()


def reply_six(key: SenderKey, sid: bytes, query: SixQuery, messages: Sequence[bytes]) -> bytes:
    """Kind 6, for a query that was checked."""
    m0, m1 = messages
    a = _unit(key, sid, query.index)
    parts = (key.reject_seed, key.fingerprint, sid, u64(query.index))
    swaps = X(_SWAPS, 1, *parts)[0]
    return six.seal(key, sid, query, a, swaps, m0, m1).to_bytes()


def check_range(key: SenderKey, sid: bytes, queries: Sequence[Query | SixQuery]) -> None:
    """Raise `Refusal` (RANGE) unless every y satisfies 0 < y < N and gcd(y, N) = 1."""
    try:
        for query in queries:
            if isinstance(query, SixQuery):
                six.check_query(key, sid, query)
            else:
                compact.check_query(key, sid, query)
    except MessageError as error:
        raise Refusal(Code.RANGE, str(error)) from None
