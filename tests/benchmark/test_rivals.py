import itertools
import subprocess

import pytest
from clocks import Clock

from iot2 import Sender, SenderKey, SixSender
from iot2.benchmark import rivals

KEY = SenderKey.generate(512, insecure=True)


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(rivals.time, "perf_counter_ns", clock)
    return clock


@pytest.mark.parametrize("variant", ["compact", "six"])
def test_the_sender_is_held_against_as_many_exponentiations(clock, monkeypatch, variant) -> None:
    counts = {"answers": 0, "powers": 0}
    for cls in (Sender, SixSender):
        real = cls.answer

        def answer(self, *arguments, real=real):
            counts["answers"] += 1
            clock.time += 130
            return real(self, *arguments)

        monkeypatch.setattr(cls, "answer", answer)
    engine = type(KEY.secret.powers)
    real_call = engine.__call__

    def call(self, x_p, x_q):
        counts["powers"] += 1
        clock.time += 0 if inside_answer() else 100
        return real_call(self, x_p, x_q)

    def inside_answer() -> bool:
        # An answer makes one call itself; only bare ones are counted on the clock.
        import sys

        frame = sys._getframe(2)
        return frame.f_code.co_name != "exponentiate"

    monkeypatch.setattr(engine, "__call__", call)
    ratio = rivals.engine_ratio(KEY, variant, 4)
    assert ratio() == pytest.approx(1.3)
    assert counts == {"answers": 4, "powers": 4 + 2 * 4}


def test_the_rate_is_answers_over_seconds(clock, monkeypatch) -> None:
    real = Sender.answer

    def answer(self, *arguments):
        clock.time += 50_000_000
        return real(self, *arguments)

    monkeypatch.setattr(Sender, "answer", answer)
    assert rivals.sender_rate(KEY, 1.5, answers=4) == pytest.approx(20)


def test_bare_calls_are_shared_by_the_transfers(clock, monkeypatch) -> None:
    def call(cost):
        clock.time += cost

    calls = [("a", lambda: call(3)), ("b", lambda: call(4))]
    monkeypatch.setattr(rivals, "bare_receiver_calls", lambda group, split: calls)
    assert rivals.bare_call_blocks("ristretto255", "known", 5)() == 7
    assert clock.time == 35


def test_two_workers_are_held_against_one_before_and_after(clock, monkeypatch) -> None:
    costs = {1: itertools.cycle([900, 1100]), 2: itertools.repeat(500)}
    asked = []

    def answer_many(self, queries, messages, *, workers):
        asked.append((workers, len(queries), len(messages)))
        clock.time += next(costs[workers])

    monkeypatch.setattr(Sender, "answer_many", answer_many)
    assert rivals.worker_ratio(KEY, 6)() == 2.0
    assert asked == [(1, 6, 6), (2, 6, 6), (1, 6, 6)]


@pytest.mark.parametrize(
    ("output", "rate"),
    [
        ("+F2:3:3072:319.5:21414.4", 319.5),
        ("+H:16\n+F2:0:2048:900.1:3.0\n+F2:3:3072:812.0:9.9:1:2\n", 812.0),
        ("+F2:3:2048:319.5:21414.4", None),
        ("+F2:3:3072:fast:21414.4", None),
        ("+F2:3:3072:0:21414.4", None),
        ("+F2:3:3072", None),
        ("", None),
    ],
)
def test_openssls_rate_is_the_first_figure_of_its_size(output, rate) -> None:
    assert rivals.parse_openssl_speed(output, 3072) == rate


def test_openssl_is_asked_as_the_comparison_says(monkeypatch) -> None:
    asked = []

    def run(command, **options):
        asked.append(command)
        return subprocess.CompletedProcess(command, 0, stdout="+F2:3:3072:5.5:6\n")

    monkeypatch.setattr(rivals.subprocess, "run", run)
    assert rivals.openssl_rate(3072, 2) == 5.5
    assert asked == [["openssl", "speed", "-mr", "-seconds", "2", "rsa3072"]]


@pytest.mark.parametrize(
    "error",
    [FileNotFoundError(), subprocess.CalledProcessError(1, "x"), subprocess.TimeoutExpired("x", 1)],
)
def test_without_openssl_there_is_no_rate(monkeypatch, error) -> None:
    def run(*arguments, **options):
        raise error

    monkeypatch.setattr(rivals.subprocess, "run", run)
    assert rivals.openssl_rate(3072, 2) is None
