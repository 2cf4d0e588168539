"""`iot2 client`: run a receiver against a server."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING

from iot2.errors import ParameterError

if TYPE_CHECKING:
    from iot2.net.client import AsyncClient, Client
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
    add("--count", type=int, help="demonstrations to run (default: 1)")
    add("--variant", choices=("compact", "six"), default="compact", help="(default: %(default)s)")
    add("--fingerprint", metavar="HEX", help="accept this key alone, and skip its proof")
    add("--insecure", action="store_true", help="accept a key too small to be safe, for trying")
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
    got: dict[int, bytes] = {}
    start = time.perf_counter()
    client: Client | AsyncClient
    try:
        if args.asynchronous:
            client = AsyncClient(url, options, **settings)
            asyncio.run(_transfer_async(client, choices, args.batch, got))
        else:
            client = Client(url, options, **settings)
            _transfer(client, choices, args.batch, got)
    finally:
        # A transfer spends its item: what has come is shown, whatever failed after it.
        if got:
            _tell(args, options, client.fingerprint, got, time.perf_counter() - start)
    return 0


def _transfer(client: Client, choices: Sequence[int], batch: int, got: dict[int, bytes]) -> None:
    """Transfer in order; `got` has each message by its index as soon as it came."""
    came: list[bytes] = []
    try:
        with client:
            if batch > 1:
                client.transfer_many(choices, into=came)
            else:
                for choice in choices:
                    came.append(client.transfer(choice))
    finally:
        got.update(enumerate(came))


async def _transfer_async(
    client: AsyncClient, choices: Sequence[int], batch: int, got: dict[int, bytes]
) -> None:
    """The same, single transfers side by side; one that fails does not stop the others."""

    async def single(index: int, choice: int) -> None:
        got[index] = await client.transfer(choice)

    came: list[bytes] = []
    try:
        async with client:
            if batch > 1:
                await client.transfer_many(choices, into=came)
                return
            ended = await asyncio.gather(
                *starmap(single, enumerate(choices)), return_exceptions=True
            )
            for failure in filter(None, ended):
                raise failure
    finally:
        got.update(enumerate(came))


def _options(args: argparse.Namespace) -> Options:
    from iot2.net.events import fingerprint_from_hex
    from iot2.net.options import Options

    if (args.x is None) != (args.y is None):
        raise ParameterError("a demonstration takes both -x and -y, got one of them")
    if args.item is not None and {args.x, args.bits, args.count} != {None}:
        raise ParameterError(
            "-l, -x, -y and --count are for demonstrations, --item for a server's items"
        )
    insecure = args.insecure or args.bits == INSECURE_BITS
    if insecure:
        what = f"{INSECURE_BITS} bits give 80-bit security"
        if args.bits != INSECURE_BITS:
            what = "a key of any size is accepted"
        print(f"iot2: warning: {what}: for trying alone", file=sys.stderr)
    return Options(
        variant=args.variant,
        items=None if args.item is None else tuple(args.item),
        count=1 if args.count is None else args.count,
        bits=args.bits,
        demo=None if args.x is None else (args.x, args.y),
        fingerprint=None if args.fingerprint is None else fingerprint_from_hex(args.fingerprint),
        insecure=insecure,
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


def _tell(
    args: argparse.Namespace,
    options: Options,
    fingerprint: bytes,
    got: dict[int, bytes],
    seconds: float,
) -> None:
    """Print the messages that came; JSON has null for one that did not."""
    number = options.demo is not None
    shown = {index: _shown(got[index], number=number) for index in sorted(got)}
    items = options.items
    if args.json:
        told = {
            "fingerprint": fingerprint.hex(),
            "variant": options.variant,
            "choice": args.choice,
            "items": None if items is None else list(items),
            "messages": [shown.get(index) for index in range(options.transfers)],
            "seconds": round(seconds, 6),
        }
        print(json.dumps(told))
        return
    for index, message in shown.items():
        print(f"{items[index]}: {message}" if items is not None and len(items) > 1 else message)
