"""Writing files whole or not at all."""

import os
import stat
import tempfile
from pathlib import Path

from iot2.errors import DataError

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def check_replaceable(path: Path | str) -> None:
    """Refuse to put a file where something is that is no file.

    Raises:
        DataError: a folder, a device or the like is there.
        OSError: that cannot be seen.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "a device")
        raise DataError(f"{path}: expected a file or nothing yet, came {kind}")


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
        DataError: a file is already there and `overwrite` is false, or what is
            there is no file.
        OSError: the folder is missing, full or read-only; it names `path`.
    """
    target = Path(path)
    check_replaceable(target)
    try:
        _write(target, data, mode, overwrite)
    except OSError as error:
        # The system names the temporary file, which the caller knows nothing of, or none.
        raise OSError(error.errno, error.strerror, str(path)) from None


def _write(target: Path, data: bytes, mode: int, overwrite: bool) -> None:
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
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
    except FileExistsError:
        raise DataError(f"{target} already exists; it is only replaced when asked") from None
    os.unlink(name)
