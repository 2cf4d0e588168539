"""Both engines of secret powers: the same numbers, from many threads, and nothing left over."""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest
from adversaries import prime, source
from gmpy2 import mpz, powmod

from iot2 import ParameterError
from iot2.arithmetic import exponentiation
from iot2.arithmetic.exponentiation import GmpPowers, LibcryptoPowers, paired_powers

needs_libcrypto = pytest.mark.skipif(
    exponentiation.libcrypto_version() is None, reason="needs the system's libcrypto"
)
ENGINES = [GmpPowers, pytest.param(LibcryptoPowers, marks=needs_libcrypto)]


def a_case(p_bits: int, q_bits: int) -> tuple[mpz, mpz, mpz, mpz]:
    p, q = prime(p_bits, 3), prime(q_bits, 3)
    return p, q, (p + 1) // 4, (q + 1) // 4


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "bits", [(64, 64), (65, 127), (256, 256), (200, 300), (512, 1024), (1024, 1024), (1536, 1536)]
)
def test_an_engine_gives_both_powers(engine: Any, bits: tuple[int, int]) -> None:
    p, q, d_p, d_q = a_case(*bits)
    powers = engine(p, q, d_p, d_q)
    cases = [(mpz(0), mpz(0)), (mpz(1), q - 1), (p - 1, mpz(1)), (mpz(2), mpz(0))]
    cases += [(mpz(source.randrange(p)), mpz(source.randrange(q))) for _ in range(5)]
    for x_p, x_q in cases:
        assert powers(x_p, x_q) == (powmod(x_p, d_p, p), powmod(x_q, d_q, q))


def test_toy_moduli_go_to_gmp() -> None:
    assert isinstance(paired_powers(mpz(7), mpz(11), mpz(2), mpz(3)), GmpPowers)


@needs_libcrypto
def test_real_moduli_go_to_libcrypto() -> None:
    powers = paired_powers(*a_case(256, 256))
    assert powers.name.startswith("libcrypto (BN_mod_exp_mont_consttime")


def test_without_libcrypto_gmp_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exponentiation, "_libcrypto", lambda: None)
    case = a_case(256, 256)
    assert paired_powers(*case).name == "gmpy2 (mpz_powm_sec)"
    assert exponentiation.libcrypto_version() is None
    with pytest.raises(ParameterError, match="libcrypto was expected, none was found"):
        LibcryptoPowers(*case)


@needs_libcrypto
def test_the_single_form_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenSSL before version 3 has no paired form."""
    real = exponentiation._libcrypto()

    class Older:
        def __getattr__(self, name: str) -> Any:
            if name.endswith("_x2"):
                raise AttributeError(name)
            return getattr(real, name)

    monkeypatch.setattr(exponentiation, "_libcrypto", lambda: Older())
    p, q, d_p, d_q = a_case(256, 256)
    powers = LibcryptoPowers(p, q, d_p, d_q)
    assert powers.name == "libcrypto (BN_mod_exp_mont_consttime)"
    assert powers(mpz(5), mpz(7)) == (powmod(5, d_p, p), powmod(7, d_q, q))


@pytest.mark.parametrize("engine", ENGINES)
def test_threads_do_not_disturb_one_another(engine: Any) -> None:
    p, q, d_p, d_q = a_case(256, 256)
    powers = engine(p, q, d_p, d_q)
    wrong = []

    def work(start: int) -> None:
        for x in range(start, start + 60):
            if powers(mpz(x), mpz(x)) != (powmod(x, d_p, p), powmod(x, d_q, q)):
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(100 * k + 2,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@needs_libcrypto
@pytest.mark.parametrize(
    ("made", "freed"),
    [
        ("BN_CTX_new", "BN_CTX_free"),
        ("BN_new", "BN_clear_free"),
        ("BN_MONT_CTX_new", "BN_MONT_CTX_free"),
    ],
)
def test_what_is_made_is_freed_by_every_thread(
    monkeypatch: pytest.MonkeyPatch, made: str, freed: str
) -> None:
    library = exponentiation._libcrypto()
    assert library is not None
    alive: set[int] = set()
    total = 0
    make, free = getattr(library, made), getattr(library, freed)

    def counting_make() -> int:
        nonlocal total
        pointer = make()
        alive.add(pointer)
        total += 1
        return int(pointer)

    def counting_free(pointer: int) -> None:
        alive.discard(pointer)
        free(pointer)

    monkeypatch.setattr(library, made, counting_make)
    monkeypatch.setattr(library, freed, counting_free)
    powers = LibcryptoPowers(*a_case(256, 256))
    after_one = len(alive)
    for _ in range(6):
        thread = threading.Thread(target=powers, args=(mpz(5), mpz(7)))
        thread.start()
        thread.join()
    gc.collect()
    assert len(alive) == after_one, "a thread that ended left something behind"
    assert total >= after_one + (6 if made != "BN_MONT_CTX_new" else 0)
    del powers, thread
    gc.collect()
    assert alive == set()
