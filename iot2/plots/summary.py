"""`summary.csv`, `.md` and `.tex`: the table that goes with the performance figures.

The CSV has every case that was measured, with percentiles. The other two have
the cases that the figures show and, at 3072 bits, what a masked selection, a
step repeated back to back and the largest batch cost. All three close with
what a key costs once, and with the two published figures, marked as such.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pandas as pd

from iot2.benchmark.published import PUBLISHED
from iot2.benchmark.schema import STEPS
from iot2.benchmark.storage import Platform
from iot2.files import write_atomically
from iot2.plots.break_even import break_even, key_cost
from iot2.plots.costs import CASE, SPLIT_OF, message_bytes, only, select, step_costs

NAMES: Final = ("summary.csv", "summary.md", "summary.tex")

SPREAD: Final = ("median", "p5", "p95")

COLUMNS: Final = (
    "platform",
    "row",
    *CASE,
    "count",
    *(f"{step}_{figure}_us" for step in STEPS for figure in SPREAD),
    "bytes_up",
    "bytes_down",
    "once_us",
    "once_bytes",
    "break_even_transfers",
)
"""Of the CSV. `row` is transfer, key or published; what does not apply is empty."""

PROTOCOLS: Final = {
    "six": "six-message",
    "compact": "compact",
    "simplest": "SimplestOT",
    "precomputed": "pre-computed",
    "yardstick": "one product u·z mod N",
}

_DETAILED_BITS: Final = 3072

_TIMINGS: Final = {
    "single": "one by one",
    "blocks": "back to back",
    "batch": "batch of {batch:,}",
}


@dataclass(frozen=True, slots=True)
class Summary:
    """The three files, and the table as a notebook shows it."""

    folder: Path
    table: pd.DataFrame
    """All cases, with the columns of the CSV."""
    markdown: str

    def _repr_markdown_(self) -> str:
        return self.markdown


def write_summary(platforms: Sequence[Platform], folder: Path) -> Summary:
    """Write the table in its three forms, in bytes that depend on the measurements alone.

    Args:
        platforms: in the order of their rows.
        folder: made where it is missing.

    Raises:
        DataError: a platform lacks what every run measures.
    """
    table = summary_table(platforms)
    parts = list(_parts(table))
    markdown = "\n".join(_markdown(title, part) for title, part in parts)
    folder.mkdir(parents=True, exist_ok=True)
    texts = (
        table.to_csv(index=False, float_format="%.4f", lineterminator="\n"),
        markdown,
        "\n".join(_latex(title, part) for title, part in parts),
    )
    for name, text in zip(NAMES, texts, strict=True):
        write_atomically(folder / name, text.encode())
    return Summary(folder, table, markdown)


def summary_table(platforms: Sequence[Platform]) -> pd.DataFrame:
    """Every case of every platform, then keys, then what is published; columns as `COLUMNS`."""
    rows: list[dict[str, Any]] = []
    for platform in platforms:
        rows += _transfers(platform)
    for platform in platforms:
        rows += _keys(platform)
    for point in PUBLISHED:
        rows.append(
            {
                "platform": point.device,
                "row": "published",
                "variant": "six",
                "bits": point.bits,
                "receiver_online_median_us": point.receiver_online_us,
            }
        )
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    whole = ["bits", "batch", "count", "bytes_up", "bytes_down", "once_bytes"]
    return table.astype(dict.fromkeys([*whole, "break_even_transfers"], "Int64"))


def _transfers(platform: Platform) -> Iterator[dict[str, Any]]:
    sizes = message_bytes(platform)
    for case, steps in step_costs(platform).groupby(list(CASE), sort=False):
        row = {"platform": platform.name, "row": "transfer", **dict(zip(CASE, case, strict=True))}
        row |= _sizes(sizes, row)
        row |= {name: row[name] or None for name in ("bits", "batch")}
        row["count"] = int(steps["count"].iloc[0])
        for step in steps.to_dict("records"):
            # The yardstick is no step of a transfer; its one figure goes where they add up.
            name = step["step"] if step["step"] in STEPS else "receiver_total"
            row |= {f"{name}_{figure}_us": step[figure] for figure in SPREAD}
        yield row


def _sizes(sizes: pd.DataFrame, row: Mapping[str, Any]) -> dict[str, int]:
    """Bytes of a case, if they were counted: pre-computed ones are, over a known key."""
    split = row["split"] or SPLIT_OF.get(row["base"], "")
    found = select(sizes, variant=row["variant"], bits=row["bits"], split=split)
    if row["variant"] == "simplest":
        found = select(found, group=row["group"])
    if len(found) != 1:
        return {}
    return {f"bytes_{way}": int(found[way].iloc[0]) for way in ("up", "down")}


def _keys(platform: Platform) -> Iterator[dict[str, Any]]:
    costs = select(step_costs(platform), step="receiver_total", timing="single", selection="index")
    theirs = select(costs, variant="simplest", split="known_key")["median"].min()
    sizes = message_bytes(platform)
    for bits in platform.bits:
        if not platform.has("keys", bits) or not platform.has("compact", bits):
            continue
        key = key_cost(platform, bits)
        ours = only(costs, "median", variant="compact", bits=bits)
        for trust, once in (("proof checked", key.with_proof), ("pinned", key.pinned)):
            yield {
                "platform": platform.name,
                "row": "key",
                "timing": trust,
                "variant": "compact",
                "bits": bits,
                "once_us": once,
                "once_bytes": int(only(sizes, "once", variant="compact", bits=bits)),
                "break_even_transfers": break_even(once, ours, float(theirs)),
            }


def _parts(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The tables of the readable forms: a title, and cells as text."""
    transfers = select(table, row="transfer")
    transfers = transfers[_shown(transfers)]
    yield (
        "Time per transfer in µs: median (5th–95th percentile); bytes per transfer",
        _cells(
            transfers,
            {
                "platform": lambda row: row["platform"],
                "protocol": _protocol,
                "bits": lambda row: _whole(row["bits"]),
                "timed": _timed,
                "receiver offline": lambda row: _spread(row, "receiver_offline"),
                "receiver online": lambda row: _spread(row, "receiver_online"),
                "receiver total": lambda row: _spread(row, "receiver_total"),
                "sender": _sender,
                "up": lambda row: _whole(row["bytes_up"]),
                "down": lambda row: _whole(row["bytes_down"]),
            },
        ),
    )
    yield (
        "What a key costs a receiver once (compact), and the number of transfers from which"
        " its total is below SimplestOT's with a known key",
        _cells(
            select(table, row="key"),
            {
                "platform": lambda row: row["platform"],
                "bits": lambda row: _whole(row["bits"]),
                "key": lambda row: row["timing"],
                "µs": lambda row: _figure(row["once_us"]),
                "bytes": lambda row: _whole(row["once_bytes"]),
                "from": lambda row: _whole(row["break_even_transfers"]),
            },
        ),
    )
    yield (
        "Published (arXiv:2606.02344), not measured here: receiver online, µs",
        _cells(
            select(table, row="published"),
            {
                "device": lambda row: row["platform"],
                "bits": lambda row: _whole(row["bits"]),
                "receiver online": lambda row: f"{row['receiver_online_median_us']:.2f}",
            },
        ),
    )


def _shown(table: pd.DataFrame) -> pd.Series[bool]:
    plain = (table["timing"] == "single") & (table["selection"] == "index")
    largest = table["batch"].isna() | (table["batch"] == table["batch"].max())
    shown: pd.Series[bool] = plain | ((table["bits"] == _DETAILED_BITS) & largest)
    return shown


def _cells(
    table: pd.DataFrame, columns: dict[str, Callable[[Mapping[Any, Any]], str]]
) -> pd.DataFrame:
    rows = [{name: text(row) for name, text in columns.items()} for row in table.to_dict("records")]
    return pd.DataFrame(rows, columns=list(columns))


def _protocol(row: Mapping[Any, Any]) -> str:
    name = PROTOCOLS[row["variant"]]
    if row["variant"] == "simplest":
        return f"{name}, {row['group']} ({row['binding']}), {row['split'].replace('_', ' ')}"
    if row["variant"] == "precomputed":
        return f"{name} over {PROTOCOLS[row['base']]}"
    return name + (", masked" if row["selection"] == "masked" else "")


def _timed(row: Mapping[Any, Any]) -> str:
    return _TIMINGS[row["timing"]].format(batch=row["batch"])


def _spread(row: Mapping[Any, Any], step: str) -> str:
    median, p5, p95 = (row[f"{step}_{figure}_us"] for figure in SPREAD)
    if pd.isna(median):
        return ""
    return f"{_figure(median)} ({_figure(p5)}–{_figure(p95)})"


def _sender(row: Mapping[Any, Any]) -> str:
    offline, online = (row[f"sender_{phase}_median_us"] for phase in ("offline", "online"))
    if pd.isna(online):  # back to back, only its offline step is short enough to be repeated
        return ""
    return _figure(online if pd.isna(offline) else offline + online)


def _figure(value: float) -> str:
    """Three figures, never in powers of ten.

    >>> _figure(0.30742), _figure(18.2), _figure(4667.3)
    ('0.307', '18.2', '4667')
    """
    return f"{value:#.3g}".rstrip(".") if value < 999.5 else f"{value:.0f}"


def _whole(value: Any) -> str:
    return "" if pd.isna(value) else str(value)


def _markdown(title: str, cells: pd.DataFrame) -> str:
    rows = [list(cells.columns), ["---"] * len(cells.columns), *cells.to_numpy().tolist()]
    return "\n".join([f"**{title}.**", "", *("| " + " | ".join(row) + " |" for row in rows), ""])


_TEX: Final = str.maketrans(
    {"_": r"\_", "%": r"\%", "&": r"\&", "#": r"\#", "µ": r"\textmu{}", "–": "--", "·": r"$\cdot$"}
)


def _latex(title: str, cells: pd.DataFrame) -> str:
    """A `tabular` for the packages booktabs and textcomp, its title as a comment."""
    rows = [" & ".join(row) + r" \\" for row in _escaped([list(cells.columns)])]
    body = [" & ".join(row) + r" \\" for row in _escaped(cells.to_numpy().tolist())]
    return "\n".join(
        [
            f"% {title}.",
            rf"\begin{{tabular}}{{{'l' * len(cells.columns)}}}",
            r"\toprule",
            *rows,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def _escaped(rows: list[list[str]]) -> list[list[str]]:
    return [[cell.translate(_TEX) for cell in row] for row in rows]
