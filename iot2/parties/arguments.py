"""Arguments of a party's, checked in one place."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from iot2.errors import ParameterError, ProofError
from iot2.protocol.framing import KEY_BYTES
from iot2.wire.public_key import PublicKey

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Messages: TypeAlias = "Sequence[Sequence[bytes]] | NDArray[np.uint8]"
"""The c messages of each of many transfers; an array has shape (count, c, L)."""


def check_messages(messages: Sequence[bytes], choices: int) -> None:
    """Raise `ParameterError` unless these are `choices` byte strings of one length >= 1."""
    if not isinstance(messages, Sequence) or isinstance(messages, (bytes, str)):
        came = type(messages).__name__
        raise ParameterError(f"messages must be bytes in a list or tuple, got {came}")
    if len(messages) != choices:
        raise ParameterError(f"a transfer takes {choices} messages, got {len(messages)}")
    if not all(isinstance(m, bytes) for m in messages):
        raise ParameterError("messages must be bytes")
    lengths = sorted({len(m) for m in messages})
    if len(lengths) != 1 or not 1 <= lengths[0] < 1 << 32:
        raise ParameterError(
            f"the messages of a transfer must have one length of at least 1 byte, got {lengths}"
        )


def check_choice(choice: object, choices: int) -> int:
    """The choice as an int; `ParameterError`, which does not tell it, unless 0 <= b < c."""
    number = _integer(choice)
    if number is None or not 0 <= number < choices:
        raise ParameterError(f"a choice must be an integer from 0 to {choices - 1}")
    return number


def check_choices(choices: Sequence[int] | NDArray[Any], c: int) -> NDArray[Any]:
    """Many choices as an array of integers; `ParameterError` unless each is 0 <= b < c."""
    import numpy as np

    try:
        chosen = np.asarray(choices)
    except ValueError:
        raise ParameterError("choices must be integers in one dimension") from None
    if chosen.dtype == bool:
        chosen = chosen.astype(np.uint8)
    if chosen.ndim != 1 or not chosen.size or not np.issubdtype(chosen.dtype, np.integer):
        raise ParameterError("choices must be at least one integer, in one dimension")
    if chosen.min() < 0 or chosen.max() >= c:
        raise ParameterError(f"every choice must be from 0 to {c - 1}")
    return chosen


def check_kind(value: object, kind: type, what: str) -> None:
    """Raise `ParameterError` unless `value` is of the class that an argument takes."""
    if not isinstance(value, kind):
        raise ParameterError(f"{what} must be a {kind.__name__}, got {type(value).__name__}")


def check_workers(workers: object) -> int:
    """The number of threads as an int; `ParameterError` unless it is at least 1."""
    number = _integer(workers)
    if number is None or number < 1:
        raise ParameterError(f"workers must be an integer of at least 1, got {workers!r}")
    return number


def check_count(count: object) -> int:
    """The count as an int; `ParameterError` unless it is an integer of at least 0."""
    number = _integer(count)
    if number is None or number < 0:
        raise ParameterError(f"count must be an integer of at least 0, got {count!r:.60}")
    return number


def _integer(value: Any) -> int | None:
    """A Python or numpy integer or boolean as an int, None for anything else."""
    try:
        return operator.index(value)
    except TypeError:
        # numpy's boolean is no index, though Python's is.
        return int(value) if getattr(value, "dtype", None) == "bool" and not value.ndim else None


def check_fingerprint(public: PublicKey, trusted: bytes) -> None:
    """Raise `ProofError` unless `public` is the key with the trusted fingerprint."""
    if not isinstance(trusted, bytes) or len(trusted) != KEY_BYTES:
        raise ParameterError(f"a fingerprint must be {KEY_BYTES} bytes")
    if trusted != public.fingerprint:
        raise ProofError(
            f"expected the key with fingerprint {trusted.hex()}, got {public.fingerprint.hex()}"
        )


def messages_of_each(
    messages: Messages, count: int, choices: int, *, as_batch: bool = False
) -> Sequence[Sequence[bytes]]:
    """The messages of each of `count` transfers as bytes, checked; a batch has one length."""
    if not isinstance(messages, Sequence):
        if not hasattr(messages, "dtype"):
            came = type(messages).__name__
            raise ParameterError(f"messages must be a sequence or an array, got {came}")
        shape, kind = messages.shape, messages.dtype
        if kind != "uint8" or len(shape) != 3 or shape[:2] != (count, choices) or not shape[2]:
            raise ParameterError(
                f"an array of messages must be uint8 of shape ({count}, {choices}, L), "
                f"got {kind} of shape {shape}"
            )
        return [[row.tobytes() for row in rows] for rows in messages]
    if len(messages) != count:
        raise ParameterError(f"expected the messages of {count} transfers, got {len(messages)}")
    for row in messages:
        check_messages(row, choices)
    if as_batch and len({len(row[0]) for row in messages}) != 1:
        raise ParameterError("the messages of a batch must have one length, and have several")
    return messages
