"""One entry point under atheris, in a process of its own: target.py ENTRY OPTIONS... CORPUS.

The options are libFuzzer's. What is no value and no `Iot2Error` is a finding:
it ends the process, with the input in a file and the traceback on stderr.
`all` lets the first byte of an input choose the entry. `control` is an entry
with a fault, which a search must find.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

CONTROL = "control"
SUPPORT = Path(__file__).resolve().parents[1] / "support"


def entry_names() -> list[str]:
    """The entries in the order in which `all` numbers them."""
    from entry_points import ENTRIES

    return sorted(ENTRIES)


def chosen(name: str) -> Callable[[bytes], object]:
    """What is called with every input."""
    from entry_points import ENTRIES, outcome

    if name == CONTROL:
        return faulty
    if name != "all":
        entry = ENTRIES[name]
        return lambda data: outcome(entry, data)
    names = entry_names()
    return lambda data: outcome(ENTRIES[names[data[0] % len(names)]], data[1:]) if data else None


def faulty(data: bytes) -> int:
    """What the control searches."""
    return 1 // (data[0] < 128) if data else 0


def main(arguments: list[str]) -> None:
    """Search until libFuzzer's options end it; this does not return."""
    import atheris

    name, *options = arguments
    with atheris.instrument_imports(include=["iot2"]):
        import entry_points  # noqa: F401

        import iot2.net.events
        import iot2.net.packets  # noqa: F401
    run = chosen(name)
    atheris.Setup([sys.argv[0], *options], lambda data: (run(data), None)[1])
    atheris.Fuzz()


if __name__ == "__main__":
    sys.path.insert(0, str(SUPPORT))
    main(sys.argv[1:])
