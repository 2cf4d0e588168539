"""A few seconds of the search by coverage, and, among the long tests, all of it again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from entry_points import ENTRIES

HERE = Path(__file__).resolve().parent

pytest.importorskip("atheris", reason="needs atheris, which has wheels for some machines only")


def searched(tmp_path: Path, name: str, seconds: float) -> tuple[int, dict[str, Any], str]:
    """Exit status, record of the one search, and what was printed."""
    out = tmp_path / "record.json"
    command = [sys.executable, HERE / "run.py", name, "--seconds", str(seconds), "--out", out]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert out.exists(), done.stderr
    content = json.loads(out.read_text())
    assert content["machine"]["atheris"]
    assert content["findings"] == len(content["searches"][0]["findings"])
    (one,) = content["searches"]
    return done.returncode, one, done.stdout


def test_a_search_finds_a_fault(tmp_path: Path) -> None:
    status, one, printed = searched(tmp_path, "control", 20)
    assert status == 1
    (finding,) = one["findings"]
    assert bytes.fromhex(finding["input"])[0] >= 128
    assert "ZeroDivisionError" in finding["error"]
    assert 'File "fuzz/target.py"' in finding["error"]
    assert finding["input"] in printed


def test_a_few_seconds_of_every_entry(tmp_path: Path) -> None:
    status, one, printed = searched(tmp_path, "all", 4)
    assert (status, one["findings"]) == (0, []), printed
    assert one["executions"] > one["seeds"] > 10 * len(ENTRIES)
    assert one["features"] > 500


def test_an_entry_that_is_not_there(tmp_path: Path) -> None:
    command = [sys.executable, HERE / "run.py", "no such entry"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "expected entries or groups, came no such entry" in done.stderr


def test_the_stored_record_is_of_every_entry_and_without_findings() -> None:
    content = json.loads((HERE / "results.json").read_text())
    assert [one["entry"] for one in content["searches"]] == list(ENTRIES)
    assert [one["findings"] for one in content["searches"]] == [[]] * len(ENTRIES)
    assert all(one["seconds"] >= 600 for one in content["searches"])
    assert content["executions"] == sum(one["executions"] for one in content["searches"])
    text = json.dumps(content)
    assert "home" not in text
    assert "root" not in text


@pytest.mark.soak
@pytest.mark.parametrize("name", ENTRIES)
def test_a_long_search(name: str, tmp_path: Path) -> None:
    """Ten minutes an entry, or FUZZ_SECONDS."""
    seconds = float(os.environ.get("FUZZ_SECONDS", "600"))
    status, one, printed = searched(tmp_path, name, seconds)
    assert (status, one["findings"]) == (0, []), printed
    assert one["executions"] > 1000
