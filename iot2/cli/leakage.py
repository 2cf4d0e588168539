"""`iot2 leakage`: record labelled online times on this machine, and say what they tell."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from iot2.cli.arguments import add_integers, add_platform
from iot2.errors import ParameterError
from iot2.paths import PERFORMANCES, in_repository
from iot2.security.leakage import Settings, read_recordings, record


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `iot2 leakage`."""
    add_platform(parser)
    about = {
        "receiver_count": ("K", "transfers of each receiver"),
        "sender_count": ("K", "answers of each sender"),
        "receiver_bits": ("B", "modulus of the receivers' sender"),
        "sender_bits": ("B", "modulus of the senders"),
    }
    add_integers(parser, Settings(), about)
    parser.add_argument("--force", action="store_true", help="replace recordings")
    parser.add_argument(
        "--analyse",
        action="store_true",
        help="record nothing; analyse what is stored; exit status 1 if a leak is found, "
        "or a control is not",
    )


def run(args: argparse.Namespace) -> int:
    """Record and analyse, or analyse alone."""
    if Path(args.platform).name != args.platform or args.platform.startswith("."):
        raise ParameterError(f"platform must be a plain folder name, got {args.platform!r:.80}")
    folder = in_repository(args.output or PERFORMANCES) / args.platform
    if not args.analyse:
        settings = Settings(
            args.receiver_count, args.sender_count, args.receiver_bits, args.sender_bits
        )
        _record(folder, settings, force=args.force)
    return _analyse(folder)


def _record(folder: Path, settings: Settings, *, force: bool) -> None:
    from tqdm import tqdm

    with tqdm(total=200, unit="%", disable=not sys.stderr.isatty(), leave=False) as bar:
        for what, done in record(folder, settings, force=force):
            bar.set_description(what)
            bar.update(round(100 * done) + (100 if what == "senders" else 0) - bar.n)


def _analyse(folder: Path) -> int:
    from iot2.security.verdict import judge_all, table

    verdicts = judge_all(read_recordings(folder))
    for row in table(verdicts).to_dict("records"):
        print(
            f"{row['case']}, {row['step']}: largest t {row['largest_t']:+.1f} ({row['test']}), "
            f"null {row['null_largest_t']:.1f}, detectable {row['detectable_ns']:.1f} ns, "
            f"accuracy {row['accuracy']:.4f} [{row['accuracy_low']:.4f}, "
            f"{row['accuracy_high']:.4f}], {row['bits']:+.4f} bits: "
            f"{'found' if row['found'] else 'not found'}"
        )
    # A control must give itself away in its whole online time; nobody else in any step.
    bad = [
        verdict
        for verdict in verdicts
        if not verdict.as_expected and not (verdict.timings.control and verdict.step != "online")
    ]
    for verdict in bad:
        print(f"not as it should be: {verdict.name}, {verdict.step}")
    return 1 if bad else 0
