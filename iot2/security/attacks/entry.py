"""What is said of one attack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Outcome = Literal["refused", "harmless", "limit"]


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack of section 7 of the specification, or a near relation of one.

    Attributes:
        name: what the attacker does.
        wins: what it would win without the rule.
        rule: what stops it.
        outcome: "refused" with an error, "harmless" (answered, and nothing is
            won), or "limit" (works where the specification says so).
        tests: the functions of `tests/attacks` that carry it out.
    """

    name: str
    wins: str
    rule: str
    outcome: Outcome
    tests: tuple[str, ...]


BOTH: Final = "both messages of a transfer"
CHOICE: Final = "the choice of every transfer"
SPELLING: Final = "a second spelling of one message, past whoever compares bytes"
