"""Any bytes, at any entry: a value or an `Iot2Error`, in memory of about twice their size."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from entry_points import ENTRIES, MESSAGES, Entry, outcome
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import iot2
from iot2 import (
    Iot2Error,
    MessageError,
    Offer,
    PublicKey,
    Query,
    QueryBatch,
    Reply,
    ReplyBatch,
    Session,
    SixQuery,
    SixReply,
)
from iot2.wire.batch import Batch, CiphertextsBatch
from iot2.wire.ciphertexts import CiphertextsMessage
from iot2.wire.message import Message

OFTEN = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
EVERY = pytest.mark.parametrize("name", ENTRIES)


def test_every_class_with_from_bytes_is_an_entry() -> None:
    bases = (Batch, CiphertextsBatch, CiphertextsMessage, Message)
    found = set()
    for module in pkgutil.walk_packages(iot2.__path__, "iot2."):
        if module.name.split(".")[1] in ("wire", "simplest", "parties", "protocol", "net"):
            for _, cls in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
                if cls.__module__.startswith("iot2.") and hasattr(cls, "from_bytes"):
                    found.add(cls)
    parents = {base for cls in found for base in cls.__mro__[1:]}
    assert found - parents - set(bases) == set(MESSAGES)


@EVERY
@OFTEN
@given(data=st.binary(max_size=300))
def test_any_bytes(name: str, data: bytes) -> None:
    outcome(ENTRIES[name], data)


@st.composite
def damaged(draw: st.DrawFn, seeds: list[bytes]) -> bytes:
    """A seed with a few things done to it."""
    data = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        what = draw(st.sampled_from(("set", "cut", "insert", "delete", "number", "splice")))
        if what == "set" and at < len(data):
            data[at] = draw(st.integers(0, 255))
        elif what == "cut":
            del data[at:]
        elif what == "insert":
            data[at:at] = draw(st.binary(max_size=40))
        elif what == "delete":
            del data[at : at + draw(st.integers(1, 40))]
        elif what == "number":  # where lengths and indexes stand, and what breaks them
            at = draw(st.sampled_from((0, 2, 4, 18, 22, 26, 28, 30)))
            size = draw(st.sampled_from((1, 2, 4, 8)))
            value = draw(st.sampled_from((0, 1, 2, 255, 1 << 15, (1 << 8 * size) - 1)))
            data[at : at + size] = (value % (1 << 8 * size)).to_bytes(size)
        else:
            other = draw(st.sampled_from(seeds))
            data[at:] = other[draw(st.integers(0, len(other))) :]
    return bytes(data)


@EVERY
@OFTEN
@given(data=st.data())
def test_damaged_messages(name: str, data: st.DataObject) -> None:
    outcome(ENTRIES[name], data.draw(damaged(ENTRIES[name].seeds())))


@EVERY
def test_the_seeds_are_taken(name: str) -> None:
    """Otherwise nothing but the first check would ever be searched."""
    found = [outcome(ENTRIES[name], seed) for seed in ENTRIES[name].seeds()]
    assert any(not isinstance(value, Iot2Error) for value in found)


def test_another_exception_would_be_seen() -> None:
    def run(data: bytes) -> object:
        raise ZeroDivisionError(data)

    with pytest.raises(ZeroDivisionError):
        outcome(Entry(run, lambda: [b""], "wire"), b"x")


@pytest.mark.parametrize("cls", MESSAGES)
@pytest.mark.parametrize("value", [None, 5, "text", bytearray(60), memoryview(bytes(60)), [1]])
def test_what_is_not_bytes(cls: Any, value: object) -> None:
    extra = (30,) if cls.__name__.endswith("QueryBatch") else ()
    with pytest.raises(MessageError, match="bytes"):
        cls.from_bytes(value, *extra)


# Memory.

SLACK = 1 << 16
"""What is there whatever the size: the objects themselves, and interned constants."""

SID = bytes(16)
HEAD = SID + bytes(8)
BIG = 1 << 20


def public_key(bits: int, choices: int) -> bytes:
    size = (bits + 7) // 8
    numbers = [(1 << (bits - 1)) | 1, *[5] * (choices - 1)]
    start = b"\1\1" + bits.to_bytes(2) + choices.to_bytes(2)
    start += b"".join(number.to_bytes(size) for number in numbers)
    return start + bytes(16 * (choices - 1)) + (3).to_bytes(size) * 128


def insecure(data: bytes) -> PublicKey:
    return PublicKey.from_bytes(data, insecure=True)


LARGE: dict[str, tuple[Callable[[bytes], object], bytes]] = {
    "query": (Query.from_bytes, b"\1\2" + HEAD + bytes(BIG)),
    "six-query": (SixQuery.from_bytes, b"\1\5" + HEAD + bytes(BIG)),
    "offer": (Offer.from_bytes, b"\1\4" + HEAD + bytes(BIG)),
    "reply": (Reply.from_bytes, b"\1\3" + HEAD + b"\0\2" + (BIG // 2).to_bytes(4) + bytes(BIG)),
    "reply of 256": (
        Reply.from_bytes,
        b"\1\3" + HEAD + b"\1\0" + (BIG // 256).to_bytes(4) + bytes(BIG),
    ),
    "reply that says it is larger": (
        Reply.from_bytes,
        b"\1\3" + HEAD + b"\1\0\xff\xff\xff\xff" + bytes(100),
    ),
    "six-reply": (
        SixReply.from_bytes,
        b"\1\6" + HEAD + (BIG // 4).to_bytes(4) + bytes(BIG) + bytes(128),
    ),
    "six-reply that says it is larger": (
        SixReply.from_bytes,
        b"\1\6" + HEAD + b"\xff\xff\xff\xff" + bytes(300),
    ),
    "session with a long tail": (Session.from_bytes, b"\1\7\1" + bytes(48) + bytes(BIG)),
    "key of 4096 bits": (PublicKey.from_bytes, public_key(4096, 2)),
    "key of 4096 bits for 256": (PublicKey.from_bytes, public_key(4096, 256)),
    "key of 65535 bits for 256": (insecure, public_key(65535, 256)),
    "key of 8 bits for 256": (insecure, public_key(8, 256)),
    "key that says it is larger": (insecure, b"\1\1\xff\xff\1\0" + bytes(1000)),
    "batch of short queries": (
        lambda data: QueryBatch.from_bytes(data, 27),
        (b"\1\2" + HEAD + b"\7") * (BIG // 27),
    ),
    "batch of one long query": (
        lambda data: QueryBatch.from_bytes(data, len(data)),
        b"\1\2" + HEAD + bytes(BIG),
    ),
    "batch of short replies": (
        ReplyBatch.from_bytes,
        (b"\1\3" + HEAD + b"\0\2\0\0\0\1ab") * (BIG // 34),
    ),
    "batch of one long reply": (
        ReplyBatch.from_bytes,
        b"\1\3" + HEAD + b"\0\2" + (BIG // 2).to_bytes(4) + bytes(BIG),
    ),
    "batch of replies that say they are larger": (
        ReplyBatch.from_bytes,
        b"\1\3" + HEAD + b"\1\0\xff\xff\xff\xff" + bytes(5000),
    ),
}


def peak(run: Callable[[bytes], object], data: bytes) -> tuple[int, object]:
    """The most bytes that were allocated at once by `run(data)`, and what it gave."""
    value: object = None
    tracemalloc.start()
    try:
        value = run(data)
    except Iot2Error as error:
        value = error
    finally:
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return most, value


@pytest.mark.parametrize("name", LARGE)
def test_memory_of_parsing_is_at_most_twice_the_input(name: str) -> None:
    run, data = LARGE[name]
    run_once = peak(run, data)[1]  # modules are imported, caches filled
    most, value = peak(run, data)
    assert type(value) is type(run_once)
    assert isinstance(value, MessageError) == ("says" in name or "say " in name or "tail" in name)
    if isinstance(value, PublicKey):
        # The limbs of the numbers are not seen by tracemalloc: all of N, z_j and s_i once.
        most += value.size * (value.choices + 128)
    assert most <= 2 * len(data) + SLACK


def test_memory_that_is_wasted_would_be_seen() -> None:
    run, data = LARGE["query"]
    most, _ = peak(lambda data: [run(data[:k]) for k in range(len(data) - 3, len(data))], data)
    assert most > 2 * len(data) + SLACK


# Round trips.

sids = st.binary(min_size=16, max_size=16)
indexes = st.integers(0, 2**64 - 1)
lengths = st.integers(1, 70)


@given(sid=sids, index=indexes, residue=st.binary(min_size=1, max_size=600))
@pytest.mark.parametrize("cls", [Query, SixQuery, Offer])
def test_residues_round_trip(cls: Any, sid: bytes, index: int, residue: bytes) -> None:
    message = cls(sid, index, residue)
    encoded = message.to_bytes()
    assert encoded == bytes((1, cls.KIND)) + sid + index.to_bytes(8) + residue
    again = cls.from_bytes(encoded)
    assert (again, hash(again)) == (message, hash(message))
    assert (again.sid, again.index, again.residue) == (sid, index, residue)


@given(sid=sids, index=indexes, length=lengths, choices=st.integers(2, 256), data=st.data())
def test_replies_round_trip(
    sid: bytes, index: int, length: int, choices: int, data: st.DataObject
) -> None:
    joined = data.draw(st.binary(min_size=length, max_size=length)) * choices
    ciphertexts = tuple(joined[k * length : (k + 1) * length] for k in range(choices))
    reply = Reply(sid, index, ciphertexts)
    start = b"\1\3" + sid + index.to_bytes(8) + choices.to_bytes(2) + length.to_bytes(4)
    assert reply.to_bytes() == start + joined
    again = Reply.from_bytes(reply.to_bytes())
    assert again == reply
    assert (again.sid, again.index, again.ciphertexts) == (sid, index, ciphertexts)
    batch = ReplyBatch.from_bytes(reply.to_bytes() * 3)
    assert list(batch) == [reply] * 3
    assert batch[1:].to_bytes() == reply.to_bytes() * 2
    assert (batch.choices, batch.length) == (choices, length)
    assert batch.indexes.tolist() == [index] * 3
    assert batch.ciphertexts[2].tobytes() == joined


@given(sid=sids, index=indexes, length=lengths, data=st.data())
def test_six_replies_round_trip(sid: bytes, index: int, length: int, data: st.DataObject) -> None:
    ciphertexts = tuple(data.draw(st.binary(min_size=length, max_size=length)) for _ in range(4))
    digests = tuple(data.draw(st.binary(min_size=32, max_size=32)) for _ in range(4))
    reply = SixReply(sid, index, ciphertexts, digests)
    start = b"\1\6" + sid + index.to_bytes(8) + length.to_bytes(4)
    assert reply.to_bytes() == start + b"".join((*ciphertexts, *digests))
    again = SixReply.from_bytes(reply.to_bytes())
    assert again == reply
    assert (again.sid, again.index, again.length) == (sid, index, length)
    assert (again.ciphertexts, again.digests) == (ciphertexts, digests)
    for b in (0, 1):
        assert again.pair(b) == b"".join((*ciphertexts[2 * b :][:2], *digests[2 * b :][:2]))


@given(variant=st.sampled_from((1, 2)), sid=sids, fp=st.binary(min_size=32, max_size=32))
def test_sessions_round_trip(variant: int, sid: bytes, fp: bytes) -> None:
    session = Session(variant, sid, fp)
    assert session.to_bytes() == bytes((1, 7, variant)) + sid + fp
    assert Session.from_bytes(session.to_bytes()) == session


@given(
    sid=sids, entries=st.lists(st.tuples(indexes, st.binary(min_size=5, max_size=5)), min_size=1)
)
def test_batches_of_queries_round_trip(sid: bytes, entries: list[tuple[int, bytes]]) -> None:
    queries = [Query(sid, index, residue) for index, residue in entries]
    encoded = b"".join(query.to_bytes() for query in queries)
    batch = QueryBatch.from_bytes(encoded, 31)
    assert batch.to_bytes() == encoded
    assert list(batch) == queries
    assert batch.indexes.tolist() == [index for index, _ in entries]
    assert batch.starts_with(b"\1\2" + sid)
    assert not batch.starts_with(b"\1\2" + bytes(byte ^ 1 for byte in sid))
