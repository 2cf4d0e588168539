"""State that exists once: a copy of it would use again what serves once."""

from __future__ import annotations

from typing import NoReturn, SupportsIndex

from iot2.errors import StateError


class Uncopied:
    """A party whose state is neither copied nor stored (specification, section 3).

    A receiver restored from a copy would send y and y z of one tuple, which
    tells the two choices apart; a sender would answer an index again.
    `copy`, `deepcopy` and `pickle` all ask for the state in this way. (What a
    fork of the process copies is out of reach here.)
    """

    __slots__ = ()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        name = type(self).__name__
        raise StateError(f"the state of a {name} serves once and must not be copied or stored")
