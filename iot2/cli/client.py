"""`iot2 client`: run a receiver against a server."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iot2.errors import ParameterError

if TYPE_CHECKING:
    from iot2.net.options import Options

INSECURE_BITS = 1024


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("-p", "--port", type=int, default=5555, help="(default: %(default)s)")
    add("--host", default="127.0.0.1", help="(default: %(default)s)")
    add("--tls", action="store_true", help="connect by TLS (implied by --ca-file)")
    add("--ca-file", type=Path, metavar="FILE", help="trust these certificates, PEM")
    add("--insecure-plain", action="store_true", help="ask another machine without TLS")
    add("-b", "--choice", type=int, default=0, help="which message (default: %(default)s)")
    add(
        "--item", action="append", metavar="NAME",
        help="transfer this item of the server's; may be repeated",
    )  # fmt: skip
    add("-l", "--bits", type=int, help="modulus size, of a demonstration server alone")
    add("-x", type=int, help="demonstration message 0, a number")
    add("-y", type=int, help="demonstration message 1, a number")
    add("--count", type=int, default=1, help="demonstrations to run (default: %(default)s)")
    add("--variant", choices=("compact", "six"), default="compact", help="(default: %(default)s)")
    add("--fingerprint", metavar="HEX", help="accept this key alone, and skip its proof")
    add("--known-keys", type=Path, metavar="FILE", help="keep verified keys; refuse changed ones")
    add("--batch", type=int, default=1, help="queries in one event (default: %(default)s)")
    add("--masked", action="store_true", help="select without a choice-dependent access")
    add("--async", action="store_true", dest="asynchronous", help="use the async client")
    add("--timeout", type=float, default=30.0, help="seconds for an answer (default: %(default)s)")
    add("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Transfer, and print what was chosen."""
    from iot2.net.client import AsyncClient, Client
    from iot2.net.known_keys import KnownKeys

    options = _options(args)
    scheme = "https" if args.tls or args.ca_file is not None else "http"
    host = f"[{args.host}]" if ":" in args.host else args.host
    settings = {
        "known": None if args.known_keys is None else KnownKeys.load(args.known_keys),
        "ca_file": args.ca_file,
        "insecure_plain": args.insecure_plain,
    }
    url = f"{scheme}://{host}:{args.port}"
    choices = [args.choice] * options.transfers
    start = time.perf_counter()
    if args.asynchronous:

        async def transfer() -> tuple[str, list[bytes]]:
            async with AsyncClient(url, options, **settings) as client:
                if args.batch > 1:
                    messages = await client.transfer_many(choices)
                else:
                    messages = list(await asyncio.gather(*map(client.transfer, choices)))
                return client.fingerprint.hex(), messages

        fingerprint, messages = asyncio.run(transfer())
    else:
        with Client(url, options, **settings) as client:
            if args.batch > 1:
                messages = client.transfer_many(choices)
            else:
                messages = [client.transfer(choice) for choice in choices]
            fingerprint = client.fingerprint.hex()
    seconds = time.perf_counter() - start
    shown = [_shown(message, number=options.demo is not None) for message in messages]
    if args.json:
        print(
            json.dumps(
                {
                    "fingerprint": fingerprint,
                    "variant": options.variant,
                    "choice": args.choice,
                    "items": None if options.items is None else list(options.items),
                    "messages": shown,
                    "seconds": round(seconds, 6),
                }
            )
        )
    else:
        _print(shown, options.items)
    return 0


def _options(args: argparse.Namespace) -> Options:
    from iot2.net.events import fingerprint_from_hex
    from iot2.net.options import Options

    if (args.x is None) != (args.y is None):
        raise ParameterError("a demonstration takes both -x and -y, got one of them")
    if args.item is not None and (args.x is not None or args.bits is not None):
        raise ParameterError("-l, -x and -y are for demonstrations, --item for a server's items")
    if args.bits == INSECURE_BITS:
        print(
            f"iot2: warning: {INSECURE_BITS} bits give 80-bit security: for trying alone",
            file=sys.stderr,
        )
    return Options(
        variant=args.variant,
        items=None if args.item is None else tuple(args.item),
        count=args.count,
        bits=args.bits,
        demo=None if args.x is None else (args.x, args.y),
        fingerprint=None if args.fingerprint is None else fingerprint_from_hex(args.fingerprint),
        insecure=args.bits == INSECURE_BITS,
        masked=args.masked,
        batch=args.batch,
        timeout_s=args.timeout,
    )


def _shown(message: bytes, *, number: bool) -> int | str:
    """A number of a demonstration, text where it is text, else `hex:` and digits."""
    if number:
        return int.from_bytes(message)
    try:
        text = message.decode()
    except UnicodeDecodeError:
        return f"hex:{message.hex()}"
    return text if text.isprintable() else f"hex:{message.hex()}"


def _print(messages: Sequence[int | str], items: tuple[str, ...] | None) -> None:
    for k, message in enumerate(messages):
        print(f"{items[k]}: {message}" if items is not None and len(items) > 1 else message)
