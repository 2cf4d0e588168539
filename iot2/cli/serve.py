"""`iot2 serve`: run a sender as a server."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from iot2.errors import DataError, ParameterError
from iot2.net.log import LEVELS, Log
from iot2.net.pool import check_workers, default_workers

if TYPE_CHECKING:
    from iot2.net.catalogue import Catalogue
    from iot2.net.keyring import Keyring
    from iot2.net.limits import Limits
    from iot2.net.messages_file import Items
    from iot2.net.server import Server
    from iot2.net.service import Ready
    from iot2.parties.sender_key import SenderKey


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("-p", "--port", type=int, default=5555, help="0 takes a free one (default: %(default)s)")
    add("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    add(
        "--key", type=Path, metavar="FILE",
        help="sender's key; by default one that is made and kept with the state, or a fresh one"
        " where that is in memory",
    )  # fmt: skip
    add("--messages", type=Path, metavar="FILE", help="CSV of items: item,m0,m1,...")
    add("--reusable", action="store_true", help="let an item be transferred again (insecure)")
    add(
        "--state", type=Path, metavar="DIR",
        help="where answered indexes and spent items are kept; with --messages FILE.state by"
        " default, else in memory",
    )  # fmt: skip
    add("--variant", choices=("compact", "six"), help="speak this one alone (default: both)")
    add(
        "--workers", type=int, default=default_workers(),
        help="threads, 1 to 256 (default: %(default)s)",
    )  # fmt: skip
    add("--tls-cert", type=Path, metavar="FILE", help="certificate chain, PEM")
    add("--tls-key", type=Path, metavar="FILE", help="its private key, PEM")
    add("--insecure-plain", action="store_true", help="serve others than this machine without TLS")
    add(
        "--limit", action="append", default=[], metavar="NAME=VALUE",
        help="set a limit, for example message_bytes=4096; may be repeated",
    )  # fmt: skip
    add("--log-level", choices=LEVELS, default="warning", help="(default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Serve until a signal ends it."""
    from iot2.net import service
    from iot2.net.addresses import Address
    from iot2.net.limits import Limits

    limits = Limits.from_pairs(args.limit)
    check_workers(args.workers)
    if args.reusable and args.messages is None:
        raise ParameterError("--reusable concerns the items of --messages, which is not given")
    log = Log(args.log_level)
    address = Address(args.host, args.port, args.tls_cert, args.tls_key, args.insecure_plain)
    with service.listen(address) as listener:
        # What is only read comes before signals are waited for: they end it as they always do.
        plan = _plan(args, limits)

        async def make() -> Server:
            return await _make(plan, args, log)

        def announce(ready: Ready) -> None:
            print(f"iot2: ready on {ready.url}", flush=True)

        finished = service.run(service.serve(make, listener, log, announce))
    if not finished:
        # Threads still compute, and would do so while Python takes itself apart.
        sys.stdout.flush()
        os._exit(0)
    return 0


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a server is made of: all that is read from files."""

    limits: Limits
    items: Items | None
    state: Path | None
    key: SenderKey | None
    others: tuple[SenderKey, ...]
    """A demonstration's keys of other sizes."""


def _plan(args: argparse.Namespace, limits: Limits) -> _Plan:
    from iot2.net.keyring import DEMO_SIZES, kept_key
    from iot2.net.messages_file import read_items
    from iot2.parties.sender_key import SenderKey

    items = None
    if args.messages is not None:
        items = read_items(args.messages, message_bytes=limits.message_bytes)
    state = args.state
    if state is None and args.messages is not None and not args.reusable:
        # Kept in memory alone, a restart would give out the other message of a row.
        state = args.messages.with_name(args.messages.name + ".state")
    path, others = args.key, []
    if path is None and state is not None:
        # Sessions that outlive the process need the key that they were opened with.
        path = kept_key(state) if kept_key(state).exists() else None
        if items is None:
            paths = [kept_key(state, bits) for bits in DEMO_SIZES]
            others = [SenderKey.load(one, insecure=True) for one in paths if one.exists()]
    key = None if path is None else _load(path)
    if key is not None and items is not None and items.choices != key.choices:
        raise DataError(f"expected rows of {key.choices} messages for {path}, came {items.choices}")
    return _Plan(limits, items, state, key, tuple(others))


async def _make(plan: _Plan, args: argparse.Namespace, log: Log) -> Server:
    from iot2.net.catalogue import Catalogue
    from iot2.net.events import VARIANT_NAMES
    from iot2.net.keyring import Keyring, generate_apart, kept_key, remove_unfinished
    from iot2.net.server import Server
    from iot2.net.store import Store

    key, state, items = plan.key, plan.state, plan.items
    # Opened first: it is refused before a key is made for it, and to a second server.
    store = Store(state, asyncio.get_running_loop())
    try:
        if state is not None:
            remove_unfinished(state)
        if key is None:
            choices = 2 if items is None else items.choices
            key = await generate_apart(3072, choices, None if state is None else kept_key(state))
        makes_others = args.key is None and items is None
        keyring = Keyring(key, makes_others=makes_others, others=plan.others, folder=state)
        catalogue = Catalogue(items, args.reusable)
        server = await Server.start(
            keyring,
            catalogue,
            store,
            variants=VARIANT_NAMES if args.variant is None else (args.variant,),
            limits=plan.limits,
            workers=args.workers,
            log=log,
        )
    except BaseException:
        await store.close()
        raise
    _describe(keyring, catalogue, state)
    if args.key is None:
        if state is None:
            print("iot2: a fresh key, which ends with this process")
        else:
            made = "" if plan.key is not None else "made, and "
            print(f"iot2: key {made}kept in {kept_key(state)}")
    sys.stdout.flush()
    return server


def _load(path: Path) -> SenderKey:
    from iot2.parties.sender_key import SenderKey
    from iot2.wire.public_key import STRENGTH, SUPPORTED_BITS

    key = SenderKey.load(path, insecure=True)
    if key.bits not in SUPPORTED_BITS:
        strength = STRENGTH.get(key.bits)
        told = f"{strength}-bit security" if strength else "no security worth a number"
        _warn(f"a modulus of {key.bits} bits gives {told}: for trying alone")
    return key


def _describe(keyring: Keyring, catalogue: Catalogue, state: Path | None) -> None:
    key = keyring.first
    print(f"iot2: fingerprint {key.fingerprint.hex()} ({key.bits} bits, 1 of {key.choices})")
    if catalogue.items is None:
        _warn(
            "demonstration: messages are the client's own numbers or an embedded text;"
            " this is only for trying"
        )
    else:
        print(f"iot2: items: {len(catalogue.items)}, of them spent: {len(catalogue.spent)}")
    if catalogue.reusable:
        _warn(
            "REUSABLE: every item can be transferred again and again, so that a client can"
            " have all of its messages"
        )
    if state is None:
        print("iot2: no --state: sessions end with this process")
    else:
        print(f"iot2: state in {state}")


def _warn(text: str) -> None:
    with contextlib.suppress(OSError):  # the log is not written there either, and that is all
        print(f"iot2: warning: {text}", file=sys.stderr, flush=True)
