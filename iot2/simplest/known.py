"""A receiver's tuples where the sender's key A is known beforehand.

Offline xG, xG + A, xA and both keys; online a selection and an XOR. The
layout is that of `iot2.Receiver`: framed queries, keys, states and choices
side by side in byte arrays, the queries of a tuple overwritten as soon as one
of them is taken, its keys as soon as one is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from iot2.errors import MessageError, ParameterError, StateError
from iot2.parties.arguments import check_choice
from iot2.protocol.compact import decrypt
from iot2.protocol.framing import KEY_BYTES, pad, u64
from iot2.protocol.selection import masked as masked_selection
from iot2.protocol.selection import masked_rows
from iot2.simplest.batch import SimplestQueryBatch, SimplestReplyBatch
from iot2.simplest.groups import Group
from iot2.simplest.messages import SIMPLEST_QUERY, SIMPLEST_REPLY, SimplestQuery, SimplestReply
from iot2.simplest.steps import key_frame, receiver_points
from iot2.wire.ciphertexts import CIPHERTEXTS
from iot2.wire.header import HEADER, VERSION

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BODY = CIPHERTEXTS.size
"""Where the ciphertexts of a reply begin."""

PAIR = 2 * KEY_BYTES
"""A tuple's two keys: the transcript holds B, so each choice has its own."""

_SENT, _DONE = 1, 2  # states of a tuple; 0 is ready
_ERASED_KEYS = bytes(PAIR)
_KEPT = 256  # tuples that may be spent before their room is given back


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
        self._query_size = HEADER.size + group.size
        self._tuple_size = 2 * self._query_size
        self._erased_queries = bytes(self._tuple_size)
        # Tuple i is entry i - _first of the states, choices and keys, and, as
        # long as it is ready, entry i - _next of the queries.
        self._first = 0
        self._next = 0
        self._queries_at = 0
        self._queries = bytearray()
        self._keys = bytearray()
        self._states = bytearray()
        self._chosen = bytearray()

    @property
    def available(self) -> int:
        """How many are ready."""
        return self._first + len(self._states) - self._next

    def precompute(self, scalars: Sequence[bytes]) -> None:
        """A tuple for each x: xG, xG + A, xA, and a key for each choice."""
        if self._next - self._first >= _KEPT:
            self._forget_finished()
        group, A_bytes, A, frame = self._group, self._A_bytes, self._A, self._frame
        index = self._first + len(self._states)
        queries: list[bytes] = []
        keys: list[bytes] = []
        for x in scalars:
            B_0, B_1, P = receiver_points(group, x, A)
            before = frame.before(index, A_bytes)
            keys += (frame.key(before, B_0, P), frame.key(before, B_1, P))
            start = self._query_start + u64(index)
            queries += (start, B_0, start, B_1)
            index += 1
        self._queries += b"".join(queries)
        self._keys += b"".join(keys)
        self._chosen += bytes(len(scalars))
        self._states += bytes(len(scalars))

    def _forget_finished(self) -> None:
        """Give back the room of tuples that were used, from the oldest on."""
        del self._queries[: self._queries_at]
        self._queries_at = 0
        finished = len(self._states) - len(self._states.lstrip(bytes((_DONE,))))
        del self._states[:finished], self._chosen[:finished], self._keys[: finished * PAIR]
        self._first += finished

    def choose(self, choice: int, excess: None = None) -> SimplestQuery:
        """B = xG + bA of the next tuple, which is spent by it."""
        index, position = self._next, self._next - self._first
        if excess is not None:
            raise ParameterError("with a known key there are no offers: choose(b)")
        if type(choice) is not int or not 0 <= choice < 2:
            choice = check_choice(choice, 2)
        if position >= len(self._states):
            raise StateError("no pre-computed transfer is left: call precompute first")
        at, size = self._queries_at, self._query_size
        end = at + self._tuple_size
        self._states[position] = _SENT
        self._chosen[position] = choice
        self._next = index + 1
        self._queries_at = end
        if self._masked:
            options = [bytes(self._queries[k : k + size]) for k in (at, at + size)]
            encoded = masked_selection(options, choice)
        else:
            start = at + choice * size
            encoded = bytes(self._queries[start : start + size])
        self._queries[at:end] = self._erased_queries
        return SimplestQuery.trusted(encoded, index)

    def retrieve(self, reply: SimplestReply) -> bytes:
        """m_b = c_b ^ pad(H(xA))."""
        if type(reply) is not SimplestReply or reply.encoded[:18] != self._reply_start:
            raise foreign(reply)
        if reply.choices != 2:
            self.discard(reply.index)
            raise MessageError(f"a reply must carry 2 ciphertexts, carries {reply.choices}")
        position = reply.index - self._first
        if not 0 <= position < len(self._states) or self._states[position] != _SENT:
            raise StateError(f"no query with index {reply.index} is open")
        choice, keys_at, length = self._chosen[position], position * PAIR, reply.length
        keys = bytes(self._keys[keys_at : keys_at + PAIR])
        self._states[position] = _DONE
        self._keys[keys_at : keys_at + PAIR] = _ERASED_KEYS
        if self._masked:
            key = masked_selection((keys[:KEY_BYTES], keys[KEY_BYTES:]), choice)
            return decrypt(key, masked_selection(reply.ciphertexts, choice))
        key_at, start = choice * KEY_BYTES, BODY + choice * length
        return decrypt(keys[key_at : key_at + KEY_BYTES], reply.encoded[start : start + length])

    def discard(self, index: int) -> None:
        """Give up the transfer with this index, if its query is open: its keys are erased."""
        position = index - self._first
        if 0 <= position < len(self._states) and self._states[position] == _SENT:
            self._states[position] = _DONE
            self._keys[position * PAIR : (position + 1) * PAIR] = _ERASED_KEYS

    def choose_many(
        self, choices: Sequence[int] | NDArray[Any], excess: None = None
    ) -> SimplestQueryBatch | list[SimplestQuery]:
        """Queries for the next len(choices) tuples; none is spent by an error."""
        import numpy as np

        if excess is not None:
            raise ParameterError("with a known key there are no offers: choose_many(choices)")
        chosen = np.asarray(choices)
        if chosen.ndim != 1 or not chosen.size or not np.issubdtype(chosen.dtype, np.integer):
            raise ParameterError("choices must be at least one integer, in one dimension")
        if chosen.min() < 0 or chosen.max() >= 2:
            raise ParameterError("every choice must be 0 or 1")
        count, position = len(chosen), self._next - self._first
        if count > self.available:
            raise StateError(f"{self.available} pre-computed transfers are left, {count} are asked")
        self._states[position : position + count] = bytes((_SENT,)) * count
        self._chosen[position : position + count] = chosen.astype(np.uint8).tobytes()
        self._next += count
        start, end = self._queries_at, self._queries_at + count * self._tuple_size
        self._queries_at = end
        with memoryview(self._queries)[start:end] as view:
            options = np.frombuffer(view, np.uint8).reshape(count, 2, -1)
            taken = _select(options, chosen, self._masked)
            encoded = taken.tobytes()
            options[:] = 0
            del options
        batch = SimplestQueryBatch(encoded, self._query_size)
        return batch if chosen is choices else list(batch)

    def retrieve_batch(self, replies: SimplestReplyBatch) -> NDArray[np.uint8]:
        """The messages of a batch, shape (count, L); an error discards what it names."""
        import numpy as np

        if not replies.starts_with(self._reply_start):
            raise MessageError("a reply of this batch belongs to another session")
        count, length = len(replies), replies.length
        positions = replies.indexes - np.uint64(self._first)  # wraps where it is negative
        states = np.frombuffer(self._states, np.uint8)
        inside = positions < len(states)
        open_ = np.zeros(count, bool)
        open_[inside] = states[positions[inside]] == _SENT
        named = positions[open_]
        keys = np.frombuffer(self._keys, np.uint8).reshape(-1, 2, KEY_BYTES)
        pairs, chosen = keys[named], np.frombuffer(self._chosen, np.uint8)[named]
        states[named] = _DONE
        keys[named] = 0
        del states, keys
        if replies.choices != 2:
            raise MessageError(f"a reply must carry 2 ciphertexts, carries {replies.choices}")
        if len(named) != count or len(np.unique(named)) != count:
            raise StateError("a reply of this batch has no open query, or two have one index")
        taken = _select(pairs, chosen, self._masked)
        if length <= KEY_BYTES:
            pads = taken[:, :length]
        else:
            joined = b"".join(pad(key.tobytes(), length) for key in taken)
            pads = np.frombuffer(joined, np.uint8).reshape(count, length)
        opened: NDArray[np.uint8] = _select(replies.ciphertexts, chosen, self._masked) ^ pads
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
