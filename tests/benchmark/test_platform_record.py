import json

import pytest

from iot2.benchmark.platform_record import PlatformRecord
from iot2.errors import DataError


def test_a_record_survives_the_round_trip(make_record) -> None:
    record = make_record()
    assert PlatformRecord.from_json(record.to_json()) == record


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("format",), 2),
        (("complete",), 1),
        (("complete",), None),
        (("iterations",), "12"),
        (("iterations",), 1.0),
        (("bits",), [512, "512"]),
        (("bits",), 512),
        (("run_id",), "0" * 31),
        (("run_id",), "G" * 32),
        (("machine",), None),
        (("machine", "kernel"), None),
        (("machine", "cores_logical"), True),
        (("machine", "hostname"), "me"),
        (("libraries",), {"gmpy2": 2}),
        (("sha256",), []),
        (("user",), "me"),
    ],
)
def test_wrong_and_unknown_entries_are_refused(make_record, path, value) -> None:
    content = json.loads(make_record().to_json())
    entry = content
    for name in path[:-1]:
        entry = entry[name]
    entry[path[-1]] = value
    with pytest.raises(DataError, match=r"platform\.json"):
        PlatformRecord.from_json(json.dumps(content).encode())


@pytest.mark.parametrize("name", ["run_id", "machine", "sha256"])
def test_missing_entries_are_refused(make_record, name: str) -> None:
    content = json.loads(make_record().to_json())
    del content[name]
    with pytest.raises(DataError, match=f"missing.*{name}"):
        PlatformRecord.from_json(json.dumps(content).encode())


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"3", b"\xff", b"[" * 100_000])
def test_what_is_no_record_is_refused(data: bytes) -> None:
    with pytest.raises(DataError, match=r"platform\.json"):
        PlatformRecord.from_json(data)


def test_whole_numbers_serve_where_reals_are_expected(make_record) -> None:
    content = json.loads(make_record().to_json())
    content["machine"]["frequency_mhz"] = 1000
    assert PlatformRecord.from_json(json.dumps(content).encode()).machine.frequency_mhz == 1000.0
