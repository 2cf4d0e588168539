"""Where things are in a checkout of the project: the one file that knows.

A notebook runs with the repository's root as its working directory under
`iot2 notebook`, and with `notebooks/` under JupyterLab; a path in a parameter
means the same in both, because relative ones start at the root.
"""

from __future__ import annotations

from pathlib import Path

from iot2.errors import DataError

PERFORMANCES = "performances"
"""Measurements: a folder a platform, committed."""

FIGURES = "figures"
"""Figures and tables as committed."""

NOTEBOOKS = "notebooks"

BUILD = "build"
"""What can be made again: executed notebooks, fresh figures; ignored by git."""


def is_root(folder: Path) -> bool:
    """Whether `folder` is the root of a checkout, told by what only that holds."""
    return (
        (folder / "pyproject.toml").is_file()
        and (folder / "iot2" / "paths.py").is_file()
        and (folder / NOTEBOOKS).is_dir()
    )


def repository_root(start: Path | None = None) -> Path:
    """The root of the checkout around `start`, or else of the one iot2 is imported from.

    Args:
        start: where to look from, upwards; the working directory by default.

    Raises:
        DataError: neither is inside a checkout (iot2 may be installed without one).
    """
    here = (start or Path.cwd()).resolve()
    package = Path(__file__).resolve().parent
    for folder in (here, *here.parents, package.parent):
        if is_root(folder):
            return folder
    raise DataError(
        f"expected to run inside a checkout of iot2, with {NOTEBOOKS}/ and {PERFORMANCES}/; "
        f"{here} is in none, and neither is the installed package"
    )


def in_repository(path: Path | str, root: Path | None = None) -> Path:
    """`path` itself if absolute, else the path that it names from the repository's root."""
    given = Path(path).expanduser()
    return given if given.is_absolute() else (root or repository_root()) / given
