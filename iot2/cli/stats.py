"""`iot2 stats`: what the columns of CSV files amount to."""

import argparse
import csv
import io
import sys
from collections.abc import Callable, Sequence
from math import isnan
from typing import Final

from iot2.benchmark.numeric_csv import UNITS, read_series
from iot2.benchmark.stats import OUTLIER_RULE, SEED, summarise

HEADER: Final = (
    "file", "series", "step", "unit", "count", "mean", "sd", "median",
    "median_low", "median_high", "p5", "p95", "outliers",
)  # fmt: skip
TEXT_COLUMNS: Final = 4
UNIT: Final = 3

Row = tuple[str, str, str, str, int, float, float, float, float, float, float, float, int]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `iot2 stats`."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="CSV file, gzipped or not")
    parser.add_argument(
        "--unit",
        choices=tuple(UNITS),
        help="unit of the numbers; else the header's suffix or the file's name tells it",
    )
    parser.add_argument("--format", choices=tuple(FORMATS), default="table", help="default: table")
    parser.epilog = (
        "Times are printed in µs. median_low and median_high are its 95 % bootstrap interval"
        f" (seed {SEED}); sd is with n - 1; outliers are counted, never dropped, by {OUTLIER_RULE}."
    )


def run(args: argparse.Namespace) -> int:
    """Print a row for each series of each file."""
    rows = [row for path in args.files for row in _rows(path, args.unit)]
    sys.stdout.write(FORMATS[args.format](rows))
    return 0


def _rows(path: str, unit: str | None) -> list[Row]:
    rows: list[Row] = []
    for series in read_series(path, unit):
        s = summarise(series.values)
        # fmt: off
        rows.append((path, series.label, series.step, series.unit, s.count, s.mean, s.sd, s.median,
                     s.median_low, s.median_high, s.p5, s.p95, s.outliers))
        # fmt: on
    return rows


def _short(value: object) -> str:
    if isinstance(value, float):
        return "-" if isnan(value) else f"{value:.3f}"
    return str(value)


def _printed(rows: Sequence[Row]) -> list[list[str]]:
    """Text of the header and the rows, without columns that are empty or the same throughout."""
    keep = [
        index
        for index in range(len(HEADER))
        if index not in (0, 1) or len({row[index] for row in rows} | {""}) > 1 + (index == 0)
    ]
    table = [[HEADER[index] for index in keep]]
    table += [[_short(row[index]).replace("us", "µs") if index == UNIT else _short(row[index])
               for index in keep] for row in rows]  # fmt: skip
    return table


def _as_table(rows: Sequence[Row]) -> str:
    table = _printed(rows)
    words = len(table[0]) - (len(HEADER) - TEXT_COLUMNS)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join(
            text.ljust(width) if index < words else text.rjust(width)
            for index, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([*lines, f"outliers: {OUTLIER_RULE}", ""])


def _as_csv(rows: Sequence[Row]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(rows)
    return text.getvalue()


def _as_markdown(rows: Sequence[Row]) -> str:
    table = _printed(rows)
    words = len(table[0]) - (len(HEADER) - TEXT_COLUMNS)
    rule = ["---" if index < words else "---:" for index in range(len(table[0]))]
    lines = [[cell.replace("|", r"\|") for cell in line] for line in table]
    lines.insert(1, rule)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _as_latex(rows: Sequence[Row]) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special["µ"] = r"\textmu{}"
    special |= {mark: f"\\{mark}" for mark in "&%$#_{}"}
    table = _printed(rows)
    words = len(table[0]) - (len(HEADER) - TEXT_COLUMNS)
    lines = [" & ".join("".join(special.get(c, c) for c in cell) for cell in line) + r" \\"
             for line in table]  # fmt: skip
    columns = "l" * words + "r" * (len(table[0]) - words)
    return "\n".join(
        [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", lines[0], r"\midrule", *lines[1:],
         r"\bottomrule", r"\end{tabular}", ""]
    )  # fmt: skip


FORMATS: Final[dict[str, Callable[[Sequence[Row]], str]]] = {
    "table": _as_table,
    "csv": _as_csv,
    "markdown": _as_markdown,
    "latex": _as_latex,
}
