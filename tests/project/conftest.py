"""What the tests of the repository itself look at: its root and its tracked files."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def tracked(root: Path) -> list[Path]:
    """Return the files that git knows and that are still there."""
    if shutil.which("git") is None or not (root / ".git").exists():
        pytest.skip("needs a git clone and git")
    names = subprocess.run(
        # The clone may belong to another user, in a container say.
        ["git", "-c", f"safe.directory={root}", "ls-files", "-z"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    files = [root / name for name in names if name and (root / name).is_file()]
    assert files
    return files
