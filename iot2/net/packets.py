"""Socket.IO packets of the other side, bounded before they are parsed.

The library itself would parse any JSON up to its buffer limit, keep up to ten
billion announced attachments, and let a client trigger its own `connect` and
`disconnect` handlers. This packet class is given to the server as its
serializer; the wire format stays the default one. What is out of bounds
becomes an event of one of the names below, so that it can be answered with a
code under the acknowledgement that the client asked for; where no client of
ours could have sent it, the connection ends.

The event loop parses, so a frame's time is bounded as well: JSON is quick to
read unless it is all lists, objects, keys and numbers, and the text of a binary
event says no more than where its attachment goes.

A client has less to answer for: a frame that no server sends, or an attachment
out of place, ends its connection, and the client makes another.
"""

from __future__ import annotations

import re
from typing import Any, Final

from socketio.packet import BINARY_EVENT, EVENT, Packet

from iot2.net.events import CLIENT_EVENTS

TOO_LARGE: Final = "frame too large"
BROKEN: Final = "frame broken"
FOREIGN: Final = "frame foreign"

_CONTROL_BYTES: Final = 1024
"""Connect and disconnect packets are short."""

_BINARY_BYTES: Final = 1024
"""The text of a binary event: a name and one or two keys."""

_MOST_PARTS: Final = 1 << 16
"""Lists, objects and keys in the text of an event; a client's own have ten at most."""

_KEY_ENDS: Final = ('":', '" ', '"\t', '"\n', '"\r')
"""A quotation mark that stands before a colon, with or without a space between."""

_MOST_COMMAS: Final = 1 << 18
"""Those in names of items counted, of which a session may have some ten thousand."""

_START = re.compile(r"[25](?:([0-9]{1,9})-)?([0-9]{1,15})?")
"""Type, number of attachments, number of the acknowledgement (default namespace)."""


class BoundedPacket(Packet):  # type: ignore[misc]
    """A packet whose frames have at most `frame_bytes` and whose event is one of ours."""

    frame_bytes = 1 << 20

    def decode(self, encoded_packet: Any) -> int:
        """Parse a text frame; return the number of attachments that follow."""
        if not isinstance(encoded_packet, str):
            return self._foreign()  # an attachment without its event
        if encoded_packet[:1] in ("0", "1") and len(encoded_packet) <= _CONTROL_BYTES:
            try:
                super().decode(encoded_packet)
            except (ValueError, RecursionError):
                return self._foreign()
            return 0
        found = _START.match(encoded_packet)
        attachments = int(found[1] or 0) if found else 0
        if not found or attachments != (encoded_packet[0] == "5"):
            return self._foreign()
        if len(encoded_packet) > self.frame_bytes:
            self._replace(found, TOO_LARGE)
            return attachments
        if _is_costly(encoded_packet, attachments):
            self._replace(found, BROKEN)
            return attachments
        try:
            super().decode(encoded_packet)
        except (ValueError, RecursionError):
            self._replace(found, BROKEN)
            return attachments
        data = self.data
        if not isinstance(data, list) or not 1 <= len(data) <= 2 or data[0] not in _NAMES:
            self._replace(found, BROKEN)
        return attachments

    def _foreign(self) -> int:
        self._become(EVENT, None, FOREIGN)
        return 0

    def _replace(self, found: re.Match[str], name: str) -> None:
        kind = EVENT if found[1] is None else BINARY_EVENT
        self._become(kind, int(found[2]) if found[2] else None, name)

    def _become(self, packet_type: int, number: int | None, name: str) -> None:
        self.packet_type, self.namespace, self.id, self.data = packet_type, None, number, [name]

    def add_attachment(self, attachment: Any) -> bool:
        """Take the attachment of a binary event; true, since there is only one."""
        if not isinstance(attachment, bytes):
            self.data = [FOREIGN]
            return True
        if len(attachment) > self.frame_bytes:
            self.data = [TOO_LARGE]
            return True
        if self.data[0] in _NAMES:
            self.data = _filled(self.data, attachment)
        return True


def _is_costly(text: str, attachments: int) -> bool:
    """Whether to parse an event of this text would take longer than any client's does."""
    if attachments:
        return len(text) > _BINARY_BYTES
    if len(text) <= _MOST_PARTS:
        return False
    parts = sum(map(text.count, ("[", "{", *_KEY_ENDS)))
    return parts > _MOST_PARTS or text.count(",") > _MOST_COMMAS


def _filled(data: list[Any], attachment: bytes) -> list[Any]:
    """The event with its attachment: the argument itself, or values of an object.

    No client puts it elsewhere, and to look for it everywhere takes long.
    """
    argument = data[1] if len(data) == 2 else None
    if _is_placeholder(argument):
        return [data[0], attachment]
    if isinstance(argument, dict) and argument and all(map(_is_placeholder, argument.values())):
        return [data[0], dict.fromkeys(argument, attachment)]
    return [BROKEN]


def _is_placeholder(value: object) -> bool:
    return (
        isinstance(value, dict)
        and len(value) == 2
        and value.get("_placeholder") is True
        and value.get("num") == 0
    )


class _Names:
    """`in` for values that may not be hashable."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in CLIENT_EVENTS


_NAMES: Final = _Names()


def packet_class(frame_bytes: int) -> type[BoundedPacket]:
    """`BoundedPacket` with this bound."""
    return type("ServerPacket", (BoundedPacket,), {"frame_bytes": frame_bytes})


class ServersPacket(Packet):  # type: ignore[misc]
    """A packet of a server's, as a client reads it; `ValueError` where it is none."""

    def decode(self, encoded_packet: Any) -> int:
        """Parse a text frame; return the number of attachments that follow."""
        if not isinstance(encoded_packet, str):
            raise ValueError("an attachment without its event")
        found = _SERVERS.match(encoded_packet)
        if found is None:
            raise ValueError("no frame of a server's")
        super().decode(encoded_packet)
        return int(found[1] or 0)

    def add_attachment(self, attachment: Any) -> bool:
        """Take the attachment of a binary answer; true, since there is only one."""
        if not isinstance(attachment, bytes):
            raise ValueError("a text frame in place of an attachment")
        return bool(super().add_attachment(attachment))


_SERVERS = re.compile(r"[0124]|3[0-9]|[56](1)-")
"""Types without an attachment, or binary ones with exactly one."""
