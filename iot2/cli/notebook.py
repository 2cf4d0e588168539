"""`iot2 notebook NAME -p key value ...`: run one notebook with checked parameters."""

import argparse
import sys
from pathlib import Path
from typing import Any

from iot2.errors import ParameterError
from iot2.paths import NOTEBOOKS, repository_root
from iot2.reproduce.parameters import Parameter, checked_values, inspect_parameters, type_name
from iot2.reproduce.running import Run, count_code_cells, find_notebook, run_notebook


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "name", nargs="?", metavar="NAME",
        help="a notebook of the project or a file; without it, all are listed",
    )  # fmt: skip
    parser.add_argument(
        "-p", "--parameter", nargs="+", action="append", default=[], metavar=("KEY", "VALUE"),
        help="set a parameter; one that is a list takes several values; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--output", type=Path, metavar="FILE",
        help="where the executed copy goes (default: build/notebooks/NAME.ipynb)",
    )  # fmt: skip
    parser.add_argument(
        "--parameters", action="store_true", help="only print what the notebook takes"
    )


def run(args: argparse.Namespace) -> int:
    """Run the notebook, or print what there is to run."""
    if args.name is None:
        if args.parameter or args.output or args.parameters:
            raise ParameterError("expected a notebook's name before its parameters, came none")
        for path in sorted((repository_root() / NOTEBOOKS).glob("*.ipynb")):
            print(f"{path.stem}: {', '.join(inspect_parameters(path)) or 'no parameters'}")
        return 0
    path = find_notebook(args.name)
    declared = inspect_parameters(path)
    if args.parameters:
        for parameter in declared.values():
            print(_describe(parameter))
        return 0
    given = _given(args.parameter)
    values = checked_values(path.stem, declared, given)
    result = _run_with_bar(path, values, args.output and args.output.absolute())
    if result.failure is not None:
        print(f"iot2: {path.stem}, {result.failure}", file=sys.stderr)
        print(f"iot2: up to there it is in {result.copy}", file=sys.stderr)
        return 1
    print(f"{path.stem}: {result.seconds:.1f} s, executed copy in {result.copy}")
    return 0


def _given(repeated: list[list[str]]) -> dict[str, list[str]]:
    given: dict[str, list[str]] = {}
    for name, *words in repeated:
        if name in given:
            raise ParameterError(f"parameter {name}: expected to be given once, came twice")
        given[name] = words
    return given


def _describe(parameter: Parameter) -> str:
    note = f"  # {parameter.help}" if parameter.help else ""
    return f"{parameter.name}: {type_name(parameter.kind)} = {parameter.default!r}{note}"


def _run_with_bar(path: Path, values: dict[str, Any], copy: Path | None) -> Run:
    from tqdm import tqdm

    with tqdm(total=count_code_cells(path), desc=path.stem, unit="cell", disable=None) as bar:
        return run_notebook(path, values, copy=copy, on_cell=bar.update)
