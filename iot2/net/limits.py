"""What one server bears, by name, and the bucket that counts queries.

Every limit is configurable (`iot2 serve --limit NAME=VALUE`), is told to
clients in the answer to `hello`, and names itself in the error of who crosses
it. All clocks here are monotonic: setting the machine's clock changes nothing.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any, Self

from iot2.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one server.

    Attributes:
        frame_bytes: one frame of the transport, text or attachment.
        message_bytes: each message of a transfer.
        batch: queries in one batch.
        transfers_per_session: indexes of one session.
        transfers_per_peer: indexes of the open sessions of one address.
        transfers: indexes of all open sessions.
        sessions_per_peer: open sessions of one address.
        sessions: open sessions in all.
        connections_per_peer: connections of one address.
        connections: connections in all.
        queries_per_second: of one address, on average; a batch counts each query.
        query_burst: queries that one address may send at once.
        in_flight: events of one connection that are being answered.
        queue: computations that wait for a worker.
        outbox: frames that wait for a client to read.
        outbox_bytes: the bytes of these.
        stalled_s: seconds that a client may leave its frames unread.
        handshake_s: seconds from the connection to the answered `hello`.
        idle_s: seconds without an event, after which the connection ends.
        session_idle_s: seconds that a session outlives its connection.
    """

    frame_bytes: int = 1 << 20
    message_bytes: int = 1 << 16
    batch: int = 1000
    transfers_per_session: int = 10_000
    transfers_per_peer: int = 1_000_000
    transfers: int = 10_000_000
    sessions_per_peer: int = 1024
    sessions: int = 100_000
    connections_per_peer: int = 256
    connections: int = 1024
    queries_per_second: float = 5000.0
    query_burst: int = 10_000
    in_flight: int = 32
    queue: int = 256
    outbox: int = 256
    outbox_bytes: int = 4 << 20
    stalled_s: float = 20.0
    handshake_s: float = 30.0
    idle_s: float = 300.0
    session_idle_s: float = 3600.0

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if not 0 < value < 1 << 53:
                need = "above 0 and below 2^53"
                raise ParameterError(f"the limit {entry.name} must be {need}, got {value!r}")
        if self.transfers_per_session >= 1 << 32:
            raise ParameterError("the limit transfers_per_session must be below 2^32")

    @classmethod
    def from_pairs(cls, pairs: Iterable[str]) -> Self:
        """Limits from `name=value` texts, the rest by default.

        Raises:
            ParameterError: an unknown name, or a value that is no number above 0.
        """
        kinds = {entry.name: int if entry.type == "int" else float for entry in fields(cls)}
        given: dict[str, Any] = {}
        for pair in pairs:
            name, _, text = pair.partition("=")
            if name not in kinds:
                raise ParameterError(f"expected a limit among {', '.join(kinds)}, got {name!r:.60}")
            try:
                given[name] = kinds[name](text)
            except ValueError as error:
                need = "a whole number" if kinds[name] is int else "a number"
                raise ParameterError(f"{name}: expected {need}, got {text!r:.60}") from error
        return cls(**given)

    def to_wire(self) -> dict[str, Any]:
        """Names and values, for the answer to `hello`."""
        return dataclasses.asdict(self)


def told(limits: dict[str, Any], name: str) -> float | None:
    """A limit that a server told, or None where it told no usable number."""
    value = limits.get(name)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1 << 63:
        return float(value)
    return None


class Bucket:
    """Tokens that flow in at `rate` a second up to `burst`; a query takes one.

    >>> bucket = Bucket(rate=10, burst=2, clock=iter([0.0, 0.0, 0.0, 0.25]).__next__)
    >>> bucket.take(2), bucket.take(1), bucket.take(2)
    (0.0, 0.1, 0.0)
    """

    __slots__ = ("_clock", "_level", "_then", "burst", "rate")

    def __init__(
        self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.rate = rate
        self.burst = burst
        self._clock = clock
        self._level = float(burst)
        self._then = clock()

    def take(self, count: int) -> float:
        """Take `count` tokens and return 0, or take none and return the seconds to wait.

        More than `burst` at once are let through when the bucket is full, and
        leave it in debt: a large batch is slowed, not refused for ever.
        """
        now = self._clock()
        self._level = min(self.burst, self._level + (now - self._then) * self.rate)
        self._then = now
        need = min(count, self.burst)
        if self._level >= need:
            self._level -= count
            return 0.0
        return (need - self._level) / self.rate

    @property
    def full(self) -> bool:
        """Whether nobody took anything lately: such a bucket may be forgotten."""
        return self._level + (self._clock() - self._then) * self.rate >= self.burst
