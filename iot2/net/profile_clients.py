"""One process of clients for `iot2 profile`: a job on standard input, results on output.

The first line in is the job as JSON. When every client is connected and has
pre-computed, a line goes out; a second line in starts the transfers, so that
several such processes start together and the server's time can be read between.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from iot2.net.client import AsyncClient, Client
from iot2.net.options import Options

DEMO = (100, 20000)


@dataclass(frozen=True, slots=True)
class Job:
    """What one process does.

    Attributes:
        url: the server.
        fingerprint: of its key; its proof is then skipped, as devices do.
        kind: `sync` or `async` clients.
        variant: `compact` or `six`.
        clients: connections; one transfers after the other if sync.
        count: transfers of each.
        batch: queries in one event.
        check_proof: check the proof instead of pinning the fingerprint.
    """

    url: str
    fingerprint: str
    kind: str = "async"
    variant: str = "compact"
    clients: int = 1
    count: int = 1
    batch: int = 1
    check_proof: bool = False

    @property
    def options(self) -> Options:
        """The same for each client."""
        return Options(
            variant=self.variant,
            count=self.count,
            demo=DEMO,
            fingerprint=None if self.check_proof else bytes.fromhex(self.fingerprint),
            insecure=True,
            batch=self.batch,
            timeout_s=120.0,
            patience_s=300.0,
        )


@dataclass(slots=True)
class Meter:
    """Bytes of the frames of one connection."""

    up: int = 0
    down: int = 0

    def __call__(self, way: str, frame: Any) -> None:
        """Count one frame."""
        size = len(frame) if isinstance(frame, bytes) else len(frame.encode())
        if way == "up":
            self.up += size
        else:
            self.down += size


@dataclass(slots=True)
class Measured:
    """One connection and its transfers."""

    sid: str = ""
    handshake_ns: int = 0
    offline_ns: int = 0
    choices: list[int] = field(default_factory=list)
    round_trip_ns: list[int] = field(default_factory=list)
    up_bytes: list[int] = field(default_factory=list)
    down_bytes: list[int] = field(default_factory=list)
    wrong: int = 0


def _choices(job: Job) -> list[int]:
    # Both occur as often, in an order that no cache follows.
    return [(k * 7 + k // 3) % 2 for k in range(job.count)]


def _right(choices: Sequence[int], messages: Sequence[bytes]) -> int:
    pairs = zip(choices, messages, strict=True)
    return sum(int.from_bytes(message) == DEMO[choice] for choice, message in pairs)


def _note(measured: Measured, client: Client | AsyncClient, connected_ns: int, job: Job) -> None:
    session = client.conversation.session
    measured.sid = "" if session is None else session.sid.hex()
    measured.handshake_ns = connected_ns
    start = time.perf_counter_ns()
    client.precompute(job.count)
    measured.offline_ns = (time.perf_counter_ns() - start) // job.count


def run_sync(job: Job, wait: Callable[[], None]) -> list[Measured]:
    """The transfers of one sync client after the other's."""
    everything = []
    clients = []
    for _ in range(job.clients):
        measured, meter = Measured(choices=_choices(job)), Meter()
        client = Client(job.url, job.options, observer=meter)
        start = time.perf_counter_ns()
        client.connect()
        _note(measured, client, time.perf_counter_ns() - start, job)
        clients.append((client, measured, meter))
    wait()
    for client, measured, meter in clients:
        messages = []
        for choice in measured.choices:
            up, down, start = meter.up, meter.down, time.perf_counter_ns()
            messages.append(client.transfer(choice))
            measured.round_trip_ns.append(time.perf_counter_ns() - start)
            measured.up_bytes.append(meter.up - up)
            measured.down_bytes.append(meter.down - down)
        measured.wrong = job.count - _right(measured.choices, messages)
        everything.append(measured)
    for client, _, _ in clients:
        client.close()
    return everything


async def run_async(job: Job, wait: Callable[[], None]) -> list[Measured]:
    """The transfers of many async clients side by side."""
    gate = asyncio.Event()
    ready = 0
    all_ready = asyncio.Event()

    async def one(number: int) -> Measured:
        nonlocal ready
        measured, meter = Measured(choices=_choices(job)), Meter()
        await asyncio.sleep(0.002 * number)
        client = AsyncClient(job.url, job.options, observer=meter)
        start = time.perf_counter_ns()
        await client.connect()
        _note(measured, client, time.perf_counter_ns() - start, job)
        ready += 1
        if ready == job.clients:
            all_ready.set()
        await gate.wait()
        messages: list[bytes] = []
        if job.batch > 1:
            for k in range(0, job.count, job.batch):
                start = time.perf_counter_ns()
                messages += await client.transfer_many(measured.choices[k : k + job.batch])
                measured.round_trip_ns.append(time.perf_counter_ns() - start)
        else:
            for choice in measured.choices:
                up, down, start = meter.up, meter.down, time.perf_counter_ns()
                messages.append(await client.transfer(choice))
                measured.round_trip_ns.append(time.perf_counter_ns() - start)
                measured.up_bytes.append(meter.up - up)
                measured.down_bytes.append(meter.down - down)
        measured.wrong = job.count - _right(measured.choices, messages)
        done.append(client)
        return measured

    done: list[AsyncClient] = []
    work: asyncio.Future[Any] = asyncio.gather(*map(one, range(job.clients)))
    waiting: asyncio.Future[Any] = asyncio.ensure_future(all_ready.wait())
    await asyncio.wait({work, waiting}, return_when=asyncio.FIRST_COMPLETED)
    if not waiting.done():
        waiting.cancel()
        await work  # raises what went wrong
    await asyncio.to_thread(wait)
    gate.set()
    everything: list[Measured] = await work
    await asyncio.to_thread(wait)  # the parent reads the server's time before we leave
    await asyncio.gather(*(client.close() for client in done))
    return everything


def main() -> int:
    """Run the job that standard input names."""
    job = Job(**json.loads(sys.stdin.readline()))

    def wait() -> None:
        print("ready", flush=True)
        sys.stdin.readline()

    everything = run_sync(job, wait) if job.kind == "sync" else asyncio.run(run_async(job, wait))
    rows = [
        {name: getattr(measured, name) for name in Measured.__slots__} for measured in everything
    ]
    print(json.dumps(rows), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
