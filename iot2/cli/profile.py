"""`iot2 profile`: measure transfers over a network."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from typing import Any

from iot2.cli.arguments import add_platform
from iot2.errors import DataError, ParameterError
from iot2.paths import PERFORMANCES, in_repository


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_platform(parser)
    add = parser.add_argument
    add(
        "--force",
        action="store_true",
        help="replace a profile that is there; that of local is replaced anyway",
    )
    add("-l", "--bits", type=int, nargs="+", default=[3072], metavar="B", help="(default: 3072)")
    add("--count", type=int, default=20, help="transfers of each client (default: %(default)s)")
    add(
        "--clients", type=int, default=0, metavar="N",
        help="also load the server with N clients at once, in at most 4 processes",
    )  # fmt: skip
    add("--workers", type=int, help="threads of the loaded server (default: its own)")
    add("--targets", action="store_true", help="exit status 1 if a target is missed")


def run(args: argparse.Namespace) -> int:
    """Measure, print, and write where a platform is named."""
    from iot2.benchmark.runner import NAME
    from iot2.net import profile
    from iot2.net.pool import check_workers
    from iot2.net.timings import NetworkRecord, has_network, write_network

    if args.count < 1:
        raise ParameterError(f"--count must be at least 1, got {args.count}")
    if args.clients < 0:
        raise ParameterError(f"--clients must be at least 0, got {args.clients}")
    if args.workers is not None:
        check_workers(args.workers)
        if not args.clients:
            raise ParameterError("--workers concerns the load of --clients, which is not given")
    if not NAME.fullmatch(args.platform):
        raise ParameterError(f"platform must be a plain name, got {args.platform!r:.80}")
    root = args.output if args.output is not None else in_repository(PERFORMANCES)
    folder = root / args.platform
    if has_network(folder) and args.platform != "local" and not args.force:
        raise DataError(f"{folder} holds a profile, which is only replaced with --force")
    frames = {}
    loads: dict[str, Any] = {}
    met = right = True
    for bits in dict.fromkeys(args.bits):
        key = profile.make_key(bits)
        print(f"{bits} bits", flush=True)
        frames[bits] = profile.measure_timings(key, args.count)
        _print_timings(frames[bits])
        if args.clients:
            for batch in (1, profile.BATCH):
                count = args.count if batch == 1 else max(args.count, profile.BATCHES * batch)
                clients = args.clients if batch == 1 else min(args.clients, 8)
                rounds = [
                    profile.measure_load(key, clients, count, batch, args.workers)
                    for _ in range(profile.ROUNDS)
                ]
                loads.setdefault(str(bits), []).extend(map(dataclasses.asdict, rounds))
                right = right and not any(load.wrong for load in rounds)
                for text, good in profile.describe(rounds, bits):
                    met = met and good is not False
                    print(f"  {text}" + ("" if good is not False else "  MISSED"), flush=True)
    record = NetworkRecord.now(args.platform, tuple(sorted(frames)), args.count, loads)
    for path in write_network(folder, record, frames):
        print(f"wrote {path}")
    if not right:
        print("iot2: some messages were wrong", file=sys.stderr)
        return 1
    return 1 if args.targets and not met else 0


def _print_timings(frame: Any) -> None:
    """Medians in milliseconds, by client and variant."""
    groups = frame.groupby(["client", "variant"], sort=False)
    for (client, variant), rows in groups:
        median = rows.median(numeric_only=True)
        print(
            f"  {client} {variant}: handshake {median['handshake_ns'] / 1e6:.1f} ms,"
            f" offline {median['receiver_offline_ns'] / 1e6:.3f} ms,"
            f" round trip {median['round_trip_ns'] / 1e6:.2f} ms"
            f" (sender computes {median['sender_compute_ns'] / 1e6:.2f} ms),"
            f" {median['up_bytes']:.0f} B up, {median['down_bytes']:.0f} B down",
            flush=True,
        )
