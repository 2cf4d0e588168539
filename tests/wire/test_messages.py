"""What the constructors and parsers of kinds 2 to 7 and of their batches refuse, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from adversaries import SID

from iot2 import (
    MessageError,
    Offer,
    ParameterError,
    Query,
    QueryBatch,
    Reply,
    ReplyBatch,
    Session,
    SixQuery,
    SixReply,
)
from iot2.simplest.messages import SimplestReply
from iot2.wire.precomputed import PrecomputedReply

REPLIES = pytest.mark.parametrize("cls", [Reply, SimplestReply, PrecomputedReply])
FOUR = (b"ab",) * 4
DIGESTS = (bytes(32),) * 4


def encoded(kind: int, choices: int, length: int, body: int) -> bytes:
    return (
        bytes((1, kind)) + SID + bytes(8) + choices.to_bytes(2) + length.to_bytes(4) + bytes(body)
    )


@REPLIES
@pytest.mark.parametrize("count", [0, 1, 257, 300])
def test_a_number_of_ciphertexts_out_of_range(cls: Any, count: int) -> None:
    with pytest.raises(ParameterError, match=f"carries 2 to 256 ciphertexts, got {count}"):
        cls(SID, 0, (b"ab",) * count)
    data = encoded(cls.KIND, count, 2, 2 * count)
    with pytest.raises(MessageError, match=f"carries 2 to 256 ciphertexts, got {count}"):
        cls.from_bytes(data)


@REPLIES
@pytest.mark.parametrize("count", [2, 3, 256])
def test_every_number_of_ciphertexts_in_range(cls: Any, count: int) -> None:
    reply = cls(SID, 0, (b"ab",) * count)
    assert cls.from_bytes(reply.to_bytes()) == reply
    assert cls.from_bytes(reply.to_bytes()).choices == count


@REPLIES
def test_ciphertexts_of_no_length_or_of_several(cls: Any) -> None:
    for ciphertexts in ((b"", b""), (b"a", b"bc"), (b"a", b"")):
        with pytest.raises(ParameterError, match="must have one length, from 1"):
            cls(SID, 0, ciphertexts)
    with pytest.raises(MessageError, match="must have at least 1 byte"):
        cls.from_bytes(encoded(cls.KIND, 2, 0, 0))


def test_six_replies_of_another_shape() -> None:
    for ciphertexts, digests, text in (
        ((), DIGESTS, "must have one length, from 1"),
        ((b"",) * 4, DIGESTS, "must have one length, from 1"),
        ((b"a", b"b", b"c", b"de"), DIGESTS, "must have one length, from 1"),
        (FOUR[:3], DIGESTS, "carries 4 ciphertexts and 4 digests of 32 bytes"),
        ((*FOUR, b"ab"), DIGESTS, "carries 4 ciphertexts and 4 digests of 32 bytes"),
        (FOUR, DIGESTS[:3], "carries 4 ciphertexts and 4 digests of 32 bytes"),
        (FOUR, (*DIGESTS[:3], bytes(31)), "carries 4 ciphertexts and 4 digests of 32 bytes"),
        (FOUR, (*DIGESTS, bytes(32)), "carries 4 ciphertexts and 4 digests of 32 bytes"),
    ):
        with pytest.raises(ParameterError, match=text):
            SixReply(SID, 0, ciphertexts, digests)
    with pytest.raises(MessageError, match="must have at least 1 byte, have 0"):
        SixReply.from_bytes(b"\1\6" + SID + bytes(8) + bytes(4) + bytes(128))


@pytest.mark.parametrize("cls", [Query, SixQuery, Offer])
def test_a_residue_that_is_none(cls: Any) -> None:
    for residue in (b"", "text", bytearray(b"x"), 5, None):
        with pytest.raises(ParameterError, match="must be n >= 1 bytes"):
            cls(SID, 0, residue)
    with pytest.raises(MessageError, match="at least 27 bytes, got 26"):
        cls.from_bytes(bytes((1, cls.KIND)) + SID + bytes(8))


@pytest.mark.parametrize(
    "make",
    [
        lambda sid, index: Query(sid, index, b"x"),
        lambda sid, index: Reply(sid, index, (b"a", b"b")),
        lambda sid, index: SixReply(sid, index, FOUR, DIGESTS),
    ],
)
def test_headers_that_are_refused(make: Any) -> None:
    for index in (-1, 1 << 64, 1.0, "0", None):
        with pytest.raises(ParameterError, match="an integer from 0 to 2\\^64 - 1"):
            make(SID, index)
    for sid in (b"", bytes(15), bytes(17), "x" * 16, bytearray(16)):
        with pytest.raises(ParameterError, match="a sid must be 16 bytes, got"):
            make(sid, 0)
    for index in (0, (1 << 64) - 1):
        assert make(SID, index).index == index


def test_sessions_that_are_refused() -> None:
    fp = bytes(32)
    for variant in (0, 3, 255, "1", None):
        with pytest.raises(ParameterError, match=r"1 \(compact\) or 2 \(six\)"):
            Session(variant, SID, fp)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="a sid must be 16 bytes"):
        Session(1, SID[1:], fp)
    for wrong in (fp[1:], fp + b"x", fp.hex(), None):
        with pytest.raises(ParameterError, match="a fingerprint must be 32 bytes"):
            Session(1, SID, wrong)  # type: ignore[arg-type]
    good = Session(1, SID, fp).to_bytes()
    for variant in (0, 3, 255):
        with pytest.raises(MessageError, match=f"got {variant}"):
            Session.from_bytes(good[:2] + bytes([variant]) + good[3:])


def test_batches_of_queries_that_are_refused() -> None:
    one = Query(SID, 0, b"xyz").to_bytes()
    other = SixQuery(SID, 0, b"xyz").to_bytes()
    for data, stride, text in (
        (b"", 29, "at least one message"),
        (one, 28, "whole messages of 28 bytes, has 29"),
        (one, 58, "whole messages of 58 bytes, has 29"),
        (one, 26, "whole messages of 26 bytes"),
        (one, 1, "whole messages of 1 bytes"),
        (one, 0, "whole messages of 0 bytes"),
        (one, -29, "whole messages of -29 bytes"),
        (one + other, 29, "another version or kind"),
        (one + b"\2" + one[1:], 29, "another version or kind"),
    ):
        with pytest.raises(MessageError, match=text):
            QueryBatch.from_bytes(data, stride)


def test_batches_of_replies_that_are_refused() -> None:
    one = Reply(SID, 0, (b"abc", b"def")).to_bytes()
    for data, text in (
        (b"", "at least 32 bytes, got 0"),
        (one[:31], "at least 32 bytes, got 31"),
        (one[:-1], "whole messages of 38 bytes, has 37"),
        (one + one[:-1], "whole messages of 38 bytes, has 75"),
        (encoded(3, 2, 0, 0) * 3, "whole messages of 32 bytes"),
        (encoded(3, 0, 3, 0) * 3, "whole messages of 32 bytes"),
        (encoded(3, 1, 6, 6) * 3, "carries 2 to 256 ciphertexts, got 1"),
        (encoded(3, 257, 1, 257) * 2, "carries 2 to 256 ciphertexts, got 257"),
        (one + encoded(3, 3, 2, 6), "every reply of a batch must carry 2 ciphertexts of 3 bytes"),
        (one + encoded(3, 6, 1, 6), "every reply of a batch must carry 2 ciphertexts of 3 bytes"),
        (one + encoded(4, 2, 3, 6), "another version or kind"),
        (encoded(4, 2, 3, 6) + one, "begin with version 1 and kind 3, got version 1 and kind 4"),
    ):
        with pytest.raises(MessageError, match=text):
            ReplyBatch.from_bytes(data)


def test_a_batch_is_a_sequence() -> None:
    queries = [Query(SID, k, bytes([k, 7])) for k in range(5)]
    batch = QueryBatch.from_bytes(b"".join(query.to_bytes() for query in queries), 28)
    assert (len(batch), batch[0], batch[-1]) == (5, queries[0], queries[4])
    assert [*batch] == [*batch[0:5]] == queries
    assert [*batch[1:4:2]] == queries[1:4:2]
    assert queries[3] in batch
    assert batch.index(queries[2]) == 2
    for position in (5, -6):
        with pytest.raises(IndexError):
            batch[position]
    with pytest.raises(ValueError, match="read-only"):
        batch.rows[0, 0] = 9
    assert batch.indexes.dtype == np.uint64
    assert repr(batch) == "QueryBatch(5 messages of 28 bytes)"


def test_a_message_does_not_change() -> None:
    query = Query(SID, 0, b"xyz")
    for name in ("encoded", "index", "new"):
        with pytest.raises((AttributeError, TypeError)):
            setattr(query, name, b"")
    assert query == Query.from_bytes(query.to_bytes())
    assert query != SixQuery(SID, 0, b"xyz")
    assert repr(query) == "Query(sid=00010203..., index=0, 29 bytes)"
