"""`iot2 reproduce`: every figure and table from stored data, with a verdict on each."""

import argparse
import sys
from pathlib import Path

from iot2.paths import BUILD, FIGURES, repository_root
from iot2.reproduce.catalogue import CATALOGUE
from iot2.reproduce.figures import Plan, Reproduction, count_cells, reproduce, table


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--measure", action="store_true",
        help="measure this machine first, as platform `local`, and draw it too",
    )  # fmt: skip
    parser.add_argument(
        "--update", action="store_true",
        help="replace the committed figures; they never show the platform `local`",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, metavar="DIR",
        help="where figures and tables go (default: build/figures)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Run all notebooks; 1 if one fails or a figure is missing."""
    root = repository_root()
    out = (args.out or root / BUILD / FIGURES).absolute()
    plan = Plan(root, out, CATALOGUE, measure=args.measure, update=args.update)
    plan.check()
    out.mkdir(parents=True, exist_ok=True)
    result = _reproduce_with_bar(plan)
    print(f"Figures in {_short(out, root)}, executed notebooks in {BUILD}/notebooks:")
    for line in table(result):
        print(line)
    for failed in (run for run in result.runs if run.failure is not None):
        print(f"iot2: {failed.name}, {failed.failure}", file=sys.stderr)
    return 0 if result.succeeded else 1


def _reproduce_with_bar(plan: Plan) -> Reproduction:
    from tqdm import tqdm

    def tell(name: str) -> None:
        if bar.disable:  # no terminal: a line each, so that a log shows what it is at
            print(f"{name} ...", file=sys.stderr, flush=True)
        bar.set_description(name)

    with tqdm(total=count_cells(plan), unit="cell", disable=None) as bar:
        return reproduce(plan, tell, bar.update)


def _short(path: Path, root: Path) -> Path:
    return path.relative_to(root) if path.is_relative_to(root) else path
