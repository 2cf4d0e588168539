"""The attacks that the tests carry out, one entry each, as the notebook shows them.

Every test first makes its attack succeed against a copy of the code in which
the rule named here is switched off, and then fail against the code as it is.
A limit is an attack that the specification states to work, and that is not
hidden here either.
"""

from __future__ import annotations

from typing import Final

from iot2.security.attacks.entry import Attack, Outcome
from iot2.security.attacks.on_receivers import KEYS, LAWS, PROOFS, RECEIVERS
from iot2.security.attacks.on_senders import MESSAGES, QUERIES, REPLAY

__all__ = ["ATTACKS", "Attack", "Outcome", "attack_rows"]

ATTACKS: Final = (
    *REPLAY,
    *QUERIES,
    *KEYS,
    *PROOFS,
    *MESSAGES,
    *RECEIVERS,
    *LAWS,
)
"""Every attack, in the order of section 7 of the specification."""


def attack_rows() -> list[dict[str, str]]:
    """One row an attack, for a table: attack, wins, rule, outcome, tests."""
    return [
        {
            "attack": attack.name,
            "wins": attack.wins,
            "rule": attack.rule,
            "outcome": attack.outcome,
            "tests": ", ".join(attack.tests),
        }
        for attack in ATTACKS
    ]
