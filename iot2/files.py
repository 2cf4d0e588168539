"""Writing files whole or not at all."""

import os
import tempfile
from pathlib import Path

from iot2.errors import DataError


def write_atomically(
    path: Path | str, data: bytes, *, mode: int = 0o644, overwrite: bool = True
) -> None:
    """Put `data` at `path`, whole or not at all.

    The bytes go to a temporary file in the same folder, are flushed to the
    disk, and only then take the final name, so that a reader never sees half
    a file and an interruption leaves the previous one as it was.

    Args:
        path: where the file ends up; its folder must exist.
        data: the whole content.
        mode: permission bits of the new file (umask does not widen them).
        overwrite: whether a file already there may be replaced.

    Raises:
        DataError: a file is already there and `overwrite` is false.
        OSError: the folder is missing, full or read-only.
    """
    target = Path(path)
    try:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        error.filename = str(path)  # the name that the caller knows
        raise
    try:
        with os.fdopen(descriptor, "wb") as stream:
            os.fchmod(stream.fileno(), mode)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if overwrite:
            os.replace(name, target)
        else:
            _link_new(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _link_new(name: str, target: Path) -> None:
    """Give the finished file its final name, refusing one that is taken."""
    try:
        # A hard link, unlike a rename, fails where the name already exists.
        os.link(name, target)
    except FileExistsError as error:
        raise DataError(f"{target} already exists; it is only replaced when asked") from error
    os.unlink(name)
