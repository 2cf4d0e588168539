"""Uniform residues and units: what is drawn, and what is made of it."""

from __future__ import annotations

import pytest
from gmpy2 import gcd, mpz
from hypothesis import given
from hypothesis import strategies as st

from iot2 import ParameterError
from iot2.arithmetic.uniform import draw, residue_size, uniform_mod, unit


@given(modulus=st.integers(2, 1 << 200), data=st.data())
def test_a_residue_is_the_draw_reduced(modulus: int, data: st.DataObject) -> None:
    size = (modulus.bit_length() + 7) // 8
    assert residue_size(mpz(modulus)) == size
    drawn = data.draw(st.binary(min_size=size + 16, max_size=size + 16))
    asked = []

    def randbytes(count: int) -> bytes:
        asked.append(count)
        return drawn

    assert uniform_mod(mpz(modulus), randbytes) == int.from_bytes(drawn) % modulus
    assert asked == [size + 16]


def test_a_unit_is_redrawn_until_it_is_one() -> None:
    draws = iter([0, 3, 5, 15, 30, 21, 22])

    def randbytes(count: int) -> bytes:
        return next(draws).to_bytes(count)

    assert unit(mpz(15), randbytes) == 22 % 15
    assert gcd(22 % 15, 15) == 1
    assert list(draws) == []


@pytest.mark.parametrize("given_", [b"", b"x", bytes(17), bytes(19)])
def test_a_source_of_another_length_is_told(given_: bytes) -> None:
    with pytest.raises(ParameterError, match=f"must give 18 bytes, gave {len(given_)}"):
        draw(lambda count: given_, 18)
