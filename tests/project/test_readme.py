"""What the README promises: its example runs, its links lead somewhere, its commands exist."""

import re
from pathlib import Path

import pytest

from iot2 import cli
from iot2.errors import StateError


@pytest.fixture(scope="module")
def readme(root: Path) -> str:
    return (root / "README.md").read_text()


def blocks(readme: str, language: str) -> list[str]:
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", readme)


def test_the_example_of_a_transfer_runs(readme: str) -> None:
    example = blocks(readme, "python")[0]
    assert len(example.splitlines()) <= 12
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)  # it asserts its own result
    # It was a real transfer: the sender answers the same index with nothing else.
    forged = names["query"][:-1] + bytes([names["query"][-1] ^ 1])  # type: ignore[index]
    with pytest.raises(StateError):
        names["sender"].answer(names["Query"].from_bytes(forged), (b"a", b"b"))  # type: ignore


def test_links_lead_to_files(readme: str, root: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)\)", readme)
    assert targets
    assert [target for target in targets if not (root / target).exists()] == []


def test_the_commands_named_are_those_of_the_program(readme: str) -> None:
    named = set(re.findall(r"(?m)(?:`|bin/|^\s+)iot2 ([a-z]+)", readme))
    assert named
    assert named <= set(cli.COMMANDS)


def test_the_make_targets_named_exist(readme: str, root: Path) -> None:
    rules = set(re.findall(r"(?m)^([a-z]+):", (root / "Makefile").read_text()))
    named = set(re.findall(r"(?m)(?:`|^\s+)make ([a-z]+)", readme))
    assert {"test", "reproduce"} <= named
    assert named <= rules


def test_it_says_what_the_software_is_not(readme: str) -> None:
    assert "Research software, not constant time" in readme
    assert "full text was not at hand" in readme


def test_the_folders_named_exist(readme: str, root: Path) -> None:
    table = readme.partition("## Folders")[2].partition("\n## ")[0]
    folders = re.findall(r"(?m)^\| `([^`]+)` \|", table)
    assert folders
    assert [folder for folder in folders if not (root / folder).exists()] == []
