"""Imports point down only, and importing the package costs next to nothing."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# A module imports from its own package and from those of a lower rank.
RANK = {
    "errors": 0,
    "version": 0,
    "files": 1,
    "paths": 1,
    "arithmetic": 2,
    "protocol": 3,
    "wire": 4,
    "parties": 5,
    "simplest": 6,
    "parties.precomputed": 7,
    "benchmark": 8,
    "net": 9,
    "security": 10,
    "plots": 11,
    "reproduce": 12,
    "cli": 13,
}
# `from iot2 import Sender`: the front door stands above the last layer that it re-exports.
FRONT = RANK["parties.precomputed"]
PROTOCOL = ("errors", "files", "arithmetic", "protocol", "wire", "parties", "parties.precomputed")
PACKAGE = Path(__file__).resolve().parents[2] / "iot2"
MODULES = sorted(PACKAGE.rglob("*.py"))


def layer(dotted: str) -> str:
    """Return the layer of a name below `iot2`: `wire.header` is in `wire`."""
    parts = dotted.split(".")
    return next((p for p in (".".join(parts[:2]), parts[0]) if p in RANK), parts[0])


def layer_of_file(path: Path) -> str:
    return layer(".".join(path.relative_to(PACKAGE).with_suffix("").parts))


def imported(path: Path) -> Iterator[str]:
    """Yield the full name of every module that a file imports, wherever in it."""
    package = ["iot2", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*parts, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def upward(path: Path) -> list[str]:
    own = layer_of_file(path)
    return [
        name
        for name in imported(path)
        if name.startswith("iot2.")
        and (target := layer(name.removeprefix("iot2."))) != own
        and RANK.get(target, FRONT) >= RANK[own]
    ]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    if path.parent == PACKAGE and path.name in ("__init__.py", "__main__.py"):
        pytest.skip("the package's front re-exports, and may import everything")
    assert upward(path) == []


def test_an_upward_import_would_be_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    module = tmp_path / "wire" / "deep" / "module.py"
    module.parent.mkdir(parents=True)
    module.write_text(
        "from iot2.parties.six import X\n"
        "from iot2 import cli\n"
        "from ...plots import style\n"
        "from . import sibling\n"
        "import iot2.protocol\n"
        "from iot2 import nothing_known\n"
        "def later():\n    import iot2.net.store\n"
    )
    assert upward(module) == [
        "iot2.parties.six.X",
        "iot2.cli",
        "iot2.plots.style",
        "iot2.nothing_known",
        "iot2.net.store",
    ]


@pytest.mark.parametrize(
    "path",
    [path for path in MODULES if layer_of_file(path) in PROTOCOL],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_the_protocol_needs_nothing_of_the_analysis(path: Path) -> None:
    roots = {name.partition(".")[0] for name in imported(path)}
    allowed = {*sys.stdlib_module_names, "iot2", "gmpy2", "numpy"}
    assert roots - allowed == set()


HEAVY = (
    "aiohttp",
    "coincurve",
    "matplotlib",
    "numpy",
    "pandas",
    "rbcl",
    "scipy",
    "seaborn",
    "socketio",
    "tqdm",
)


@pytest.mark.parametrize(
    "statement",
    [
        "import iot2",
        "import iot2; [getattr(iot2, name) for name in iot2.__all__]",
        "import iot2.cli",
    ],
)
def test_what_importing_leaves_out(statement: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {statement}; print(*sys.modules)"],
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    loaded = done.stdout.split()
    assert "iot2" in loaded
    assert [name for name in HEAVY if name in loaded] == []
