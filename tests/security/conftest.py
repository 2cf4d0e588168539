"""A folder of made-up measurements and real, small samples, for everything that reads both."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_up import write_made_up

from iot2.security.samples import Plan, store_samples


@pytest.fixture(scope="session")
def performances(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`security` with few samples, and a platform `here`; nobody writes to it."""
    root = tmp_path_factory.mktemp("performances")
    for _ in store_samples(root / "security", Plan(draws=20_000, trajectories=100, transfers=64)):
        pass
    write_made_up(root, "here", "Toy CPU 9000")
    return root


@pytest.fixture(scope="session")
def samples_folder(performances: Path) -> Path:
    """The samples alone."""
    return performances / "security"
