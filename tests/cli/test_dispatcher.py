"""The command line's own part: choosing a command, and telling what went wrong."""

import argparse
import os
import subprocess
import sys
import tomllib
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from iot2 import cli
from iot2.errors import DataError, Iot2Error, ParameterError
from iot2.version import __version__

Run = Callable[[argparse.Namespace], int]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[[Run], None]:
    """Put a command of the test's own into the table, under the name `stats`."""

    def put(run: Run) -> None:
        def configure(parser: argparse.ArgumentParser) -> None:
            parser.add_argument("--number", type=int, default=0)

        module = types.ModuleType("iot2_command_of_a_test")
        module.configure = configure
        module.run = run
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(cli.COMMANDS, "stats", (module.__name__, "count things"))

    return put


def failing(error: BaseException) -> Run:
    def run(args: argparse.Namespace) -> int:
        raise error

    return run


def test_status_and_arguments_pass_through(install: Callable[[Run], None]) -> None:
    install(lambda args: args.number)
    assert cli.main(["stats", "--number", "7"]) == 7
    assert cli.main(["stats"]) == 0


def test_arguments_of_the_process_are_the_default(
    install: Callable[[Run], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    install(lambda args: args.number)
    monkeypatch.setattr(sys, "argv", ["iot2", "stats", "--number", "5"])
    assert cli.main() == 5


def test_help_of_a_command_names_it(
    install: Callable[[Run], None], capsys: pytest.CaptureFixture[str]
) -> None:
    install(lambda args: 0)
    with pytest.raises(SystemExit) as stop:
        cli.main(["stats", "--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert out.startswith("usage: iot2 stats ")
    assert "Count things." in out


def test_top_level_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(["--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    for name, (_, summary) in cli.COMMANDS.items():
        assert any(name in line and summary in line for line in out.splitlines())
    assert "not constant time" in out


def test_every_command_stands_in_one_group() -> None:
    grouped = [name for names in cli.GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(cli.COMMANDS)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main([name, "--help"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: iot2 {name}")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"iot2 {__version__}\n"


@pytest.mark.parametrize("argv", [[], ["nonsense"], ["--nonsense"]])
def test_wrong_usage_is_status_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(argv)
    assert stop.value.code == 2
    assert "usage: iot2" in capsys.readouterr().err


def test_a_misspelt_command_gets_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["reproduse"])
    assert "did you mean reproduce?" in capsys.readouterr().err


@pytest.mark.parametrize(
    "error",
    [
        Iot2Error("expected this,\n  got that"),
        DataError("expected this, got that"),
        ParameterError("expected this, got that"),
    ],
)
def test_an_error_of_ours_is_one_line_and_status_2(
    error: Iot2Error, install: Callable[[Run], None], capsys: pytest.CaptureFixture[str]
) -> None:
    install(failing(error))
    assert cli.main(["stats"]) == 2
    assert capsys.readouterr() == ("", "iot2: expected this, got that\n")


def test_a_file_that_cannot_be_opened_is_one_line(
    install: Callable[[Run], None], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    missing = tmp_path / "missing.csv"
    install(lambda args: len(missing.read_bytes()))
    assert cli.main(["stats"]) == 2
    assert capsys.readouterr().err == f"iot2: {missing}: No such file or directory\n"


def test_an_interrupt_is_status_130(
    install: Callable[[Run], None], capsys: pytest.CaptureFixture[str]
) -> None:
    install(failing(KeyboardInterrupt()))
    assert cli.main(["stats"]) == 130
    assert capsys.readouterr().err == "iot2: interrupted\n"


@pytest.mark.parametrize(
    "error", [TypeError("a defect"), ValueError("a defect"), OSError("a defect")]
)
def test_a_defect_keeps_its_traceback(error: Exception, install: Callable[[Run], None]) -> None:
    install(failing(error))
    with pytest.raises(type(error), match="a defect"):
        cli.main(["stats"])


def test_a_missing_extra_is_named(
    install: Callable[[Run], None], capsys: pytest.CaptureFixture[str]
) -> None:
    error = ModuleNotFoundError("No module named 'pandas.api'", name="pandas.api")
    install(failing(error))
    assert cli.main(["stats"]) == 2
    assert capsys.readouterr().err == (
        "iot2: `iot2 stats` needs pandas.api, which is not installed: "
        'pip install "iot2[analysis]"\n'
    )


def test_a_missing_module_of_ours_is_a_defect(install: Callable[[Run], None]) -> None:
    install(failing(ModuleNotFoundError("gone", name="iot2.gone")))
    with pytest.raises(ModuleNotFoundError, match="gone"):
        cli.main(["stats"])


def test_the_extras_named_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(cli.EXTRA_OF.values()) <= set(project["optional-dependencies"])


def test_a_reader_that_went_away_is_quiet(tmp_path: Path) -> None:
    script = tmp_path / "flood.py"
    script.write_text(
        "import sys, types\n"
        "from iot2 import cli\n"
        "module = types.ModuleType('flood')\n"
        "module.configure = lambda parser: None\n"
        "module.run = lambda args: print('x' * 10_000_000) or 0\n"
        "sys.modules['flood'] = module\n"
        "cli.COMMANDS['stats'] = ('flood', 'flood')\n"
        "sys.exit(cli.main(['stats']))\n"
    )
    reader, writer = os.pipe()
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=writer, stderr=subprocess.PIPE
    ) as process:
        os.close(writer)
        os.read(reader, 1)
        os.close(reader)
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait(60) == 141


def test_only_the_chosen_command_is_imported() -> None:
    code = (
        "import sys\n"
        "from iot2 import cli\n"
        "print([m for m in sys.modules if m.startswith('iot2.cli.')])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_python_dash_m_is_the_same_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "iot2", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"iot2 {__version__}\n"
