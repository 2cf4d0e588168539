import dataclasses
import re

import pytest

from iot2 import PublicKey
from iot2.benchmark import targets
from iot2.benchmark.targets import Line, Rounds, measure_targets, print_targets

TINY = Rounds(
    singles=3, transfers=3, batches=2, batch=20, engine=2, answers=2, openssl=1,
    openssl_seconds=1, workers=2, worker_batch=4, checks=2,
)  # fmt: skip


@pytest.mark.parametrize(
    ("line", "text", "missed"),
    [
        (Line("a", (2.0, 3.0, 2.5), " products", at_most=3, aim=2.5),
         r"a: 2\.5 products \[[\d.]+, [\d.]+\] \(at most 3, aim 2\.5\)", False),
        (Line("a", (3.5, 3.1, 2.5), at_most=3), r"a: 3\.1 \[.*\] \(at most 3, MISSED\)", True),
        (Line("a", (3.5,), at_least=3.5), r"a: 3\.5 \(at least 3\.5\)", False),
        (Line("a", (3.49,), at_least=3.5), r"a: 3\.49 \(at least 3\.5, MISSED\)", True),
        (Line("a", (3.0,), at_most=3), r"a: 3 \(at most 3\)", False),
        (Line("a", (49942.0,), " bytes"), r"a: 49942 bytes \(no target\)", False),
        (Line("a", (1.0,), remark="x against y"), r"a: 1 \(no target\) x against y", False),
    ],
)  # fmt: skip
def test_a_line_says_what_was_measured_and_wanted(line, text, missed) -> None:
    assert re.fullmatch(text, str(line))
    assert line.missed is missed


def test_the_interval_holds_the_median_of_the_blocks() -> None:
    line = Line("a", tuple(float(x) for x in range(1, 102)))
    low, high = map(float, re.search(r"\[(.*), (.*)\]", str(line)).groups())
    assert 30 < low < 51 < high < 72
    assert line.measured == 51


@pytest.fixture(scope="module")
def lines():
    patch = pytest.MonkeyPatch()
    patch.setattr(targets, "openssl_rate", lambda bits, seconds: 1000.0)
    patch.setattr(targets, "sender_rate", lambda key, seconds: 950.0)
    try:
        return {line.name: line for line in measure_targets(512, TINY)}
    finally:
        patch.undo()


def test_every_target_of_the_project_is_measured(lines) -> None:
    wanted = {name: (line.at_most, line.at_least) for name, line in lines.items()}
    fastest = next(name for name, limits in wanted.items() if limits == (None, 3.5))
    assert re.fullmatch(
        r"SimplestOT \((ristretto255|secp256k1), known key\) over compact, receiver total", fastest
    )
    group = re.search(r"\((\w+),", fastest)[1]
    expected = {
        "six-message, receiver online": (3, None),
        "compact, receiver online": (0.8, None),
        "compact, receiver online, masked": (None, None),
        "compact, receiver online, in a batch of 20": (0.2, None),
        "compact, receiver online, masked, in a batch of 20": (None, None),
        "compact, receiver offline": (5.5, None),
        "compact, receiver offline, in a batch of 20": (4.5, None),
        f"SimplestOT ({group}, known key) over compact, receiver total, in a batch of 20":
            (None, 4.5),
        "compact, sender online over its two half-size exponentiations": (1.1, None),
        "six-message, sender online over its two half-size exponentiations": (1.1, None),
        "compact, sender's rate over `openssl speed rsa512` private operations": (None, 0.9),
    }  # fmt: skip
    for name in ("ristretto255", "secp256k1"):
        for split in ("known", "fresh"):
            bare = f"SimplestOT ({name}, {split} key) receiver total over its bare calls"
            expected[bare] = (1.15, None)
    assert {name: wanted[name] for name in expected} == expected
    workers = wanted["compact, answer_many with 2 workers over 1, rate"]
    assert workers == (None, 1.8 if targets.usable_cores() > 1 else None)


def test_the_default_batch_is_the_one_that_the_targets_name() -> None:
    assert Rounds().batch == 10_000
    assert dataclasses.asdict(Rounds.quick()).keys() == dataclasses.asdict(Rounds()).keys()


def test_ratios_have_a_value_for_each_block(lines) -> None:
    assert len(lines["six-message, receiver online"].values) == 3
    assert len(lines["compact, receiver offline, in a batch of 20"].values) == 2
    openssl = "compact, sender's rate over `openssl speed rsa512` private operations"
    assert lines[openssl].values == (0.95,)


def test_the_costs_of_a_key_are_lines_too(lines) -> None:
    assert lines["public key with its proof"].values == (6 + 64 * 130 + 16,)
    assert len(lines["proof check, once per key"].values) == 2
    assert lines["key parse, once per key"].unit == " µs"


class Costs:
    """Stands in for measured totals."""

    fastest = "secp256k1"

    def __init__(self, theirs: float, ours: float) -> None:
        self.totals = {"secp256k1 known": [theirs], "compact": [ours]}

    def total(self, case):
        return self.totals[case]


def test_the_break_even_counts_whole_transfers() -> None:
    key, frame = targets.measure_key(512, generations=1, checks=3)
    frame.loc[frame["step"] == "key_parse", "elapsed_ns"] = 1000
    frame.loc[frame["step"] == "proof_check", "elapsed_ns"] = 9001
    lines = {line.name: line for line in targets._once_per_key(key, frame, Costs(300.0, 200.0))}
    name = "transfers until compact costs less than SimplestOT, with"
    assert lines[f"{name} the proof"].values == (101,)
    assert lines[f"{name} a pinned fingerprint"].values == (10,)


def test_a_receiver_that_never_pays_off_is_told(capsys) -> None:
    key, frame = targets.measure_key(512, generations=1, checks=1)
    lines = list(targets._once_per_key(key, frame, Costs(200.0, 200.0)))
    assert not [line for line in lines if line.name.startswith("transfers until")]
    assert capsys.readouterr().out.count("never costs less") == 2


@pytest.mark.parametrize(("value", "status"), [(2.9, 0), (3.1, 1)])
def test_the_exit_status_tells_whether_one_was_missed(monkeypatch, capsys, value, status) -> None:
    lines = [Line("a", (1.0,)), Line("b", (value,), at_most=3), Line("c", (1.0,), at_least=1)]
    monkeypatch.setattr(targets, "measure_targets", lambda bits, rounds: iter(lines))
    assert print_targets(512) == status
    printed = capsys.readouterr().out.splitlines()
    assert printed[:3] == [str(line) for line in lines]
    assert (printed[3:] == ["1 of the targets missed"]) == bool(status)


def test_without_openssl_a_line_says_so(monkeypatch, capsys) -> None:
    monkeypatch.setattr(targets, "openssl_rate", lambda bits, seconds: None)
    key, _ = targets.measure_key(512, generations=1, checks=1)
    monkeypatch.setattr(targets, "sender_rate", lambda key, seconds: 950.0)
    names = [line.name for line in targets._sender(key, TINY)]
    assert len(names) == 2
    assert "no `openssl speed rsa512`" in capsys.readouterr().out


def test_the_fingerprint_is_pinned_so_that_no_proof_hides_in_a_transfer(monkeypatch) -> None:
    key, _ = targets.measure_key(512, generations=1, checks=1)
    monkeypatch.setattr(PublicKey, "verify", lambda self: pytest.fail("checked a proof"))
    targets._Singles(key, dataclasses.replace(TINY, singles=1))
