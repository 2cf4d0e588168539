"""What a server transfers: the items of a file, or two messages for trying."""

from __future__ import annotations

from dataclasses import dataclass, field

from iot2.net.events import DEMO_BYTES, Code, Refusal, SessionRequest, printable
from iot2.net.messages_file import Items, pad
from iot2.net.tables import SessionRow


def demo_messages(pair: tuple[int, int] | None, choices: int) -> tuple[bytes, ...]:
    """The messages of a demonstration: the client's numbers at a fixed width, or ours.

    Raises:
        Refusal: two numbers for a key of more choices.
    """
    if pair is None:
        return pad([f"demonstration message {j}".encode() for j in range(choices)])
    if choices != 2:
        raise Refusal(Code.REFUSED, f"this server transfers 1 of {choices} messages, not of 2")
    return tuple(number.to_bytes(DEMO_BYTES, "big") for number in pair)


@dataclass(slots=True)
class Catalogue:
    """The rows on offer, and which of them are spent.

    Attributes:
        items: the rows, or None for a demonstration server.
        reusable: whether a row may be transferred again.
        spent: items that were transferred.
        in_flight: items whose transfer is being answered.
    """

    items: Items | None = None
    reusable: bool = False
    spent: set[str] = field(default_factory=set)
    in_flight: set[str] = field(default_factory=set)
    _own: dict[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        rows = {} if self.items is None else self.items.rows
        self._own = {name: name for name in rows}

    def own(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """The same names, as the texts that are here already: a session keeps very many."""
        return None if names is None else tuple(map(self._own.get, names, names))

    def check_request(self, request: SessionRequest) -> int:
        """The number of transfers that a `session` asks for.

        Raises:
            Refusal: the other kind of request, or an item that is not here, is
                spent, or is named twice where its row has one transfer.
        """
        if self.items is None:
            if request.count is None:
                raise Refusal(
                    Code.REFUSED, "this server is for trying: ask for a count, no items (--item)"
                )
            return request.count
        names = request.items
        if names is None:
            raise Refusal(Code.REFUSED, "this server has items of its own: name them (--item NAME)")
        different, rows = set(names), self.items.rows
        fresh = self.reusable or different.isdisjoint(self.spent)
        if not fresh or not all(map(rows.__contains__, names)):
            # Very many names may come: they are gone through only where one is refused.
            for name in names:
                self._check(name)
        if len(different) < len(names) and not self.reusable:
            raise Refusal(Code.REFUSED, "an item is named twice, and has one transfer alone")
        return len(names)

    def _check(self, name: str) -> tuple[bytes, ...]:
        messages = None if self.items is None else self.items.rows.get(name)
        if messages is None:
            raise Refusal(Code.REFUSED, f"there is no item {printable(name, 60)!r}")
        if not self.reusable and name in self.spent:
            raise Refusal(Code.SPENT, f"the item {printable(name, 60)!r} was already transferred")
        return messages

    def take(self, row: SessionRow, index: int) -> tuple[bytes, ...]:
        """The messages of an index; its item is in flight until `settle`.

        Raises:
            Refusal: SPENT, or BUSY while another session's transfer of the
                item is being answered.
        """
        if row.items is None:
            return row.demo or ()
        name = row.items[index]
        messages = self._check(name)
        if not self.reusable:
            if name in self.in_flight:
                raise Refusal(Code.BUSY, "the item is being transferred", retry_after_ms=50)
            self.in_flight.add(name)
        return messages

    def names(self, row: SessionRow, indexes: list[int]) -> list[str]:
        """The items that a transfer of these indexes spends."""
        if row.items is None or self.reusable:
            return []
        return [row.items[index] for index in indexes]

    def settle(self, names: list[str], *, spent: bool) -> None:
        """End the flight of items: they are spent, or free again."""
        self.in_flight.difference_update(names)
        if spent:
            self.spent.update(names)
