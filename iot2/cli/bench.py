"""`iot2 bench`: measure this machine."""

import argparse
import sys
from pathlib import Path
from typing import Final

from iot2.benchmark.plan import BITS, DEFAULT_BITS, ITERATIONS, QUICK_ITERATIONS
from iot2.cli.arguments import add_platform
from iot2.errors import DataError
from iot2.paths import PERFORMANCES, in_repository
from iot2.wire.public_key import SUPPORTED_BITS

SHOWN_WARNINGS: Final = 8


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `iot2 bench`."""
    add_platform(parser)
    parser.add_argument(
        "--bits",
        type=int,
        nargs="+",
        metavar="B",
        help=f"modulus sizes (default: {' '.join(map(str, BITS))};"
        f" {DEFAULT_BITS} for --targets and --debug)",
    )
    parser.add_argument(
        "--iterations",
        type=int,
        metavar="K",
        help="transfers of each variant and size; the baseline, masked selection and cycles"
        f" take a fixed part of it (default: {ITERATIONS}, with --quick {QUICK_ITERATIONS})",
    )
    parser.add_argument(
        "--quick", action="store_true", help="measure little; never replaces complete data"
    )
    parser.add_argument("--force", action="store_true", help="replace complete data")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--targets",
        action="store_true",
        help="measure against the targets and store nothing; exit status 1 if one is missed",
    )
    instead.add_argument(
        "--debug",
        action="store_true",
        help="print one transfer of each variant, every step and value, and measure nothing",
    )


def run(args: argparse.Namespace) -> int:
    """Measure, or judge, or show."""
    sizes = tuple(args.bits or (BITS if not (args.targets or args.debug) else (DEFAULT_BITS,)))
    for bits in sizes:
        if bits not in SUPPORTED_BITS:
            print(
                f"iot2: warning: {bits} bits is no supported modulus size; it is taken for"
                " comparison alone",
                file=sys.stderr,
            )
    if args.debug:
        from iot2.benchmark.debug import walk

        for bits in sizes:
            sys.stdout.write(walk(bits))
        return 0
    if args.targets:
        from iot2.benchmark.targets import print_targets

        return max(print_targets(bits, quick=args.quick) for bits in sizes)
    return _measure(args, sizes)


def _measure(args: argparse.Namespace, sizes: tuple[int, ...]) -> int:
    from iot2.benchmark.runner import Settings, run_benchmark

    settings = Settings(args.platform, sizes, args.iterations, args.quick, args.force)
    root = args.output or _performances()
    record = run_benchmark(root, settings)
    clocks = record.clocks
    if clocks.cycle_source == "none":
        print(f"no cycles were counted ({clocks.cycle_note})")
    else:
        print(
            f"cycles: {clocks.cycle_kind} cycles from {clocks.cycle_source} ({clocks.cycle_scope})"
        )
    print(f"secret exponents: {record.exponentiation}")
    print(f"timer: {clocks.timer_cost_ns:.0f} ns a reading, inside every sample")
    for warning in record.warnings[:SHOWN_WARNINGS]:
        print(f"iot2: warning: {warning}", file=sys.stderr)
    if len(record.warnings) > SHOWN_WARNINGS:
        more = len(record.warnings) - SHOWN_WARNINGS
        print(f"iot2: warning: {more} more are in platform.json", file=sys.stderr)
    print(f"{Path(root) / settings.platform}: {len(record.sha256)} files,"
          f" {record.iterations} transfers of each variant and size,"
          f" {'stable' if record.stable else 'not stable, see the warnings'}")  # fmt: skip
    return 0


def _performances() -> Path:
    try:
        return in_repository(PERFORMANCES)
    except DataError:  # installed without a checkout
        return Path(PERFORMANCES)
