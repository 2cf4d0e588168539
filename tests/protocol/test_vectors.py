"""The stored vectors, byte for byte, from both sides where the draws are given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from iot2 import (
    Offer,
    PublicKey,
    Query,
    QueryBatch,
    Receiver,
    Reply,
    Sender,
    SenderKey,
    Session,
    SixQuery,
    SixReceiver,
    SixReply,
    SixSender,
)

FILES = sorted((Path(__file__).parents[1] / "vectors").glob("*.json"))
h = bytes.fromhex


class Draws:
    """A `randbytes` that gives prepared bytes in order, however the reads are grouped."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __call__(self, count: int) -> bytes:
        taken, self.data = self.data[:count], self.data[count:]
        return taken


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def vector(request: pytest.FixtureRequest) -> dict[str, Any]:
    return json.loads(request.param.read_text())


@pytest.fixture
def key(vector: dict[str, Any]) -> SenderKey:
    p, q = (int(x, 16) for x in vector["primes"])
    sigma = [int(x, 16) for x in vector["sigma"]]
    return SenderKey.from_primes(p, q, sigma, h(vector["reject_seed"]), insecure=True)


def draws_of(vector: dict[str, Any], residues: list[str]) -> bytes:
    size = (vector["bits"] + 7) // 8
    return b"".join(int(x, 16).to_bytes(size + 16) for x in residues)


def test_there_are_vectors() -> None:
    assert len(FILES) == 4


def test_key(vector: dict[str, Any], key: SenderKey) -> None:
    assert key.bits == vector["bits"]
    assert key.choices == vector["choices"]
    assert key.public.modulus == int(vector["N"], 16)
    assert list(key.public.z) == [int(x, 16) for x in vector["z"]]
    assert key.fingerprint == h(vector["fingerprint"])


def test_public_key_is_parsed_verified_and_encoded_again(vector: dict[str, Any]) -> None:
    public = PublicKey.from_bytes(h(vector["public_key"]), insecure=True)
    public.verify()
    assert public.fingerprint == h(vector["fingerprint"])
    assert public.to_bytes() == h(vector["public_key"])


def test_session(vector: dict[str, Any], key: SenderKey) -> None:
    assert Sender(key, h(vector["sid"])).session.to_bytes() == h(vector["session"])
    assert Session.from_bytes(h(vector["session"])).sid == h(vector["sid"])
    if "six" in vector:
        assert SixSender(key, h(vector["six_sid"])).session.to_bytes() == h(vector["six_session"])


def test_compact_sender(vector: dict[str, Any], key: SenderKey) -> None:
    sender = Sender(key, h(vector["sid"]))
    for transfer in (*vector["compact"], vector["compact_non_residue"]):
        query = Query.from_bytes(h(transfer["query"]))
        assert query.index == transfer["index"]
        reply = sender.answer(query, [h(m) for m in transfer["messages"]])
        assert reply.to_bytes() == h(transfer["reply"])


def test_compact_sender_in_a_batch(vector: dict[str, Any], key: SenderKey) -> None:
    queries = [Query.from_bytes(h(t["query"])) for t in vector["compact"]]
    messages = [[h(m) for m in t["messages"]] for t in vector["compact"]]
    replies = Sender(key, h(vector["sid"])).answer_many(queries, messages, workers=2)
    assert [reply.to_bytes() for reply in replies] == [h(t["reply"]) for t in vector["compact"]]


def consecutive(vector: dict[str, Any]) -> list[dict[str, Any]]:
    """The transfers whose indexes a receiver counts through from 0."""
    return [t for k, t in enumerate(vector["compact"]) if t["index"] == k]


@pytest.mark.parametrize("masked", [False, True])
def test_compact_receiver(vector: dict[str, Any], key: SenderKey, masked: bool) -> None:
    transfers = consecutive(vector)
    assert len(transfers) >= 4
    draws = Draws(draws_of(vector, [t["w"] for t in transfers]))
    public = PublicKey.from_bytes(h(vector["public_key"]), insecure=True)
    receiver = Receiver(public, h(vector["sid"]), masked=masked, randbytes=draws)
    receiver.precompute(1)
    receiver.precompute(len(transfers) - 1)
    assert draws.data == b""
    for t in transfers:
        assert receiver.choose(t["choice"]).to_bytes() == h(t["query"])
    for t in transfers:
        assert receiver.retrieve(Reply.from_bytes(h(t["reply"]))) == h(t["messages"][t["choice"]])


@pytest.mark.parametrize("masked", [False, True])
def test_compact_receiver_in_a_batch(vector: dict[str, Any], masked: bool) -> None:
    transfers = consecutive(vector)
    draws = Draws(draws_of(vector, [t["w"] for t in transfers]))
    public = PublicKey.from_bytes(h(vector["public_key"]), insecure=True)
    receiver = Receiver(public, h(vector["sid"]), masked=masked, randbytes=draws)
    receiver.precompute(len(transfers))
    batch = receiver.choose_many(np.array([t["choice"] for t in transfers]))
    assert isinstance(batch, QueryBatch)
    assert batch.to_bytes() == b"".join(h(t["query"]) for t in transfers)
    replies = [Reply.from_bytes(h(t["reply"])) for t in transfers]
    wanted = [h(t["messages"][t["choice"]]) for t in transfers]
    assert receiver.retrieve_many(replies) == wanted


def test_compact_residues_and_key(vector: dict[str, Any], key: SenderKey) -> None:
    from iot2.protocol import compact

    public = key.public
    for t in vector["compact"]:
        x, residues = compact.receiver_offline(int(t["w"], 16), public.z, public.modulus)
        assert residues == [int(u, 16) for u in t["residues"]]
        found = compact.key(key.fingerprint, h(vector["sid"]), t["index"], x, public.modulus)
        assert found == h(t["key"])


def six_vectors() -> list[Path]:
    return [path for path in FILES if "six" in json.loads(path.read_text())]


@pytest.mark.parametrize("path", six_vectors(), ids=lambda path: path.stem)
def test_six_sender(path: Path) -> None:
    vector = json.loads(path.read_text())
    p, q = (int(x, 16) for x in vector["primes"])
    sigma = [int(x, 16) for x in vector["sigma"]]
    key = SenderKey.from_primes(p, q, sigma, h(vector["reject_seed"]), insecure=True)
    transfers = [*vector["six"], vector["six_non_residue"]]
    assert [t["index"] for t in transfers] == list(range(len(transfers)))
    draws = Draws(b"")
    sender = SixSender(key, h(vector["six_sid"]), randbytes=draws)
    for t in transfers:
        draws.data = draws_of(vector, [t["a"]]) + bytes([t["swaps"]])
        assert sender.offer().to_bytes() == h(t["offer"])
        m0, m1 = (h(m) for m in t["messages"])
        reply = sender.answer(SixQuery.from_bytes(h(t["query"])), m0, m1)
        assert reply.to_bytes() == h(t["reply"])
        assert draws.data == b""


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("path", six_vectors(), ids=lambda path: path.stem)
def test_six_receiver(path: Path, masked: bool) -> None:
    vector = json.loads(path.read_text())
    draws = Draws(draws_of(vector, [t["x"] for t in vector["six"]]))
    public = PublicKey.from_bytes(h(vector["public_key"]), insecure=True)
    receiver = SixReceiver(public, h(vector["six_sid"]), masked=masked, randbytes=draws)
    receiver.precompute(len(vector["six"]))
    assert draws.data == b""
    for t in vector["six"]:
        query = receiver.choose(Offer.from_bytes(h(t["offer"])), t["choice"])
        assert query.to_bytes() == h(t["query"])
    for t in reversed(vector["six"]):
        reply = SixReply.from_bytes(h(t["reply"]))
        assert receiver.retrieve(reply) == h(t["messages"][t["choice"]])
