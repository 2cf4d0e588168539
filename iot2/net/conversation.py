"""What a client says and expects, without a network: one text for both clients.

Each method that needs the server is a generator. It yields what it wants done
(`Ask`, `Pause`, `Rejoin`), is sent the result, and returns its own; the sync
and the async client differ only in how they do these three things
(`iot2.net.client`).

A query leaves once chosen and never changes: when an answer is lost the same
bytes are sent again, over a new connection if need be. Tuples live in memory
alone; one that cannot be finished is given up.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from iot2.errors import Iot2Error, MessageError, ParameterError, StateError
from iot2.net import events as ev
from iot2.net.errors import Interrupted, KeyMismatch, LinkError, RemoteError
from iot2.net.events import Code, Refusal
from iot2.net.known_keys import KnownKeys
from iot2.net.limits import told
from iot2.net.messages_file import unpad
from iot2.net.options import Options
from iot2.parties.arguments import check_choice
from iot2.parties.compact import Receiver
from iot2.parties.six import SixReceiver
from iot2.protocol.framing import u64
from iot2.wire.ciphertexts import CIPHERTEXTS
from iot2.wire.messages import Offer, Query, Reply, Session, SixReply
from iot2.wire.public_key import PublicKey

_T = TypeVar("_T")
_SPOILED: Final = 3
"""Times that a query is sent again when the server could not parse it."""

_KEY_SECONDS: Final = 120.0
"""A demonstration server may have to make the key first."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Emit an event and wait for its acknowledgement."""

    event: str
    data: Any = field(repr=False)
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Pause:
    """Let time pass."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Rejoin:
    """Connect anew and resume the session, unless that was done since this connection."""

    epoch: int


Step = Ask | Pause | Rejoin
Steps = Generator[Step, Any, _T]


class Conversation:
    """One client's side: its key, its session, its tuples.

    Args:
        name: of the server, as known keys call it.
        options: what the client wants.
        known: keys that it met before.
    """

    def __init__(self, name: str, options: Options, known: KnownKeys) -> None:
        self.options = options
        self.limits: dict[str, Any] = {}
        self.key: PublicKey | None = None
        self.session: Session | None = None
        self.proof_checked = False
        self._name = name if options.bits is None else f"{name}/{options.bits}"
        self._known = known
        self._receiver: Receiver | SixReceiver | None = None
        self._made = 0
        self._next_index = 0

    # Joining: on every connection, new or renewed.

    def join(self) -> Steps[None]:
        """hello, then session the first time and resume later."""
        yield from self._greet()
        if self.session is not None:
            yield from self._resume(self.session)
            return
        most = told(self.limits, "transfers_per_session")
        if most is not None and self.options.transfers > most:
            raise ParameterError(
                f"transfers_per_session: the server allows {most:.0f}, got {self.options.transfers}"
            )
        wish = ev.SessionRequest(
            self.options.items, None if self.options.items is not None else self.options.count
        )
        data = ev.bytes_of((yield from self._once(ev.SESSION, wish.to_wire())), ev.SESSION)
        session = Session.from_bytes(data)
        key = self._key()
        variant = Session.SIX if self.options.variant == ev.SIX else Session.COMPACT
        if (session.variant, session.fingerprint) != (variant, key.fingerprint):
            raise MessageError("the server opened a session of another variant or key")
        if variant == Session.SIX:
            self._receiver = SixReceiver(key, session.sid, masked=self.options.masked)
        else:
            self._receiver = Receiver(
                key,
                session.sid,
                trusted_fingerprint=key.fingerprint,  # verified, pinned or known: see _greet
                masked=self.options.masked,
            )
        self.session = session

    def _greet(self) -> Steps[None]:
        options = self.options
        candidates = (self.key, self._known.find(self._name))
        held = {key.fingerprint: key for key in candidates if key is not None}
        hello = ev.Hello(
            ev.PROTOCOL_VERSION, options.variant, tuple(held), options.bits, options.demo
        )
        patience = options.timeout_s
        if options.bits is not None:
            patience = max(_KEY_SECONDS, patience)
        answer = yield from self._once(ev.HELLO, hello.to_wire(), patience)
        welcome = ev.Welcome.from_wire(answer)
        fp = welcome.fingerprint
        if options.bits not in (None, welcome.bits):
            raise MessageError(
                f"asked for a key of {options.bits} bits, the server shows one of {welcome.bits}"
            )
        if options.fingerprint not in (None, fp):
            raise KeyMismatch(options.fingerprint or b"", fp, "pinned")
        if self.key is not None and self.key.fingerprint != fp:
            raise KeyMismatch(self.key.fingerprint, fp, "earlier")
        trusted = self._known.check(self._name, fp) or options.fingerprint is not None
        key = held.get(fp)
        if key is None:
            if welcome.key is None:
                raise MessageError("the server sent no key, and its fingerprint is not known here")
            key = PublicKey.from_bytes(welcome.key, insecure=options.insecure)
        else:
            # It may have been remembered by a client that took any size.
            key = PublicKey.from_bytes(key.to_bytes(), insecure=options.insecure)
        if (key.fingerprint, key.bits, key.choices) != (fp, welcome.bits, welcome.choices):
            raise MessageError("the server's key is not the one that it announced")
        if self.key is None and not trusted:
            key.verify()
            self.proof_checked = True
            self._known.remember(self._name, key)
        self.key = key
        self.limits = welcome.limits

    def _resume(self, session: Session) -> Steps[None]:
        try:
            answer = yield from self._once(ev.RESUME, session.to_bytes())
        except RemoteError as error:
            if error.code is Code.UNKNOWN_SESSION:
                raise StateError(
                    "the server has lost this session (it was restarted without its state, or"
                    " the session was left alone for too long): open a new one"
                ) from error
            raise
        ev.intervals_from_wire(answer)

    # Asking: with patience, and over new connections.

    def _once(self, event: str, data: Any, timeout_s: float | None = None) -> Steps[Any]:
        """Ask on this connection alone, waiting where the server says so."""
        waited, pause = 0.0, 0.05
        self._check_size(event, data)
        while True:
            answer = yield Ask(event, data, timeout_s or self.options.timeout_s)
            refusal = Refusal.from_wire(answer)
            if refusal is None:
                return answer
            if refusal.retry_after_ms is None:
                raise RemoteError(refusal)
            # Not all at the same moment, and less often each time.
            seconds = max(pause, refusal.retry_after_ms / 1000) * random.uniform(0.75, 1.5)  # noqa: S311
            pause = min(2 * pause, 5.0)
            waited += seconds
            if waited > self.options.patience_s:
                raise RemoteError(refusal)
            yield Pause(seconds)

    def _ask(self, event: str, data: Any) -> Steps[Any]:
        """Ask until answered: the same bytes again after each lost connection."""
        spoiled, first_loss = 0, 0.0
        while True:
            try:
                return (yield from self._once(event, data))
            except LinkError as error:
                first_loss = first_loss or time.monotonic()
                if time.monotonic() - first_loss > self.options.patience_s:
                    raise
                yield Rejoin(error.epoch)
            except RemoteError as error:
                # What we send is well formed: something on the way spoiled it.
                spoiled += 1
                if error.code is not Code.MALFORMED or spoiled > _SPOILED:
                    raise

    def _check_size(self, event: str, data: Any) -> None:
        most = told(self.limits, "frame_bytes")
        size = max(map(_size, (data, *_values(data))))
        if most is not None and size > most:
            raise ParameterError(
                f"frame_bytes: the server takes {most:.0f}, this {event} has {size} bytes"
            )

    # Transfers.

    def transfer(self, choice: int) -> Steps[bytes]:
        """The chosen message of the next index."""
        receiver = self._joined()
        if isinstance(receiver, SixReceiver):
            return (yield from self._transfer_six(receiver, choice))
        self._ready(1)
        query = receiver.choose(choice)
        try:
            answer = yield from self._ask(ev.QUERY, query.to_bytes())
            return self._opened(receiver.retrieve(_reply(answer, query.index)))
        except BaseException:
            receiver.discard(query.index)
            raise

    def _transfer_six(self, receiver: SixReceiver, choice: int) -> Steps[bytes]:
        check_choice(choice, 2)
        index, self._next_index = self._next_index, self._next_index + 1
        if self._made <= index:
            self.precompute(index + 1 - self._made)
        request = receiver.sid + u64(index)
        offer = Offer.from_bytes(ev.bytes_of((yield from self._ask(ev.OFFER, request)), ev.OFFER))
        if offer.index != index:
            raise MessageError(f"asked for the offer of index {index}, got that of {offer.index}")
        query = receiver.choose(offer, choice)
        try:
            answer = yield from self._ask(ev.QUERY, query.to_bytes())
            reply = SixReply.from_bytes(ev.bytes_of(answer, ev.QUERY))
            if reply.index != index:
                raise MessageError(f"asked for index {index}, got a reply for {reply.index}")
            return self._opened(receiver.retrieve(reply))
        except BaseException:
            receiver.discard(index)
            raise

    def transfer_many(
        self, choices: Sequence[int], into: list[bytes] | None = None
    ) -> Steps[list[bytes]]:
        """The chosen messages of the next indexes, in batches where the variant has them."""
        messages = [] if into is None else into
        before = len(messages)
        try:
            if self.options.variant == ev.SIX:
                for choice in choices:
                    check_choice(choice, 2)
                for choice in choices:
                    messages.append((yield from self.transfer(choice)))
            else:
                yield from self._transfer_batches(choices, messages)
        except Exception as error:
            if len(messages) == before:
                raise
            raise Interrupted(messages[before:], len(choices), error) from error
        return messages

    def _transfer_batches(self, choices: Sequence[int], messages: list[bytes]) -> Steps[None]:
        """Append the chosen messages, a batch at a time."""
        receiver = _compact(self._ready(len(choices)))
        queries = receiver.choose_many(list(choices)) if choices else []
        before = len(messages)
        try:
            size = self._batch_size(queries)
            for start in range(0, len(queries), size):
                yield from self._batch(receiver, queries[start : start + size], messages)
        except BaseException:
            for query in queries[len(messages) - before :]:
                receiver.discard(query.index)
            raise

    def _batch_size(self, queries: Sequence[Query]) -> int:
        size = self.options.batch
        most = told(self.limits, "batch")
        frame = told(self.limits, "frame_bytes")
        if most is not None:
            size = min(size, int(most))
        if frame is not None and queries:
            size = min(size, int(frame) // len(queries[0].encoded))
        return max(1, size)

    def _batch(
        self, receiver: Receiver, queries: Sequence[Query], messages: list[bytes]
    ) -> Steps[None]:
        """Append the messages of one batch, all or none; halves of it where it is too large."""
        data = ev.batch_to_wire("queries", b"".join(query.encoded for query in queries))
        try:
            answer = yield from self._ask(ev.BATCH, data)
        except RemoteError as error:
            if error.code is not Code.LIMIT or len(queries) == 1:
                raise
            # The replies would not fit: the same queries, in two halves.
            half = len(queries) // 2
            yield from self._batch(receiver, queries[:half], messages)
            yield from self._batch(receiver, queries[half:], messages)
            return
        parts = _split_replies(ev.batch_from_wire("replies", answer))
        if len(parts) != len(queries):
            raise MessageError(f"expected {len(queries)} replies, got {len(parts)}")
        replies = [_reply(part, query.index) for part, query in zip(parts, queries, strict=True)]
        messages += [self._opened(message) for message in receiver.retrieve_many(replies)]

    def precompute(self, count: int) -> None:
        """The offline phase of `count` transfers, ahead of time."""
        self._joined().precompute(count)
        self._made += count

    def _ready(self, count: int) -> Receiver | SixReceiver:
        receiver = self._joined()
        missing = count - receiver.available
        if missing > 0:
            self.precompute(missing)
        return receiver

    def _joined(self) -> Receiver | SixReceiver:
        if self._receiver is None:
            raise StateError("connect first: no session is open")
        return self._receiver

    def _key(self) -> PublicKey:
        if self.key is None:
            raise StateError("connect first: the server's key is not known")
        return self.key

    def _opened(self, message: bytes) -> bytes:
        return message if self.options.demo is not None else unpad(message)

    def close(self) -> Steps[None]:
        """Let the server forget the session; a server that is away forgets it by itself."""
        if self.session is None:
            return
        try:
            yield Ask(ev.CLOSE, {}, min(5.0, self.options.timeout_s))
        except Iot2Error:
            return

    def forget(self) -> None:
        """Drop the session and its tuples; the key stays known."""
        self.session = self._receiver = None
        self._made = self._next_index = 0


def _reply(data: object, index: int) -> Reply:
    reply = Reply.from_bytes(ev.bytes_of(data, ev.QUERY))
    if reply.index != index:
        raise MessageError(f"asked for index {index}, got a reply for {reply.index}")
    return reply


def _split_replies(joined: bytes) -> list[bytes]:
    """Concatenated messages of kind 3, each as long as its own c and L say."""
    parts = []
    start = 0
    while start < len(joined):
        head = joined[start : start + CIPHERTEXTS.size]
        if len(head) < CIPHERTEXTS.size:
            raise MessageError("the replies of a batch end within a header")
        choices, length = int.from_bytes(head[26:28]), int.from_bytes(head[28:32])
        stop = start + CIPHERTEXTS.size + choices * length
        parts.append(joined[start:stop])
        start = stop
    return parts


def _size(data: object) -> int:
    """The bytes of the frame that this part of an event takes, or nearly so."""
    if isinstance(data, bytes):
        return len(data)
    if data is None:
        return 0
    return len(json.dumps(data, default=lambda _: "", separators=(",", ":")))


def _values(data: object) -> Sequence[object]:
    return tuple(data.values()) if isinstance(data, dict) else ()


def _compact(receiver: Receiver | SixReceiver) -> Receiver:
    if isinstance(receiver, SixReceiver):
        raise StateError("batches are of the compact variant")
    return receiver
