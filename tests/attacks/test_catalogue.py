"""The list of attacks and the tests that carry them out say the same."""

from __future__ import annotations

import ast
from pathlib import Path

from iot2.security.attacks import ATTACKS, attack_rows

HERE = Path(__file__).parent


def written() -> set[str]:
    """The tests of this folder but those of the list itself, as `file::function`."""
    return {
        f"{path.name}::{node.name}"
        for path in HERE.glob("test_*.py")
        if path != Path(__file__)
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def listed() -> list[str]:
    return [test for attack in ATTACKS for test in attack.tests]


def test_every_listed_test_is_written_and_every_written_one_listed() -> None:
    assert set(listed()) == written()


def test_a_test_is_listed_once() -> None:
    assert len(listed()) == len(set(listed()))


def test_no_attack_stands_twice_and_each_says_what_it_wins() -> None:
    names = [attack.name for attack in ATTACKS]
    assert len(names) == len(set(names))
    assert all(attack.wins and attack.rule and attack.tests for attack in ATTACKS)


def test_a_limit_says_that_no_rule_stops_it() -> None:
    limits = [attack for attack in ATTACKS if attack.outcome == "limit"]
    assert len(limits) == 2
    assert all(attack.rule.startswith("none: ") for attack in limits)
    assert all(attack.outcome in ("refused", "harmless", "limit") for attack in ATTACKS)


def test_every_attack_succeeds_first_against_a_weakened_rule() -> None:
    """But limits, which succeed anyway, and laws, which are counted where they differ too."""
    unproven = [
        attack.name
        for attack in ATTACKS
        if attack.outcome != "limit"
        and not all(test.startswith("test_laws.py") for test in attack.tests)
        and not any("weakened(" in source(test) for test in attack.tests)
    ]
    assert unproven == []


def source(test: str) -> str:
    name, function = test.split("::")
    text = (HERE / name).read_text()
    (node,) = [
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.name == function
    ]
    return ast.get_source_segment(text, node) or ""


def test_the_rows_of_the_table() -> None:
    rows = attack_rows()
    assert len(rows) == len(ATTACKS)
    assert {tuple(row) for row in rows} == {("attack", "wins", "rule", "outcome", "tests")}
    assert rows[0]["tests"].startswith("test_replay.py::")
