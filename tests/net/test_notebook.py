"""The notebook of the network runs from end to end, and shows what it says."""

import json
from pathlib import Path

import pytest

from iot2.cli import main

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("variant", ["compact"])
def test_notebook(variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import papermill

    made = tmp_path / "out.ipynb"
    parameters = {"variant": variant, "choice": 0, "x": 7, "y": 8}
    papermill.execute_notebook(
        ROOT / "notebooks" / "4_network.ipynb", made, parameters=parameters,
        kernel_name="python3", cwd=ROOT, progress_bar=False,
    )  # fmt: skip
    shown = [
        "".join(output.get("text", output.get("data", {}).get("text/plain", "")))
        for cell in json.loads(made.read_text())["cells"]
        for output in cell.get("outputs", ())
    ]
    assert "ready on http://127.0.0.1" in shown[0]
    assert shown[1:3] == ["7", "8"]
    assert "query (kind 2)" in shown[3]
    assert "computed" in shown[4]
    assert shown[-1] == "0"
    assert main(["notebook", "4_network", "-p", "choice", "one"]) == 2
