"""The two groups: laws, encodings and every refused point."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iot2.errors import MessageError, ParameterError
from iot2.simplest.groups import (
    GROUPS,
    SECP256K1_ORDER,
    Group,
    draw_scalars,
    load_group,
)

RISTRETTO255_ORDER = 2**252 + 27742317777372353535851937790883648493
SECP256K1_PRIME = 2**256 - 2**32 - 977

# RFC 9496, appendix A.1: B[1] and B[2]; appendix A.2: encodings to refuse.
RISTRETTO255_MULTIPLES = {
    1: "e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76",
    2: "6a493210f7499cd17fecb510ae0cea23a110e8d5b901f8acadd3095c73a3b919",
}
RISTRETTO255_REFUSED = {
    "not below p": "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "not below 2^255": "00ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "negative": "0100000000000000000000000000000000000000000000000000000000000000",
    "x^2 is no square": "26948d35ca62e643e26a83177332e6b6afeb9d08e4268b650f1f5bbd8d81d371",
    "xy is negative": "3eb858e78f5a7254d8c9731174a94f76755fd3941c0ac93735c07ba14579630e",
    "identity": "00" * 32,
}
# SEC 2, section 2.4.1 and the standard's curve y^2 = x^3 + 7.
SECP256K1_G = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
SECP256K1_REFUSED = {
    "x not on the curve": "02" + "00" * 31 + "05",
    "x not below p": "02" + (SECP256K1_PRIME + 1).to_bytes(32, "big").hex(),
    "x of all ones": "02" + "ff" * 32,
    "prefix 00": "00" * 33,
    "prefix 04": "04" + SECP256K1_G[2:],
    "prefix 05": "05" + SECP256K1_G[2:],
    "prefix 06": "06" + SECP256K1_G[2:],
}

REFUSED = [
    *(("ristretto255", bytes.fromhex(text)) for text in RISTRETTO255_REFUSED.values()),
    *(("secp256k1", bytes.fromhex(text)) for text in SECP256K1_REFUSED.values()),
]


@pytest.fixture(params=GROUPS)
def group(request: pytest.FixtureRequest) -> Group:
    return load_group(request.param)


def scalar_of(group: Group, value: int) -> bytes:
    return value.to_bytes(32, "little" if group.name == "ristretto255" else "big")


def test_known_points() -> None:
    ristretto, secp = load_group("ristretto255"), load_group("secp256k1")
    for k, encoded in RISTRETTO255_MULTIPLES.items():
        assert ristretto.base(scalar_of(ristretto, k)).hex() == encoded
    assert secp.encode(secp.base(scalar_of(secp, 1))).hex() == SECP256K1_G


def test_laws(group: Group) -> None:
    x, y = draw_scalars(group, 2, os.urandom)
    X, Y = group.base(x), group.base(y)
    encode = group.encode
    assert encode(group.multiply(X, y)) == encode(group.multiply(Y, x))
    assert encode(group.add(X, Y)) == encode(group.add(Y, X))
    minus_Y = group.base(group.opposite(y))
    assert encode(group.add(group.add(X, Y), minus_Y)) == encode(X)
    one, two = (group.base(scalar_of(group, k)) for k in (1, 2))
    assert encode(group.add(one, one)) == encode(two)
    assert encode(group.add(Y, minus_Y)) == group.identity


def test_sizes_and_round_trip(group: Group) -> None:
    (x,) = draw_scalars(group, 1, os.urandom)
    encoded = group.encode(group.base(x))
    assert len(encoded) == group.size == len(group.identity)
    assert group.encode(group.decode(encoded)) == encoded
    assert group.encode(group.decode_late(encoded)) == encoded


@pytest.mark.parametrize(("name", "encoded"), REFUSED)
def test_malformed_points_are_refused(name: str, encoded: bytes) -> None:
    group = load_group(name)
    (x,) = draw_scalars(group, 1, os.urandom)
    with pytest.raises(MessageError, match=name):
        group.decode(encoded)
    with pytest.raises(MessageError, match=name):
        group.multiply(group.decode_late(encoded), x)


@pytest.mark.parametrize(("name", "encoded"), REFUSED)
def test_malformed_points_never_add_up(name: str, encoded: bytes) -> None:
    group = load_group(name)
    (x,) = draw_scalars(group, 1, os.urandom)
    try:
        total = group.encode(group.add(group.base(x), group.decode_late(encoded)))
    except MessageError:
        return
    assert total == group.identity


def test_other_lengths_are_refused(group: Group) -> None:
    (x,) = draw_scalars(group, 1, os.urandom)
    encoded = group.encode(group.base(x))
    uncompressed = b"\x04" + bytes(64)
    for data in (b"", encoded[:-1], encoded + b"\0", uncompressed):
        for decode in (group.decode, group.decode_late):
            with pytest.raises(MessageError, match=f"{group.size} bytes, got {len(data)}"):
                decode(data)


@settings(max_examples=30, deadline=None)
@given(drawn=st.binary(min_size=64, max_size=64))
def test_ristretto255_scalars_are_reduced(drawn: bytes) -> None:
    group = load_group("ristretto255")
    expected = int.from_bytes(drawn, "little") % RISTRETTO255_ORDER
    assert int.from_bytes(group.to_scalar(drawn), "little") == expected


def test_scalars_out_of_range_are_drawn_again() -> None:
    ristretto, secp = load_group("ristretto255"), load_group("secp256k1")
    for value in (0, RISTRETTO255_ORDER, 5 * RISTRETTO255_ORDER):
        assert ristretto.to_scalar(value.to_bytes(64, "little")) == b""
    for value in (0, SECP256K1_ORDER, SECP256K1_ORDER + 1, 2**256 - 1):
        assert secp.to_scalar(scalar_of(secp, value)) == b""
    for value in (1, SECP256K1_ORDER - 1):
        assert secp.to_scalar(scalar_of(secp, value)) == scalar_of(secp, value)


def test_draws_come_in_order_and_rejected_ones_are_replaced() -> None:
    group = load_group("secp256k1")
    stream = scalar_of(group, 7) + bytes(32) + scalar_of(group, 9)
    # One read for all three; then the rejected second is redrawn, twice.
    more = bytes(32) + scalar_of(group, 8)
    source = stream + more
    taken = 0

    def randbytes(count: int) -> bytes:
        nonlocal taken
        taken += count
        return source[taken - count : taken]

    drawn = draw_scalars(group, 3, randbytes)
    assert drawn == [scalar_of(group, k) for k in (7, 8, 9)]
    assert taken == len(source)


def test_short_randomness_is_refused(group: Group) -> None:
    with pytest.raises(ParameterError, match="must give"):
        draw_scalars(group, 2, lambda count: bytes(count - 1))


def test_unknown_group() -> None:
    with pytest.raises(ParameterError, match="ristretto255, secp256k1, got 'p256'"):
        load_group("p256")


def test_groups_are_loaded_once_and_say_their_name(group: Group) -> None:
    assert load_group(group.name) is group
    assert repr(group) == f"<Group {group.name} through {group.binding}>"
