"""The command `iot2`: one table of commands, each in a module of its own.

A command is a module `iot2.cli.<name>` with two functions,
`configure(parser)`, which declares its arguments, and `run(args)`, which does
the work and returns the exit status. Only the chosen command is imported, so
that `iot2 --help` is quick and a device needs no more than it uses.

Exit status: what the command returns; 2 for a mistake that can be put right
from outside (arguments, files, the other party's bytes), told in one line;
130 when interrupted; 141 when the reader of the output went away.
"""

import argparse
import difflib
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Final

from iot2.errors import Iot2Error
from iot2.version import __version__

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "bench": ("iot2.cli.bench", "measure this machine and store raw samples as CSV"),
    "stats": ("iot2.cli.stats", "summarise the columns of CSV files"),
    "notebook": ("iot2.cli.notebook", "run one notebook with checked parameters"),
    "reproduce": ("iot2.cli.reproduce", "draw every figure and table from stored data"),
    "security": ("iot2.cli.security", "draw and store the samples of the analysis"),
    "leakage": ("iot2.cli.leakage", "look for the choice in online times"),
    "claims": ("iot2.cli.claims", "evaluate each claim from stored data and code"),
    "keygen": ("iot2.cli.keygen", "make a sender's key"),
    "serve": ("iot2.cli.serve", "run a sender as a server"),
    "client": ("iot2.cli.client", "run a receiver against a server"),
    "profile": ("iot2.cli.profile", "measure transfers over a network"),
}
"""Each command's module and its help in one line."""

GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "measure and reproduce": ("bench", "stats", "notebook", "reproduce"),
    "analyse": ("security", "leakage", "claims"),
    "run over a network": ("keygen", "serve", "client", "profile"),
}
"""The commands as the help shows them."""

EXTRA_OF: Final[dict[str, str]] = {
    "coincurve": "baseline",
    "rbcl": "baseline",
    "matplotlib": "analysis",
    "pandas": "analysis",
    "scipy": "analysis",
    "seaborn": "analysis",
    "tqdm": "analysis",
    "ipykernel": "notebooks",
    "jupyter_client": "notebooks",
    "jupyterlab": "notebooks",
    "papermill": "notebooks",
    "nbformat": "notebooks",
    "nbclient": "notebooks",
    "aiohttp": "network",
    "engineio": "network",
    "httptools": "network",
    "requests": "network",
    "socketio": "network",
    "uvicorn": "network",
    "uvloop": "network",
    "websocket": "network",
    "websockets": "network",
}
"""The extra that installs a module, by the module's name."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Args:
        argv: the arguments after `iot2`; those of the process by default.

    Returns:
        The exit status.

    Raises:
        SystemExit: from argparse, after `--help`, `--version` or wrong usage.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    name = _choose(arguments)
    try:
        status = _run(name, arguments[1:])
        # A reader that went away is noticed here, not while Python shuts down.
        sys.stdout.flush()
    except Iot2Error as error:
        return _complain(str(error))
    except ModuleNotFoundError as error:
        extra = EXTRA_OF.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        return _complain(
            f'`iot2 {name}` needs {error.name}, which is not installed: pip install "iot2[{extra}]"'
        )
    except KeyboardInterrupt:
        print("iot2: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _silence_stdout()
        return 141
    except OSError as error:
        if error.filename is None:
            raise
        return _complain(f"{error.filename}: {error.strerror}")
    return status


def _choose(arguments: Sequence[str]) -> str:
    """Return the command's name, or leave through argparse with help or an error."""
    parser = argparse.ArgumentParser(
        prog="iot2",
        usage="iot2 [--help] [--version] COMMAND ...",
        description="I-(OT)^2: base oblivious transfer for receivers on low-power "
        "hardware.\nResearch software, not constant time.",
        epilog=_overview(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"iot2 {__version__}")
    parser.add_argument("command", metavar="COMMAND", help="one of the commands below")
    name = str(parser.parse_args(arguments[:1]).command)
    if name not in COMMANDS:
        close = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        parser.error(f"expected one of {', '.join(COMMANDS)}, got {name!r}{hint}")
    return name


def _overview() -> str:
    """List the commands by group for the top-level help."""
    width = max(map(len, COMMANDS))
    lines: list[str] = []
    for group, names in GROUPS.items():
        lines.append(f"{group}:")
        lines += [f"  {name:<{width}}  {COMMANDS[name][1]}" for name in names]
        lines.append("")
    return "\n".join([*lines, "`iot2 COMMAND --help` tells what a command takes."])


def _run(name: str, arguments: Sequence[str]) -> int:
    """Import the command's module, let it parse its arguments, and run it."""
    module_name, summary = COMMANDS[name]
    module = importlib.import_module(module_name)
    parser = argparse.ArgumentParser(
        prog=f"iot2 {name}",
        description=f"{summary[0].upper()}{summary[1:]}.",
        allow_abbrev=False,
    )
    module.configure(parser)
    return int(module.run(parser.parse_args(arguments)))


def _complain(text: str) -> int:
    """Print what went wrong in one line; return the exit status that says so."""
    print(f"iot2: {' '.join(text.split())}", file=sys.stderr)
    return 2


def _silence_stdout() -> None:
    """Let Python's last flush of a broken standard output go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
