"""The notebooks themselves, run from where a reader may open them."""

import ast
import json
from pathlib import Path

import pytest
from made_up import write_made_up

from iot2.reproduce.catalogue import CATALOGUE
from iot2.reproduce.parameters import inspect_parameters, type_name
from iot2.reproduce.running import run_notebook

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def code_cells(path: Path) -> list[str]:
    cells = json.loads(path.read_text())["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def run(name: str, tmp_path: Path, parameters: dict[str, object], root: Path = ROOT) -> object:
    path = ROOT / "notebooks" / f"{name}.ipynb"
    return run_notebook(path, parameters, copy=tmp_path / "copy.ipynb", root=root)


def test_every_notebook_is_reproduced_in_order():
    assert [notebook.name for notebook in CATALOGUE] == [path.stem for path in NOTEBOOKS]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_first_call_checks_the_parameters_as_declared(path):
    """After imports and parameters, and with the names and types of the parameters' cell."""
    imports, _, first, *_ = code_cells(path)
    assert all(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.parse(imports).body)
    (statement,) = ast.parse(first).body
    call = statement.value
    assert call.func.id == "check_parameters"
    assert ast.unparse(call.args[0]) == "globals()"
    checked = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    declared = {name: type_name(p.kind) for name, p in inspect_parameters(path).items()}
    assert checked == declared


def test_the_protocol_is_walked_through(tmp_path):
    for choice in (0, 1):
        assert run("0_protocol", tmp_path, {"choice": choice, "bits": 2048}).failure is None


def test_a_machine_is_measured_and_then_shown(tmp_path):
    given = {"platform": "toy", "bits": [1024], "iterations": 10, "quick": True}
    given["output"] = str(tmp_path / "performances")
    assert run("1_benchmark", tmp_path, given).failure is None
    record = tmp_path / "performances" / "toy" / "platform.json"
    first = record.read_bytes()
    assert run("1_benchmark", tmp_path, given).failure is None
    assert record.read_bytes() == first
    other = run("1_benchmark", tmp_path, given | {"bits": [2048]}).failure
    assert other is not None
    assert "expected 10 transfers at 2048 bits, came 10 transfers at 1024 bits" in other.error


@pytest.mark.parametrize("folder", [".", "notebooks"])
def test_figures_are_drawn_from_wherever_it_is_opened(tmp_path, folder):
    write_made_up(tmp_path / "performances", "linux", "Toy CPU 9000")
    given = {"data": str(tmp_path / "performances"), "figures": str(tmp_path / "figures")}
    result = run("2_performance", tmp_path, given, ROOT / folder)
    assert result.failure is None
    (row,) = [notebook for notebook in CATALOGUE if notebook.name == "2_performance"]
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == sorted(row.figures)
    shown = result.copy.read_text()
    assert shown.count("image/png") == 3
    assert "text/markdown" in shown


def test_a_relative_folder_starts_at_the_root_wherever_it_is_opened(tmp_path):
    failure = run("2_performance", tmp_path, {"data": "tests/nowhere"}, ROOT / "notebooks").failure
    assert failure is not None
    assert failure.error == (
        "DataError: tests/nowhere: expected measurements, came no platform at all;"
        " `iot2 bench` measures one"
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_misspelt_parameter_stops_a_notebook_that_papermill_runs(path, tmp_path):
    failure = run(path.stem, tmp_path, {"misspelt": 1}).failure
    assert failure is not None
    assert failure.cell.startswith("cell [4] `check_parameters(")
    assert "unknown parameter 'misspelt'" in failure.error
