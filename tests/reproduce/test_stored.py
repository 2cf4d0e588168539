import pytest
from made_up import write_made_up

from iot2.benchmark.storage import read_platform
from iot2.errors import DataError
from iot2.reproduce import stored
from iot2.reproduce.stored import conditions, measured_or_stored, statistics, stored_platforms


@pytest.fixture
def data(tmp_path):
    write_made_up(tmp_path, "linux", "Toy CPU 9000")
    write_made_up(tmp_path, "raspberry", "Toy Pi Zero", 14.0)
    return tmp_path


@pytest.fixture
def measure(monkeypatch):
    """Write made-up measurements where a real benchmark would measure."""
    calls = []

    def run(folder, settings):
        calls.append(settings)
        write_made_up(folder, settings.platform, "Toy CPU 9000", force=settings.force)

    monkeypatch.setattr(stored, "run_benchmark", run)
    return calls


def test_every_platform_or_those_that_are_named(data):
    assert [platform.name for platform in stored_platforms(str(data))] == ["linux", "raspberry"]
    assert [p.name for p in stored_platforms(str(data), ["raspberry"])] == ["raspberry"]


def test_a_platform_that_is_not_there_is_named(data, tmp_path):
    with pytest.raises(DataError, match="expected pi, came linux, raspberry"):
        stored_platforms(str(data), ["pi"])
    with pytest.raises(DataError, match="expected measurements, came no platform at all"):
        stored_platforms(str(tmp_path / "none"))


def test_what_is_stored_is_not_measured_again(data, measure):
    platform = measured_or_stored(str(data), "linux", bits=[4096, 3072, 2048, 1024], iterations=40)
    assert platform.name == "linux"
    assert measure == []


def test_what_is_not_stored_is_measured(data, measure):
    platform = measured_or_stored(str(data), "local")
    assert platform.name == "local"
    assert [(call.platform, call.iterations, call.force) for call in measure] == [
        ("local", None, False)
    ]


def test_force_measures_again(data, measure):
    measured_or_stored(str(data), "linux", force=True)
    assert [call.force for call in measure] == [True]


def test_other_measurements_than_asked_for_are_no_answer(data, measure):
    with pytest.raises(DataError, match=r"expected 7 transfers .*, came 40 transfers"):
        measured_or_stored(str(data), "linux", iterations=7)
    assert measure == []


def test_statistics_and_conditions_are_frames(data):
    platform = read_platform(data / "linux")
    frame = statistics(platform, "timings_sOT.csv")
    assert len(frame) == 4 * 7
    assert set(frame["unit"]) == {"us"}
    shown = conditions(platform, read_platform(data / "raspberry"))
    assert shown.loc["processor"].to_list() == ["Toy CPU 9000", "Toy Pi Zero"]
    assert shown.loc["pinned to", "linux"] == "(1,)"
