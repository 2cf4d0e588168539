"""Where a server listens, and which addresses are this machine's own."""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from iot2.errors import DataError, ParameterError


def is_loopback(host: str) -> bool:
    """Whether a host is this machine alone: its name is not looked up.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("example.org")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens, and whether under TLS."""

    host: str = "127.0.0.1"
    port: int = 5555
    tls_cert: Path | None = None
    tls_key: Path | None = None
    insecure_plain: bool = False

    def check(self) -> None:
        """Refuse a plain server that others than this machine could reach.

        Raises:
            ParameterError: so it is, or one of the TLS files alone is given.
        """
        if not 0 <= self.port < 1 << 16:
            raise ParameterError(f"a port is a number from 0 to 65535, got {self.port}")
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ParameterError("TLS takes both a certificate and its key, got one of them")
        if self.tls_cert is None and not self.insecure_plain and not is_loopback(self.host):
            raise ParameterError(
                f"without TLS only a loopback address is served, got {self.host!r}; "
                "give --tls-cert and --tls-key, or --insecure-plain"
            )

    def tls(self) -> ssl.SSLContext | None:
        """The certificate and its key, read; None without TLS.

        Raises:
            DataError: the files hold no certificate and its key.
            OSError: one of them cannot be read.
        """
        if self.tls_cert is None or self.tls_key is None:
            return None
        for path in (self.tls_cert, self.tls_key):
            path.open("rb").close()  # the TLS library's error would not name it
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            context.load_cert_chain(self.tls_cert, self.tls_key)
        except (OSError, ValueError) as error:
            raise DataError(
                f"expected a certificate and its key for TLS in {self.tls_cert} and"
                f" {self.tls_key}, came: {type(error).__name__}"
            ) from error
        return context
