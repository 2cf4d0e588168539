import nbformat
import pytest

from iot2.cli import main, reproduce
from iot2.reproduce.catalogue import Notebook

DRAW = "open(f'{figures}/a.pdf', 'w').write('new')"


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with stored data, a notebook that draws and one that fails."""
    (tmp_path / "pyproject.toml").touch()
    for name in ("iot2", "notebooks", "figures", "performances/linux"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "iot2" / "paths.py").touch()
    (tmp_path / "performances" / "linux" / "platform.json").write_text("{}")
    (tmp_path / "figures" / "a.pdf").write_text("old")
    for name, source in (("draw", DRAW), ("bad", "raise KeyError('why')")):
        made = nbformat.v4.new_notebook()
        made.metadata["kernelspec"] = {"name": "python3", "language": "python"}
        cell = nbformat.v4.new_code_cell("figures: str = ''", id="a")
        cell.metadata["tags"] = ["parameters"]
        made.cells = [cell, nbformat.v4.new_code_cell(source, id="b")]
        nbformat.write(made, tmp_path / "notebooks" / f"{name}.ipynb")
    monkeypatch.chdir(tmp_path)
    catalogue = (Notebook("bad"), Notebook("draw", ("a.pdf",), ("performances/{platform}",)))
    monkeypatch.setattr(reproduce, "CATALOGUE", catalogue)
    return tmp_path


def test_a_failing_notebook_is_named_and_the_rest_is_drawn(checkout, capsys):
    assert main(["reproduce"]) == 1
    printed = capsys.readouterr()
    table = printed.out.splitlines()
    assert table[0] == "Figures in build/figures, executed notebooks in build/notebooks:"
    assert table[2].split()[:2] == ["a.pdf", "performances/linux"]
    assert table[2].endswith("differs")
    assert "iot2: bad, cell [3] `raise KeyError('why')`: KeyError: 'why'" in printed.err
    assert (checkout / "build" / "figures" / "a.pdf").read_text() == "new"
    assert sorted(path.name for path in (checkout / "build" / "notebooks").iterdir()) == [
        "bad.ipynb",
        "draw.ipynb",
    ]
    assert (checkout / "figures" / "a.pdf").read_text() == "old"


def test_figures_go_where_they_are_wanted_and_replace_the_committed_ones(
    checkout, capsys, monkeypatch
):
    monkeypatch.setattr(reproduce, "CATALOGUE", reproduce.CATALOGUE[1:])
    assert main(["reproduce", "--update", "--out", "else/where"]) == 0
    assert (checkout / "else" / "where" / "a.pdf").read_text() == "new"
    assert (checkout / "figures" / "a.pdf").read_text() == "new"
    assert main(["reproduce", "--out", "else/where"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("identical")


def test_without_stored_data_there_is_one_clear_line(checkout, capsys):
    (checkout / "performances" / "linux" / "platform.json").unlink()
    assert main(["reproduce"]) == 2
    assert "expected stored measurements in performances/, came none" in capsys.readouterr().err
    assert not (checkout / "build").exists()
