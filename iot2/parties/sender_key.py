"""The sender's key: how it is made, proved, stored and read (specification, section 2)."""

from __future__ import annotations

import hashlib
import json
import operator
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Self, SupportsIndex

from gmpy2 import gcd, invert, mpz, powmod

from iot2.arithmetic.blum import BlumModulus, blum_primes, far_apart
from iot2.arithmetic.uniform import RandBytes, draw, unit
from iot2.errors import DataError, Iot2Error, ParameterError, StateError
from iot2.files import write_atomically
from iot2.protocol.framing import KEY_BYTES
from iot2.protocol.proof import ROUNDS, prove
from iot2.wire.public_key import MOST_CHOICES, PublicKey, check_size

_FORMAT = "iot2 sender key"
_FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SenderKey:
    """The secret p, q, sigma_j and reject_seed, beside the public key they make.

    Made by `generate`, `from_primes` or `load`. Never printed: its `repr`
    shows the fingerprint alone.
    """

    secret: BlumModulus
    sigma: tuple[mpz, ...]
    rho_inverse: tuple[mpz, ...]
    reject_seed: bytes
    public: PublicKey

    @classmethod
    def generate(
        cls,
        bits: int = 3072,
        choices: int = 2,
        *,
        insecure: bool = False,
        randbytes: RandBytes = os.urandom,
    ) -> Self:
        """A fresh key for 1-out-of-`choices` OT.

        Args:
            bits: length of N, an even number; 2048, 3072 or 4096 unless `insecure`.
            choices: c, from 2 to 256.
            insecure: allow other sizes, from 32 bits on, for tests and demonstrations.
            randbytes: count -> bytes.

        Raises:
            ParameterError: an unsupported size or number of choices.
        """
        if not isinstance(bits, int) or bits % 2 or bits < 32:
            raise ParameterError(f"bits must be an even integer of at least 32, got {bits!r}")
        check_size(bits, insecure=insecure)
        _check_choices(choices)
        p, q = blum_primes(bits, randbytes)
        sigma = [unit(p * q, randbytes) for _ in range(choices - 1)]
        seed = draw(randbytes, KEY_BYTES)
        return cls.from_primes(p, q, sigma, seed, insecure=insecure)

    @classmethod
    def from_primes(
        cls,
        p: int | mpz,
        q: int | mpz,
        sigma: Sequence[int] | Sequence[mpz],
        reject_seed: bytes,
        *,
        insecure: bool = False,
    ) -> Self:
        """The key of given primes p, q = 3 (mod 4) and units sigma_1 ... sigma_(c-1).

        The proof is made here, from randomness of the operating system.

        Args:
            p: a prime.
            q: another prime, of the same length and not close to p.
            sigma: c - 1 units mod N = p q.
            reject_seed: 32 secret bytes.
            insecure: allow any size of N, and primes of any two lengths.

        Raises:
            ParameterError: naming the condition that fails, never a value.
        """
        try:
            p, q, *sigma = map(operator.index, (p, q, *sigma))
        except TypeError:  # mpz itself takes text, and cuts off what follows the point
            raise ParameterError("p, q and every sigma_j must be integers") from None
        units = tuple(map(mpz, sigma))
        _check_choices(len(units) + 1)
        if not isinstance(reject_seed, bytes) or len(reject_seed) != KEY_BYTES:
            raise ParameterError(f"reject_seed must be {KEY_BYTES} bytes")
        secret = BlumModulus(mpz(p), mpz(q))
        N, bits = secret.N, secret.N.bit_length()
        check_size(bits, insecure=insecure)
        if not insecure:
            _check_shape(secret, bits)
        if any(not 0 < x < N or gcd(x, N) != 1 for x in units):
            raise ParameterError("every sigma_j must be a unit with 0 < sigma < N, and one is not")
        z = tuple(powmod(x, 4, N) for x in units)
        if len({mpz(1), *z}) != len(z) + 1:
            raise ParameterError("every z_j must differ from 1 and from the others: draw new units")
        e, responses = prove(N, units, z, [unit(N, os.urandom) for _ in range(ROUNDS)])
        public = PublicKey(N, z, e, responses, insecure=insecure)
        return cls._from_parts(secret, units, reject_seed, public)

    @classmethod
    def _from_parts(
        cls, secret: BlumModulus, sigma: tuple[mpz, ...], reject_seed: bytes, public: PublicKey
    ) -> Self:
        rho_inverse = tuple(invert(x * x, secret.N) for x in sigma)
        return cls(secret, sigma, rho_inverse, reject_seed, public)

    @property
    def bits(self) -> int:
        """Length of N in bits."""
        return self.public.bits

    @property
    def choices(self) -> int:
        """c of 1-out-of-c."""
        return self.public.choices

    @property
    def fingerprint(self) -> bytes:
        """32 bytes that name the public key."""
        return self.public.fingerprint

    def __repr__(self) -> str:
        fp = self.fingerprint.hex()[:16]
        return f"SenderKey(bits={self.bits}, choices={self.choices}, fingerprint={fp}...)"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise StateError("a SenderKey is stored with save and read with load, never pickled")

    def save(self, path: Path | str, *, overwrite: bool = False) -> None:
        """Write the key to `path`, mode 0600, whole or not at all.

        Raises:
            DataError: a file is there already and `overwrite` is false.
        """
        content: dict[str, Any] = {
            "p": self.secret.p.digits(16),
            "q": self.secret.q.digits(16),
            "sigma": [x.digits(16) for x in self.sigma],
            "reject_seed": self.reject_seed.hex(),
            "public_key": self.public.to_bytes().hex(),
        }
        document = {
            "format": _FORMAT,
            "version": _FORMAT_VERSION,
            "sha256": _digest(content),
            "key": content,
        }
        data = json.dumps(document, indent=1).encode() + b"\n"
        write_atomically(path, data, mode=0o600, overwrite=overwrite)

    @classmethod
    def load(cls, path: Path | str, *, insecure: bool = False) -> Self:
        """Read a key that `save` wrote.

        Raises:
            DataError: the file is damaged, foreign or of another version, or
                its parts do not belong together.
            ParameterError: the size of N, or the shape of p and q, is unsupported
                and not `insecure`.
            OSError: the file cannot be read.
        """
        try:
            document = json.loads(Path(path).read_bytes())
        except (ValueError, RecursionError):
            raise DataError(f"{path}: expected an iot2 sender key, found no JSON") from None
        if not isinstance(document, dict) or document.get("format") != _FORMAT:
            raise DataError(f"{path}: expected an iot2 sender key, found another kind of file")
        if document.get("version") != _FORMAT_VERSION:
            found = document.get("version")
            shown = found if isinstance(found, int) else type(found).__name__
            raise DataError(f"{path}: expected key version {_FORMAT_VERSION}, found {shown}")
        content = document.get("key")
        if not isinstance(content, dict) or document.get("sha256") != _digest(content):
            raise DataError(f"{path}: the key is damaged (its SHA-256 does not fit)")
        try:
            p, q = mpz(content["p"], 16), mpz(content["q"], 16)
            sigma = tuple(mpz(x, 16) for x in content["sigma"])
            seed = bytes.fromhex(content["reject_seed"])
            public = PublicKey.from_bytes(bytes.fromhex(content["public_key"]), insecure=True)
        except (Iot2Error, KeyError, TypeError, ValueError):
            # The cause could name a secret value, so it is not chained.
            raise DataError(f"{path}: the key is damaged (a part does not parse)") from None
        # Compared before numbers of any size are tested for being prime.
        if p * q != public.modulus or len(seed) != KEY_BYTES:
            raise DataError(f"{path}: the parts of the key do not belong together")
        check_size(public.bits, insecure=insecure)
        try:
            secret = BlumModulus(p, q)
            public.verify()
        except Iot2Error:
            raise DataError(f"{path}: the key is damaged (its numbers make no key)") from None
        if public.z != tuple(powmod(x, 4, secret.N) for x in sigma):
            raise DataError(f"{path}: the parts of the key do not belong together")
        if not insecure:
            _check_shape(secret, public.bits)
        public = PublicKey.from_bytes(public.to_bytes(), insecure=insecure)
        return cls._from_parts(secret, sigma, seed, public)


def _check_choices(choices: int) -> None:
    if not isinstance(choices, int) or not 2 <= choices <= MOST_CHOICES:
        raise ParameterError(f"a key serves 2 to {MOST_CHOICES} choices, got {choices!r}")


def _check_shape(secret: BlumModulus, bits: int) -> None:
    """bits/2 bits each with the two top bits set, and not close together."""
    half = bits // 2
    if any(x >> (half - 2) != 3 for x in (secret.p, secret.q)):
        raise ParameterError(f"p and q must have {half} bits each, the two top ones set")
    if not far_apart(secret.p, secret.q, bits):
        raise ParameterError(f"|p - q| must be above 2^{half - 100}")


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
