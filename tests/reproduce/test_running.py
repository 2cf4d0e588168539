import json
import sys

import pytest

from iot2.errors import ParameterError
from iot2.reproduce.running import count_code_cells, find_notebook, run_notebook


def run(tmp_path, path, **keywords):
    return run_notebook(path, root=tmp_path, copy=tmp_path / "copy.ipynb", **keywords)


def test_parameters_and_working_directory_reach_the_notebook(tmp_path, write_notebook):
    path = write_notebook(
        "n",
        "from pathlib import Path",
        "Path('seen').write_text(f'{word} {number}')",
        parameters="word: str = 'a'\nnumber: int = 1",
    )
    calls = []
    result = run(tmp_path, path, parameters={"word": "b"}, on_cell=lambda: calls.append(1))
    assert result.failure is None
    assert result.name == "n"
    assert (tmp_path / "seen").read_text() == "b 1"
    assert len(calls) == count_code_cells(path) + 1  # and the injected parameters
    assert '"b"' in result.copy.read_text()


def test_the_kernel_is_this_interpreter_whatever_is_called_python3(
    tmp_path, write_notebook, monkeypatch
):
    foreign = tmp_path / "jupyter" / "kernels" / "python3"
    foreign.mkdir(parents=True)
    spec = {"argv": ["false"], "display_name": "foreign", "language": "python"}
    (foreign / "kernel.json").write_text(json.dumps(spec))
    startup = tmp_path / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "0.py").write_text("of_the_user = 1")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    path = write_notebook(
        "n",
        "import sys, pathlib",
        "pathlib.Path('seen').write_text(sys.executable)",
        "assert 'of_the_user' not in globals()",
    )
    assert run(tmp_path, path).failure is None
    assert (tmp_path / "seen").read_text() == sys.executable


def test_a_failure_names_the_cell_and_the_error(tmp_path, write_notebook):
    path = write_notebook("n", "a = 1", "# why\nraise ValueError('expected 1')", "a = 2")
    result = run(tmp_path, path)
    assert str(result.failure) == (
        "cell [2] `raise ValueError('expected 1')`: ValueError: expected 1"
    )
    assert "expected 1" in result.copy.read_text()


def test_a_kernel_that_dies_is_a_failure_of_its_cell(tmp_path, write_notebook):
    path = write_notebook("n", "import os", "os._exit(3)")
    failure = run(tmp_path, path).failure
    assert failure is not None
    assert "os._exit(3)" in failure.cell
    assert "DeadKernelError" in failure.error


def test_notebooks_are_found_by_name_and_by_file(tmp_path, write_notebook, monkeypatch):
    path = write_notebook("2_some")
    monkeypatch.chdir(tmp_path / "notebooks")
    assert find_notebook("2_some", tmp_path) == path
    assert find_notebook("2_some.ipynb", tmp_path) == path
    assert find_notebook(str(path)) == path
    with pytest.raises(ParameterError, match="one of 2_some, came 'other'"):
        find_notebook("other", tmp_path)
