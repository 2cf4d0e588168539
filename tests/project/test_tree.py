"""The repository as others see it: clean notebooks, no trace of one machine."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))
MACHINE_PATH = re.compile(rb"/(?:root|home|work|Users|tmp)/[A-Za-z0-9_.]")
REGISTRY = re.compile(rb"--(?:extra-)?index-url|--find-links|files\.python" + rb"hosted")


def in_notebook(test: Any) -> Any:
    decorate = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
    return decorate(test)


def code_cells(path: Path) -> list[dict[str, Any]]:
    cells = json.loads(path.read_text())["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


@in_notebook
def test_a_notebook_is_stored_without_outputs(path: Path) -> None:
    for cell in code_cells(path):
        assert cell["outputs"] == []
        assert cell["execution_count"] is None


@in_notebook
def test_a_notebook_names_the_common_kernel_and_keeps_no_trace_of_a_run(path: Path) -> None:
    metadata = json.loads(path.read_text())["metadata"]
    assert metadata["kernelspec"]["name"] == "python3"
    assert "papermill" not in metadata
    assert not any("papermill" in cell["metadata"] for cell in code_cells(path))


@in_notebook
def test_a_notebook_has_one_parameters_cell_of_literals(path: Path) -> None:
    (cell,) = [c for c in code_cells(path) if "parameters" in c["metadata"].get("tags", [])]
    for statement in ast.parse(source(cell)).body:
        assert isinstance(statement, ast.Assign | ast.AnnAssign), ast.unparse(statement)
        assert statement.value is not None
        ast.literal_eval(statement.value)


@in_notebook
def test_a_notebook_defines_nothing(path: Path) -> None:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    for cell in code_cells(path):
        # Cell magics and top-level await are no plain Python; the flag allows the latter.
        tree = compile(
            source(cell), path.name, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        )
        assert not any(isinstance(node, kinds) for node in ast.walk(tree)), source(cell)


@in_notebook
def test_a_notebook_starts_with_its_title(path: Path) -> None:
    first = json.loads(path.read_text())["cells"][0]
    assert first["cell_type"] == "markdown"
    assert source(first).startswith("# ")


def is_text(content: bytes) -> bool:
    return b"\0" not in content


def test_no_tracked_file_holds_a_path_of_one_machine(root: Path, tracked: list[Path]) -> None:
    found = [
        str(path.relative_to(root))
        for path in tracked
        if is_text(content := path.read_bytes()) and MACHINE_PATH.search(content)
    ]
    assert found == []


def test_no_tracked_file_holds_the_address_of_a_registry(root: Path, tracked: list[Path]) -> None:
    found = [
        str(path.relative_to(root))
        for path in tracked
        if path != Path(__file__)
        and is_text(content := path.read_bytes())
        and REGISTRY.search(content)
    ]
    assert found == []


def test_the_patterns_find_what_they_look_for() -> None:
    for start in (b"home", b"root", b"work"):
        assert MACHINE_PATH.search(b'"/' + start + b'/someone/data.csv"')
    assert not MACHINE_PATH.search(b"#!/usr/bin/env bash, build/work, 1 / home")
    assert REGISTRY.search(b"pip install --" + b"index-url x")


def test_no_module_is_longer_than_one_sitting(root: Path, tracked: list[Path]) -> None:
    long = {
        str(path.relative_to(root)): lines
        for path in tracked
        if path.suffix == ".py"
        and path.is_relative_to(root / "iot2")
        and (lines := len(path.read_text().splitlines())) > 460
    }
    assert long == {}


def test_no_tracked_file_is_too_large_to_clone_with_ease(root: Path, tracked: list[Path]) -> None:
    large = [str(p.relative_to(root)) for p in tracked if p.stat().st_size > 4 * 2**20]
    assert large == []
