"""The notebook of the security analysis, on recordings that are made up."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from iot2.reproduce.catalogue import CATALOGUE
from iot2.reproduce.running import Run, run_notebook
from iot2.security import leakage
from iot2.security.recording import RECEIVERS, SENDERS

ROOT = Path(__file__).resolve().parents[2]


def made_up_recordings(folder: Path) -> None:
    """Times that tell nothing, but for the controls'."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 1500)
    for case in RECEIVERS + SENDERS:
        leak = 60 * labels * (case == "control")
        times = (1000 + rng.gamma(4, 10, 1500)).astype(np.int64) + leak
        if case in RECEIVERS:
            path = folder / leakage.file_name("receiver", case)
            frame = pd.DataFrame([labels, times, times], index=leakage.RECEIVER.names).T
            leakage.write(path, leakage.RECEIVER, frame, {"run_id": "1"}, force=True)
        if case in SENDERS:
            path = folder / leakage.file_name("sender", case)
            frame = pd.DataFrame([labels, times], index=leakage.SENDER.names).T
            leakage.write(path, leakage.SENDER, frame, {"run_id": "1"}, force=True)


@pytest.fixture
def data(performances: Path, tmp_path: Path) -> Path:
    root = tmp_path / "performances"
    shutil.copytree(performances, root)
    made_up_recordings(root / "here")
    return root


def run(data: Path, tmp_path: Path) -> Run:
    parameters = {
        "samples": str(data / "security"),
        "data": str(data),
        "platform": "here",
        "figures": str(tmp_path / "figures"),
    }
    notebook = ROOT / "notebooks" / "3_security.ipynb"
    return run_notebook(notebook, parameters, copy=tmp_path / "copy.ipynb", root=ROOT)


def test_it_draws_every_figure_that_the_catalogue_names(data: Path, tmp_path: Path) -> None:
    result = run(data, tmp_path)
    assert result.failure is None
    (row,) = [notebook for notebook in CATALOGUE if notebook.name == "3_security"]
    assert {path.name for path in (tmp_path / "figures").iterdir()} == set(row.figures)
    assert result.copy.read_text().count("image/png") == 3
    claims = (tmp_path / "figures" / "claims.md").read_text()
    assert "here: receiver, compact, by index: choice does not show in its times" in claims
