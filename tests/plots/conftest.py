from pathlib import Path

import pytest
from made_up import write_made_up

from iot2.benchmark.storage import Platform, read_platform


@pytest.fixture(scope="session")
def performances(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two platforms."""
    folder = tmp_path_factory.mktemp("performances")
    write_made_up(folder, "linux", "Toy CPU 9000")
    write_made_up(folder, "raspberry", "Toy Pi Zero", 14.0)
    return folder


@pytest.fixture(scope="session")
def platforms(performances: Path) -> list[Platform]:
    """Both of them, read."""
    return [read_platform(performances / name) for name in ("linux", "raspberry")]
