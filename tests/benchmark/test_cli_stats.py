import csv
import io

import numpy as np
import pytest

from iot2.benchmark.stats import OUTLIER_RULE
from iot2.cli import main


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "timings_512.csv"
    rng = np.random.default_rng(2)
    rows = [f"{i},{i % 2},{v}" for i, v in enumerate(rng.integers(1000, 2000, 99))]
    file.write_text("\n".join(["iteration,choice,receiver_online_ns", *rows, "99,0,90000"]) + "\n")
    return file


def test_table(path, capsys) -> None:
    assert main(["stats", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["step", "unit", "count", "mean", "sd", "median", "median_low",
                                "median_high", "p5", "p95", "outliers"]  # fmt: skip
    fields = lines[2].split()
    assert fields[:3] == ["receiver_online", "µs", "100"]
    assert fields[-1] == "1"
    assert 1.4 < float(fields[5]) < 1.6
    assert OUTLIER_RULE in lines[-1]
    assert len(lines) == 4


def test_csv_has_every_column_in_full(path, capsys) -> None:
    assert main(["stats", str(path), "--format", "csv"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["file"], row["step"], row["unit"]) == (str(path), "receiver_online", "us")
    samples = [int(line.split(",")[2]) / 1000 for line in path.read_text().splitlines()[1:]]
    assert float(row["mean"]) == pytest.approx(np.mean(samples), rel=1e-12)
    assert float(row["median_low"]) < float(row["median"]) < float(row["median_high"])


def test_markdown_and_latex_hold_the_same_numbers(path, capsys) -> None:
    main(["stats", str(path), "--format", "markdown"])
    markdown = capsys.readouterr().out.splitlines()
    main(["stats", str(path), "--format", "latex"])
    latex = capsys.readouterr().out.splitlines()
    cells = [cell.strip() for cell in markdown[2].strip("| ").split("|")]
    assert latex[4] == " & ".join(cells).replace("_", r"\_").replace("µ", r"\textmu{}") + r" \\"
    assert latex[0].count("l") - r"\begin{tabular}".count("l") == 2
    assert markdown[1].count("---:") == len(cells) - 2


def test_several_files_are_told_apart(path, tmp_path, capsys) -> None:
    other = tmp_path / "cycles_512.csv"
    other.write_text("a\n5\n")
    main(["stats", str(path), str(other)])
    out = capsys.readouterr().out
    assert out.startswith("file ")
    assert out.splitlines()[3].split()[:3] == [str(other), "a", "cycles"]


def test_a_malformed_file_is_told_in_one_line(path, capsys) -> None:
    path.write_text("a_ns\n1\nx\n2\n")
    assert main(["stats", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (f"iot2: {path}, line 3: a_ns: expected a number, came 'x'\n")


def test_the_unit_is_asked_for(tmp_path, capsys) -> None:
    file = tmp_path / "samples.csv"
    file.write_text("1\n2\n")
    assert main(["stats", str(file)]) == 2
    assert "give --unit, one of ns, us, ms, s, cycles" in capsys.readouterr().err
    assert main(["stats", str(file), "--unit", "ms"]) == 0
    assert "1500.000" in capsys.readouterr().out
