"""The receiver of SimplestOT, with a known or with fresh keys (specification, section 9)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from iot2.arithmetic.uniform import RandBytes
from iot2.errors import MessageError, ParameterError, StateError
from iot2.parties.arguments import check_count, check_kind
from iot2.parties.uncopied import Uncopied
from iot2.simplest.batch import SimplestQueryBatch, SimplestReplyBatch
from iot2.simplest.fresh import FreshTuples
from iot2.simplest.groups import draw_scalars, load_group
from iot2.simplest.known import KnownTuples
from iot2.simplest.messages import SimplestOffer, SimplestQuery, SimplestReply
from iot2.simplest.sender import check_split
from iot2.wire.header import check_sid

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_TUPLES_PER_READ = 512


class SimplestReceiver(Uncopied):
    """The receiver of one session of SimplestOT (c = 2).

    With a known key, xG, xG + A, xA and both keys are computed offline, and
    online remain a selection and an XOR, as for `Receiver`. With fresh keys
    only xG is computed offline; the addition waits for the offer, and xA for
    the reply: `choose` is what is done before the receiver's message leaves,
    `retrieve` what comes after.

    Args:
        public: A, encoded, for a known key; empty for fresh ones.
        sid: 16 bytes, from the sender.
        group: "ristretto255" or "secp256k1".
        split: "known" or "fresh".
        masked: select by masks over both options instead of by index.
        randbytes: count -> bytes; `group.draw_size` are drawn for each transfer.

    Raises:
        MessageError: `public` is no point of the group, or the identity.
        ParameterError: no such group or split, or `public` with fresh keys.
    """

    def __init__(
        self,
        public: bytes,
        sid: bytes,
        *,
        group: str = "ristretto255",
        split: str = "known",
        masked: bool = False,
        randbytes: RandBytes = os.urandom,
    ) -> None:
        check_split(split)
        check_kind(public, bytes, "the public key")
        check_sid(sid)
        self.group, self.split = load_group(group), split
        self.public, self.sid, self.masked = public, sid, masked
        self._randbytes = randbytes
        self._tuples: Any  # KnownTuples and FreshTuples take different arguments
        if split == "known":
            self._tuples = KnownTuples(self.group, sid, public, masked)
        elif public == b"":
            self._tuples = FreshTuples(self.group, sid, masked)
        else:
            raise ParameterError("with fresh keys none is known beforehand: public must be b''")

    @property
    def available(self) -> int:
        """How many transfers are pre-computed and not yet used."""
        count: int = self._tuples.available
        return count

    def precompute(self, count: int) -> None:
        """The offline phase of `count` more transfers.

        Known key: xG, xG + A, xA and two hashes each. Fresh keys: xG.

        Raises:
            ParameterError: `count` is negative or no integer.
        """
        count = check_count(count)
        while count > _TUPLES_PER_READ:
            self.precompute(_TUPLES_PER_READ)
            count -= _TUPLES_PER_READ
        self._tuples.precompute(draw_scalars(self.group, count, self._randbytes))

    @overload
    def choose(self, choice: int, /) -> SimplestQuery: ...
    @overload
    def choose(self, offer: SimplestOffer, choice: int, /) -> SimplestQuery: ...
    def choose(self, first: Any, second: Any = None, /) -> SimplestQuery:
        """B = xG + bA, of the next tuple for `choose(b)`, of the offer's for `choose(offer, b)`.

        Args:
            first: b, 0 or 1, with a known key; the sender's offer with fresh ones.
            second: b, with fresh keys.

        Raises:
            ParameterError: b is neither 0 nor 1, or the arguments are those of
                the other split; no tuple is spent.
            MessageError: the offer is of another session, or its point is
                refused; no tuple is spent.
            StateError: no tuple is left for this transfer.
        """
        query: SimplestQuery = self._tuples.choose(first, second)
        return query

    def retrieve(self, reply: SimplestReply) -> bytes:
        """m_b = c_b ^ pad(H(xA)): the chosen message, as long as the sender's were.

        Raises:
            MessageError: no reply of this session, or another number of
                ciphertexts (which discards the tuple).
            StateError: no query for this index is open: not sent, or answered before.
        """
        message: bytes = self._tuples.retrieve(reply)
        return message

    def discard(self, index: int) -> None:
        """Give up the transfer with this index, if its query is open: its keys are erased."""
        self._tuples.discard(index)

    @overload
    def choose_many(self, choices: NDArray[Any], /) -> SimplestQueryBatch: ...
    @overload
    def choose_many(self, choices: Sequence[int], /) -> list[SimplestQuery]: ...
    @overload
    def choose_many(
        self, offers: Sequence[SimplestOffer], choices: Sequence[int], /
    ) -> list[SimplestQuery]: ...
    def choose_many(self, first: Any, second: Any = None, /) -> Any:
        """Queries for the next len(choices) tuples, or for those of the offers, in order.

        Args:
            first: b of each transfer with a known key: a sequence of integers,
                or an integer array of shape (count,); with fresh keys the offers.
            second: b of each transfer, with fresh keys.

        Returns:
            A list of `SimplestQuery` for a sequence, a `SimplestQueryBatch` for an array.

        Raises:
            ParameterError: a choice is out of range, or none is given.
            MessageError: an offer is refused.
            StateError: too few tuples are left. Where the key is known no
                tuple is spent by an error.
        """
        return self._tuples.choose_many(first, second)

    @overload
    def retrieve_many(  # type: ignore[overload-overlap]
        self, replies: SimplestReplyBatch
    ) -> NDArray[np.uint8]: ...
    @overload
    def retrieve_many(self, replies: Sequence[SimplestReply]) -> list[bytes]: ...
    def retrieve_many(
        self, replies: SimplestReplyBatch | Sequence[SimplestReply]
    ) -> NDArray[np.uint8] | list[bytes]:
        """The chosen messages of many replies, which may come in any order.

        Returns:
            For a `SimplestReplyBatch` an array of shape (count, L), uint8; for
            a sequence a list of bytes; in the order of the replies.

        Raises:
            MessageError, StateError: as `retrieve`. Every open tuple that the
                batch names is then discarded.
        """
        if isinstance(replies, SimplestReplyBatch) and self.split == "known":
            opened: NDArray[np.uint8] = self._tuples.retrieve_batch(replies)
            return opened
        listed = list(replies)
        try:
            messages = [self.retrieve(reply) for reply in listed]
        except (MessageError, StateError):
            for reply in listed:
                if type(reply) is SimplestReply and reply.sid == self.sid:
                    self.discard(reply.index)
            raise
        return messages if not isinstance(replies, SimplestReplyBatch) else _rows(messages)

    def __repr__(self) -> str:
        return (
            f"SimplestReceiver({self.group.name}, split={self.split}, "
            f"sid={self.sid.hex()[:8]}..., available={self.available})"
        )


def _rows(messages: list[bytes]) -> NDArray[np.uint8]:
    import numpy as np

    return np.frombuffer(b"".join(messages), np.uint8).reshape(len(messages), -1)
