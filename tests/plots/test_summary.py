import pandas as pd
import pytest

from iot2.benchmark.storage import read_platform
from iot2.plots.costs import only, select, step_costs
from iot2.plots.summary import COLUMNS, NAMES, write_summary


@pytest.fixture(scope="module")
def summary(platforms, tmp_path_factory):
    return write_summary(platforms, tmp_path_factory.mktemp("figures") / "new")


@pytest.fixture(scope="module")
def stored(summary):
    return pd.read_csv(summary.folder / "summary.csv")


def test_three_files_are_written(summary):
    assert sorted(path.name for path in summary.folder.iterdir()) == sorted(NAMES)
    assert all(path.stat().st_size for path in summary.folder.iterdir())


def test_the_csv_has_every_case_of_every_platform(performances, stored):
    assert tuple(stored.columns) == COLUMNS
    for name in ("linux", "raspberry"):
        costs = step_costs(read_platform(performances / name))
        cases = costs.drop_duplicates([c for c in costs if c in COLUMNS and c != "count"])
        assert len(select(stored, row="transfer", platform=name)) == len(cases)
        median = only(
            select(costs, timing="single", selection="index"), "median",
            variant="compact", bits=3072, step="receiver_total",
        )  # fmt: skip
        row = select(stored, row="transfer", platform=name, variant="compact", timing="single")
        assert only(row, "receiver_total_median_us", bits=3072) == pytest.approx(median, abs=1e-4)


def test_bytes_stand_beside_the_times(stored):
    single = select(stored, row="transfer", platform="linux", timing="single")
    compact = select(single, variant="compact", bits=3072)
    assert compact[["bytes_up", "bytes_down"]].to_numpy().tolist() == [[410, 64]]
    baseline = select(single, variant="simplest", group="secp256k1", split="fresh")
    assert baseline[["bytes_up", "bytes_down"]].to_numpy().tolist() == [[59, 123]]


def test_bytes_of_a_pre_computed_transfer_are_those_over_a_known_key(stored):
    rows = select(stored, row="transfer", platform="linux", variant="precomputed")
    counted = rows.set_index("base")[["bytes_up", "bytes_down"]]
    assert counted.loc["compact"].to_list() == [410 + 27, 64 + 64]
    assert counted.loc[["six", "simplest"]].isna().all(axis=None)


def test_a_key_is_a_row_with_its_cost_and_break_even(stored):
    keys = select(stored, row="key", platform="linux", bits=3072)
    rows = keys[["timing", "once_us", "once_bytes", "break_even_transfers"]].to_numpy().tolist()
    assert rows == [
        ["proof checked", 3030.004, 56889, 49],
        ["pinned", 30.002, 56889, 1],
    ]


def test_what_is_published_is_marked_and_has_no_samples(stored, summary):
    published = select(stored, row="published")
    assert published["receiver_online_median_us"].to_list() == [2.80, 39.90]
    assert published["count"].isna().all()
    assert "not measured here" in summary.markdown


def test_the_readable_forms_have_the_same_rows(summary):
    markdown = (summary.folder / "summary.md").read_text()
    latex = (summary.folder / "summary.tex").read_text()
    lines = [line for line in markdown.splitlines() if line.startswith("| ")]
    # A rule under each head in one; heads and rows end in \\ in the other.
    assert len(lines) - 3 == latex.count(r"\\")
    assert "SimplestOT, secp256k1 (coincurve), known key" in markdown
    assert "batch of 10,000" in markdown
    assert summary._repr_markdown_() == markdown


def test_latex_is_escaped(summary):
    latex = (summary.folder / "summary.tex").read_text()
    body = [line for line in latex.splitlines() if not line.startswith("%")]
    assert not any(character in "".join(body) for character in "_%#–µ·")
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 3
