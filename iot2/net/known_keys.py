"""Keys that a client met and verified: trust on first use, in memory or in a file.

A line is `name fingerprint key`: the server as the client calls it (host:port,
and the size asked for where it is a demonstration), 64 hexadecimal digits, and
the public key in base64, so that a known key need not travel again.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from iot2.errors import DataError, Iot2Error
from iot2.files import write_atomically
from iot2.net.errors import KeyMismatch
from iot2.wire.public_key import PublicKey

_PATIENCE_S: Final = 1.0
_PAUSE_S: Final = 0.01


@dataclass(slots=True)
class KnownKeys:
    """Verified keys by the server's name.

    Attributes:
        path: the file that keeps them; None keeps them in memory.
    """

    path: Path | None = None
    _keys: dict[str, PublicKey] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path | str) -> KnownKeys:
        """Read a file, which need not exist yet.

        Raises:
            DataError: naming the line that is not as described above.
        """
        return cls(Path(path), _read(Path(path)))

    def find(self, name: str) -> PublicKey | None:
        """The key known for this server."""
        return self._keys.get(name)

    def check(self, name: str, fingerprint: bytes) -> bool:
        """Whether this server's key is known.

        Raises:
            KeyMismatch: another key is known for it.
        """
        known = self._keys.get(name)
        if known is not None and known.fingerprint != fingerprint:
            kept = ""
            if self.path is not None:
                kept = f" (if that change is meant, remove the line {name} of {self.path})"
            raise KeyMismatch(known.fingerprint, fingerprint, "known", kept)
        return known is not None

    def remember(self, name: str, key: PublicKey) -> None:
        """Keep a key that was verified, beside those that other clients kept meanwhile.

        Raises:
            KeyMismatch: one of them kept another key for this server.
        """
        if name in self._keys:
            return
        if self.path is None:
            self._keys[name] = key
            return
        with _alone(self.path):
            self._keys |= _read(self.path)
            if not self.check(name, key.fingerprint):
                self._keys[name] = key
            lines = [
                f"{each} {public.fingerprint.hex()} "
                + base64.b64encode(public.to_bytes()).decode("ascii")
                for each, public in self._keys.items()
            ]
            write_atomically(self.path, ("\n".join(lines) + "\n").encode("ascii"), mode=0o600)


def _read(path: Path) -> dict[str, PublicKey]:
    try:
        lines = path.read_bytes().decode("ascii").splitlines()
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: expected lines of known keys in ASCII") from error
    keys: dict[str, PublicKey] = {}
    for number, line in enumerate(lines, 1):
        name, _, rest = line.partition(" ")
        fingerprint, _, encoded = rest.partition(" ")
        try:
            key = PublicKey.from_bytes(base64.b64decode(encoded, validate=True), insecure=True)
        except (binascii.Error, Iot2Error) as error:
            raise DataError(f"{path}, line {number}: expected a public key") from error
        if name in keys or key.fingerprint.hex() != fingerprint:
            raise DataError(f"{path}, line {number}: expected one key for each name")
        keys[name] = key
    return keys


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other clients from replacing the file meanwhile, by a lock on its folder.

    Somebody else may hold the lock for reasons of their own: it is not waited for long.
    """
    try:
        folder = os.open(path.parent, os.O_RDONLY)
    except OSError as error:
        error.filename = str(path)  # the name that the caller knows
        raise
    try:
        for _ in range(round(_PATIENCE_S / _PAUSE_S)):
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(_PAUSE_S)
        yield
    finally:
        os.close(folder)
