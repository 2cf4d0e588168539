"""pyproject.toml, requirements.lock, environment.yml, CITATION.cff and LICENSE say one thing."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from iot2.version import __version__

REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)(?:\[([a-z,]+)\])?([<>=!~0-9.,]*)")
CONDA_NAME = {"matplotlib": "matplotlib-base"}
# Too specialised for a notebook server: only `make fuzz` uses it.
NOT_IN_CONDA = {"atheris"}


def name_and_bound(requirement: str) -> tuple[str, str]:
    match = REQUIREMENT.match(requirement)
    assert match, requirement
    return match[1].lower().replace("_", "-"), match[3]


@pytest.fixture(scope="module")
def pyproject(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def declared(pyproject: dict[str, Any]) -> dict[str, str]:
    """Every requirement with its bound: runtime, extras, not the project itself."""
    project = pyproject["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    pairs = dict(name_and_bound(line) for many in lists for line in many)
    pairs.pop("iot2")
    return pairs


@pytest.fixture(scope="module")
def lock(root: Path) -> str:
    return (root / "requirements.lock").read_text()


def test_every_requirement_has_a_lower_bound(declared: dict[str, str]) -> None:
    assert [name for name, bound in declared.items() if not bound.startswith(">=")] == []


def test_the_protocol_needs_two_packages(pyproject: dict[str, Any]) -> None:
    lines = pyproject["project"]["dependencies"]
    assert [name_and_bound(line)[0] for line in lines] == ["gmpy2", "numpy"]


def test_the_extras_lead_to_one_another(pyproject: dict[str, Any]) -> None:
    extras = pyproject["project"]["optional-dependencies"]
    mentioned = {
        extra
        for many in extras.values()
        for line in many
        if line.startswith("iot2[")
        for extra in line.removeprefix("iot2[").removesuffix("]").split(",")
    }
    assert mentioned <= set(extras)
    assert {"test", "notebooks"} <= set(extras)


def test_the_lock_holds_every_requirement_and_the_build_backend(
    lock: str, declared: dict[str, str], pyproject: dict[str, Any]
) -> None:
    locked = set(re.findall(r"^([a-z0-9._-]+)==", lock, re.MULTILINE))
    backend = {name_and_bound(line)[0] for line in pyproject["build-system"]["requires"]}
    assert (set(declared) | backend) - locked == set()
    assert "iot2" not in locked


def test_the_locked_versions_respect_the_bounds(lock: str, declared: dict[str, str]) -> None:
    def version(text: str) -> tuple[int, ...]:
        return tuple(int(part) for part in re.findall(r"\d+", text))

    for name, locked in re.findall(r"^([a-z0-9._-]+)==([0-9.]+)", lock, re.MULTILINE):
        if name in declared:
            assert version(locked) >= version(declared[name]), name


def test_every_locked_version_has_hashes(lock: str) -> None:
    entries = re.split(r"(?m)^(?=[a-z0-9])", lock)[1:]
    assert len(entries) > 100
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []


def test_the_lock_bears_no_address_and_no_path(lock: str) -> None:
    assert "://" not in lock
    assert not re.search(r"(^|\s)(-[a-z]|--(index|extra|find|trusted))", lock)
    assert not re.search(r"(?m)^#.*/", lock)


def test_the_build_group_is_what_the_build_requires(pyproject: dict[str, Any]) -> None:
    assert pyproject["dependency-groups"]["build"] == pyproject["build-system"]["requires"]


def test_environment_yml_equals_pyproject(
    root: Path, declared: dict[str, str], pyproject: dict[str, Any]
) -> None:
    environment = yaml.safe_load((root / "environment.yml").read_text())
    dependencies = environment["dependencies"]
    (pip,) = (entry["pip"] for entry in dependencies if isinstance(entry, dict))
    conda = [entry for entry in dependencies if isinstance(entry, str)]
    assert conda[:2] == [f"python{pyproject['project']['requires-python']}", "pip"]
    assert pip[-1] == "-e ."
    listed = [name_and_bound(line) for line in [*conda[2:], *pip[:-1]]]
    assert len(listed) == len(dict(listed))
    assert dict(listed) == {
        CONDA_NAME.get(name, name): bound
        for name, bound in declared.items()
        if name not in NOT_IN_CONDA
    }


def test_citation_has_the_required_keys_and_the_paper(root: Path) -> None:
    citation = yaml.safe_load((root / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["version"] == __version__
    assert citation["license"] == "MIT"
    (paper,) = citation["references"]
    assert {"type", "title", "authors", "year"} <= set(paper)
    assert [author["family-names"] for author in paper["authors"]] == [
        "Onofri",
        "Ciccotelli",
        "Di Pietro",
    ]
    assert paper["year"] == 2026
    assert paper["identifiers"][0]["value"] == "arXiv:2606.02344"


def test_both_licences_are_there(root: Path) -> None:
    text = (root / "LICENSE").read_text()
    assert text.count("Copyright (c) 2026 the iot2 authors") == 2
    assert "The MIT License" in text
    assert "(CC BY 4.0)" in text
    assert "performances/" in text
    assert "figures/" in text
