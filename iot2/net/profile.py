"""`iot2 profile`: what transfers between processes take, and what a loaded server spends.

Two measurements, each with a server in a process of its own and clients in
others, all on this machine:

- *timings*: one client at a time, sync and async, both variants: a row a
  transfer (`iot2.net.timings`);
- *load*: many async clients in at most four processes. The server's own CPU
  time for a transfer, workers and commits included (the state is on disk, with
  `synchronous=FULL`), is compared with that of `answer_many` in a process that
  does nothing else.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pandas as pd

from iot2.errors import DataError, Iot2Error, ParameterError
from iot2.net.limits import Limits
from iot2.net.local import LocalServer, start_server
from iot2.net.profile_clients import DEMO, Job
from iot2.net.timings import COLUMNS
from iot2.parties.compact import Receiver, Sender
from iot2.parties.sender_key import SenderKey
from iot2.wire.public_key import SUPPORTED_BITS

BATCH: Final = 100
BATCHES: Final = 5
"""Of each client: with one alone, eight events would have to stand for all."""

ROUNDS: Final = 3
"""Loads of each kind, of which the median is judged: one alone differs by some per cent."""

MOST_PROCESSES: Final = 4

SINGLY_TARGET: Final = 1.6
SINGLY_AIM: Final = 1.3
BATCH_TARGET: Final = 1.05
STALL_TARGET_MS: Final = 50.0
JUDGED_BITS: Final = 3072

_WAIT_S: Final = 600.0


@contextlib.contextmanager
def _server(key: SenderKey, *arguments: str) -> Iterator[LocalServer]:
    """A server with this key and a durable state, both gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="iot2-profile-") as name:
        folder = Path(name)
        key.save(folder / "sender.key")
        server = start_server(
            "--key", str(folder / "sender.key"), "--state", str(folder / "state"), *arguments
        )
        try:
            yield server
        finally:
            server.stop()


class _Clients:
    """One process of `iot2.net.profile_clients`."""

    def __init__(self, job: Job) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "iot2.net.profile_clients"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._say(json.dumps(dataclasses.asdict(job)))

    def _say(self, line: str) -> None:
        stream = self._process.stdin
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):
                stream.write(line + "\n")
                stream.flush()

    def _hear(self) -> str:
        stream = self._process.stdout
        line = "" if stream is None else stream.readline()
        if not line:
            raise Iot2Error(f"a process of clients ended with status {self._process.wait()}")
        return line

    def ready(self) -> None:
        """Wait until it says so."""
        if self._hear().strip() != "ready":
            raise Iot2Error("a process of clients said something else than ready")

    def go(self) -> None:
        """Let it continue."""
        self._say("go")

    def results(self) -> list[dict[str, Any]]:
        """Its measurements, once it has ended."""
        measured: list[dict[str, Any]] = json.loads(self._hear())
        self._process.wait(_WAIT_S)
        return measured

    def stop(self) -> None:
        """End it, if it has not."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


def measure_timings(key: SenderKey, count: int) -> pd.DataFrame:
    """A row a transfer of each client and variant, one client at a time.

    Args:
        key: with two choices.
        count: transfers of each.

    Raises:
        Iot2Error: a message was wrong, or a process failed.
    """
    rows: list[dict[str, Any]] = []
    with _server(key, "--log-level", "debug", *_room(4, count)) as server:
        for variant in ("compact", "six"):
            for kind in ("sync", "async"):
                job = Job(
                    server.url, server.fingerprint.hex(), kind, variant, 1, count, check_proof=True
                )
                for measured in _run([job], 1 if kind == "sync" else 2)[0]:
                    if measured["wrong"]:
                        raise Iot2Error(f"{measured['wrong']} of {count} messages were wrong")
                    rows += _rows(kind, variant, measured)
        server.stop()
        computed = _computed(server)
    for row in rows:
        row["sender_compute_ns"] = computed[row.pop("sid"), row["iteration"]]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _room(clients: int, count: int) -> list[str]:
    """Limits under which so many clients may open a session of so many transfers each."""
    arguments = []
    default = Limits()
    for name, need in (
        ("transfers_per_session", count),
        ("transfers_per_peer", clients * count),
        ("transfers", clients * count),
    ):
        arguments += ["--limit", f"{name}={max(need, getattr(default, name))}"]
    return arguments


def _rows(kind: str, variant: str, measured: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "client": kind,
            "variant": variant,
            "iteration": iteration,
            "choice": choice,
            "handshake_ns": measured["handshake_ns"],
            "receiver_offline_ns": measured["offline_ns"],
            "round_trip_ns": round_trip,
            "up_bytes": up,
            "down_bytes": down,
            "sid": measured["sid"][:8],
        }
        for iteration, (choice, round_trip, up, down) in enumerate(
            zip(
                measured["choices"], measured["round_trip_ns"], measured["up_bytes"],
                measured["down_bytes"], strict=True,
            )
        )
    ]  # fmt: skip


def _computed(server: LocalServer) -> dict[tuple[str, int], int]:
    """(sid prefix, index) -> ns in the worker, from the server's log."""
    return {
        (line["sid"], line["index"]): round(1000 * line["compute_us"])
        for line in server.log()
        if line["event"] == "computed"
    }


def _run(jobs: Sequence[Job], pauses: int, between: Any = None) -> list[list[dict[str, Any]]]:
    """Run processes of clients together, through their pauses; `between` is called at each."""
    clients = [_Clients(job) for job in jobs]
    try:
        for _ in range(pauses):
            for one in clients:
                one.ready()
            if between is not None:
                between()
            for one in clients:
                one.go()
        return [one.results() for one in clients]
    finally:
        for one in clients:
            one.stop()


@dataclass(frozen=True, slots=True)
class Load:
    """What a loaded server did, and what `answer_many` takes on the same machine."""

    clients: int
    batch: int
    transfers: int
    wrong: int
    seconds: float
    server_cpu_us: float
    """CPU time of the server's process for each transfer."""
    alone_cpu_us: float
    """CPU time of `answer_many` for each transfer."""
    commits: int
    commit_cpu_us: float
    """Of that, the thread that commits, for each transfer."""
    median_ms: float
    p99_ms: float
    """Round trips: of one transfer, or of one batch."""
    stall_ms: float
    memory_bytes: int

    @property
    def ratio(self) -> float:
        """The server's time beside that of `answer_many`."""
        return self.server_cpu_us / self.alone_cpu_us


def measure_load(
    key: SenderKey,
    clients: int,
    count: int,
    batch: int = 1,
    workers: int | None = None,
    alone_s: float = 1.0,
) -> Load:
    """Let many async clients transfer at once.

    Args:
        key: with two choices.
        clients: connections in all.
        count: transfers of each.
        batch: queries in one event.
        workers: threads of the server, its default if None.
        alone_s: seconds of `answer_many` to compare with, before and after.

    Raises:
        Iot2Error: a process failed.
    """
    room = str(clients + 8)
    arguments = ["--log-level", "info", *_room(clients, count)]
    for name in ("connections", "connections_per_peer", "sessions_per_peer"):
        arguments += ["--limit", f"{name}={room}"]
    arguments += ["--limit", f"queue={max(256, clients)}"]
    for name in ("queries_per_second", "query_burst"):
        arguments += ["--limit", f"{name}=1000000"]
    if workers is not None:
        arguments += ["--workers", str(workers)]
    alone = [_alone_cpu_s(key, alone_s)]
    with _server(key, *arguments) as server:
        marks: list[tuple[float, float]] = []

        def mark() -> None:
            marks.append((time.perf_counter(), cpu_seconds(server.process.pid)))

        processes = min(MOST_PROCESSES, clients)
        jobs = [
            Job(
                server.url,
                server.fingerprint.hex(),
                clients=clients // processes + (k < clients % processes),
                count=count,
                batch=batch,
            )
            for k in range(processes)
        ]
        results = [measured for part in _run(jobs, 2, mark) for measured in part]
        server.stop()
        alone.append(_alone_cpu_s(key, alone_s))
        stopped = next(line for line in server.log() if line["event"] == "stopped")
    transfers = clients * count
    round_trips = sorted(ns for one in results for ns in one["round_trip_ns"])
    commit_cpu = stopped["commit_cpu_us"] * stopped["commits"] / transfers
    return Load(
        clients=clients,
        batch=batch,
        transfers=transfers,
        wrong=sum(one["wrong"] for one in results),
        seconds=marks[1][0] - marks[0][0],
        server_cpu_us=(marks[1][1] - marks[0][1]) / transfers * 1e6,
        alone_cpu_us=statistics.mean(alone) * 1e6,
        commits=stopped["commits"],
        commit_cpu_us=commit_cpu,
        median_ms=round_trips[len(round_trips) // 2] / 1e6,
        p99_ms=round_trips[min(len(round_trips) - 1, len(round_trips) * 99 // 100)] / 1e6,
        stall_ms=stopped["stall_ms"],
        memory_bytes=stopped["memory_bytes"],
    )


def _alone_cpu_s(key: SenderKey, least_s: float) -> float:
    """CPU time of `answer_many` for one transfer, single-threaded."""
    sender = Sender(key)
    receiver = Receiver(key.public, sender.sid, trusted_fingerprint=key.fingerprint)
    messages = [number.to_bytes(8) for number in DEMO]
    done, spent = 0, 0.0
    while spent < least_s:
        receiver.precompute(50)
        queries = [receiver.choose(k % 2) for k in range(50)]
        start = time.process_time()
        for query in queries:
            sender.answer_many([query], [messages])
        spent += time.process_time() - start
        done += len(queries)
    return spent / done


def cpu_seconds(pid: int) -> float:
    """CPU time of a process so far, all of its threads.

    Raises:
        DataError: the system does not tell (Linux does).
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError as error:
        raise DataError(f"expected /proc/{pid}/stat, to read CPU time: {error}") from error
    fields = re.sub(r"^.*\) ", "", text, flags=re.DOTALL).split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def make_key(bits: int) -> SenderKey:
    """A fresh key of 1024 bits or of a supported size.

    Raises:
        ParameterError: another size.
    """
    if bits not in (1024, *SUPPORTED_BITS):
        sizes = ", ".join(map(str, SUPPORTED_BITS))
        raise ParameterError(f"bits must be 1024, {sizes}, got {bits}")
    return SenderKey.generate(bits, insecure=bits not in SUPPORTED_BITS)


def describe(rounds: Sequence[Load], bits: int) -> list[tuple[str, bool | None]]:
    """Lines to print, each with whether it meets its target (None: it has none).

    Args:
        rounds: of one kind; the one with the median ratio stands for them.
        bits: size of N; only 3072 bits are judged.
    """
    rounds = sorted(rounds, key=lambda each: each.ratio)
    load = rounds[len(rounds) // 2]
    right = [each.transfers - each.wrong for each in rounds]
    judged = bits == JUDGED_BITS
    name = "singly" if load.batch == 1 else f"in batches of {load.batch}"
    target = SINGLY_TARGET if load.batch == 1 else BATCH_TARGET
    told = f" (target {target:g}" + (f", aim {SINGLY_AIM:g})" if load.batch == 1 else ")")
    return [
        (
            f"{load.clients} clients {name}, {len(rounds)} rounds: {sum(right)} of"
            f" {sum(each.transfers for each in rounds)} transfers right,"
            f" {load.transfers / load.seconds:.0f}/s",
            not any(each.wrong for each in rounds),
        ),
        (
            f"server CPU {name}: {load.server_cpu_us:.0f} µs a transfer, answer_many alone"
            f" {load.alone_cpu_us:.0f} µs, ratio {load.ratio:.2f}"
            f" [{rounds[0].ratio:.2f}, {rounds[-1].ratio:.2f}]{told if judged else ''}",
            load.ratio <= target if judged else None,
        ),
        (
            f"of that committing {name}: {load.commit_cpu_us:.0f} µs a transfer,"
            f" {load.commits} commits",
            None,
        ),
        (f"round trip {name}: median {load.median_ms:.1f} ms, p99 {load.p99_ms:.1f} ms", None),
        (
            f"event loop's longest stall {name}: {max(each.stall_ms for each in rounds):.0f} ms"
            f" (target {STALL_TARGET_MS:.0f} while a core is left to it)",
            None,
        ),
        (
            f"memory {name}: {max(each.memory_bytes for each in rounds) / (1 << 20):.0f} MiB"
            " at most",
            None,
        ),
    ]
