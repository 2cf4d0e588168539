"""Every figure and table from stored data: run the notebooks, then judge what they drew."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from iot2.benchmark.storage import platform_folders
from iot2.errors import DataError, Iot2Error
from iot2.files import write_atomically
from iot2.paths import FIGURES, NOTEBOOKS, PERFORMANCES
from iot2.reproduce.catalogue import Notebook
from iot2.reproduce.parameters import inspect_parameters
from iot2.reproduce.running import Failure, Run, count_code_cells, run_notebook

LOCAL: Final = "local"
"""The platform that a reader measures; git ignores it."""

Stamp = tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one figure."""

    figure: str
    sources: tuple[str, ...]
    seconds: float
    problem: str | None
    """Why there is no new figure, if there is none."""
    identical: bool | None
    """Whether its bytes are those in `figures/`; None where there are none to compare with."""


@dataclass(frozen=True, slots=True)
class Reproduction:
    """All runs, in order, and a verdict on each figure."""

    runs: tuple[Run, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def succeeded(self) -> bool:
        """Whether every notebook ran to its end and every figure is new and not empty."""
        return all(run.failure is None for run in self.runs) and all(
            verdict.problem is None for verdict in self.verdicts
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be reproduced, and where from and to."""

    root: Path
    out: Path
    """The folder for figures and tables."""
    notebooks: tuple[Notebook, ...]
    measure: bool = False
    """Whether this machine is measured first, and drawn too."""
    update: bool = False
    """Whether the committed figures are replaced; they show committed platforms alone."""

    def platforms(self) -> list[str]:
        """The platforms that are drawn, by name: as far as they are there now."""
        names = [folder.name for folder in platform_folders(self.root / PERFORMANCES)]
        return [name for name in names if name != LOCAL or not self.update]

    def offered(self) -> dict[str, Any]:
        """Parameters by name, for those notebooks that declare them."""
        platforms = self.platforms()
        stored = [name for name in platforms if name != LOCAL] or platforms
        return {
            "figures": str(self.out),
            "platforms": platforms,
            "platform": LOCAL if self.measure or not stored else stored[0],
            "force": self.measure,
        }

    def check(self) -> None:
        """Raise `DataError` if there is nothing to draw from."""
        if not self.measure and not self.platforms():
            raise DataError(
                f"expected stored measurements in {PERFORMANCES}/, came none:"
                " run `iot2 bench` first, or `iot2 reproduce --measure`"
            )


def reproduce(
    plan: Plan, on_notebook: Callable[[str], object], on_cell: Callable[[], object]
) -> Reproduction:
    """Run every notebook of the plan, whatever becomes of the others, and judge its figures.

    Args:
        plan: what to run.
        on_notebook: called with a notebook's name before it runs.
        on_cell: called after each of its code cells.
    """
    plan.check()
    committed = {name: _content(plan.root / FIGURES / name) for name in _figures(plan.notebooks)}
    runs: list[Run] = []
    verdicts: list[Verdict] = []
    for notebook in plan.notebooks:
        on_notebook(notebook.name)
        before = {name: _stamp(plan.out / name) for name in notebook.figures}
        run = _run(plan, notebook, on_cell)
        runs.append(run)
        sources = tuple(notebook.source_names(plan.root, plan.platforms()))
        for name in notebook.figures:
            problem = _problem(plan.out / name, before[name], run)
            new = None if problem else _content(plan.out / name)
            old = committed[name]
            identical = None if old is None or new is None else old == new
            verdicts.append(Verdict(name, sources, run.seconds, problem, identical))
            if plan.update and new is not None:
                _replace(plan.root / FIGURES / name, new)
    return Reproduction(tuple(runs), tuple(verdicts))


def count_cells(plan: Plan) -> int:
    """Code cells of all notebooks that can be read: the length of the progress bar."""
    total = 0
    for notebook in plan.notebooks:
        with contextlib.suppress(Exception):  # its own run will say what is wrong with it
            total += count_code_cells(_path(plan, notebook))
    return total


def table(reproduction: Reproduction) -> Iterator[str]:
    """Lines: figure, source data, seconds, identical to the committed one or not."""
    rows = [("figure", "source data", "seconds", "as committed")]
    for verdict in reproduction.verdicts:
        rows.append(
            (
                verdict.figure,
                ", ".join(verdict.sources) or "-",
                f"{verdict.seconds:.1f}",
                verdict.problem or _IDENTICAL[verdict.identical],
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for figure, sources, seconds, state in rows:
        yield f"{figure:<{widths[0]}}  {sources:<{widths[1]}}  {seconds:>{widths[2]}}  {state}"
    local = f"{PERFORMANCES}/{LOCAL}"
    if any(v.identical is False and local in v.sources for v in reproduction.verdicts):
        yield f"{local} is nowhere committed, so that what is drawn from it too must differ."


_IDENTICAL: Final = {True: "identical", False: "differs", None: "none committed"}


def _run(plan: Plan, notebook: Notebook, on_cell: Callable[[], object]) -> Run:
    """Run one notebook; one that is missing or damaged has failed before its first cell."""
    path = _path(plan, notebook)
    copy = plan.root / "build" / NOTEBOOKS / path.name
    try:
        declared = inspect_parameters(path)
    except Iot2Error as error:
        failure = Failure("before its first cell", f"{type(error).__name__}: {error}")
        return Run(notebook.name, 0.0, copy, failure)
    given = {name: value for name, value in plan.offered().items() if name in declared}
    return run_notebook(path, given, copy=copy, root=plan.root, on_cell=on_cell)


def _path(plan: Plan, notebook: Notebook) -> Path:
    return plan.root / NOTEBOOKS / f"{notebook.name}.ipynb"


def _figures(notebooks: Sequence[Notebook]) -> list[str]:
    return [name for notebook in notebooks for name in notebook.figures]


def _problem(path: Path, before: Stamp, run: Run) -> str | None:
    after = _stamp(path)
    if after is None or after == before:
        return "not drawn" if run.failure is None else f"not drawn: {run.name} failed"
    return None if path.stat().st_size else "empty"


def _stamp(path: Path) -> Stamp:
    """What changes whenever a file is written anew."""
    if not path.is_file():
        return None
    status = path.stat()
    return status.st_ino, status.st_mtime_ns


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, data)
