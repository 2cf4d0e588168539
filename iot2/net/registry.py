"""Who is connected, which sessions are open, and what each address may still do.

Lives in the event loop alone. What must outlive the process is in
`iot2.net.store`; here is what is needed to decide without asking it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from iot2.net.events import Code, Refusal
from iot2.net.limits import Bucket, Limits
from iot2.net.tables import SessionRow
from iot2.parties.intervals import IntervalSet
from iot2.parties.sender_key import SenderKey


@dataclass(slots=True, eq=False)
class Pending:
    """An event whose transfers are being computed: its digest, and the reply to come."""

    digest: bytes
    future: asyncio.Future[bytes]


@dataclass(slots=True, eq=False)
class OpenSession:
    """A session in memory.

    Attributes:
        row: as stored.
        key: that answers.
        answered: indexes whose reply is stored.
        offered: indexes whose offer was made (six-message).
        pending: indexes that are being answered.
        connection: that may use it; None while its client is away.
        left: when the last connection went away.
    """

    row: SessionRow
    key: SenderKey = field(repr=False)
    answered: IntervalSet = field(default_factory=IntervalSet)
    offered: IntervalSet = field(default_factory=IntervalSet)
    pending: dict[int, Pending] = field(default_factory=dict)
    connection: Connection | None = None
    left: float = 0.0


@dataclass(slots=True, eq=False)
class Peer:
    """An address: how much it has open, and how fast it asks."""

    address: str
    bucket: Bucket
    connections: int = 0
    sessions: int = 0
    transfers: int = 0


@dataclass(slots=True, eq=False)
class Connection:
    """One client, from its connection to its end.

    Attributes:
        id: the Socket.IO identifier.
        peer: its address.
        since: when it connected.
        heard: when its last event came.
        greeted: whether its hello was answered.
        variant: agreed in hello, as in a `Session`.
        key: agreed in hello.
        demo: the messages of its demonstrations.
        sessions: those that it opened or resumed, by sid.
        in_flight: events that are being answered.
        ending: whether it is being closed.
    """

    id: str
    peer: Peer
    since: float
    heard: float
    greeted: bool = False
    variant: int = 0
    key: SenderKey | None = field(default=None, repr=False)
    demo: tuple[bytes, ...] | None = field(default=None, repr=False)
    sessions: dict[bytes, OpenSession] = field(default_factory=dict)
    in_flight: int = 0
    ending: bool = False


@dataclass(slots=True, eq=False)
class _Lease:
    """A session that is stored and not in memory: nobody resumed it yet."""

    number: int
    peer: Peer
    count: int
    left: float


class Registry:
    """Connections, peers and sessions of one server.

    Args:
        limits: what they may use.
        stored: (number, sid, address, count) of every session that the state holds.
    """

    def __init__(self, limits: Limits, stored: Iterable[tuple[int, bytes, str, int]]) -> None:
        self.limits = limits
        self.connections: dict[str, Connection] = {}
        self.sessions: dict[bytes, OpenSession] = {}
        self._peers: dict[str, Peer] = {}
        self._leases: dict[bytes, _Lease] = {}
        self._open = 0
        self._transfers = 0
        now = time.monotonic()
        for number, sid, address, count in stored:
            peer = self._peer(address)
            self._count(peer, 1, count)
            self._leases[sid] = _Lease(number, peer, count, now)

    def _count(self, peer: Peer, sessions: int, transfers: int) -> None:
        peer.sessions += sessions
        peer.transfers += transfers
        self._open += sessions
        self._transfers += transfers

    def _peer(self, address: str) -> Peer:
        peer = self._peers.get(address)
        if peer is None:
            bucket = Bucket(self.limits.queries_per_second, self.limits.query_burst)
            peer = self._peers[address] = Peer(address, bucket)
        return peer

    def connect(self, connection_id: str, address: str) -> Connection:
        """Let a client in.

        Raises:
            Refusal: LIMIT, when it or its address has too many connections.
        """
        peer, limits = self._peer(address), self.limits
        for name, count in (
            ("connections", len(self.connections)),
            ("connections_per_peer", peer.connections),
        ):
            if count >= getattr(limits, name):
                raise Refusal(Code.LIMIT, f"{name}: at most {getattr(limits, name)}", fatal=True)
        now = time.monotonic()
        connection = Connection(connection_id, peer, now, now)
        self.connections[connection_id] = connection
        peer.connections += 1
        return connection

    def disconnect(self, connection_id: str) -> Connection | None:
        """Let a client go; its sessions wait for it."""
        connection = self.connections.pop(connection_id, None)
        if connection is None:
            return None
        connection.peer.connections -= 1
        now = time.monotonic()
        for session in connection.sessions.values():
            session.connection, session.left = None, now
        connection.sessions.clear()
        return connection

    def reserve(self, peer: Peer, count: int) -> None:
        """Count a session that is to be opened, so that many at once cannot pass a limit.

        Args:
            peer: whose it is.
            count: transfers that it has.

        Raises:
            Refusal: LIMIT, when the address or the server has too much open.
        """
        for name, now in (
            ("sessions_per_peer", peer.sessions + 1),
            ("sessions", self._open + 1),
            ("transfers_per_peer", peer.transfers + count),
            ("transfers", self._transfers + count),
        ):
            most = getattr(self.limits, name)
            if now > most:
                raise Refusal(Code.LIMIT, f"{name}: at most {most} are open at once")
        self._count(peer, 1, count)

    def release(self, peer: Peer, count: int) -> None:
        """Undo `reserve`: the session was not opened, or has ended."""
        self._count(peer, -1, -count)

    def add(self, connection: Connection, session: OpenSession) -> None:
        """Give a session, reserved and stored, to the connection that asked for it."""
        self.sessions[session.row.sid] = session
        self.attach(connection, session)

    def attach(self, connection: Connection, session: OpenSession) -> None:
        """Let this connection, and no other, use the session."""
        sid = session.row.sid
        if session.connection is not None:
            session.connection.sessions.pop(sid, None)
        if connection.id in self.connections:
            session.connection = connection
            connection.sessions[sid] = session
        else:  # it went away while the session was made
            session.left = time.monotonic()

    def leased(self, sid: bytes) -> bool:
        """Whether the session is stored and waits to be loaded."""
        return sid in self._leases

    def load(self, session: OpenSession) -> None:
        """Take a stored session into memory."""
        lease = self._leases.pop(session.row.sid, None)
        if lease is not None:
            session.left = lease.left
            self.sessions[session.row.sid] = session

    def forget(self, sid: bytes) -> None:
        """Drop a session that has ended."""
        session = self.sessions.pop(sid, None)
        lease = self._leases.pop(sid, None)
        if session is not None:
            if session.connection is not None:
                session.connection.sessions.pop(sid, None)
            self.release(self._peer(session.row.peer), session.row.count)
        elif lease is not None:
            self.release(lease.peer, lease.count)

    def expired(self) -> list[tuple[bytes, int]]:
        """(sid, number) of sessions whose client stayed away too long; peers are tidied up."""
        before = time.monotonic() - self.limits.session_idle_s
        gone = [
            (sid, session.row.id)
            for sid, session in self.sessions.items()
            if _left_alone(session, before)
        ]
        gone += [(sid, lease.number) for sid, lease in self._leases.items() if lease.left < before]
        for address, peer in list(self._peers.items()):
            if not peer.connections and not peer.sessions and peer.bucket.full:
                del self._peers[address]
        return gone

    def still_expired(self, sid: bytes) -> bool:
        """Whether a session of `expired` may be ended still: nobody resumed or ended it since."""
        before = time.monotonic() - self.limits.session_idle_s
        session, lease = self.sessions.get(sid), self._leases.get(sid)
        if session is not None:
            return _left_alone(session, before)
        return lease is not None and lease.left < before

    def overdue(self) -> list[tuple[Connection, str]]:
        """Connections past a time limit, each with the limit's name."""
        now, limits = time.monotonic(), self.limits
        late = []
        for connection in self.connections.values():
            if connection.ending:
                continue
            if not connection.greeted and now - connection.since > limits.handshake_s:
                late.append((connection, "handshake_s"))
            elif connection.in_flight == 0 and now - connection.heard > limits.idle_s:
                late.append((connection, "idle_s"))
        return late


def _left_alone(session: OpenSession, before: float) -> bool:
    return session.connection is None and session.left < before and not session.pending
