"""`iot2 keygen`: make a sender's key."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from iot2.errors import DataError, ParameterError
from iot2.files import check_replaceable
from iot2.parties.sender_key import SenderKey
from iot2.wire.public_key import STRENGTH, SUPPORTED_BITS


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "-l", "--bits", type=int, default=3072, help="length of the modulus (default: %(default)s)"
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="the key's file, mode 0600"
    )
    parser.add_argument(
        "--choices", type=int, default=2, metavar="C", help="c of 1-out-of-c (default: %(default)s)"
    )
    parser.add_argument("--force", action="store_true", help="replace a file that is already there")


def run(args: argparse.Namespace) -> int:
    """Make the key, write it, and print its fingerprint."""
    if args.bits not in STRENGTH:
        sizes = ", ".join(map(str, STRENGTH))
        raise ParameterError(f"a key has one of the sizes {sizes}, got {args.bits}")
    if not args.output:
        raise ParameterError("--output takes the name of a file, got ''")
    path = Path(args.output)
    check_replaceable(path)
    if path.exists() and not args.force:
        raise DataError(f"{path} already exists: --force replaces it")
    insecure = args.bits not in SUPPORTED_BITS
    if insecure:
        print(
            f"iot2: warning: {args.bits} bits give {STRENGTH[args.bits]}-bit security:"
            " for trying alone",
            file=sys.stderr,
        )
    key = SenderKey.generate(args.bits, args.choices, insecure=insecure)
    key.save(path, overwrite=args.force)
    print(f"fingerprint {key.fingerprint.hex()}")
    print(f"{path}: {key.bits} bits, 1-out-of-{key.choices}")
    return 0
