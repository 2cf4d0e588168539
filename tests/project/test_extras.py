"""What works with the two runtime dependencies alone, and what the rest says then."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from iot2 import cli

# Stands in front of a program: as if only the runtime dependencies were installed.
ALONE = """
import sys

class OnlyRuntime:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in ("iot2", "gmpy2", "numpy") or top in sys.stdlib_module_names:
            return None
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, OnlyRuntime())
"""


def run_alone(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", ALONE + program, *arguments],
        capture_output=True,
        text=True,
    )


def test_the_rest_is_really_out_of_reach() -> None:
    done = run_alone("import pandas")
    assert done.returncode == 1
    assert "No module named 'pandas'" in done.stderr


def test_a_transfer_needs_the_two_alone(root: Path) -> None:
    example = (root / "README.md").read_text().partition("```python\n")[2].partition("```")[0]
    done = run_alone(example + "\nprint(len(query))")
    assert done.stderr == ""
    assert int(done.stdout) > 384


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_a_command_helps_or_names_the_extra_that_it_needs(command: str) -> None:
    done = run_alone("from iot2 import cli; sys.exit(cli.main())", command, "--help")
    if done.returncode == 0:
        assert done.stdout.startswith(f"usage: iot2 {command}")
    else:
        assert done.returncode == 2
        assert re.fullmatch(
            rf"iot2: `iot2 {command}` needs \S+, which is not installed: "
            r'pip install "iot2\[[a-z]+\]"\n',
            done.stderr,
        )


def test_every_import_has_its_extra(root: Path) -> None:
    tops = {
        name.partition(".")[0]
        for path in (root / "iot2").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and node.level == 0
            else []
        )
    }
    foreign = tops - set(sys.stdlib_module_names) - {"iot2", "gmpy2", "numpy"}
    assert "pandas" in foreign
    assert foreign - set(cli.EXTRA_OF) == set()
