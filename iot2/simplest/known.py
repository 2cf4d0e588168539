"""A receiver's tuples where the sender's key A is known beforehand.

Offline xG, xG + A, xA and both keys; online a selection and an XOR. A tuple
is dropped as soon as one of its queries is taken: what stays is the key of
that choice, until it is used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from iot2.errors import MessageError, ParameterError, StateError
from iot2.parties.arguments import check_choice, check_choices
from iot2.protocol.compact import decrypt
from iot2.protocol.framing import KEY_BYTES, pad, u64
from iot2.protocol.selection import masked as masked_selection
from iot2.protocol.selection import masked_rows
from iot2.simplest.batch import SimplestQueryBatch, SimplestReplyBatch
from iot2.simplest.groups import Group
from iot2.simplest.messages import SIMPLEST_QUERY, SIMPLEST_REPLY, SimplestQuery, SimplestReply
from iot2.simplest.steps import key_frame, receiver_offline
from iot2.wire.ciphertexts import CIPHERTEXTS
from iot2.wire.header import HEADER, VERSION

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BODY = CIPHERTEXTS.size
"""Where the ciphertexts of a reply begin."""


class KnownTuples:
    """The tuples of one session with a known key.

    Args:
        group: the session's.
        sid: 16 bytes.
        public: A, encoded; refused with `MessageError` unless it is a point
            other than the identity.
        masked: select by masks over both options instead of by index.
    """

    def __init__(self, group: Group, sid: bytes, public: bytes, masked: bool) -> None:
        self._group, self._masked = group, masked
        self._A_bytes, self._A = public, group.decode(public)
        self._frame = key_frame(group, sid)
        self._query_start = bytes((VERSION, SIMPLEST_QUERY)) + sid
        self._reply_start = bytes((VERSION, SIMPLEST_REPLY)) + sid
        # The query's header, B for either choice, and both keys: the transcript holds B,
        # so each choice has its own.
        self._ready: deque[tuple[bytes, bytes, bytes, bytes, bytes]] = deque()
        self._next = 0  # index of the first of them
        self._sent: dict[int, tuple[int, bytes]] = {}  # index: choice and key

    @property
    def available(self) -> int:
        """How many are ready."""
        return len(self._ready)

    def precompute(self, scalars: Sequence[bytes]) -> None:
        """A tuple for each x: xG, xG + A, xA, and a key for each choice."""
        group, frame, A, A_bytes = self._group, self._frame, self._A, self._A_bytes
        start, append = self._query_start, self._ready.append
        for index, x in enumerate(scalars, self._next + len(self._ready)):
            i = u64(index)
            append((start + i, *receiver_offline(group, frame, i, x, A, A_bytes)))

    def choose(self, choice: int, excess: None = None) -> SimplestQuery:
        """B = xG + bA of the next tuple, which is spent by it."""
        if excess is not None:
            raise ParameterError("with a known key there are no offers: choose(b)")
        if type(choice) is not int or not 0 <= choice < 2:
            choice = check_choice(choice, 2)
        if not self._ready:
            raise StateError("no pre-computed transfer is left: call precompute first")
        index = self._next
        head, B_0, B_1, k_0, k_1 = self._ready.popleft()
        self._next = index + 1
        if self._masked:
            B, key = masked_selection((B_0, B_1), choice), masked_selection((k_0, k_1), choice)
        else:
            B, key = (B_0, B_1)[choice], (k_0, k_1)[choice]
        self._sent[index] = (choice, key)
        return SimplestQuery.trusted(head + B, index)

    def retrieve(self, reply: SimplestReply) -> bytes:
        """m_b = c_b ^ pad(H(xA))."""
        if type(reply) is not SimplestReply or reply.encoded[:18] != self._reply_start:
            raise foreign(reply)
        if reply.choices != 2:
            self.discard(reply.index)
            raise MessageError(f"a reply must carry 2 ciphertexts, carries {reply.choices}")
        entry = self._sent.pop(reply.index, None)
        if entry is None:
            raise StateError(f"no query with index {reply.index} is open")
        choice, key = entry
        if self._masked:
            return decrypt(key, masked_selection(reply.ciphertexts, choice))
        start = BODY + choice * reply.length
        return decrypt(key, reply.encoded[start : start + reply.length])

    def discard(self, index: int) -> None:
        """Give up the transfer with this index, if its query is open."""
        self._sent.pop(index, None)

    def choose_many(
        self, choices: Sequence[int] | NDArray[Any], excess: None = None
    ) -> SimplestQueryBatch | list[SimplestQuery]:
        """Queries for the next len(choices) tuples; none is spent by an error."""
        import numpy as np

        if excess is not None:
            raise ParameterError("with a known key there are no offers: choose_many(choices)")
        chosen = check_choices(choices, 2)
        count = len(chosen)
        if count > len(self._ready):
            raise StateError(
                f"{len(self._ready)} pre-computed transfers are left, {count} are asked"
            )
        taken = [self._ready.popleft() for _ in range(count)]
        first, self._next = self._next, self._next + count
        parts = np.frombuffer(b"".join(map(b"".join, taken)), np.uint8).reshape(count, -1)
        heads, points, pairs = np.split(
            parts, (HEADER.size, parts.shape[1] - 2 * KEY_BYTES), axis=1
        )
        points, pairs = (
            _select(both.reshape(count, 2, -1), chosen, self._masked) for both in (points, pairs)
        )
        encoded, keys = np.hstack((heads, points)).tobytes(), pairs.tobytes()
        pieces = (keys[k : k + KEY_BYTES] for k in range(0, len(keys), KEY_BYTES))
        entries = zip(chosen.tolist(), pieces, strict=True)
        self._sent.update(zip(range(first, first + count), entries, strict=True))
        batch = SimplestQueryBatch(encoded, len(encoded) // count)
        return batch if isinstance(choices, np.ndarray) else list(batch)

    def retrieve_batch(self, replies: SimplestReplyBatch) -> NDArray[np.uint8]:
        """The messages of a batch, shape (count, L); an error discards what it names."""
        import numpy as np

        if not replies.starts_with(self._reply_start):
            for reply in replies:
                if reply.encoded[:18] == self._reply_start:
                    self.discard(reply.index)
            raise MessageError("a reply of this batch belongs to another session")
        length = replies.length
        entries = [self._sent.pop(index, None) for index in replies.indexes.tolist()]
        if replies.choices != 2:
            raise MessageError(f"a reply must carry 2 ciphertexts, carries {replies.choices}")
        if None in entries:
            raise StateError("a reply of this batch has no open query, or two have one index")
        chosen, keys = zip(*entries, strict=True)
        joined = b"".join(keys) if length <= KEY_BYTES else b"".join(pad(k, length) for k in keys)
        pads = np.frombuffer(joined, np.uint8).reshape(len(keys), -1)[:, :length]
        opened: NDArray[np.uint8] = (
            _select(replies.ciphertexts, np.array(chosen), self._masked) ^ pads
        )
        return opened


def _select(options: NDArray[np.uint8], choices: NDArray[Any], masked: bool) -> NDArray[np.uint8]:
    """options[k, choices[k]] for each k, by index or by masks."""
    import numpy as np

    if masked:
        return masked_rows(options, choices)
    selected: NDArray[np.uint8] = options[np.arange(len(choices)), choices]
    return selected


def foreign(reply: object) -> MessageError:
    """Why a reply is none of this session."""
    if type(reply) is not SimplestReply:
        return MessageError(f"expected a SimplestReply, got {type(reply).__name__}")
    return MessageError("this reply belongs to another session")
