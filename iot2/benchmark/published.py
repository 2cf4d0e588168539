"""The two figures that the paper publishes: a marked reference, never data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Published:
    """A receiver's online time per transfer as published (arXiv:2606.02344)."""

    device: str
    bits: int
    receiver_online_us: float


PUBLISHED: Final = (
    Published("Core i9-13900H", 3072, 2.80),
    Published("Raspberry Pi Zero 2W", 3072, 39.90),
)
