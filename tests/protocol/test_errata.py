"""Each erratum of docs/errata.md: it fails as the text reads, and holds as the code does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from iot2 import SixQuery, SixReply
from iot2.protocol.framing import REJECT_SIX, X, u64

VECTORS = Path(__file__).parents[1] / "vectors"
SLOTS = [(b, j) for b in (0, 1) for j in (0, 1)]


@pytest.mark.parametrize("name", ["iot2_512", "iot2_1024", "iot2_3072"])
def test_rejected_six_query_frames_b_and_j_as_one_part(name: str) -> None:
    vector = json.loads((VECTORS / f"{name}.json").read_text())
    case = vector["six_non_residue"]
    query = SixQuery.from_bytes(bytes.fromhex(case["query"]))
    reply = SixReply.from_bytes(bytes.fromhex(case["reply"]))
    start = (
        bytes.fromhex(vector["reject_seed"]),
        bytes.fromhex(vector["fingerprint"]),
        query.sid,
        u64(query.index),
        query.residue,
    )
    as_written = {X(REJECT_SIX, 64, *start, bytes([b]), bytes([j]))[32:] for b, j in SLOTS}
    as_stored = {X(REJECT_SIX, 64, *start, bytes([b, j]))[32:] for b, j in SLOTS}
    assert set(reply.digests).isdisjoint(as_written)
    assert set(reply.digests) == as_stored
