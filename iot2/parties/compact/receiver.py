"""The receiver of the compact variant (specification, sections 3 and 5)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import sha256
from itertools import chain
from operator import getitem
from typing import TYPE_CHECKING, Any, overload

from gmpy2 import mpz

from iot2.arithmetic.blum import absolute
from iot2.arithmetic.uniform import EXTRA_BYTES, RandBytes, draw
from iot2.errors import MessageError, StateError
from iot2.parties.arguments import (
    check_choice,
    check_choices,
    check_count,
    check_fingerprint,
    check_kind,
)
from iot2.parties.uncopied import Uncopied
from iot2.protocol import compact as steps
from iot2.protocol.framing import KEY_BYTES, KEY_COMPACT, key_frame, pad, u64
from iot2.protocol.selection import masked as masked_selection
from iot2.protocol.selection import masked_rows
from iot2.wire.ciphertexts import CIPHERTEXTS
from iot2.wire.header import QUERY, REPLY, VERSION, check_sid
from iot2.wire.messages import Query, Reply
from iot2.wire.public_key import PublicKey

BODY = CIPHERTEXTS.size  # where the ciphertexts of a reply begin

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from iot2.wire.batch import QueryBatch, ReplyBatch

_SENT, _DONE = 1, 2  # states of a tuple; 0 is ready
_TUPLES_PER_READ = 512


class Receiver(Uncopied):
    """The receiver of one compact session: pre-computes offline, then selects and XORs.

    Each pre-computed tuple (its framed queries, its key) serves one transfer:
    the queries are dropped as soon as one of them is taken, the key as soon
    as it is used. Not to be shared between threads.

    Args:
        public: the sender's key. It is verified here, unless it is trusted.
        sid: 16 bytes, from the sender's `Session`.
        trusted_fingerprint: of a key known to be good (verified earlier, or
            had from a trusted place): skips the proof, refuses any other key.
        masked: select by masks over all options instead of by index.
        randbytes: count -> bytes; n + 16 bytes are drawn for each transfer.

    Raises:
        ProofError: the key fails its check, or is not the trusted one.
    """

    def __init__(
        self,
        public: PublicKey,
        sid: bytes,
        *,
        trusted_fingerprint: bytes | None = None,
        masked: bool = False,
        randbytes: RandBytes = os.urandom,
    ) -> None:
        check_kind(public, PublicKey, "the public key")
        check_sid(sid)
        if trusted_fingerprint is None:
            public.verify()
        else:
            check_fingerprint(public, trusted_fingerprint)
        self.public, self.sid, self.masked = public, sid, masked
        self._randbytes = randbytes
        self._choices, self._size = public.choices, public.size
        self._query_start = bytes((VERSION, QUERY)) + sid
        self._reply_start = bytes((VERSION, REPLY)) + sid
        # Every key is a hash that begins in the same way: that much is hashed once.
        before, self._after_index = key_frame(KEY_COMPACT, public.fingerprint, sid, public.modulus)
        self._hash_start = sha256(before)
        # Tuple i is entry i - _first of each of these.
        self._first = 0
        self._queries: list[list[bytes]] = []
        self._keys: list[bytes] = []
        self._states = bytearray()
        self._chosen = bytearray()
        self._next = 0  # the first entry that is ready

    @property
    def available(self) -> int:
        """How many transfers are pre-computed and not yet used."""
        return len(self._states) - self._next

    def precompute(self, count: int) -> None:
        """The offline phase of `count` more transfers: three products mod N and a hash each.

        Raises:
            ParameterError: `count` is negative or no integer.
        """
        count = check_count(count)
        self._forget_finished()
        while count > _TUPLES_PER_READ:
            self._precompute(_TUPLES_PER_READ)
            count -= _TUPLES_PER_READ
        self._precompute(count)

    def _precompute(self, count: int) -> None:
        N, z, size = self.public.modulus, self.public.z, self._size
        step = size + EXTRA_BYTES
        drawn = draw(self._randbytes, step * count)
        made = len(self._states)
        first = self._first + made
        queries: list[list[bytes]] = []
        keys: list[bytes] = []
        for k in range(count):
            # Not reduced mod N, since only its square mod N is used.
            w = mpz.from_bytes(drawn[k * step : (k + 1) * step], "big")
            x, residues = steps.receiver_offline(w, z, N)
            index = u64(first + k)
            hashed = self._hash_start.copy()
            hashed.update(index + self._after_index + absolute(x, N).to_bytes(size, "big"))
            keys.append(hashed.digest())
            start = self._query_start + index
            options = []
            for u in residues:
                options.append(start + u.to_bytes(size, "big"))
            queries.append(options)
        # In place of what an interruption may have left here; the states come last.
        self._queries[made:] = queries
        self._keys[made:] = keys
        self._chosen[made:] = bytes(count)
        self._states += bytes(count)

    def _forget_finished(self) -> None:
        """Give back the room of tuples that were used, from the oldest on."""
        if not self._states or self._states[0] != _DONE:
            return
        finished = len(self._states) - len(self._states.lstrip(bytes((_DONE,))))
        for column in (self._states, self._chosen, self._keys, self._queries):
            del column[:finished]
        self._first += finished
        self._next -= finished

    def choose(self, choice: int) -> Query:
        """y = u_b of the next pre-computed tuple, which is spent by it.

        Args:
            choice: b, from 0 to c - 1.

        Raises:
            ParameterError: the choice is out of range; no tuple is spent.
            StateError: no tuple is left; call `precompute`.
        """
        if type(choice) is not int or not 0 <= choice < self._choices:
            choice = check_choice(choice, self._choices)
        position = self._next
        if position == len(self._states):
            raise StateError("no pre-computed transfer is left: call precompute first")
        options = self._queries[position]
        self._states[position] = _SENT
        self._queries[position] = []
        self._chosen[position] = choice
        self._next = position + 1
        encoded = masked_selection(options, choice) if self.masked else options[choice]
        return Query.trusted(encoded, self._first + position)

    def retrieve(self, reply: Reply) -> bytes:
        """m_b = c_b ^ pad(k): the chosen message, as long as the sender's were.

        Raises:
            MessageError: no reply of this session, or another number of
                ciphertexts (which discards the tuple).
            StateError: no query for this index is open: not sent, or answered before.
        """
        if type(reply) is not Reply or reply.encoded[:18] != self._reply_start:
            raise self._foreign(reply)
        position = reply.index - self._first
        if reply.choices != self._choices:
            self.discard(reply.index)
            raise MessageError(
                f"a reply must carry {self._choices} ciphertexts, carries {reply.choices}"
            )
        if not 0 <= position < len(self._states) or self._states[position] != _SENT:
            raise StateError(f"no query with index {reply.index} is open")
        key, choice = self._keys[position], self._chosen[position]
        self._erase(position)
        if self.masked:
            return steps.decrypt(key, masked_selection(reply.ciphertexts, choice))
        start = BODY + choice * reply.length
        return steps.decrypt(key, reply.encoded[start : start + reply.length])

    def _foreign(self, reply: object) -> MessageError:
        if type(reply) is not Reply:
            return MessageError(f"expected a Reply, got {type(reply).__name__}")
        return MessageError("this reply belongs to another session")

    def discard(self, index: int) -> None:
        """Give up the transfer with this index, if its query is open: its key is erased."""
        position = index - self._first
        if 0 <= position < len(self._states) and self._states[position] == _SENT:
            self._erase(position)

    def _erase(self, position: int) -> None:
        """Drop what is left of a tuple: its key and its choice."""
        self._states[position] = _DONE
        self._keys[position] = b""
        self._chosen[position] = 0

    @overload
    def choose_many(self, choices: NDArray[Any]) -> QueryBatch: ...
    @overload
    def choose_many(self, choices: Sequence[int]) -> list[Query]: ...
    def choose_many(self, choices: Sequence[int] | NDArray[Any]) -> QueryBatch | list[Query]:
        """Queries for the next len(choices) tuples, in order.

        Args:
            choices: b of each transfer: a sequence of integers, or an array
                of integers or booleans, shape (count,).

        Returns:
            A list of `Query` for a sequence, a `QueryBatch` for an array.

        Raises:
            ParameterError: a choice is out of range, or none is given.
            StateError: too few tuples are left. No tuple is spent by an error.
        """
        import numpy as np

        from iot2.wire.batch import QueryBatch

        chosen = check_choices(choices, self._choices)
        count = len(chosen)
        if count > self.available:
            raise StateError(f"{self.available} pre-computed transfers are left, {count} are asked")
        here = slice(self._next, self._next + count)
        options = self._queries[here]
        self._states[here] = bytes((_SENT,)) * count
        self._queries[here] = [[]] * count
        self._chosen[here] = chosen.astype(np.uint8).tobytes()
        self._next += count
        if self.masked:
            joined = b"".join(chain.from_iterable(options))
            rows = np.frombuffer(joined, np.uint8).reshape(count, self._choices, -1)
            encoded = masked_rows(rows, chosen).tobytes()
        else:
            encoded = b"".join(map(getitem, options, chosen.tolist()))
        batch = QueryBatch(encoded, len(encoded) // count)
        return batch if isinstance(choices, np.ndarray) else list(batch)

    @overload
    def retrieve_many(  # type: ignore[overload-overlap]
        self, replies: ReplyBatch
    ) -> NDArray[np.uint8]: ...
    @overload
    def retrieve_many(self, replies: Sequence[Reply]) -> list[bytes]: ...
    def retrieve_many(
        self, replies: ReplyBatch | Sequence[Reply]
    ) -> NDArray[np.uint8] | list[bytes]:
        """The chosen messages of many replies, which may come in any order.

        Returns:
            For a `ReplyBatch` an array of shape (count, L), uint8; for a
            sequence of `Reply` a list of bytes; in the order of the replies.

        Raises:
            MessageError, StateError: as `retrieve`. Every open tuple that the
                batch names is then discarded.
        """
        from iot2.wire.batch import ReplyBatch

        if not isinstance(replies, ReplyBatch):
            try:
                return [self.retrieve(reply) for reply in replies]
            except (MessageError, StateError):
                self._discard_named(replies)
                raise
        return self._retrieve_batch(replies)

    def _discard_named(self, replies: Sequence[Reply]) -> None:
        for reply in replies:
            if isinstance(reply, Reply) and reply.sid == self.sid:
                self.discard(reply.index)

    def _retrieve_batch(self, replies: ReplyBatch) -> NDArray[np.uint8]:
        import numpy as np

        if not replies.starts_with(self._reply_start):
            self._discard_named(replies)
            raise MessageError("a reply of this batch belongs to another session")
        count, length = len(replies), replies.length
        positions = replies.indexes - np.uint64(self._first)  # wraps where it is negative
        states = np.frombuffer(self._states, np.uint8)
        inside = positions < len(states)
        open_ = np.zeros(count, bool)
        open_[inside] = states[positions[inside]] == _SENT
        named = positions[open_]
        choices = np.frombuffer(self._chosen, np.uint8)
        chosen = choices[named]
        keys = []
        for position in named.tolist():
            keys.append(self._keys[position])
            self._keys[position] = b""
        states[named], choices[named] = _DONE, 0
        del states, choices  # a view would keep the arrays from growing
        if replies.choices != self._choices:
            raise MessageError(
                f"a reply must carry {self._choices} ciphertexts, carries {replies.choices}"
            )
        if len(named) != count or len(np.unique(named)) != count:
            raise StateError("a reply of this batch has no open query, or two have one index")
        ciphertexts = replies.ciphertexts
        if self.masked:
            messages = masked_rows(ciphertexts, chosen)
        else:
            messages = ciphertexts[np.arange(count), chosen]
        if length > KEY_BYTES:
            keys = [pad(key, length) for key in keys]
        pads = np.frombuffer(b"".join(keys), np.uint8).reshape(count, -1)[:, :length]
        opened: NDArray[np.uint8] = messages ^ pads
        return opened

    def __repr__(self) -> str:
        fp = self.public.fingerprint.hex()[:16]
        return (
            f"Receiver(sid={self.sid.hex()[:8]}..., fingerprint={fp}..., "
            f"available={self.available})"
        )
