import pytest

from iot2 import PublicKey, SenderKey
from iot2.benchmark.keys import measure_key
from iot2.benchmark.schema import Table, to_csv
from iot2.benchmark.series import MESSAGE_BYTES
from iot2.benchmark.wire_bytes import wire_table


def test_every_cost_of_a_key_is_measured_as_often_as_asked() -> None:
    key, frame = measure_key(512, generations=2, checks=3)
    to_csv(Table("keys", 512), frame)
    assert frame.groupby("step").size().to_dict() == {
        "key_generation": 2, "key_parse": 3, "proof_check": 3,
    }  # fmt: skip
    assert key.bits == 512


def test_the_proof_that_is_timed_is_really_checked(monkeypatch) -> None:
    checked = []
    real = PublicKey.verify
    monkeypatch.setattr(PublicKey, "verify", lambda self: checked.append(self) or real(self))
    key, _ = measure_key(512, generations=1, checks=2)
    assert [public.fingerprint for public in checked] == [key.fingerprint] * 2


@pytest.fixture(scope="module")
def table():
    keys = {bits: SenderKey.generate(bits, insecure=True) for bits in (512, 520)}
    frame = wire_table(keys)
    to_csv(Table("bytes"), frame)
    return frame


@pytest.mark.parametrize("bits", [512, 520])
def test_bytes_are_those_of_the_specification(table, bits: int) -> None:
    n, L = bits // 8, MESSAGE_BYTES
    expected = {
        ("compact", "query"): 26 + n,
        ("compact", "reply"): 32 + 2 * L,
        ("compact", "session"): 51,
        ("compact", "public_key"): 6 + n * (2 + 128) + 16,
        ("six", "offer"): 26 + n,
        ("six", "query"): 26 + n,
        ("six", "reply"): 30 + 4 * L + 4 * 32,
    }
    ours = table[(table["bits"] == bits)].set_index(["variant", "message"])["bytes"]
    assert {case: ours[case] for case in expected} == expected


@pytest.mark.parametrize(("group", "point"), [("ristretto255", 32), ("secp256k1", 33)])
def test_the_baselines_points_have_their_size(table, group: str, point: int) -> None:
    fresh = table[(table["group"] == group) & (table["split"] == "fresh")]
    known = table[(table["group"] == group) & (table["split"] == "known_key")]
    for part in (fresh, known):
        sizes = part.set_index("message")["bytes"]
        assert sizes["query"] == 26 + point
        assert sizes["reply"] == 32 + 2 * MESSAGE_BYTES
    assert fresh.set_index("message")["bytes"]["offer"] == 26 + point
    assert known.set_index("message")["bytes"]["public_key"] == point


def test_directions_and_phases(table) -> None:
    up = table[table["direction"] == "up"]
    assert set(up["message"]) == {"query", "correction"}
    assert set(table[table["phase"] == "once"]["message"]) == {"public_key", "session"}
    corrections = table[table["variant"] == "precomputed"]
    assert set(corrections[corrections["phase"] == "offline"]["message"]) == {"query", "reply"}
    assert set(corrections[corrections["message"] == "correction"]["bytes"]) == {27}
