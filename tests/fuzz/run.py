"""Search every entry point for inputs that raise anything but an `Iot2Error`.

    python tests/fuzz/run.py [ENTRY | GROUP ...] [--seconds S] [--out FILE]

Each entry is searched in a process of its own, from a corpus made of the
stored vectors. The record says what was searched, for how long, on what
machine and commit, and what was found; the exit status is 1 if anything was.
`results.json` beside this file is such a record.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]

from entry_points import ENTRIES, groups  # noqa: E402
from target import CONTROL, entry_names  # noqa: E402

PATIENCE = 20
"""Seconds after which one input is a finding."""

ATTEMPTS = 3
"""Searches of one entry, where a process that was stopped for a while looks like a late input."""

ROOM = 512
"""Bytes by which an input may be longer than every seed."""


@dataclass
class Search:
    """What one search did.

    Attributes:
        entry: its name.
        group: of the entry.
        executions: how many inputs were tried.
        seconds: how long.
        seeds: inputs that the corpus began with.
        corpus: inputs that it ended with, each of which reached something new.
        features: what libFuzzer counts as reached (edges and their frequencies).
        findings: {"input": hex, "error": the last lines of the traceback}.
    """

    entry: str
    group: str
    executions: int
    seconds: float
    seeds: int
    corpus: int
    features: int
    findings: list[dict[str, str]]


def seeds_of(name: str) -> list[bytes]:
    """The seeds of an entry, of `all`, or of the control."""
    if name == CONTROL:
        return [b"nothing"]
    if name != "all":
        return ENTRIES[name].seeds()
    return [
        bytes([number]) + seed
        for number, entry in enumerate(entry_names())
        for seed in ENTRIES[entry].seeds()
    ]


def _last(pattern: str, text: str) -> int:
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def search(name: str, seconds: float) -> Search:
    """Search one entry for this long; the first finding ends it."""
    with tempfile.TemporaryDirectory() as folder:
        corpus, artifacts = Path(folder, "corpus"), Path(folder, "artifacts")
        corpus.mkdir()
        artifacts.mkdir()
        seeds = seeds_of(name)
        for number, seed in enumerate(seeds):
            (corpus / f"seed-{number:03}").write_bytes(seed)
        options = [
            f"-max_total_time={max(1, round(seconds))}",
            f"-max_len={max(map(len, seeds)) + ROOM}",
            "-rss_limit_mb=2048",
            "-print_final_stats=1",
            f"-artifact_prefix={artifacts}/",
        ]
        for _ in range(ATTEMPTS):
            done = _run(name, f"-timeout={PATIENCE}", *options, str(corpus))
            for path in (*artifacts.glob("timeout-*"), *artifacts.glob("slow-unit-*")):
                if _run(name, "-timeout=5", str(path)).returncode == 0:
                    path.unlink()  # the process was held up, not the code
            if done.returncode == 0 or any(artifacts.iterdir()):
                break
        log = done.stdout + done.stderr
        findings = [
            {
                "input": path.read_bytes().hex(),
                "error": _error(done.stdout) or path.name.partition("-")[0],  # timeout, oom
            }
            for path in sorted(artifacts.iterdir())
        ]
        if done.returncode != 0 and not findings:
            findings = [{"input": "", "error": _error(done.stdout) or log[-2000:]}]
        return Search(
            entry=name,
            group=ENTRIES[name].group if name in ENTRIES else name,
            executions=_last(r"stat::number_of_executed_units:\s*(\d+)", log),
            seconds=float(_last(r"Done \d+ runs in (\d+) second", log)),
            seeds=len(seeds),
            corpus=_last(r"corp: (\d+)/", log),
            features=_last(r"ft: (\d+)", log),
            findings=findings,
        )


def _run(name: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the target in a process of its own, with libFuzzer's options or on one input."""
    command = [sys.executable, str(HERE / "target.py"), name, *options]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, errors="replace", check=False
    )


def _error(printed: str) -> str:
    """The exception of a finding, without the paths of this machine."""
    found = re.search(r"Uncaught Python exception: ===\n(.*?)(?:\n\n|\Z)", printed, re.DOTALL)
    lines = found[1].splitlines()[-14:] if found else []
    return "\n".join(re.sub(r'File ".*/(\w+/\w+\.py)"', r'File "\1"', line) for line in lines)


def machine() -> dict[str, Any]:
    """What the searches ran on, with what."""
    from iot2.benchmark.machine import describe_machine, describe_python

    described = asdict(describe_machine())
    kept = {name: described[name] for name in ("processor", "architecture", "kernel")}
    atheris = importlib.metadata.version("atheris")
    return kept | {"python": describe_python(), "atheris": atheris}


def keep(path: Path, one: Search) -> None:
    """Put a search into the record at `path`, in the place of an older one of that entry.

    A record is of one machine: another one begins it anew.
    """
    from iot2.benchmark.machine import describe_commit
    from iot2.files import write_atomically

    older = json.loads(path.read_text()) if path.exists() else {}
    kept = older.get("searches", []) if older.get("machine") == machine() else []
    commit, dirty = describe_commit()
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    searches = {entry["entry"]: entry for entry in kept}
    searches[one.entry] = asdict(one) | {"date": today, "commit": commit, "dirty": dirty}
    order = [name for name in (*ENTRIES, "all", CONTROL) if name in searches]
    record = {
        "format": 1,
        "machine": machine(),
        "executions": sum(entry["executions"] for entry in searches.values()),
        "findings": sum(len(entry["findings"]) for entry in searches.values()),
        "searches": [searches[name] for name in order],
    }
    write_atomically(path, json.dumps(record, indent=1).encode() + b"\n")


def main(arguments: list[str]) -> int:
    """Search, say what was found, and keep the record."""
    parser = argparse.ArgumentParser(prog="run.py", description=(__doc__ or "").split("\n")[0])
    by_group = groups()
    parser.add_argument("names", nargs="*", metavar="ENTRY", help=", ".join([*by_group, *ENTRIES]))
    parser.add_argument("--seconds", type=float, default=60.0, help="for each entry (60)")
    parser.add_argument("--out", type=Path, help="a JSON file for the record")
    options = parser.parse_args(arguments)
    names = [name for given in options.names or ENTRIES for name in by_group.get(given, [given])]
    if unknown := [name for name in names if name not in (*ENTRIES, "all", CONTROL)]:
        parser.error(f"expected entries or groups, came {', '.join(unknown)}")
    searches = []
    for name in names:
        one = search(name, options.seconds)
        searches.append(one)
        print(
            f"{name:24} {one.executions:10,} inputs in {one.seconds:5.0f} s, "
            f"{one.features:5} features, {len(one.findings)} findings",
            flush=True,
        )
        for finding in one.findings:
            print(f"  input: {finding['input'][:400]}\n{finding['error']}", flush=True)
        if options.out:
            keep(options.out, one)
    return 1 if any(one.findings for one in searches) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
