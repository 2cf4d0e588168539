"""What a server must bear: a log that nobody takes, and clients that send what costs most."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from net_support import Peer, RawSocket

from iot2.net import RemoteError


def test_a_log_that_nobody_reads_any_more(key_file: Path) -> None:
    reading, writing = os.pipe()
    limits = ("--limit", "connections=1", "--limit", "handshake_s=1")
    process = subprocess.Popen(
        [sys.executable, "-m", "iot2", "serve", "-p", "0", "--key", str(key_file),
         "--log-level", "debug", *limits],
        stdout=subprocess.PIPE, stderr=writing, text=True,
    )  # fmt: skip
    os.close(writing)
    try:
        assert process.stdout is not None
        url = next(line for line in process.stdout if "ready on" in line).split()[-1]
        os.close(reading)
        peer = Peer(url)
        receiver = peer.open({"count": 1})
        receiver.precompute(1)
        assert isinstance(peer.ask("query", receiver.choose(0).to_bytes()), bytes)
        assert peer.code("query", b"") == "MALFORMED"
        with pytest.raises(RemoteError, match="connections: at most 1"):
            Peer(url)
        peer.close()
        time.sleep(0.3)
        assert RawSocket(url).ended(4), "time limits are kept"
        process.terminate()
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close() if process.stdout else None
