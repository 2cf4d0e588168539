"""Recording labelled times, the controls, and the verdict on both."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from clocks import Clock
from gmpy2 import gcd, jacobi, mpz

from iot2 import Query, SenderKey, SixReply, SixSender
from iot2.cli import main
from iot2.errors import DataError, ParameterError
from iot2.security import leakage, recording, verdict
from iot2.security.controls import HastySender, LazyReceiver
from iot2.security.leakage import Settings, Timings, read_recordings
from iot2.security.store import read, sidecar_of

SMALL = Settings(receiver_count=130, sender_count=100, receiver_bits=512, sender_bits=512)


@pytest.fixture(scope="module")
def key() -> SenderKey:
    return SenderKey.generate(512, insecure=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("performances") / "here"
    told = list(leakage.record(folder, SMALL))
    assert told[-1] == ("senders", 1.0)
    assert ("receivers", 1.0) in told
    return folder


def test_every_case_is_recorded_with_both_labels(folder: Path) -> None:
    found = read_recordings(folder)
    assert [(t.party, t.case) for t in found] == [
        *(("receiver", case) for case in recording.RECEIVERS),
        *(("sender", case) for case in recording.SENDERS),
    ]
    for timings in found:
        count = 130 if timings.party == "receiver" else 100
        assert len(timings.labels) == count
        assert set(timings.labels) == {0, 1}
        assert (timings.online_ns > 0).all()
        assert timings.control == (timings.case == "control")
        if timings.party == "receiver":
            both = timings.steps["choose"] + timings.steps["retrieve"]
            assert timings.online_ns.tolist() == both.tolist()


def test_the_sidecar_says_where_and_with_what(folder: Path) -> None:
    about = read_recordings(folder)[0].about
    assert about["bits"] == 512
    assert about["timer_cost_ns"] > 0
    assert {"processor", "kernel"} <= set(about["machine"])
    assert {"python", "libraries", "date", "commit", "pinned", "load_average"} <= set(about)


def test_recordings_are_replaced_only_when_forced(folder: Path) -> None:
    with pytest.raises(DataError, match="--force"):
        next(leakage.record(folder, SMALL))


def test_mixed_runs_are_refused(folder: Path, tmp_path: Path) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    read_recordings(tmp_path)
    sidecar = tmp_path / "leakage_sender_six.json"
    sidecar.write_text(json.dumps({**json.loads(sidecar.read_text()), "run_id": "other"}))
    with pytest.raises(DataError, match="one run"):
        read_recordings(tmp_path)
    (tmp_path / "leakage_sender_six.csv.gz").unlink()
    with pytest.raises(DataError, match="leakage_sender_six"):
        read_recordings(tmp_path)


def test_times_of_one_label_alone_are_refused(folder: Path, tmp_path: Path) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    path = tmp_path / "leakage_sender_six.csv.gz"
    stored = read(path, leakage.SENDER)
    keep = {name: stored.about[name] for name in ("run_id", "bits")}
    leakage.write(path, leakage.SENDER, stored.frame.assign(square=1), keep, force=True)
    with pytest.raises(DataError, match="both of them"):
        read_recordings(tmp_path)
    assert sidecar_of(path).exists()


def test_too_few_transfers() -> None:
    with pytest.raises(ParameterError, match="at least 100"):
        Settings(receiver_count=10)


@pytest.mark.parametrize("square", [True, False])
def test_random_residues_are_what_their_label_says(key: SenderKey, square: bool) -> None:
    N, p, q = key.public.modulus, key.secret.p, key.secret.q
    symbols = []
    for _ in range(200):
        encoded = recording.random_residue(key, square=square)
        assert len(encoded) == key.public.size
        y = mpz.from_bytes(encoded, "big")
        assert 0 < y < N
        assert gcd(y, N) == 1
        assert (jacobi(y, p) == jacobi(y, q) == 1) == square
        symbols.append(jacobi(y, N))
    if square:
        assert set(symbols) == {1}
    else:
        # Both symbols, as often each: 200 fair tosses stay within 60 of each other.
        assert abs(sum(symbols)) < 60


def test_the_lazy_receiver_is_a_receiver(key: SenderKey) -> None:
    sender = SixSender(key)
    receiver = LazyReceiver(key.public, sender.sid)
    receiver.precompute(4)
    for b in (0, 1, 1, 0):
        reply = sender.answer(receiver.choose(sender.offer(), b), b"left", b"rite")
        assert receiver.retrieve(SixReply.from_bytes(reply.to_bytes())) == (b"left", b"rite")[b]


def test_the_hasty_sender_answers_squares_alike(key: SenderKey) -> None:
    sid = bytes(16)
    query = Query(sid, 0, recording.random_residue(key, square=True))
    hasty = HastySender(key, sid).answer(query, (b"left", b"rite"))
    from iot2.parties.compact import seal

    assert hasty.to_bytes() == seal(key, sid, query, (b"left", b"rite")).to_bytes()
    other = Query(sid, 1, recording.random_residue(key, square=False))
    answers = {HastySender(key, sid).answer(other, (b"left", b"rite")).to_bytes() for _ in "ab"}
    assert len(answers) == 2
    assert {len(answer) for answer in answers} == {len(hasty.to_bytes())}


@pytest.fixture
def leaking(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    clock = Clock()
    monkeypatch.setattr(recording, "now", clock)
    return clock  # type: ignore[return-value]


def test_a_receiver_step_holds_its_own_work_and_no_other(
    key: SenderKey, leaking: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = recording.receiver_cases(key)
    for place, case in enumerate(cases):
        _slow(monkeypatch, leaking, case, "choose", 100 + place)
        _slow(monkeypatch, leaking, case, "retrieve", 1000 + place)
    monkeypatch.setattr(recording, "receiver_cases", lambda key: cases)
    for _ in recording.record_receivers(key, 120):
        pass
    for place, case in enumerate(cases):
        assert len(case.labels) == 120
        assert set(case.choose_ns) == {100 + place}
        assert set(case.retrieve_ns) == {1000 + place}


def _slow(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, case: recording.ReceiverCase, name: str, ns: int
) -> None:
    """Let a step of the case's receiver move the clock; everything else moves it wildly."""
    receiver, sender = case.receiver, case.sender

    class Slow:
        def __getattr__(self, attribute: str) -> object:
            found = getattr(receiver, attribute)
            if attribute == name:

                def step(*arguments: object) -> object:
                    clock.time += ns
                    return found(*arguments)

                return step
            if attribute == "precompute":
                clock.time += 12345
            return found

    class SlowSender:
        def __getattr__(self, attribute: str) -> object:
            clock.time += 54321
            return getattr(sender, attribute)

    case.receiver, case.sender = Slow(), SlowSender()


def test_a_sender_s_time_holds_its_answer(
    key: SenderKey, leaking: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = recording.sender_cases(key)
    for place, case in enumerate(cases):
        sender = case.sender

        class Slow:
            def __init__(self, sender: object, ns: int) -> None:
                self.sender, self.ns = sender, ns

            def answer(self, *arguments: object) -> object:
                leaking.time += self.ns
                return self.sender.answer(*arguments)  # type: ignore[attr-defined]

            def offer(self) -> object:
                leaking.time += 777
                return self.sender.offer()  # type: ignore[attr-defined]

        case.sender = Slow(sender, 10 + place)
    monkeypatch.setattr(recording, "sender_cases", lambda key: cases)
    for _ in recording.record_senders(key, 30):
        pass
    for place, case in enumerate(cases):
        assert set(case.online_ns) == {10 + place}


def timings(case: str, leak_ns: int, *, party: str = "receiver") -> Timings:
    rng = np.random.default_rng(12)
    labels = rng.integers(0, 2, 6000)
    times = (1000 + rng.gamma(4, 10, 6000)).astype(np.int64) + leak_ns * labels
    return Timings(party, case, labels, {"choose": times, "online": times}, {})


def test_the_verdict_expects_a_control_to_be_found_and_nothing_else() -> None:
    for case, leak, expected in (
        ("control", 20, True),
        ("control", 0, False),
        ("six_index", 0, True),
        ("six_index", 20, False),
    ):
        judged = verdict.judge(timings(case, leak), shuffles=3)
        assert judged.found == (leak > 0)
        assert judged.as_expected == expected


def test_an_analysis_that_misses_a_control_or_finds_a_null_is_refused() -> None:
    good = [verdict.judge(timings(case, leak), shuffles=3) for case, leak in
            (("control", 20), ("six_index", 0), ("six_masked", 20))]  # fmt: skip
    assert verdict.require_expected(good) is good
    missed = verdict.judge(timings("control", 0), shuffles=3)
    with pytest.raises(DataError, match="positive control"):
        verdict.require_expected([*good, missed])
    null = dataclasses.replace(good[1].null, found=1, largest=9.0)
    with pytest.raises(DataError, match="shuffled labels"):
        verdict.require_expected([dataclasses.replace(good[1], null=null)])
    rare = dataclasses.replace(good[1].null, found=1, shuffles=20)
    assert verdict.require_expected([dataclasses.replace(good[1], null=rare)])


def test_the_table_has_a_row_for_each_step() -> None:
    rows = verdict.judge_all([timings("six_index", 0), timings("control", 20)], shuffles=3)
    table = verdict.table(rows)
    assert table["step"].tolist() == ["choose", "online"] * 2
    assert table["found"].tolist() == [False, False, True, True]
    assert table["expected"].tolist() == [False, False, True, True]
    leak = table.iloc[2]
    assert leak["largest_t"] > 4.5
    assert leak["accuracy_low"] > 0.5
    assert leak["bits_low"] > 0
    assert (table["detectable_ns"] < 20).all()


def test_stored_verdicts_take_the_platform_or_the_first_that_has_any(
    folder: Path, tmp_path: Path
) -> None:
    data = str(folder.parent)
    for platform in ("here", "elsewhere"):
        rows = verdict.stored_verdicts(data, platform)
        assert len(rows) == 5 * 3 + 3
    with pytest.raises(DataError, match="iot2 leakage"):
        verdict.stored_verdicts(str(tmp_path), "here")


def test_the_command_records_and_analyses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["leakage", "--output", str(tmp_path), "--platform", "x"]
    sizes = ["--receiver-bits", "512", "--sender-bits", "512"]
    counts = ["--receiver-count", "400", "--sender-count", "120"]
    main([*arguments, *sizes, *counts])
    out = capsys.readouterr().out
    assert out.count("detectable") == 18
    # So few times may or may not show the controls; the status must say what was printed.
    status = main([*arguments, "--analyse"])
    again = capsys.readouterr().out
    assert again == out
    assert status == ("not as it should be" in again)
    assert main([*arguments, *sizes, *counts]) == 2
    assert "--force" in capsys.readouterr().err
    assert main(["leakage", "--output", str(tmp_path), "--platform", "../x", "--analyse"]) == 2
