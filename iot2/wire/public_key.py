"""The sender's public key, its bytes and its check (specification, sections 2 and 10)."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Self

from gmpy2 import mpz

from iot2.arithmetic.uniform import residue_size
from iot2.errors import MessageError, ParameterError, ProofError
from iot2.protocol.framing import FINGERPRINT, H_of_many, encode
from iot2.protocol.proof import ROUNDS, challenge_size, check_proof
from iot2.wire.header import PUBLIC_KEY, VERSION, check_length, check_start

STRENGTH = {1024: 80, 2048: 112, 3072: 128, 4096: 128}
"""Nominal security in bits of a modulus size; the 128 of the proof caps it."""

SUPPORTED_BITS = (2048, 3072, 4096)
"""Sizes of N that need no `insecure=True`."""

MOST_CHOICES = 256

_START = struct.Struct(">BBHH")  # version, kind, bits, c


def check_size(bits: int, *, insecure: bool) -> None:
    """Raise `ParameterError` unless N may have `bits` bits."""
    if bits not in SUPPORTED_BITS and not insecure:
        sizes = ", ".join(map(str, SUPPORTED_BITS))
        raise ParameterError(
            f"the modulus must have {sizes} bits, has {bits}; "
            "other sizes are for tests, with insecure=True (--insecure on the command line)"
        )


@dataclass(frozen=True, slots=True)
class PublicKey:
    """N, z_1 ... z_(c-1), and the proof that every z_j is a fourth power.

    Parsing does not check the proof: call `verify` once per key before
    anything else uses it, as `Receiver` does.

    Attributes:
        modulus: N.
        z: z_1 ... z_(c-1), each 0 <= z_j < N.
        challenge: e of the proof, 16 (c - 1) bytes.
        responses: s_0 ... s_127, each 0 <= s_i < N.
        insecure: whether N may have an unsupported size.
    """

    modulus: mpz
    z: tuple[mpz, ...]
    challenge: bytes = field(repr=False)
    responses: tuple[mpz, ...] = field(repr=False)
    insecure: bool = field(default=False, kw_only=True, compare=False)
    fingerprint: bytes = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if not 2 <= self.choices <= MOST_CHOICES:
            raise ParameterError(f"a key serves 2 to {MOST_CHOICES} choices, got {self.choices}")
        if not 2 <= self.modulus.bit_length() < 1 << 16:
            raise ParameterError("N must have 2 to 65535 bits")
        if any(not 0 <= x < self.modulus for x in (*self.z, *self.responses)):
            raise ParameterError("every z_j and s_i must be at least 0 and below N")
        # fp = H("fingerprint"; N, z_1, ..., z_(c-1))
        fp = H_of_many(FINGERPRINT, (encode(x, self.modulus) for x in (self.modulus, *self.z)))
        object.__setattr__(self, "fingerprint", fp)

    @property
    def bits(self) -> int:
        """Length of N in bits."""
        return self.modulus.bit_length()

    @property
    def size(self) -> int:
        """n = ceil(bits / 8), the bytes of an integer mod N."""
        return residue_size(self.modulus)

    @property
    def choices(self) -> int:
        """c of 1-out-of-c."""
        return len(self.z) + 1

    def verify(self) -> None:
        """Check the size of N and the proof; about 128 (c + 1) products mod N.

        Raises:
            ProofError: naming the check that failed (specification, section 2).
        """
        try:
            check_size(self.bits, insecure=self.insecure)
        except ParameterError as error:
            raise ProofError(str(error)) from error
        check_proof(self.modulus, self.z, self.challenge, self.responses)

    def to_bytes(self) -> bytes:
        """Kind 1: version, 1, bits, c, N, z_1 ... z_(c-1), e, s_0 ... s_127."""
        residues = [encode(x, self.modulus) for x in (self.modulus, *self.z)]
        responses = [encode(s, self.modulus) for s in self.responses]
        start = _START.pack(VERSION, PUBLIC_KEY, self.bits, self.choices)
        return b"".join((start, *residues, self.challenge, *responses))

    @classmethod
    def from_bytes(cls, data: bytes, *, insecure: bool = False) -> Self:
        """Parse kind 1.

        Raises:
            MessageError: the bytes are no public key, N has not the length
                that it states or (unless `insecure`) a supported one, or a
                value is not below N.
        """
        check_start(data, PUBLIC_KEY, "public key", _START.size)
        _, _, bits, choices = _START.unpack_from(data)
        if not 2 <= choices <= MOST_CHOICES:
            raise MessageError(f"a public key serves 2 to {MOST_CHOICES} choices, got {choices}")
        try:
            check_size(bits, insecure=insecure)
        except ParameterError as error:
            raise MessageError(str(error)) from error
        if bits < 2:
            raise MessageError(f"N must have at least 2 bits, {bits} are stated")
        size = (bits + 7) // 8
        proof_at = _START.size + size * choices
        responses_at = proof_at + challenge_size(choices)
        check_length(data, "public key", responses_at + size * ROUNDS)

        def residues(start: int, stop: int) -> list[mpz]:
            return [mpz.from_bytes(data[k : k + size], "big") for k in range(start, stop, size)]

        modulus, *z = residues(_START.size, proof_at)
        responses = residues(responses_at, len(data))
        if modulus.bit_length() != bits:
            raise MessageError(f"N must have the {bits} bits stated, has {modulus.bit_length()}")
        if any(not x < modulus for x in (*z, *responses)):
            raise MessageError("every z_j and s_i must be below N, and one is not")
        challenge = data[proof_at:responses_at]
        return cls(modulus, tuple(z), challenge, tuple(responses), insecure=insecure)
