"""The bare calls that one transfer asks of a binding: the floor under SimplestOT's cost.

What a receiver of `iot2.simplest` costs beyond their sum is what Python,
messages, hashes and bookkeeping add; the benchmark prints both.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from iot2.arithmetic.uniform import draw
from iot2.errors import ParameterError
from iot2.simplest.groups import draw_scalars, load_group

BareCall = tuple[str, Callable[[], object]]
"""(what it computes and by which call, the call on fixed arguments)."""


def bare_receiver_calls(group: str, split: str = "known") -> list[BareCall]:
    """Every call of the binding in one transfer of a receiver, offline and online.

    Args:
        group: "ristretto255" or "secp256k1".
        split: "known", or "fresh", where A is decoded for each transfer too
            (by libsodium as part of the addition, so ristretto255 has no
            call of its own for it).

    Returns:
        (name, callable without arguments) in the order of a transfer, once
        for each time that a transfer makes the call.

    >>> [name for name, call in bare_receiver_calls("ristretto255")]
    ['x: scalar_reduce', 'xG: scalarmult_base', 'xG + A: add', 'xA: scalarmult']
    """
    loaded = load_group(group)
    if split not in ("known", "fresh"):
        raise ParameterError(f"split must be known or fresh, got {split!r}")
    a, x = draw_scalars(loaded, 2, os.urandom)
    A, xG = loaded.base(a), loaded.base(x)
    if loaded.binding == "rbcl":
        return _rbcl_calls(A, xG, x, draw(os.urandom, loaded.draw_size))
    return _coincurve_calls(loaded.encode(A), x, fresh=split == "fresh")


def _rbcl_calls(A: bytes, xG: bytes, x: bytes, drawn: bytes) -> list[BareCall]:
    import rbcl

    return [
        ("x: scalar_reduce", lambda: rbcl.crypto_core_ristretto255_scalar_reduce(drawn)),
        ("xG: scalarmult_base", lambda: rbcl.crypto_scalarmult_ristretto255_base(x)),
        ("xG + A: add", lambda: rbcl.crypto_core_ristretto255_add(xG, A)),
        ("xA: scalarmult", lambda: rbcl.crypto_scalarmult_ristretto255(x, A)),
    ]


def _coincurve_calls(encoded: bytes, x: bytes, *, fresh: bool) -> list[BareCall]:
    from coincurve import PublicKey

    A, xG = PublicKey(encoded), PublicKey.from_valid_secret(x)
    both, xA = [xG, A], A.multiply(x)
    total = PublicKey.combine_keys(both)
    parse: list[BareCall] = [("A: parse", lambda: PublicKey(encoded))]
    return [
        *(parse if fresh else []),
        ("xG: from_valid_secret", lambda: PublicKey.from_valid_secret(x)),
        ("xG: format", xG.format),
        ("xG + A: combine_keys", lambda: PublicKey.combine_keys(both)),
        ("xG + A: format", total.format),
        ("xA: multiply", lambda: A.multiply(x)),
        ("xA: format", xA.format),
    ]
