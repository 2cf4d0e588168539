"""Taking one of several equal-sized values without a trace in memory access.

Every option is ANDed with a mask, all ones for the chosen one and all zeros
for the rest, and the results are ORed, over arrays of fixed width: Python's
integers would drop leading zeros, and so show them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def masked(options: Sequence[bytes], choice: int) -> bytes:
    """options[choice], reading every option in full whatever the choice is.

    Args:
        options: c byte strings of one length.
        choice: from 0 to c - 1.
    """
    import numpy as np

    rows = np.frombuffer(b"".join(options), np.uint8).reshape(1, len(options), -1)
    return masked_rows(rows, np.array([choice])).tobytes()


def masked_rows(options: NDArray[np.uint8], choices: NDArray[Any]) -> NDArray[np.uint8]:
    """options[k, choices[k]] for each k, likewise.

    Args:
        options: shape (count, c, length), uint8.
        choices: shape (count,), integers from 0 to c - 1.

    Returns:
        Shape (count, length), uint8.
    """
    import numpy as np

    masks = -(np.arange(options.shape[1]) == choices[:, None]).astype(np.uint8)
    selected: NDArray[np.uint8] = np.bitwise_or.reduce(options & masks[:, :, None], axis=1)
    return selected
