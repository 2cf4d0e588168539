import pytest

from iot2.errors import DataError
from iot2.reproduce.catalogue import Notebook
from iot2.reproduce.figures import Plan, count_cells, reproduce, table

PARAMETERS = "figures: str = 'unset'\nplatforms: list[str] = []"
DRAW = "import pathlib; pathlib.Path(figures, 'a.pdf').write_text(','.join(platforms))"


@pytest.fixture
def root(tmp_path):
    for name in ("linux", "local"):
        folder = tmp_path / "performances" / name
        folder.mkdir(parents=True)
        (folder / "platform.json").write_text("{}")
    (tmp_path / "figures").mkdir()
    (tmp_path / "out").mkdir()
    return tmp_path


def run(root, *notebooks, **keywords):
    plan = Plan(root, root / "out", notebooks, **keywords)
    return reproduce(plan, lambda name: None, lambda: None)


DRAWING = Notebook("draw", ("a.pdf",), ("performances/{platform}",))


def test_a_failing_notebook_is_named_and_the_others_run(root, write_notebook):
    write_notebook("first", "open('first', 'w').close()")
    write_notebook("bad", "1 / 0")
    write_notebook("draw", DRAW, parameters=PARAMETERS)
    result = run(root, Notebook("first"), Notebook("bad", ("b.png",)), Notebook("none"), DRAWING)
    first, bad, none, draw = result.runs
    assert first.failure is None
    assert draw.failure is None
    assert str(bad.failure) == "cell [1] `1 / 0`: ZeroDivisionError: division by zero"
    assert "expected a notebook" in str(none.failure)
    assert not result.succeeded
    assert (root / "first").exists()
    assert (root / "out" / "a.pdf").read_text() == "linux,local"
    problems = {verdict.figure: verdict.problem for verdict in result.verdicts}
    assert problems == {"b.png": "not drawn: bad failed", "a.pdf": None}


def test_figures_are_compared_with_the_committed_ones(root, write_notebook):
    write_notebook("draw", DRAW, parameters=PARAMETERS)
    assert run(root, DRAWING).verdicts[0].identical is None
    (root / "figures" / "a.pdf").write_text("linux,local")
    assert run(root, DRAWING).verdicts[0].identical is True
    (root / "figures" / "a.pdf").write_text("linux")
    result = run(root, DRAWING)
    assert result.verdicts[0].identical is False
    assert result.succeeded
    header, row, note = table(result)
    assert header.split() == ["figure", "source", "data", "seconds", "as", "committed"]
    assert row.startswith("a.pdf   performances/linux, performances/local ")
    assert row.endswith("  differs")
    assert note.startswith("performances/local is nowhere committed")
    assert (root / "figures" / "a.pdf").read_text() == "linux"


def test_update_replaces_the_committed_figure_and_leaves_local_out(root, write_notebook):
    write_notebook("draw", DRAW, parameters=PARAMETERS)
    (root / "figures" / "a.pdf").write_text("old")
    assert run(root, DRAWING, update=True).verdicts[0].identical is False
    assert (root / "figures" / "a.pdf").read_text() == "linux"


def test_a_figure_that_is_old_missing_or_empty_is_none(root, write_notebook):
    (root / "out" / "a.pdf").write_text("from an earlier run")
    write_notebook("draw", "pass", parameters=PARAMETERS)
    old = run(root, DRAWING, update=True)
    assert old.verdicts[0].problem == "not drawn"
    assert not old.succeeded
    assert not (root / "figures" / "a.pdf").exists()
    write_notebook("draw", "open(figures + '/a.pdf', 'w').close()", parameters=PARAMETERS)
    assert run(root, DRAWING).verdicts[0].problem == "empty"


def test_a_notebook_is_given_only_what_it_declares(root, write_notebook):
    write_notebook(
        "n",
        "open('seen', 'w').write(f'{platform} {force}')",
        parameters="platform: str = ''\nforce: bool = False",
    )
    assert run(root, Notebook("n")).succeeded
    assert (root / "seen").read_text() == "linux False"
    assert run(root, Notebook("n"), measure=True).succeeded
    assert (root / "seen").read_text() == "local True"


def test_without_stored_data_nothing_runs(tmp_path, write_notebook):
    write_notebook("draw", DRAW, parameters=PARAMETERS)
    with pytest.raises(DataError, match="came none: run `iot2 bench` first"):
        run(tmp_path, DRAWING)


def test_cells_are_counted_over_all_readable_notebooks(root, write_notebook):
    write_notebook("n", "1", "2")
    write_notebook("draw", DRAW, parameters=PARAMETERS)
    plan = Plan(root, root / "out", (Notebook("n"), Notebook("none"), DRAWING))
    assert count_cells(plan) == 4
