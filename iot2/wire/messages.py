"""Messages of kinds 2 to 7 (specification, section 10).

A message keeps its bytes and decodes its header once; the parties read those.
Residues stay bytes here: only a party knows the N that bounds them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import ClassVar, Self

from iot2.errors import MessageError, ParameterError
from iot2.protocol.framing import KEY_BYTES
from iot2.wire import header as h
from iot2.wire.ciphertexts import CiphertextsMessage, common_length, split
from iot2.wire.header import HEADER, VERSION, check_length, check_start, header
from iot2.wire.message import Message, set_encoded, set_index

_SIX_REPLY = struct.Struct(">2x16xQI")  # header, of which the index, and L
_unpack_six_reply = _SIX_REPLY.unpack_from
_SESSION = struct.Struct(">BBB16s32s")  # version, kind, variant, sid, fingerprint


@dataclass(frozen=True, slots=True, init=False, repr=False)
class _ResidueMessage(Message):
    """header, one residue of n bytes."""

    START: ClassVar[bytes]  # version, kind

    def __init__(self, sid: bytes, index: int, residue: bytes) -> None:
        if not isinstance(residue, bytes) or not residue:
            raise ParameterError(f"the residue of {h.article(self.NAME)} must be n >= 1 bytes")
        set_encoded(self, header(self.KIND, sid, index) + residue)
        set_index(self, index)

    @property
    def residue(self) -> bytes:
        """y or z_i: n bytes, big-endian."""
        return self.encoded[HEADER.size :]

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Parse one message; `MessageError` unless version, kind and least length fit.

        That the residue has n bytes and is below N is checked by the party
        that receives it.
        """
        if type(data) is not bytes or data[:2] != cls.START or len(data) <= HEADER.size:
            check_start(data, cls.KIND, cls.NAME, HEADER.size + 1)
        return cls.trusted(data, int.from_bytes(data[18:26]))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Query(_ResidueMessage):
    """Kind 2, R -> S: header, y."""

    KIND: ClassVar[int] = h.QUERY
    START: ClassVar[bytes] = bytes((VERSION, h.QUERY))
    NAME: ClassVar[str] = "query"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Offer(_ResidueMessage):
    """Kind 4, S -> R: header, z_i."""

    KIND: ClassVar[int] = h.OFFER
    START: ClassVar[bytes] = bytes((VERSION, h.OFFER))
    NAME: ClassVar[str] = "offer"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class SixQuery(_ResidueMessage):
    """Kind 5, R -> S: header, y."""

    KIND: ClassVar[int] = h.SIX_QUERY
    START: ClassVar[bytes] = bytes((VERSION, h.SIX_QUERY))
    NAME: ClassVar[str] = "six-query"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Reply(CiphertextsMessage):
    """Kind 3, S -> R: header, c, L, c_0 ... c_(c-1)."""

    KIND: ClassVar[int] = h.REPLY
    NAME: ClassVar[str] = "reply"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class SixReply(Message):
    """Kind 6, S -> R: header, L, four ciphertexts, four digests; m0's pair, then m1's.

    Attributes:
        length: L, the bytes of each ciphertext.
    """

    KIND: ClassVar[int] = h.SIX_REPLY
    START: ClassVar[bytes] = bytes((VERSION, h.SIX_REPLY))
    NAME: ClassVar[str] = "six-reply"

    length: int = field(compare=False)

    def __init__(
        self,
        sid: bytes,
        index: int,
        ciphertexts: tuple[bytes, ...],
        digests: tuple[bytes, ...],
    ) -> None:
        length = common_length(self.NAME, ciphertexts)
        if len(ciphertexts) != 4 or [len(d) for d in digests] != [KEY_BYTES] * 4:
            raise ParameterError("a six-reply carries 4 ciphertexts and 4 digests of 32 bytes")
        start = header(h.SIX_REPLY, sid, index) + struct.pack(">I", length)
        set_encoded(self, start + b"".join((*ciphertexts, *digests)))
        set_index(self, index)
        _set_six_length(self, length)

    @property
    def ciphertexts(self) -> tuple[bytes, ...]:
        """Four, L bytes each."""
        return split(self.encoded, _SIX_REPLY.size, self.length, 4)

    def pair(self, b: int) -> bytes:
        """Both ciphertexts and then both digests of m_b: 2 L + 64 bytes."""
        data, both = self.encoded, 2 * self.length
        c_at = _SIX_REPLY.size + b * both
        d_at = _SIX_REPLY.size + 2 * (both + b * KEY_BYTES)
        return data[c_at : c_at + both] + data[d_at : d_at + 2 * KEY_BYTES]

    @property
    def digests(self) -> tuple[bytes, ...]:
        """Four of 32 bytes, in the order of the ciphertexts."""
        return split(self.encoded, _SIX_REPLY.size + 4 * self.length, KEY_BYTES, 4)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Parse kind 6; `MessageError` unless the bytes are exactly one six-reply."""
        if type(data) is not bytes or data[:2] != cls.START or len(data) < _SIX_REPLY.size:
            check_start(data, h.SIX_REPLY, "six-reply", _SIX_REPLY.size)
        index, length = _unpack_six_reply(data)
        if len(data) != _SIX_REPLY.size + 4 * (length + KEY_BYTES):
            check_length(data, "six-reply", _SIX_REPLY.size + 4 * (length + KEY_BYTES))
        if not length:
            raise MessageError("the ciphertexts of a six-reply must have at least 1 byte, have 0")
        reply = cls.trusted(data, index)
        _set_six_length(reply, length)
        return reply


_set_six_length = SixReply.__dict__["length"].__set__


@dataclass(frozen=True, slots=True)
class Session:
    """Kind 7, S -> R before the receiver's offline phase: version, 7, variant, sid, fp.

    Attributes:
        variant: `Session.COMPACT` or `Session.SIX`.
        sid: 16 bytes, chosen at random by the sender.
        fingerprint: 32 bytes, of the sender's key.
    """

    COMPACT: ClassVar[int] = 1
    SIX: ClassVar[int] = 2

    variant: int
    sid: bytes
    fingerprint: bytes

    def __post_init__(self) -> None:
        if self.variant not in (self.COMPACT, self.SIX):
            raise ParameterError(f"a variant is 1 (compact) or 2 (six), got {self.variant!r}")
        h.check_sid(self.sid)
        if not isinstance(self.fingerprint, bytes) or len(self.fingerprint) != KEY_BYTES:
            raise ParameterError(f"a fingerprint must be {KEY_BYTES} bytes")

    def to_bytes(self) -> bytes:
        """The 51 bytes that travel."""
        return _SESSION.pack(VERSION, h.SESSION, self.variant, self.sid, self.fingerprint)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Parse kind 7; `MessageError` unless the bytes are exactly one session."""
        check_start(data, h.SESSION, "session", _SESSION.size)
        check_length(data, "session", _SESSION.size)
        _, _, variant, sid, fingerprint = _SESSION.unpack(data)
        if variant not in (cls.COMPACT, cls.SIX):
            raise MessageError(f"a variant is 1 (compact) or 2 (six), got {variant}")
        return cls(variant, sid, fingerprint)
