"""The receiver of pre-computed OT."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from iot2.arithmetic.uniform import RandBytes, draw
from iot2.errors import MessageError, ParameterError, StateError
from iot2.parties.arguments import check_choice, check_choices, check_count
from iot2.parties.precomputed.base import (
    BaseReceiver,
    base_choices,
    choose_all,
    discard_all,
    indexes_of,
    retrieve_all,
)
from iot2.parties.uncopied import Uncopied
from iot2.protocol.framing import u64, xor
from iot2.wire.ciphertexts import CIPHERTEXTS
from iot2.wire.header import VERSION
from iot2.wire.precomputed import (
    CORRECTION,
    CORRECTION_SIZE,
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


def uniform_choices(count: int, choices: int, randbytes: RandBytes) -> NDArray[np.uint8]:
    """`count` uniform integers from 0 to `choices` - 1, a byte each and more for rejected ones."""
    import numpy as np

    drawn = np.frombuffer(draw(randbytes, count), np.uint8).copy()
    limit = 256 - 256 % choices
    while (rejected := drawn >= limit).any():
        drawn[rejected] = np.frombuffer(draw(randbytes, int(rejected.sum())), np.uint8)
    return (drawn % np.uint16(choices)).astype(np.uint8)


class PrecomputedReceiver(Uncopied):
    """The receiver of pre-computed OT.

    Args:
        base: the receiver that runs the offline transfers, for nothing else.
        randbytes: count -> bytes; a byte is drawn for each gamma, and again
            where it is rejected (c no power of 2).
    """

    def __init__(self, base: BaseReceiver, *, randbytes: RandBytes = os.urandom) -> None:
        self.base, self.choices, self.sid = base, base_choices(base), base.sid
        self.length = 0
        self._randbytes = randbytes
        self._start = bytes((VERSION, CORRECTION)) + self.sid
        self._reply_start = bytes((VERSION, PRECOMPUTED_REPLY)) + self.sid
        self._pending: dict[int, int] = {}  # index: gamma, while the base's query is open
        self._ready: list[tuple[int, int, bytes]] = []  # (index, gamma, r_gamma), next one last
        self._open: dict[int, tuple[int, bytes]] = {}  # index: (b, r_gamma)

    @property
    def available(self) -> int:
        """How many transfers were run offline and not yet used."""
        return len(self._ready)

    def prepare(self, count: int | None = None, *, offers: Sequence[Any] | None = None) -> Any:
        """The base's queries for random gammas; the base pre-computes what it lacks.

        Args:
            count: how many transfers, where the base begins with a query.
            offers: the base's offers, one for each transfer, where it begins
                with those.

        Returns:
            A batch of the base's queries; for offers a list.

        Raises:
            ParameterError: not exactly one of both is given, or it is empty.
            MessageError, StateError: as the base.
        """
        base: Any = self.base
        if (count is None) == (offers is None):
            raise ParameterError("prepare takes a count or the base's offers, exactly one of both")
        total = len(offers) if offers is not None else count
        total = check_count(total)
        if not total:
            raise ParameterError("prepare takes at least one transfer")
        gammas = uniform_choices(total, self.choices, self._randbytes)
        if base.available < total:
            base.precompute(total - base.available)
        queries = choose_all(base, offers, gammas)
        self._pending.update(zip(indexes_of(queries), gammas.tolist(), strict=True))
        return queries

    def finish(self, replies: Any) -> None:
        """Store the r_gamma of the base's replies: the offline phase ends with it.

        Args:
            replies: a batch or a sequence of the base's replies. The first
                one ever fixes the length of the messages.

        Raises:
            ParameterError: no reply is given.
            MessageError: as the base, or messages of several lengths.
            StateError: as the base. Every transfer that is named is then given up.
        """
        if not len(replies):
            raise ParameterError("finish takes at least one reply")
        indexes = indexes_of(replies)
        gammas = [self._pending.pop(index, -1) for index in indexes]
        if -1 in gammas:
            discard_all(self.base, indexes)
            index = indexes[gammas.index(-1)]
            raise StateError(f"no query of the offline phase with index {index} is open")
        pads = retrieve_all(self.base, replies)
        lengths = {len(pad) for pad in pads}
        if self.length:
            lengths.add(self.length)
        if len(lengths) > 1:
            raise MessageError(f"all replies must carry one length, these carry {sorted(lengths)}")
        self.length = lengths.pop()
        self._ready[:0] = reversed(list(zip(indexes, gammas, pads, strict=True)))

    def choose(self, choice: int) -> Correction:
        """d = b - gamma (mod c) of the next transfer, which is spent by it.

        Raises:
            ParameterError: the choice is out of range; nothing is spent.
            StateError: no transfer is left; run the offline phase.
        """
        if type(choice) is not int or not 0 <= choice < self.choices:
            choice = check_choice(choice, self.choices)
        if not self._ready:
            raise StateError("no transfer is left: run the offline phase first")
        index, gamma, pad = self._ready.pop()
        self._open[index] = (choice, pad)
        d = (choice - gamma) % self.choices
        return Correction.trusted(self._start + u64(index) + bytes((d,)), index)

    def retrieve(self, reply: PrecomputedReply) -> bytes:
        """m_b = e_b ^ r_gamma.

        Raises:
            MessageError: no reply of this session, or another number or
                length of ciphertexts (which gives the transfer up).
            StateError: no correction for this index is open.
        """
        if type(reply) is not PrecomputedReply:
            raise MessageError(f"expected a PrecomputedReply, got {type(reply).__name__}")
        if reply.encoded[:18] != self._reply_start:
            raise MessageError("this reply belongs to another session")
        entry = self._open.pop(reply.index, None)
        self._check_shape(reply)
        if entry is None:
            raise StateError(f"no correction with index {reply.index} is open")
        choice, pad = entry
        start = BODY + choice * self.length
        return xor(reply.encoded[start : start + self.length], pad)

    def _check_shape(self, reply: PrecomputedReply | PrecomputedReplyBatch) -> None:
        if (reply.choices, reply.length) != (self.choices, self.length):
            raise MessageError(
                f"a reply must carry {self.choices} ciphertexts of {self.length} bytes, "
                f"carries {reply.choices} of {reply.length}"
            )

    def discard(self, index: int) -> None:
        """Give up the transfer with this index, if its correction is open."""
        self._open.pop(index, None)

    @overload
    def choose_many(self, choices: NDArray[Any]) -> CorrectionBatch: ...
    @overload
    def choose_many(self, choices: Sequence[int]) -> list[Correction]: ...
    def choose_many(
        self, choices: Sequence[int] | NDArray[Any]
    ) -> CorrectionBatch | list[Correction]:
        """Corrections for the next len(choices) transfers, in order.

        Args:
            choices: b of each: a sequence of integers, or an integer array of
                shape (count,).

        Returns:
            A list of `Correction` for a sequence, a `CorrectionBatch` for an array.

        Raises:
            ParameterError: a choice is out of range, or none is given.
            StateError: too few transfers are left. Nothing is spent by an error.
        """
        import numpy as np

        chosen = check_choices(choices, self.choices)
        count = len(chosen)
        if count > len(self._ready):
            raise StateError(f"{len(self._ready)} transfers are left, {count} are asked")
        taken = self._ready[-count:]
        del self._ready[-count:]
        taken.reverse()
        indexes, gammas, pads = zip(*taken, strict=True)
        rows = np.empty((count, CORRECTION_SIZE), np.uint8)
        rows[:, :18] = np.frombuffer(self._start, np.uint8)
        rows[:, 18:26] = np.array(indexes, ">u8")[:, None].view(np.uint8)
        rows[:, 26] = (chosen.astype(np.int64) - np.array(gammas)) % self.choices
        self._open.update(zip(indexes, zip(chosen.tolist(), pads, strict=True), strict=True))
        batch = CorrectionBatch.from_bytes(rows.tobytes())
        return batch if isinstance(choices, np.ndarray) else list(batch)

    @overload
    def retrieve_many(  # type: ignore[overload-overlap]
        self, replies: PrecomputedReplyBatch
    ) -> NDArray[np.uint8]: ...
    @overload
    def retrieve_many(self, replies: Sequence[PrecomputedReply]) -> list[bytes]: ...
    def retrieve_many(
        self, replies: PrecomputedReplyBatch | Sequence[PrecomputedReply]
    ) -> NDArray[np.uint8] | list[bytes]:
        """The chosen messages of many replies, which may come in any order.

        Returns:
            For a `PrecomputedReplyBatch` an array of shape (count, L), uint8;
            for a sequence a list of bytes; in the order of the replies.

        Raises:
            MessageError, StateError: as `retrieve`. Every open transfer that
                the batch names is then given up.
        """
        if isinstance(replies, PrecomputedReplyBatch):
            return self._retrieve_batch(replies)
        try:
            return [self.retrieve(reply) for reply in replies]
        except (MessageError, StateError):
            self._discard_named(replies)
            raise

    def _discard_named(self, replies: Sequence[PrecomputedReply]) -> None:
        for reply in replies:
            if type(reply) is PrecomputedReply and reply.sid == self.sid:
                self.discard(reply.index)

    def _retrieve_batch(self, replies: PrecomputedReplyBatch) -> NDArray[np.uint8]:
        import numpy as np

        if not replies.starts_with(self._reply_start):
            self._discard_named(replies)
            raise MessageError("a reply of this batch belongs to another session")
        count = len(replies)
        entries = [self._open.pop(index, None) for index in replies.indexes.tolist()]
        self._check_shape(replies)
        if None in entries:
            raise StateError("a reply of this batch has no open correction, or two have one index")
        chosen, pads = zip(*entries, strict=True)
        taken = replies.ciphertexts[np.arange(count), np.array(chosen)]
        joined = np.frombuffer(b"".join(pads), np.uint8).reshape(count, self.length)
        opened: NDArray[np.uint8] = taken ^ joined
        return opened

    def __repr__(self) -> str:
        return f"PrecomputedReceiver({self.base!r}, available={self.available})"
