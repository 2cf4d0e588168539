"""Masked selection takes what indexing takes, leading zeros included."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from iot2.protocol.selection import masked, masked_rows


@given(data=st.data(), length=st.integers(1, 40), count=st.integers(1, 6))
def test_one_of_several(data: st.DataObject, length: int, count: int) -> None:
    one = st.binary(min_size=length, max_size=length)
    options = data.draw(st.lists(one, min_size=count, max_size=count))
    for choice, option in enumerate(options):
        assert masked(options, choice) == option


@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 20),
    choices=st.integers(1, 256),
    length=st.integers(1, 9),
)
def test_one_of_each_row(seed: int, count: int, choices: int, length: int) -> None:
    rng = np.random.default_rng(seed)
    options = rng.integers(0, 256, (count, choices, length), np.uint8)
    for kind in (np.int64, np.uint8, np.uint64):
        chosen = rng.integers(0, choices, count).astype(kind)
        expected = options[np.arange(count), chosen.astype(int)]
        assert np.array_equal(masked_rows(options, chosen), expected)
