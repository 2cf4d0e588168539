"""`iot2 claims`: evaluate each claim; exit status 1 if one of ours fails."""

from __future__ import annotations

import argparse
from pathlib import Path

from iot2.files import write_atomically
from iot2.paths import PERFORMANCES, in_repository
from iot2.security.claims import Claim, collect, markdown


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `iot2 claims`."""
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(PERFORMANCES),
        metavar="DIR",
        help="folder of the stored data (default: the checkout's performances/)",
    )
    parser.add_argument(
        "--platforms", nargs="*", default=[], metavar="NAME", help="default: every one"
    )
    parser.add_argument("--out", type=Path, metavar="FILE.md", help="also write the table there")


def run(args: argparse.Namespace) -> int:
    """Print each claim as it is settled, then how many of ours failed."""
    claims = collect(in_repository(args.data), args.platforms, told=_tell)
    if args.out is not None:
        out = in_repository(args.out)
        out.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(out, markdown(claims).encode())
    failed = [claim for claim in claims if claim.failed]
    print(f"{len(claims)} claims; of ours {len(failed)} fail")
    return 1 if failed else 0


def _tell(claim: Claim) -> None:
    print(f"{claim.claim} [{claim.source}]")
    print(f"    {claim.figure}; {claim.interval}: {claim.verdict}")
