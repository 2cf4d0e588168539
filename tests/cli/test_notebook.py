import nbformat
import pytest

from iot2.cli import main


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    """A checkout with one notebook, and the working directory inside it."""
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "iot2").mkdir()
    (tmp_path / "iot2" / "paths.py").touch()
    folder = tmp_path / "notebooks"
    folder.mkdir()
    made = nbformat.v4.new_notebook()
    made.metadata["kernelspec"] = {"name": "python3", "language": "python"}
    cell = nbformat.v4.new_code_cell("sizes: list[int] = [1]  # of what", id="a")
    cell.metadata["tags"] = ["parameters"]
    made.cells = [cell, nbformat.v4.new_code_cell("print(12 / sizes[0])", id="b")]
    nbformat.write(made, folder / "5_toy.ipynb")
    monkeypatch.chdir(folder)
    return folder / "5_toy.ipynb"


def test_without_a_name_all_are_listed(notebook, capsys):
    assert main(["notebook"]) == 0
    assert capsys.readouterr().out == "5_toy: sizes\n"


def test_parameters_are_printed_with_type_default_and_help(notebook, capsys):
    assert main(["notebook", "5_toy", "--parameters"]) == 0
    assert capsys.readouterr().out == "sizes: list[int] = [1]  # of what\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["-p", "size", "3"], "unknown parameter 'size' of 5_toy, expected sizes; did you mean"),
        (["-p", "sizes", "3", "x"], "parameter sizes: expected a list, each a whole number"),
        (["-p", "sizes", "3", "-p", "sizes", "4"], "expected to be given once, came twice"),
    ],
)
def test_a_wrong_parameter_is_refused_before_anything_runs(notebook, capsys, arguments, complaint):
    assert main(["notebook", "5_toy", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("iot2: ")
    assert complaint in printed.err
    assert not (notebook.parents[1] / "build").exists()


def test_an_unknown_notebook_is_refused(notebook, capsys):
    assert main(["notebook", "6_toy"]) == 2
    assert "expected a notebook, one of 5_toy, came '6_toy'" in capsys.readouterr().err


def test_it_runs_with_its_parameters_and_keeps_a_copy(notebook, capsys):
    assert main(["notebook", "5_toy", "-p", "sizes", "3", "4"]) == 0
    copy = notebook.parents[1] / "build" / "notebooks" / "5_toy.ipynb"
    assert str(copy) in capsys.readouterr().out
    assert "sizes = [3, 4]" in copy.read_text()
    assert "4.0\\n" in copy.read_text()


def test_a_failure_is_named_with_its_cell(notebook, capsys, tmp_path):
    output = tmp_path / "elsewhere.ipynb"
    arguments = ["notebook", "5_toy", "-p", "sizes", "0", "--output", str(output)]
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert "5_toy, cell [3] `print(12 / sizes[0])`: ZeroDivisionError: division by zero" in error
    assert output.exists()
