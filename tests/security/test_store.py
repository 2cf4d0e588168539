"""CSV, schema and sidecar: round trips, and every refusal."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iot2.errors import DataError
from iot2.security import store
from iot2.security.store import Column, Schema

SCHEMA = Schema(
    "example",
    (
        Column("n", "count", "a number"),
        Column("x_ns", "real", "a time"),
        Column("word", "word", "a word"),
    ),
)
FRAME = pd.DataFrame({"n": [0, 7], "x_ns": [1.5, -np.inf], "word": ["a", "b"]})


@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz"])
def test_round_trip(tmp_path: Path, name: str) -> None:
    path = tmp_path / "folder" / name
    store.write(path, SCHEMA, FRAME, {"seed": 5})
    stored = store.read(path, SCHEMA)
    pd.testing.assert_frame_equal(stored.frame, FRAME)
    assert stored.about["seed"] == 5
    assert stored.about["rows"] == 2
    assert stored.about["columns"]["x_ns"] == "a time"
    assert store.sidecar_of(path).name == "data.json"


@given(
    st.lists(
        st.tuples(
            st.integers(0, 10**17),
            st.floats(allow_nan=False, width=16),
            st.sampled_from(["a", "b c", "é"[:0] + "z"]),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_rows_survive(tmp_path_factory: pytest.TempPathFactory, rows: list[object]) -> None:
    path = tmp_path_factory.mktemp("store") / "rows.csv"
    frame = pd.DataFrame(rows, columns=SCHEMA.names)
    store.write(path, SCHEMA, frame, {})
    read = store.read(path, SCHEMA).frame
    assert read["n"].tolist() == frame["n"].tolist()
    assert read["word"].tolist() == frame["word"].tolist()
    assert read["x_ns"].tolist() == pytest.approx(frame["x_ns"].tolist(), rel=1e-8)


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    store.write(path, SCHEMA, FRAME, {})
    first = path.read_bytes()
    path.unlink()
    store.write(path, SCHEMA, FRAME, {})
    assert path.read_bytes() == first
    assert gzip.decompress(first) == b"n,x_ns,word\n0,1.5,a\n7,-inf,b\n"


def test_other_data_is_replaced_only_when_forced(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    store.write(path, SCHEMA, FRAME, {})
    store.write(path, SCHEMA, FRAME, {"again": True})
    other = FRAME.assign(n=[1, 2])
    with pytest.raises(DataError, match="--force"):
        store.write(path, SCHEMA, other, {})
    assert store.read(path, SCHEMA).frame["n"].tolist() == [0, 7]
    store.write(path, SCHEMA, other, {}, force=True)
    assert store.read(path, SCHEMA).frame["n"].tolist() == [1, 2]


def test_a_frame_that_breaks_the_schema_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for frame in (FRAME[["n", "word"]], FRAME.assign(n=[-1, 2]), FRAME.assign(x_ns=[np.nan, 1])):
        with pytest.raises(DataError):
            store.write(path, SCHEMA, frame, {})
    assert not path.exists()


def _sidecar(path: Path, **changes: object) -> None:
    sidecar = store.sidecar_of(path)
    sidecar.write_text(json.dumps({**json.loads(sidecar.read_text()), **changes}))


def _content(path: Path, text: str) -> None:
    """Other content, with a sidecar that agrees with it."""
    import hashlib

    path.write_text(text)
    _sidecar(path, sha256=hashlib.sha256(text.encode()).hexdigest())


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (lambda p: p.unlink(), "readable"),
        (lambda p: p.write_text("n,x_ns,word\n0,1,a\n"), "sidecar describes"),
        (lambda p: store.sidecar_of(p).unlink(), "readable"),
        (lambda p: store.sidecar_of(p).write_text("{"), "JSON"),
        (lambda p: store.sidecar_of(p).write_text("[]"), "JSON object"),
        (lambda p: _sidecar(p, kind="other"), "kind"),
        (lambda p: _sidecar(p, format=2), "format"),
        (lambda p: _content(p, "n,x_ns\n1,2\n"), "line 1: expected the columns"),
        (lambda p: _content(p, "n,x_ns,word\n"), "line 1: expected at least one row"),
        (lambda p: _content(p, "n,x_ns,word\n1,2,a\n-1,2,a\n"), "line 3: n: expected a whole"),
        (lambda p: _content(p, "n,x_ns,word\n1,nan,a\n"), "line 2: x_ns: expected a number"),
        (lambda p: _content(p, "n,x_ns,word\n1,2\n"), "line 2"),
    ],
)
def test_damage_is_found(tmp_path: Path, damage: Callable[[Path], object], text: str) -> None:
    path = tmp_path / "a.csv"
    store.write(path, SCHEMA, FRAME, {})
    damage(path)
    with pytest.raises(DataError, match=text):
        store.read(path, SCHEMA)
