"""The worker threads: how many there may be, and what happens where there are fewer."""

import asyncio
import threading

import pytest

from iot2.errors import Iot2Error, ParameterError
from iot2.net.pool import MOST_WORKERS, Pool


def test_threads_that_are_not_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = threading.Thread.start
    asked: list[threading.Thread] = []

    def start(thread: threading.Thread) -> None:
        asked.append(thread)
        if len(asked) == 3:
            raise RuntimeError("can't start new thread")
        inner(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    loop = asyncio.new_event_loop()
    with pytest.raises(Iot2Error, match=r"expected 5 threads .--workers., came 2: can't start"):
        Pool(5, 1, loop)
    loop.close()
    for thread in asked[:2]:
        thread.join(5)
        assert not thread.is_alive()


@pytest.mark.parametrize("workers", [-1, 0, MOST_WORKERS + 1, 100_000])
def test_a_number_of_threads_out_of_bounds(workers: int) -> None:
    loop = asyncio.new_event_loop()
    with pytest.raises(ParameterError, match=f"expected 1 to 256 workers, got {workers}"):
        Pool(workers, 1, loop)
    loop.close()
