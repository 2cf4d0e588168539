"""Files are written whole or not at all, and only where a file may be."""

import errno
import os
import socket
import traceback
from pathlib import Path

import pytest

from iot2.errors import DataError
from iot2.files import write_atomically


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for data in (b"first", b"second"):
        write_atomically(path, data, mode=0o600)
        assert path.read_bytes() == data
        assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(DataError, match=f"{path} already exists"):
        write_atomically(path, b"third", overwrite=False)
    assert path.read_bytes() == b"second"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("kind", "text"),
    [("folder", "a folder"), ("pipe", "a pipe"), ("socket", "a socket"), ("link", "a device")],
)
def test_what_is_no_file_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, text: str
) -> None:
    path = tmp_path / "target"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        monkeypatch.chdir(tmp_path)  # a socket's name must be short
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    else:
        path.symlink_to(os.devnull)
    before = path.lstat()
    for overwrite in (True, False):
        with pytest.raises(DataError) as caught:
            write_atomically(path, b"data", overwrite=overwrite)
        assert str(caught.value) == f"{path}: expected a file or nothing yet, came {text}"
    assert path.lstat() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("step", ["mkstemp", "fchmod", "fsync", "replace", "link"])
def test_an_error_names_the_file_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "file"

    def fail(*arguments: object, **_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", *map(str, arguments[:1]))

    monkeypatch.setattr(f"tempfile.{step}" if step == "mkstemp" else f"os.{step}", fail)
    with pytest.raises(OSError, match="No space left") as caught:
        write_atomically(path, b"data", overwrite=step != "link")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))
    assert caught.value.filename2 is None
    told = "".join(traceback.format_exception(caught.value))
    assert f".{path.name}." not in told
    assert list(tmp_path.iterdir()) == []
