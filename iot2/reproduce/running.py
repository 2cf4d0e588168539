"""One notebook, run by papermill in a kernel of the interpreter that is running now.

A kernel named `python3` may be anything the user once installed under that
name; ours is started from `sys.executable`, with IPython's settings and
start-up files of nobody, and a working directory that is the repository's root.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from iot2.errors import ParameterError
from iot2.paths import BUILD, NOTEBOOKS, repository_root

if TYPE_CHECKING:
    from jupyter_client.manager import AsyncKernelManager

KERNEL: Final = "python3"
"""The name in the notebooks' metadata; `running_interpreter` says what it starts."""

_ANSI: Final = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Failure:
    """Where and why a notebook stopped."""

    cell: str
    error: str

    def __str__(self) -> str:
        return f"{self.cell}: {self.error}"


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one notebook."""

    name: str
    seconds: float
    copy: Path
    failure: Failure | None


def find_notebook(name: str, root: Path | None = None) -> Path:
    """The notebook that `name` means: a file, or one of `notebooks/` with or without suffix.

    Raises:
        ParameterError: there is none of that name.
    """
    given = Path(name)
    if given.suffix == ".ipynb" and given.is_file():
        return given.resolve()
    folder = (root or repository_root()) / NOTEBOOKS
    stored = folder / f"{given.name.removesuffix('.ipynb')}.ipynb"
    if given.parent == Path() and stored.is_file():
        return stored
    names = ", ".join(sorted(path.stem for path in folder.glob("*.ipynb"))) or "none"
    raise ParameterError(f"expected a notebook, one of {names}, came {name!r}")


def run_notebook(
    notebook: Path,
    parameters: Mapping[str, Any] | None = None,
    *,
    copy: Path | None = None,
    root: Path | None = None,
    on_cell: Callable[[], object] | None = None,
) -> Run:
    """Run a notebook from top to bottom and keep an executed copy of it.

    Args:
        notebook: the file; it is only read.
        parameters: checked values (`iot2.reproduce.parameters`).
        copy: where the executed copy goes; `build/notebooks/` by default.
        root: the working directory; the repository's root by default.
        on_cell: called after each code cell.

    Returns:
        What happened; an error in a cell is in it, and is not raised.
    """
    from papermill.exceptions import PapermillExecutionError
    from papermill.execute import execute_notebook

    root = root or repository_root()
    copy = copy or root / BUILD / NOTEBOOKS / notebook.name
    copy.parent.mkdir(parents=True, exist_ok=True)
    last = ["before its first cell"]

    def started(cell: Any, cell_index: int) -> None:
        last[0] = _name_cell(None, cell["source"])

    def completed(cell: Any, cell_index: int) -> None:
        if on_cell is not None:
            on_cell()

    failure = None
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="iot2-ipython-") as settings:
        try:
            execute_notebook(
                str(notebook),
                str(copy),
                parameters=dict(parameters or {}),
                kernel_name=KERNEL,
                language="python",
                cwd=str(root),
                progress_bar=False,
                kernel_manager_class=running_interpreter(settings),
                on_cell_execute=started,
                on_cell_complete=completed,
            )
        except PapermillExecutionError as error:
            text = _ANSI.sub("", f"{error.ename}: {error.evalue}").strip()
            failure = Failure(_name_cell(error.exec_count, error.source), text)
        except Exception as error:  # a kernel that dies or does not start: whatever it raises
            failure = Failure(last[0], f"{type(error).__name__}: {error}")
    return Run(notebook.stem, time.perf_counter() - start, copy, failure)


def count_code_cells(notebook: Path) -> int:
    """How often `on_cell` will be called in a whole run without injected parameters."""
    import nbformat

    cells = nbformat.read(notebook, as_version=4).cells  # type: ignore[no-untyped-call]
    return sum(cell.cell_type == "code" and bool(cell.source.strip()) for cell in cells)


def running_interpreter(settings: str) -> type[AsyncKernelManager]:
    """A kernel manager whose every kernel is `sys.executable`.

    Args:
        settings: an empty folder for the kernel's sockets, and in place of the
            user's IPython one.
    """
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager

    class RunningInterpreter(AsyncKernelManager):
        def __init__(self, **traits: Any) -> None:
            # Sockets in a private folder: no port that another user could reach or take.
            super().__init__(transport="ipc", ip=str(Path(settings) / "k"), **traits)

        @property
        def kernel_spec(self) -> KernelSpec:
            return KernelSpec(
                argv=[
                    sys.executable,
                    *("-m", "ipykernel_launcher"),
                    *("-f", "{connection_file}"),
                    "--HistoryManager.enabled=False",
                    # A cell's error is in the copy; the rest is the interrupt that ends a kernel.
                    "--IPKernelApp.log_level=CRITICAL",
                ],
                display_name="Python 3",
                language="python",
                env={"IPYTHONDIR": settings},
            )

    return RunningInterpreter


def _name_cell(count: int | None, source: str) -> str:
    """A cell as a reader finds it: its number, if it has one, and its first line of code."""
    lines = [line.strip() for line in source.splitlines()]
    first = next((line for line in lines if line and not line.startswith("#")), "")
    number = "cell" if count is None else f"cell [{count}]"
    return f"{number} `{first:.60}`"
