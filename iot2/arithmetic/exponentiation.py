"""Constant-time powers with a secret exponent, two half-size moduli at a time.

The sender's one costly operation is y^((p+1)/4) mod p and y^((q+1)/4) mod q.
Both engines here give the same numbers, run in time that does not depend on
the exponent, and release the interpreter lock while they compute:

- `LibcryptoPowers`: OpenSSL's `BN_mod_exp_mont_consttime` through ctypes (its
  paired form, where the library has it, so that vector units serve both);
- `GmpPowers`: GMP's `mpz_powm_sec` through gmpy2.

Python around them is *not* constant-time; the caller blinds the base.
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import gmpy2
from gmpy2 import mpz

from iot2.errors import ParameterError

_CONSTANT_TIME_FLAG = 0x04  # BN_FLG_CONSTTIME of <openssl/bn.h>


class PairedPowers(Protocol):
    """x -> (x^d_p mod p, x^d_q mod q) for fixed secret p, q, d_p, d_q."""

    @property
    def name(self) -> str:
        """The engine, as `iot2 bench` says it."""
        ...

    def __call__(self, x_p: mpz, x_q: mpz) -> tuple[mpz, mpz]:
        """(x_p^d_p mod p, x_q^d_q mod q) for 0 <= x_p < p, 0 <= x_q < q."""
        ...


@dataclass(frozen=True, slots=True, repr=False)
class GmpPowers:
    """`PairedPowers` by GMP's secure power."""

    p: mpz
    q: mpz
    d_p: mpz
    d_q: mpz
    name: str = "gmpy2 (mpz_powm_sec)"

    def __call__(self, x_p: mpz, x_q: mpz) -> tuple[mpz, mpz]:
        """(x_p^d_p mod p, x_q^d_q mod q)."""
        with gmpy2.context(gmpy2.get_context(), allow_release_gil=True):
            return (
                gmpy2.powmod_sec(x_p, self.d_p, self.p),
                gmpy2.powmod_sec(x_q, self.d_q, self.q),
            )


@functools.cache
def _libcrypto() -> ctypes.CDLL | None:
    """The system's libcrypto with the functions used here declared, or None."""
    path = ctypes.util.find_library("crypto")
    if path is None:
        return None
    try:
        library = ctypes.CDLL(path)
        pointer, integer, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
        for name, result, arguments in (
            ("BN_new", pointer, []),
            ("BN_clear_free", None, [pointer]),
            ("BN_set_flags", None, [pointer, integer]),
            ("BN_bin2bn", pointer, [text, integer, pointer]),
            ("BN_bn2binpad", integer, [pointer, text, integer]),
            ("BN_CTX_new", pointer, []),
            ("BN_CTX_free", None, [pointer]),
            ("BN_MONT_CTX_new", pointer, []),
            ("BN_MONT_CTX_set", integer, [pointer] * 3),
            ("BN_MONT_CTX_free", None, [pointer]),
            ("BN_mod_exp_mont_consttime", integer, [pointer] * 6),
        ):
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        # In OpenSSL 3 alone.
        with contextlib.suppress(AttributeError):
            library.BN_mod_exp_mont_consttime_x2.restype = integer
            library.BN_mod_exp_mont_consttime_x2.argtypes = [pointer] * 11
    except (OSError, AttributeError):
        return None
    return library


def libcrypto_version() -> str | None:
    """What the system's libcrypto calls itself, None where there is none."""
    library = _libcrypto()
    if library is None:
        return None
    function = getattr(library, "OpenSSL_version", None)
    if function is None:
        return "libcrypto"
    function.restype, function.argtypes = ctypes.c_char_p, [ctypes.c_int]
    return str(function(0).decode("ascii", "replace"))


def _checked(result: int | None, what: str) -> int:
    if not result:
        raise MemoryError(f"libcrypto: {what} failed")
    return result


class _Number:
    """A BIGNUM that is wiped when it is dropped."""

    __slots__ = ("_free", "pointer")

    def __init__(self, library: ctypes.CDLL, value: mpz | None = None) -> None:
        self._free: Callable[[int], None] = library.BN_clear_free
        self.pointer = _checked(library.BN_new(), "BN_new")
        if value is not None:
            data = value.to_bytes((value.bit_length() + 7) // 8, "big")
            _checked(library.BN_bin2bn(data, len(data), self.pointer), "BN_bin2bn")
            library.BN_set_flags(self.pointer, _CONSTANT_TIME_FLAG)

    def __del__(self) -> None:
        if getattr(self, "pointer", None):
            self._free(self.pointer)


class _Context:
    """A BN_CTX that is freed when it is dropped."""

    __slots__ = ("_free", "pointer")

    def __init__(self, library: ctypes.CDLL) -> None:
        self._free: Callable[[int], None] = library.BN_CTX_free
        self.pointer = _checked(library.BN_CTX_new(), "BN_CTX_new")

    def __del__(self) -> None:
        if getattr(self, "pointer", None):
            self._free(self.pointer)


class _Workspace(threading.local):
    """What one thread needs for itself: a BN_CTX, two inputs, two outputs, a buffer.

    Each part frees itself, since a thread that ends drops its parts and no
    more: the finaliser of this object would run for one thread alone.
    """

    def __init__(self, library: ctypes.CDLL, size: int) -> None:
        self.context = _Context(library)
        self.inputs = (_Number(library), _Number(library))
        self.outputs = (_Number(library), _Number(library))
        self.buffer = ctypes.create_string_buffer(size)


@dataclass(slots=True, repr=False, eq=False)
class LibcryptoPowers:
    """`PairedPowers` by the system's libcrypto; a workspace for each thread."""

    p: mpz
    q: mpz
    d_p: mpz
    d_q: mpz
    name: str = field(init=False)
    _library: ctypes.CDLL = field(init=False)
    _fixed: tuple[_Number, ...] = field(init=False)
    _montgomery: tuple[int, int] = field(init=False)
    _workspace: _Workspace = field(init=False)
    _size: int = field(init=False)

    def __post_init__(self) -> None:
        library = _libcrypto()
        if library is None:
            raise ParameterError("the system's libcrypto was expected, none was found")
        self._library = library
        paired = hasattr(library, "BN_mod_exp_mont_consttime_x2")
        self.name = f"libcrypto (BN_mod_exp_mont_consttime{'_x2' if paired else ''})"
        self._size = (max(self.p.bit_length(), self.q.bit_length()) + 7) // 8
        self._workspace = _Workspace(library, self._size)
        self._fixed = tuple(_Number(library, x) for x in (self.p, self.d_p, self.q, self.d_q))
        p, _, q, _ = self._fixed
        self._montgomery = (self._montgomery_of(p), self._montgomery_of(q))

    def _montgomery_of(self, modulus: _Number) -> int:
        pointer = _checked(self._library.BN_MONT_CTX_new(), "BN_MONT_CTX_new")
        context = self._workspace.context.pointer
        _checked(
            self._library.BN_MONT_CTX_set(pointer, modulus.pointer, context), "BN_MONT_CTX_set"
        )
        return pointer

    def __del__(self) -> None:
        for pointer in getattr(self, "_montgomery", ()):
            self._library.BN_MONT_CTX_free(pointer)

    def __call__(self, x_p: mpz, x_q: mpz) -> tuple[mpz, mpz]:
        """(x_p^d_p mod p, x_q^d_q mod q)."""
        library, work, size = self._library, self._workspace, self._size
        for number, value in zip(work.inputs, (x_p, x_q), strict=True):
            _checked(library.BN_bin2bn(value.to_bytes(size, "big"), size, number.pointer), "input")
        p, d_p, q, d_q = (number.pointer for number in self._fixed)
        (in_p, in_q), (out_p, out_q) = work.inputs, work.outputs
        context = work.context.pointer
        of_p = (out_p.pointer, in_p.pointer, d_p, p, self._montgomery[0])
        of_q = (out_q.pointer, in_q.pointer, d_q, q, self._montgomery[1])
        # The order of the arguments differs: the context comes before the
        # Montgomery form in the single call, last in the paired one.
        if hasattr(library, "BN_mod_exp_mont_consttime_x2"):
            result = library.BN_mod_exp_mont_consttime_x2(*of_p, *of_q, context)
            _checked(result, "BN_mod_exp_mont_consttime_x2")
        else:
            for out, base, exponent, modulus, montgomery in (of_p, of_q):
                result = library.BN_mod_exp_mont_consttime(
                    out, base, exponent, modulus, context, montgomery
                )
                _checked(result, "BN_mod_exp_mont_consttime")
        return self._output(out_p), self._output(out_q)

    def _output(self, number: _Number) -> mpz:
        buffer = self._workspace.buffer
        if self._library.BN_bn2binpad(number.pointer, buffer, self._size) < 0:
            raise MemoryError("libcrypto: BN_bn2binpad failed")
        return mpz.from_bytes(buffer.raw, "big")


def paired_powers(p: mpz, q: mpz, d_p: mpz, d_q: mpz) -> PairedPowers:
    """The best engine this system has: libcrypto where it is found, else gmpy2.

    p and q are odd and at least 3. (Toy moduli, under 64 bits, go to gmpy2:
    libcrypto is not made for them.)
    """
    if _libcrypto() is not None and min(p, q).bit_length() >= 64:
        return LibcryptoPowers(p, q, d_p, d_q)
    return GmpPowers(p, q, d_p, d_q)
