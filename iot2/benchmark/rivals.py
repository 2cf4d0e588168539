"""What the parties are held against: bare calls, bare exponentiations, OpenSSL, a second core."""

import os
import subprocess
import time
from collections.abc import Callable

from iot2 import Query, Receiver, Sender, SenderKey, SixQuery, SixReceiver, SixSender
from iot2.arithmetic.uniform import uniform_mod
from iot2.benchmark.series import no_collection, random_transfers
from iot2.simplest.bare import bare_receiver_calls


def bare_call_blocks(group: str, split: str, transfers: int) -> Callable[[], float]:
    """Blocks of the bare binding calls of a SimplestOT receiver, in ns per transfer."""
    calls = [call for _, call in bare_receiver_calls(group, split)]

    def block() -> float:
        with no_collection():
            start = time.perf_counter_ns()
            for _ in range(transfers):
                for call in calls:
                    call()
            return (time.perf_counter_ns() - start) / transfers

    return block


def engine_ratio(key: SenderKey, variant: str, answers: int) -> Callable[[], float]:
    """Blocks of answers, bytes in to bytes out, over as many bare pairs of exponentiations."""
    respond = _answering(key, variant, answers)
    powers = key.secret.powers
    x_p = uniform_mod(key.secret.p, os.urandom)
    x_q = uniform_mod(key.secret.q, os.urandom)

    def exponentiate() -> int:
        start = time.perf_counter_ns()
        for _ in range(answers):
            powers(x_p, x_q)
        return time.perf_counter_ns() - start

    def ratio() -> float:
        with no_collection():
            before = exponentiate()
            ours = respond()
            after = exponentiate()
        return ours / ((before + after) / 2)

    return ratio


def sender_rate(key: SenderKey, seconds: float, answers: int = 20) -> float:
    """Compact answers per second, bytes in to bytes out, over about `seconds`."""
    respond = _answering(key, "compact", answers)
    spent = count = 0
    while spent < seconds * 1e9:
        spent += respond()
        count += answers
    return count / (spent / 1e9)


def openssl_rate(bits: int, seconds: int) -> float | None:
    """Private RSA operations per second by `openssl speed`, None where it is not to be had."""
    command = ["openssl", "speed", "-mr", "-seconds", str(seconds), f"rsa{bits}"]
    try:
        done = subprocess.run(
            command, capture_output=True, check=True, text=True, timeout=60 + 20 * seconds
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return parse_openssl_speed(done.stdout, bits)


def parse_openssl_speed(output: str, bits: int) -> float | None:
    """The private operations per second in what `openssl speed -mr` prints.

    >>> parse_openssl_speed("+F2:3:3072:319.587629:21414.432990", 3072)
    319.587629
    """
    for line in output.splitlines():
        fields = line.split(":")
        if fields[0] == "+F2" and len(fields) >= 5 and fields[2] == str(bits):
            try:
                rate = float(fields[3])
            except ValueError:
                return None
            return rate if rate > 0 else None
    return None


def worker_ratio(key: SenderKey, batch: int) -> Callable[[], float]:
    """Batches answered by one worker and then by two: how many times faster the two are."""
    sender = Sender(key)
    receiver = Receiver(key.public, sender.sid, trusted_fingerprint=key.fingerprint)

    def answer(workers: int) -> int:
        choices, messages = random_transfers(batch)
        receiver.precompute(batch)
        queries = receiver.choose_many(choices)
        with no_collection():
            start = time.perf_counter_ns()
            sender.answer_many(queries, messages, workers=workers)
            return time.perf_counter_ns() - start

    def ratio() -> float:
        before = answer(1)
        two = answer(2)
        after = answer(1)
        return (before + after) / 2 / two

    return ratio


def usable_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _answering(key: SenderKey, variant: str, answers: int) -> Callable[[], int]:
    """A sender that is sent fresh queries each time; ns for all its answers."""
    if variant == "six":
        return _answering_six(key, answers)
    sender = Sender(key)
    receiver = Receiver(key.public, sender.sid, trusted_fingerprint=key.fingerprint)

    def respond() -> int:
        choices, messages = random_transfers(answers)
        receiver.precompute(answers)
        queries = [receiver.choose(b).to_bytes() for b in choices]
        start = time.perf_counter_ns()
        for query, pair in zip(queries, messages, strict=True):
            sender.answer(Query.from_bytes(query), pair).to_bytes()
        return time.perf_counter_ns() - start

    return respond


def _answering_six(key: SenderKey, answers: int) -> Callable[[], int]:
    sender = SixSender(key)
    receiver = SixReceiver(key.public, sender.sid)

    def respond() -> int:
        choices, messages = random_transfers(answers)
        receiver.precompute(answers)
        queries = [receiver.choose(sender.offer(), b).to_bytes() for b in choices]
        start = time.perf_counter_ns()
        for query, (m0, m1) in zip(queries, messages, strict=True):
            sender.answer(SixQuery.from_bytes(query), m0, m1).to_bytes()
        return time.perf_counter_ns() - start

    return respond
