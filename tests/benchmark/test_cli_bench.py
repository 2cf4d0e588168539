import dataclasses

import pytest

from iot2.benchmark import debug, runner, targets
from iot2.benchmark.plan import BITS
from iot2.cli import bench, main


@pytest.fixture
def runs(monkeypatch, make_record):
    taken = []

    def run_benchmark(root, settings):
        taken.append((root, settings))
        return make_record()

    monkeypatch.setattr(runner, "run_benchmark", run_benchmark)
    return taken


def test_by_default_the_checkouts_local_platform_is_measured(runs) -> None:
    assert main(["bench"]) == 0
    ((root, settings),) = runs
    assert root.name == "performances"
    assert (root.parent / "pyproject.toml").is_file()
    assert settings == runner.Settings("local", BITS, None, False, False)


def test_arguments_reach_the_run(runs, tmp_path) -> None:
    assert main(["bench", "--platform", "pi", "--output", str(tmp_path), "--bits", "2048", "512",
                 "--iterations", "7", "--quick", "--force"]) == 0  # fmt: skip
    assert runs == [(tmp_path, runner.Settings("pi", (2048, 512), 7, True, True))]


def test_sizes_that_need_insecure_are_warned_of(runs, capsys) -> None:
    main(["bench", "--bits", "1024", "3072"])
    err = capsys.readouterr().err
    assert "warning: 1024 bits is no supported modulus size" in err
    assert "3072" not in err


def test_what_counted_the_cycles_is_said(runs, capsys) -> None:
    main(["bench", "--bits", "3072"])
    assert "no cycles were counted (why)" in capsys.readouterr().out


def test_the_kind_of_cycles_is_said(monkeypatch, make_record, capsys) -> None:
    record = make_record()
    clocks = dataclasses.replace(
        record.clocks, cycle_source="tsc", cycle_kind="reference", cycle_scope="all"
    )
    record = dataclasses.replace(
        record, clocks=clocks, warnings=tuple(f"w{i}" for i in range(11)), stable=False
    )
    monkeypatch.setattr(runner, "run_benchmark", lambda root, settings: record)
    assert main(["bench", "--bits", "3072"]) == 0
    captured = capsys.readouterr()
    assert "cycles: reference cycles from tsc (all)" in captured.out
    assert "secret exponents: gmpy2" in captured.out
    assert "not stable" in captured.out
    assert captured.err.count("warning") == bench.SHOWN_WARNINGS + 1
    assert "3 more" in captured.err


@pytest.mark.parametrize(
    "arguments", [["--platform", "a/b"], ["--bits", "7"], ["--iterations", "0"]]
)
def test_wrong_arguments_are_told_in_one_line(arguments, capsys) -> None:
    assert main(["bench", *arguments]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("iot2: ")


def test_complete_data_are_refused_before_anything_is_measured(
    tmp_path, frames, make_record, monkeypatch, capsys
) -> None:
    from iot2.benchmark.storage import write_platform

    write_platform(tmp_path / "toy", make_record(), frames)
    monkeypatch.setattr(runner, "timer_cost", lambda: pytest.fail("measured something"))
    assert main(["bench", "--platform", "toy", "--output", str(tmp_path), "--bits", "3072"]) == 2
    assert "--force" in capsys.readouterr().err


def test_targets_return_their_status(monkeypatch) -> None:
    asked = []

    def print_targets(bits, *, quick):
        asked.append((bits, quick))
        return int(bits == 2048)

    monkeypatch.setattr(targets, "print_targets", print_targets)
    assert main(["bench", "--targets"]) == 0
    assert main(["bench", "--targets", "--quick", "--bits", "2048", "3072"]) == 1
    assert asked == [(3072, False), (2048, True), (3072, True)]


def test_debug_prints_a_walk(monkeypatch, capsys) -> None:
    monkeypatch.setattr(debug, "walk", lambda bits: f"a walk of {bits} bits\n")
    assert main(["bench", "--debug"]) == 0
    assert main(["bench", "--debug", "--bits", "512"]) == 0
    assert capsys.readouterr().out == "a walk of 3072 bits\na walk of 512 bits\n"


def test_targets_and_debug_exclude_each_other() -> None:
    with pytest.raises(SystemExit):
        main(["bench", "--targets", "--debug"])
