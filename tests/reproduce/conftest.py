"""A small repository of small notebooks."""

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

WriteNotebook = Callable[..., Path]


@pytest.fixture
def write_notebook(tmp_path: Path) -> WriteNotebook:
    """Write `notebooks/NAME.ipynb` under tmp_path: a parameters cell, then the given ones."""

    def write(name: str, *cells: str, parameters: str = "") -> Path:
        notebook = nbformat.v4.new_notebook()
        notebook.metadata["kernelspec"] = {
            "name": "python3",
            "display_name": "Python 3",
            "language": "python",
        }
        first = nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]})
        rest = [nbformat.v4.new_code_cell(cell) for cell in cells]
        notebook.cells = [first, *rest] if parameters else rest
        path = tmp_path / "notebooks" / f"{name}.ipynb"
        path.parent.mkdir(exist_ok=True)
        nbformat.write(notebook, path)
        return path

    return write
