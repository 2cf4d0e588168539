"""The notebooks, in the order in which they are read and run, and what each draws.

A reproduction gives each notebook those of these parameters that it declares:

- `figures: str`, the folder for its figures and tables;
- `platforms: list[str]`, the platforms whose stored measurements are drawn;
- `platform: str`, the one that is measured or, if its data are stored, shown;
- `force: bool`, whether it is measured although its data are stored.

Everything else keeps the default of the notebook. Adding a notebook is adding
a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True)
class Notebook:
    """One notebook, the figures that it writes, and the stored data that they come from."""

    name: str
    figures: tuple[str, ...] = ()
    """Names of files in the folder of its parameter `figures`."""
    sources: tuple[str, ...] = ()
    """Patterns from the repository's root; `{platform}` stands for each platform drawn."""

    def source_names(self, root: Path, platforms: Sequence[str]) -> list[str]:
        """The stored data that are there, from the repository's root."""
        found: list[str] = []
        for pattern in self.sources:
            for platform in platforms if "{platform}" in pattern else ("",):
                matches = root.glob(pattern.format(platform=platform))
                found += sorted(match.relative_to(root).as_posix() for match in matches)
        return list(dict.fromkeys(found))


CATALOGUE: Final = (
    Notebook("0_protocol"),
    Notebook("1_benchmark"),
    Notebook(
        "2_performance",
        figures=(
            "performance_receiver.pdf",
            "performance_receiver.png",
            "comparison_sOT.pdf",
            "comparison_sOT.png",
            "network.pdf",
            "network.png",
            "summary.csv",
            "summary.md",
            "summary.tex",
        ),
        sources=("performances/{platform}",),
    ),
    Notebook(
        "3_security",
        figures=(
            "PDF-Sl.png",
            "PDF-Sl.pdf",
            "ERR-Sl.png",
            "ERR-Sl.pdf",
            "bayesian.png",
            "bayesian.pdf",
            "claims.md",
        ),
        sources=("performances/security", "performances/{platform}"),
    ),
    Notebook("4_network"),
)
