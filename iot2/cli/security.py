"""`iot2 security`: draw the Monte-Carlo samples of the security analysis and store them."""

from __future__ import annotations

import argparse
from pathlib import Path

from iot2.cli.arguments import add_integers
from iot2.security.samples import Plan, store_samples


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("performances/security"),
        metavar="DIR",
        help="folder of the CSV files and sidecars (default: %(default)s)",
    )
    about = {
        "seed": ("SEED", "determines every byte"),
        "draws": ("K", "samples of S_l for each l"),
        "trajectories": ("K", "sequences of transfers with one choice"),
        "transfers": ("T", "length of a sequence, a power of 2"),
    }
    add_integers(parser, Plan(), about)
    parser.add_argument("--force", action="store_true", help="replace files with other content")


def run(args: argparse.Namespace) -> int:
    """Draw, store, and name each file as it is written."""
    plan = Plan(args.seed, args.draws, args.trajectories, args.transfers)
    for path in store_samples(args.out, plan, force=args.force):
        print(path)
    return 0
