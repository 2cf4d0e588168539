"""The threads that compute replies while the event loop goes on answering.

Threads suffice, whatever engine computes the powers: both release the
interpreter lock (`iot2.arithmetic.exponentiation`). A thread that has computed
hands its result straight to the store, which resolves the waiting event after
the flush: one wake-up of the event loop for each transaction.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from iot2.errors import Iot2Error, ParameterError
from iot2.net.events import Code, Refusal

MOST_WORKERS: Final = 256

_SMOOTHING: Final = 0.05
_FIRST_GUESS_S: Final = 0.005


def default_workers() -> int:
    """One thread for each core that this process may use, at most 8."""
    return max(1, min(8, len(os.sched_getaffinity(0))))


def check_workers(workers: int) -> None:
    """Raise `ParameterError` unless a pool may have this many threads."""
    if not 1 <= workers <= MOST_WORKERS:
        raise ParameterError(f"expected 1 to {MOST_WORKERS} workers, got {workers}")


class Pool:
    """Worker threads behind a queue of bounded length.

    Args:
        workers: number of threads.
        most_waiting: jobs that may wait for a thread.
        loop: the event loop that submits.
    """

    def __init__(self, workers: int, most_waiting: int, loop: asyncio.AbstractEventLoop) -> None:
        check_workers(workers)
        self.workers = workers
        self.computed = 0
        self.compute_ns = 0
        self._most_waiting = most_waiting
        self._loop = loop
        self._outstanding = 0
        self._transfers = 0
        self._seconds_each = _FIRST_GUESS_S
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"iot2-worker-{k}", daemon=True)
            for k in range(workers)
        ]
        for started, thread in enumerate(self._threads):
            try:
                thread.start()
            except RuntimeError as error:
                for _ in range(started):
                    self._jobs.put(None)
                raise Iot2Error(
                    f"expected {workers} threads (--workers), came {started}: {error}"
                ) from error

    def submit(
        self,
        compute: Callable[[], Any],
        then: Callable[[asyncio.Future[Any], Any], None],
        transfers: int = 1,
    ) -> asyncio.Future[Any]:
        """Run `compute()` in a thread and there `then(future, result)`, which resolves the future.

        Called in the event loop. What `compute` raises ends up in the future.

        Raises:
            Refusal: BUSY, with a time to come back, when too many jobs wait.
        """
        if self._outstanding >= self.workers + self._most_waiting:
            wait = self._seconds_each * self._transfers / self.workers
            raise Refusal(
                Code.BUSY,
                "too many transfers are waiting (limit queue)",
                retry_after_ms=max(20, min(60_000, int(1000 * wait))),
            )
        future: asyncio.Future[Any] = self._loop.create_future()
        self._outstanding += 1
        self._transfers += transfers
        future.add_done_callback(lambda _: self._finished(transfers))
        self._jobs.put(lambda: self._run(compute, then, future, transfers))
        return future

    def _finished(self, transfers: int) -> None:
        self._outstanding -= 1
        self._transfers -= transfers

    def _run(
        self,
        compute: Callable[[], Any],
        then: Callable[[asyncio.Future[Any], Any], None],
        future: asyncio.Future[Any],
        transfers: int,
    ) -> None:
        start = time.perf_counter_ns()
        try:
            result = compute()
        except Exception as error:
            self._loop.call_soon_threadsafe(_fail, future, error)
            return
        elapsed = time.perf_counter_ns() - start
        # Two threads may lose an update of these: they only serve as estimates.
        self.computed += transfers
        self.compute_ns += elapsed
        self._seconds_each += _SMOOTHING * (elapsed / 1e9 / transfers - self._seconds_each)
        then(future, result)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()

    async def close(self) -> None:
        """Finish what was submitted, and end the threads."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            await asyncio.to_thread(thread.join)


def _fail(future: asyncio.Future[Any], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
