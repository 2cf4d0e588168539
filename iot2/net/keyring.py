"""The keys that a server answers with: its own one, or one of each size for demonstrations.

A demonstration server makes a key of a size when the first client asks for it,
in a process of its own (searching primes would hold the interpreter lock, and
with it the event loop), and keeps it until the server ends.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Final, Self

from iot2.errors import Iot2Error
from iot2.net.events import Code, Refusal
from iot2.parties.sender_key import SenderKey

DEMO_SIZES: Final = (1024, 2048, 3072, 4096)
"""What a demonstration server may be asked for; 1024 is for trying only."""

_SECONDS: Final = 120.0


async def generate_apart(bits: int, choices: int = 2) -> SenderKey:
    """A fresh key, made by `iot2 keygen` in another process.

    Raises:
        Iot2Error: that process failed or took too long.
    """
    with tempfile.TemporaryDirectory(prefix="iot2-") as folder:
        path = Path(folder) / "sender.key"
        arguments = ("-m", "iot2", "keygen", "-l", str(bits), "--choices", str(choices))
        process = await asyncio.create_subprocess_exec(
            sys.executable, *arguments, "-o", str(path),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            status = await asyncio.wait_for(process.wait(), _SECONDS)
        except BaseException:
            if process.returncode is None:
                process.kill()
                await process.wait()
            raise
        if status != 0:
            raise Iot2Error(f"making a key of {bits} bits ended with status {status}")
        return await asyncio.to_thread(SenderKey.load, path, insecure=True)


class Keyring:
    """The keys of one server, by fingerprint.

    Args:
        key: that the server answers with, unless it makes others and is asked for one.
        makes_others: whether a client may ask for a key of another size.
    """

    def __init__(self, key: SenderKey, *, makes_others: bool = False) -> None:
        self.first = key
        self._makes_others = makes_others
        self._of_size: dict[int, asyncio.Task[SenderKey]] = {}
        self._of_fingerprint: dict[bytes, SenderKey] = {}
        self._encoded: dict[bytes, bytes] = {}
        self._keep(key)

    @classmethod
    async def for_trying(cls, bits: int = 3072) -> Self:
        """A fresh key, and others as clients ask for them."""
        return cls(await generate_apart(bits), makes_others=True)

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
        task = self._of_size.get(size)
        if task is None:
            task = asyncio.create_task(generate_apart(size))
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
