"""Oblivious transfer over a network: a server, a sync and an async client.

    from iot2.net import AsyncClient, Options, local_server

    with local_server() as server:
        async with AsyncClient(server.url, Options(count=1, demo=(100, 200))) as client:
            message = await client.transfer(1)

Socket.IO underneath, on the events of the specification's section 11; whoever
has that page and section 10 can write another client. The parts, from below:
`events` and `limits` (shapes and bounds), `tables` and `store` (what must
outlive a crash), `transfers` and `desk` (what an event means), `server` and
`service` (connections, the process), `conversation` and `client`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iot2.net.client import AsyncClient, Client
    from iot2.net.errors import Interrupted, KeyMismatch, LinkError, RemoteError
    from iot2.net.known_keys import KnownKeys
    from iot2.net.local import LocalServer, local_server, start_server
    from iot2.net.options import Options
    from iot2.net.trace import Trace, log_table

_HOMES = {
    "AsyncClient": "iot2.net.client",
    "Client": "iot2.net.client",
    "Interrupted": "iot2.net.errors",
    "KeyMismatch": "iot2.net.errors",
    "KnownKeys": "iot2.net.known_keys",
    "LinkError": "iot2.net.errors",
    "LocalServer": "iot2.net.local",
    "Options": "iot2.net.options",
    "RemoteError": "iot2.net.errors",
    "Trace": "iot2.net.trace",
    "local_server": "iot2.net.local",
    "log_table": "iot2.net.trace",
    "start_server": "iot2.net.local",
}

__all__ = [
    "AsyncClient",
    "Client",
    "Interrupted",
    "KeyMismatch",
    "KnownKeys",
    "LinkError",
    "LocalServer",
    "Options",
    "RemoteError",
    "Trace",
    "local_server",
    "log_table",
    "start_server",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
