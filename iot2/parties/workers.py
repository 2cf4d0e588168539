"""One step for many transfers, in as many threads as the caller wants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

_Result = TypeVar("_Result")


def in_threads(
    workers: int, step: Callable[..., _Result], *columns: Sequence[Any]
) -> list[_Result]:
    """`step` of each row of the columns, in order; one worker is the caller's own thread.

    Threads run side by side only while the step has released the interpreter lock.
    """
    if workers == 1:
        return list(map(step, *columns))
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(step, *columns))
