"""What a client raises beside the family of `iot2.errors`."""

from __future__ import annotations

from iot2.errors import Iot2Error, ProofError
from iot2.net.events import Code, Refusal


class LinkError(Iot2Error):
    """The server cannot be reached, went away, or did not answer in time."""

    def __init__(self, text: str, epoch: int = 0) -> None:
        super().__init__(text)
        self.epoch = epoch
        """Which connection of the client it was that broke."""


class RemoteError(Iot2Error):
    """The server refused, with a code of the specification's section 11.

    Attributes:
        code: one of `iot2.net.events.Code`.
        text: the server's reason.
    """

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(f"the server answered {refusal.code}: {refusal.text}")
        self.code: Code = refusal.code
        self.text = refusal.text
        self.retry_after_ms = refusal.retry_after_ms


class Interrupted(Iot2Error):
    """Several transfers were asked for, and one failed after others had ended.

    A transfer spends its item for good, so what came is here; what failed is
    the `__cause__`.

    Attributes:
        messages: of the transfers that ended, in their order.
    """

    def __init__(self, messages: list[bytes], asked: int, cause: Exception) -> None:
        super().__init__(f"{len(messages)} of {asked} transfers ended, then: {cause}")
        self.messages = messages


class KeyMismatch(ProofError):
    """The server shows another key than the one that is pinned or was known."""

    def __init__(self, expected: bytes, came: bytes, why: str, kept: str = "") -> None:
        super().__init__(
            f"expected the {why} key with fingerprint {expected.hex()}, "
            f"the server shows {came.hex()}{kept}"
        )
