"""One name and one look for each scheme, whichever figure it is in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from iot2.plots.style import SERIES, Series


@dataclass(frozen=True, slots=True)
class Scheme:
    """What a reader sees of a scheme: its name, and its colour, dashes and marker."""

    name: str
    series: Series


SIX: Final = Scheme("six-message", SERIES[0])
COMPACT: Final = Scheme("compact", SERIES[1])
SIMPLEST: Final = Scheme("SimplestOT", SERIES[5])
CONTROL: Final = Scheme("control", SERIES[2])
"""The positive control of the security analysis, wherever there is one."""

VARIANTS: Final = {"six": SIX, "compact": COMPACT}
"""Our variants, by the name that they have in stored data."""

OFFLINE: Final = SERIES[2]
ONLINE: Final = SERIES[3]
OTHER: Final = SERIES[4]
"""Parts of a bar have colours that no variant has."""
