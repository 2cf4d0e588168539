"""The baseline's messages: layout, round trips and every refusal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iot2.errors import MessageError, ParameterError
from iot2.simplest.messages import SimplestOffer, SimplestQuery, SimplestReply

SID = bytes(range(16))
POINT = b"\x02" + bytes(31)

sids = st.binary(min_size=16, max_size=16)
indexes = st.integers(0, 2**64 - 1)
points = st.binary(min_size=32, max_size=33)


@given(sid=sids, index=indexes, point=points)
def test_points_round_trip(sid: bytes, index: int, point: bytes) -> None:
    for kind, cls in ((0x81, SimplestOffer), (0x82, SimplestQuery)):
        message = cls(sid, index, point)
        encoded = message.to_bytes()
        assert encoded == bytes([1, kind]) + sid + index.to_bytes(8, "big") + point
        again = cls.from_bytes(encoded)
        assert again == message
        assert (again.sid, again.index, again.point) == (sid, index, point)


@given(sid=sids, index=indexes, length=st.integers(1, 70), data=st.data())
def test_replies_round_trip(sid: bytes, index: int, length: int, data: st.DataObject) -> None:
    one = st.binary(min_size=length, max_size=length)
    pair = (data.draw(one), data.draw(one))
    reply = SimplestReply(sid, index, pair)
    encoded = reply.to_bytes()
    start = b"\x01\x83" + sid + index.to_bytes(8, "big")
    assert encoded == start + b"\0\x02" + length.to_bytes(4, "big") + pair[0] + pair[1]
    again = SimplestReply.from_bytes(encoded)
    assert again == reply
    assert (again.sid, again.index, again.ciphertexts) == (sid, index, pair)
    assert (again.choices, again.length) == (2, length)


MESSAGES = [
    SimplestOffer(SID, 7, POINT),
    SimplestQuery(SID, 7, POINT + b"\0"),
    SimplestReply(SID, 7, (b"left", b"more")),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.NAME)
def test_cut_and_longer_bytes_are_refused(message: SimplestQuery | SimplestReply) -> None:
    encoded = message.to_bytes()
    # A 33-byte point cut by one has the length of the other group's.
    for length in range(len(encoded)):
        if isinstance(message, SimplestQuery) and length == 26 + 32:
            continue
        with pytest.raises(MessageError, match=message.NAME):
            type(message).from_bytes(encoded[:length])
    with pytest.raises(MessageError, match=message.NAME):
        type(message).from_bytes(encoded + b"\0\0")


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.NAME)
def test_other_versions_and_kinds_are_refused(message: SimplestQuery) -> None:
    encoded = message.to_bytes()
    for start in (b"\0" + encoded[1:2], b"\x02" + encoded[1:2], b"\x01\x02", b"\x01\x03"):
        with pytest.raises(MessageError, match="version 1 and kind"):
            type(message).from_bytes(start + encoded[2:])


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.NAME)
def test_only_bytes_are_parsed(message: SimplestQuery) -> None:
    for data in ("text", 5, None):
        with pytest.raises(MessageError, match="must be bytes"):
            type(message).from_bytes(data)  # type: ignore[arg-type]


@pytest.mark.parametrize("choices", [0, 1, 257, 65535])
def test_replies_state_2_to_256_ciphertexts(choices: int) -> None:
    encoded = SimplestReply(SID, 7, (b"left", b"more")).to_bytes()
    with pytest.raises(MessageError, match=f"2 to 256 ciphertexts, got {choices}"):
        SimplestReply.from_bytes(encoded[:26] + choices.to_bytes(2, "big") + encoded[28:])


def test_replies_are_never_empty() -> None:
    encoded = SimplestReply(SID, 7, (b"l", b"m")).to_bytes()
    with pytest.raises(MessageError, match="at least 1 byte"):
        SimplestReply.from_bytes(encoded[:28] + bytes(4))


@pytest.mark.parametrize("sid", [b"", bytes(15), bytes(17), "s" * 16])
def test_a_sid_has_16_bytes(sid: bytes) -> None:
    with pytest.raises(ParameterError, match="16 bytes"):
        SimplestQuery(sid, 0, POINT)


@pytest.mark.parametrize("index", [-1, 2**64, 0.5])
def test_an_index_is_a_u64(index: int) -> None:
    with pytest.raises(ParameterError, match="2\\^64 - 1"):
        SimplestQuery(SID, index, POINT)


@pytest.mark.parametrize("point", [b"", bytes(31), bytes(34), "p" * 32])
def test_a_point_has_32_or_33_bytes(point: bytes) -> None:
    with pytest.raises(ParameterError, match="32 or 33 bytes"):
        SimplestQuery(SID, 0, point)


@pytest.mark.parametrize("pair", [(b"a",), (b"", b""), (b"a", b"bc"), (b"a",) * 257])
def test_ciphertexts_are_two_or_more_of_one_length(pair: tuple[bytes, ...]) -> None:
    with pytest.raises(ParameterError, match="ciphertexts"):
        SimplestReply(SID, 0, pair)
