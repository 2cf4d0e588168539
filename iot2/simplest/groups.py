"""The two prime-order groups of SimplestOT, as plain calls of their bindings.

| name         | order               | library, binding         | point    | scalar         |
|--------------|---------------------|--------------------------|----------|----------------|
| ristretto255 | 2^252 + 277...8493  | libsodium, rbcl          | 32 bytes | little-endian  |
| secp256k1    | 2^256 - 432...5599 | libsecp256k1, coincurve  | 33 bytes | big-endian     |

Each operation is the cheapest call of the binding that is correct, so that a
comparison with SimplestOT is one with SimplestOT at its fastest. On timing:
libsodium multiplies in constant time. libsecp256k1 does so for xG, and adds
points in constant time, but its only multiplication that gives a point back,
`secp256k1_ec_pubkey_tweak_mul` (xA here, aB at the sender), runs in variable
time and is meant for public scalars; the constant-time one stands behind
`secp256k1_ecdh`, which costs more and gives a hash. It is not used: a baseline
that skips a protection is quicker than one that has it, and what is said of
our protocol against it errs on the safe side. Use ristretto255 for anything
but measuring.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from operator import methodcaller
from typing import Any, Final

from iot2.arithmetic.uniform import RandBytes, draw
from iot2.errors import MessageError, ParameterError

GROUPS: Final = ("ristretto255", "secp256k1")
"""The names that `load_group` knows."""

Point = Any
"""A group element as its binding holds it: bytes for rbcl, a PublicKey for coincurve."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Group:
    """A prime-order group with generator G: its sizes and the calls of its binding.

    The security level is nominal: the best known generic attack takes about
    2^126 (ristretto255) and 2^128 (secp256k1) group operations.

    Attributes:
        name: "ristretto255" or "secp256k1".
        binding: the Python package that computes, "rbcl" or "coincurve".
        strength: nominal security level in bits.
        size: length of an encoded point in bytes.
        draw_size: random bytes that `to_scalar` takes.
        identity: `size` zero bytes: how the identity is hashed. No message may hold it.
        to_scalar: uniform bytes to a uniform scalar; empty if they must be drawn again.
        base: x to xG.
        multiply: (P, x) to xP. A malformed P, or the identity: MessageError.
        add: (P, Q) to P + Q. Where the point is bytes, a malformed one gives `identity`.
        opposite: x to -x.
        encode: P to its `size` bytes.
        decode: bytes to a point that is not the identity, else MessageError.
        decode_late: like `decode`, but where every operation checks its points
            again it leaves the encoding to the first one.
    """

    name: str
    binding: str
    strength: int
    size: int
    draw_size: int
    identity: bytes
    to_scalar: Callable[[bytes], bytes]
    base: Callable[[bytes], Point]
    multiply: Callable[[Point, bytes], Point]
    add: Callable[[Point, Point], Point]
    opposite: Callable[[bytes], bytes]
    encode: Callable[[Point], bytes]
    decode: Callable[[bytes], Point]
    decode_late: Callable[[bytes], Point]

    def __repr__(self) -> str:
        return f"<Group {self.name} through {self.binding}>"


def load_group(name: str) -> Group:
    """The group of this name; its binding is imported at the first call.

    Raises:
        ParameterError: no such group.
        ModuleNotFoundError: the binding is not installed.

    >>> load_group("secp256k1")
    <Group secp256k1 through coincurve>
    """
    if name not in GROUPS:
        raise ParameterError(f"group must be one of {', '.join(GROUPS)}, got {name!r}")
    return _load(name)


@cache
def _load(name: str) -> Group:
    return _ristretto255() if name == "ristretto255" else _secp256k1()


def draw_scalars(group: Group, count: int, randbytes: RandBytes) -> list[bytes]:
    """`count` uniform scalars from one read of `randbytes` (and more for a rejected one)."""
    size, to_scalar = group.draw_size, group.to_scalar
    drawn = draw(randbytes, count * size)
    if count == 1 and (scalar := to_scalar(drawn)):
        return [scalar]
    scalars = [to_scalar(drawn[k : k + size]) for k in range(0, count * size, size)]
    while b"" in scalars:
        scalars[scalars.index(b"")] = to_scalar(draw(randbytes, size))
    return scalars


def _expect_size(data: bytes, name: str, size: int) -> None:
    if len(data) != size:
        raise MessageError(f"a {name} point has {size} bytes, got {len(data)}")


RISTRETTO255_BYTES: Final = 32
"""RFC 9496: one canonical encoding for each element; the identity is all zeros."""


def _ristretto255() -> Group:
    import rbcl

    name, size = "ristretto255", RISTRETTO255_BYTES
    identity, zero = bytes(size), bytes(32)
    reduce = rbcl.crypto_core_ristretto255_scalar_reduce
    is_valid = rbcl.crypto_core_ristretto255_is_valid_point
    scalarmult = rbcl.crypto_scalarmult_ristretto255
    refused = f"a {name} point must be canonical and not the identity"

    def to_scalar(drawn: bytes) -> bytes:
        scalar: bytes = reduce(drawn)
        return scalar if scalar != zero else b""

    def multiply(point: bytes, scalar: bytes) -> bytes:
        try:
            product: bytes = scalarmult(scalar, point)
        except RuntimeError:
            raise MessageError(refused) from None
        return product

    def decode_late(data: bytes) -> bytes:
        _expect_size(data, name, size)
        if data == identity:
            raise MessageError(refused)
        return data

    def decode(data: bytes) -> bytes:
        # libsodium accepts the identity as a valid point; decode_late does not.
        if not is_valid(decode_late(data)):
            raise MessageError(refused)
        return data

    return Group(
        name=name,
        binding="rbcl",
        strength=128,
        size=size,
        draw_size=64,
        identity=identity,
        to_scalar=to_scalar,
        base=rbcl.crypto_scalarmult_ristretto255_base,
        multiply=multiply,
        add=rbcl.crypto_core_ristretto255_add,
        opposite=rbcl.crypto_core_ristretto255_scalar_negate,
        encode=bytes,
        decode=decode,
        decode_late=decode_late,
    )


SECP256K1_BYTES: Final = 33
"""SEC 1, section 2.3.3: compressed points only, 02 or 03 before x < p."""

SECP256K1_ORDER: Final = 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141
"""SEC 2, section 2.4.1: the number n of points."""


class _Infinity:
    """The identity of secp256k1, for which coincurve has no object."""

    def format(self) -> bytes:
        return bytes(SECP256K1_BYTES)


def _secp256k1() -> Group:
    from coincurve import PublicKey

    name, size = "secp256k1", SECP256K1_BYTES
    order = SECP256K1_ORDER.to_bytes(32, "big")
    zero, infinity = bytes(32), _Infinity()
    combine = PublicKey.combine_keys

    def to_scalar(drawn: bytes) -> bytes:
        return drawn if zero < drawn < order else b""

    def add(p: Point, q: Point) -> Point:
        try:
            return combine([p, q])
        except ValueError:
            return infinity

    def opposite(scalar: bytes) -> bytes:
        return (SECP256K1_ORDER - int.from_bytes(scalar, "big")).to_bytes(32, "big")

    def decode(data: bytes) -> Point:
        _expect_size(data, name, size)
        try:
            return PublicKey(data)
        except ValueError:
            raise MessageError(f"a {name} point must be compressed and on the curve") from None

    return Group(
        name=name,
        binding="coincurve",
        strength=128,
        size=size,
        draw_size=32,
        identity=bytes(size),
        to_scalar=to_scalar,
        base=PublicKey.from_valid_secret,
        multiply=PublicKey.multiply,
        add=add,
        opposite=opposite,
        encode=methodcaller("format"),
        decode=decode,
        decode_late=decode,
    )
