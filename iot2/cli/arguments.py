"""Arguments that several commands take."""

import argparse
from collections.abc import Mapping
from pathlib import Path


def add_platform(parser: argparse.ArgumentParser) -> None:
    """`--platform` and `--output`: one platform's folder, and the folder of all of them."""
    parser.add_argument(
        "--platform", default="local", metavar="NAME", help="folder of the data (default: local)"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="folder of all platforms (default: the checkout's performances/)",
    )


def add_integers(
    parser: argparse.ArgumentParser, defaults: object, about: Mapping[str, tuple[str, str]]
) -> None:
    """An integer option for each of these fields, whose default the help tells.

    Args:
        parser: of the command.
        defaults: an object with the fields; `receiver_count` becomes `--receiver-count`.
        about: field -> (how the help calls the value, what it is).
    """
    for field, (metavar, what) in about.items():
        parser.add_argument(
            f"--{field.replace('_', '-')}",
            type=int,
            default=getattr(defaults, field),
            metavar=metavar,
            help=f"{what} (default: %(default)s)",
        )
