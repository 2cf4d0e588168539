"""The keys that a server answers with: its own one, or one of each size for demonstrations.

A key is made in a process of its own (searching primes would hold the
interpreter lock, and with it the event loop); a demonstration server makes one
of a size when the first client asks for it. A state that outlives the process
is worth nothing without its keys: they are kept in its folder.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from iot2.errors import DataError, Iot2Error
from iot2.net.events import Code, Refusal
from iot2.parties.sender_key import SenderKey

DEMO_SIZES: Final = (1024, 2048, 3072, 4096)
"""What a demonstration server may be asked for; 1024 is for trying only."""

_SECONDS: Final = 120.0
_UNFINISHED: Final = "iot2-"


def kept_key(folder: Path, bits: int | None = None) -> Path:
    """Where a state's folder has the server's key, or a demonstration's of another size."""
    return folder / ("sender.key" if bits is None else f"sender-{bits}.key")


def remove_unfinished(folder: Path) -> None:
    """Remove what a server left that was killed while it made a key for this state."""
    for left in folder.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(left, ignore_errors=True)


async def generate_apart(bits: int, choices: int = 2, keep: Path | None = None) -> SenderKey:
    """A fresh key, made by `iot2 keygen` in another process.

    Args:
        bits: length of the modulus.
        choices: c of 1-out-of-c.
        keep: a file for the key, mode 0600, whose folder is made if missing (mode 0700).

    Raises:
        Iot2Error: that process failed or took too long.
        DataError: the key cannot be kept there.
    """
    home = None if keep is None else keep.parent
    try:
        if home is not None:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = tempfile.TemporaryDirectory(prefix=_UNFINISHED, dir=home)
    except OSError as error:
        raise DataError(
            f"{home or tempfile.gettempdir()}: expected a folder to keep a key in,"
            f" came: {error.strerror}"
        ) from error
    with folder as name:
        path = Path(name) / "sender.key"
        await _run_keygen(bits, choices, path)
        key = await asyncio.to_thread(SenderKey.load, path, insecure=True)
    if keep is not None:
        key.save(keep)
    return key


async def _run_keygen(bits: int, choices: int, path: Path) -> None:
    arguments = ("-m", "iot2", "keygen", "-l", str(bits), "--choices", str(choices))
    # Started without waiting, so that whatever ends the wait finds the process and ends it.
    process = subprocess.Popen(
        [sys.executable, *arguments, "-o", str(path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # a terminal's interrupt is for the server, which ends this one
    )
    try:
        status = await asyncio.wait_for(asyncio.to_thread(process.wait), _SECONDS)
    except TimeoutError:
        raise Iot2Error(f"making a key of {bits} bits took more than {_SECONDS:.0f} s") from None
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    if status != 0:
        raise Iot2Error(f"making a key of {bits} bits ended with status {status}")


class Keyring:
    """The keys of one server, by fingerprint.

    Args:
        key: that the server answers with, unless it makes others and is asked for one.
        makes_others: whether a client may ask for a key of another size.
        others: keys of other sizes that are already made.
        folder: where keys of other sizes are kept; None keeps them in memory.
    """

    def __init__(
        self,
        key: SenderKey,
        *,
        makes_others: bool = False,
        others: Iterable[SenderKey] = (),
        folder: Path | None = None,
    ) -> None:
        self.first = key
        self._makes_others = makes_others
        self._folder = folder
        self._others = {other.bits: other for other in others}
        self._of_size: dict[int, asyncio.Task[SenderKey]] = {}
        self._of_fingerprint: dict[bytes, SenderKey] = {}
        self._encoded: dict[bytes, bytes] = {}
        for one in (key, *self._others.values()):
            self._keep(one)

    def _keep(self, key: SenderKey) -> None:
        self._of_fingerprint[key.fingerprint] = key
        self._encoded[key.fingerprint] = key.public.to_bytes()

    def find(self, fingerprint: bytes) -> SenderKey | None:
        """The key with this fingerprint, if it is here."""
        return self._of_fingerprint.get(fingerprint)

    def public_bytes(self, key: SenderKey) -> bytes:
        """The public key as it travels, encoded once."""
        return self._encoded[key.fingerprint]

    async def get(self, bits: int | None) -> SenderKey:
        """The key for a client that asked for `bits`, or for nothing in particular.

        Raises:
            Refusal: the server has one key alone, or makes none of this size.
        """
        if bits in (None, self.first.bits):
            return self.first
        size = int(bits or 0)
        if not self._makes_others:
            raise Refusal(
                Code.REFUSED,
                f"this server has a key of {self.first.bits} bits and makes no other",
            )
        if size not in DEMO_SIZES:
            sizes = ", ".join(map(str, DEMO_SIZES))
            raise Refusal(Code.RANGE, f"a demonstration key has one of the sizes {sizes}")
        if size in self._others:
            return self._others[size]
        task = self._of_size.get(size)
        if task is None:
            keep = None if self._folder is None else kept_key(self._folder, size)
            task = asyncio.create_task(generate_apart(size, keep=keep))
            self._of_size[size] = task
        try:
            # Others wait for the same key: one that stops waiting must not stop them.
            key = await asyncio.shield(task)
        except Exception:
            self._of_size.pop(size, None)
            raise
        self._keep(key)
        return key

    async def close(self) -> None:
        """Stop making keys."""
        for task in self._of_size.values():
            task.cancel()
        await asyncio.gather(*self._of_size.values(), return_exceptions=True)
