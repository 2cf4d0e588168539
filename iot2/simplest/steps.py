"""SimplestOT, step by step (Chou, Orlandi 2015; specification, section 9).

| phase    | who    | what                                                      |
|----------|--------|-----------------------------------------------------------|
| offline  | S      | a <- scalar, A = aG, and aA                               |
| offline  | R      | x <- scalar, xG                                           |
| online 1 | S -> R | A, with a fresh key; a known key is sent once, before all |
| offline  | R      | known key: xG + A, xA and both keys                       |
| online 2 | R -> S | (i, B = xG + bA): both computed, then selected            |
| online 3 | S -> R | c_0 = m_0 ^ pad(k_0), c_1 = m_1 ^ pad(k_1)                |
| online   | R      | m_b = c_b ^ pad(k)                                        |

k_0 = H(aB), k_1 = H(aB - aA), the receiver's k = H(xA), each hashed with the
group, the sid, the index and the transcript (A, B):
H("simplest/key"; group, sid, u64(i), A, B, P). With b = 0, aB = a(xG) = xA;
with b = 1, aB - aA = a(xG + A) - aA = xA.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final, NamedTuple

from iot2.protocol.framing import framed, len32, u64
from iot2.simplest.groups import Group, Point

KEY_SIMPLEST: Final = "simplest/key"


class Frame(NamedTuple):
    """What surrounds the index and the points in the hash of every key of one session."""

    start: bytes
    """framed("simplest/key"; group, sid) and the length of the index that follows."""
    length: bytes
    """len32 of an encoded point."""

    def key(self, index: int, A: bytes, B: bytes, P: bytes) -> bytes:
        """H("simplest/key"; group, sid, u64(i), A, B, P), 32 bytes."""
        start, n = self
        return sha256(start + u64(index) + n + A + n + B + n + P).digest()


def key_frame(group: Group, sid: bytes) -> Frame:
    """The frame of a session's keys."""
    start = framed(KEY_SIMPLEST, group.name.encode("ascii"), sid) + len32(8)
    return Frame(start, len32(group.size))


def receiver_offline(
    group: Group, frame: Frame, i: bytes, x: bytes, A: Point, A_bytes: bytes
) -> tuple[bytes, bytes, bytes, bytes]:
    """(B_0, B_1, k_0, k_1) for a known key: B = xG or xG + A, and the key of xA with either.

    `i` is u64(i), and `A_bytes` A encoded. One function for the whole row, and
    what both keys share joined once: a Python call is noticed beside the
    bindings' own.
    """
    encode, (start, n) = group.encode, frame
    xG = group.base(x)
    B_0, B_1, P = encode(xG), encode(group.add(xG, A)), encode(group.multiply(A, x))
    before, after = start + i + n + A_bytes + n, n + P
    k_0, k_1 = sha256(before + B_0 + after).digest(), sha256(before + B_1 + after).digest()
    return B_0, B_1, k_0, k_1


def sender_points(group: Group, a: bytes, minus_aA: Point, B: bytes) -> tuple[bytes, bytes]:
    """(aB, aB - aA), encoded: what the keys of m0 and m1 are made of.

    B = A is sent by who knows x = 0: aB - aA is then the identity, and opens
    m1 to everybody, but m0 to nobody.

    Raises:
        MessageError: B is malformed or the identity.
    """
    aB = group.multiply(group.decode_late(B), a)
    return group.encode(aB), group.encode(group.add(aB, minus_aA))
