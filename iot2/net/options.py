"""What a client wants of a server, and how long it tries."""

from __future__ import annotations

from dataclasses import dataclass, field

from iot2.errors import ParameterError
from iot2.net import events as ev

MOST_SECONDS = 86_400
"""A day: longer than any wait that makes sense, shorter than what a system call takes."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a client wants.

    Attributes:
        variant: `compact` or `six`.
        items: names to transfer, in order; or
        count: the number of demonstrations.
        bits: size of the key to ask of a demonstration server.
        demo: two numbers for a demonstration server.
        fingerprint: of the only key to accept; its proof is then skipped.
        insecure: accept a modulus of an unsupported size.
        masked: select without a choice-dependent access.
        batch: most queries in one event.
        timeout_s: seconds to wait for an answer.
        patience_s: seconds to go on trying while the server is away or busy.
    """

    variant: str = ev.COMPACT
    items: tuple[str, ...] | None = None
    count: int = 1
    bits: int | None = None
    demo: tuple[int, int] | None = field(default=None, repr=False)
    fingerprint: bytes | None = None
    insecure: bool = False
    masked: bool = False
    batch: int = 100
    timeout_s: float = 30.0
    patience_s: float = 60.0

    def __post_init__(self) -> None:
        if self.variant not in ev.VARIANT_NAMES:
            raise ParameterError(f"a variant is compact or six, got {self.variant!r:.40}")
        if self.items is not None and not self.items:
            raise ParameterError("items must name at least one item")
        for name in self.items or ():
            if not 0 < len(name.encode(errors="replace")) <= ev.MOST_NAME_BYTES:
                raise ParameterError(
                    f"an item's name has 1 to {ev.MOST_NAME_BYTES} bytes, got {name!r:.40}"
                )
        for what, number in (("count", self.count), ("batch", self.batch)):
            if number < 1:
                raise ParameterError(f"{what} must be at least 1, got {number}")
        for what, seconds in (("timeout", self.timeout_s), ("patience", self.patience_s)):
            if not (seconds > 0 or (seconds == 0 and what == "patience")) or seconds > MOST_SECONDS:
                raise ParameterError(
                    f"{what} must be seconds above 0, up to {MOST_SECONDS}, got {seconds}"
                )
        if self.demo is not None and not all(0 <= x < 1 << 8 * ev.DEMO_BYTES for x in self.demo):
            raise ParameterError(
                f"demo (-x, -y) takes two numbers from 0 to 2^{8 * ev.DEMO_BYTES} - 1"
            )

    @property
    def transfers(self) -> int:
        """How many transfers the session is for."""
        return self.count if self.items is None else len(self.items)
