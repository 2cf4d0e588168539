from pathlib import Path

import pytest
from made_up import write_made_up


@pytest.fixture(scope="session")
def performances(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two platforms."""
    folder = tmp_path_factory.mktemp("performances")
    write_made_up(folder, "linux", "Toy CPU 9000")
    write_made_up(folder, "raspberry", "Toy Pi Zero", 14.0)
    return folder
