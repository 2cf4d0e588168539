import re

import pytest

from iot2 import Receiver, SixReceiver
from iot2.benchmark import debug
from iot2.benchmark.debug import MESSAGES, WalkError, walk


@pytest.fixture(scope="module")
def text() -> str:
    return walk(512)


def test_steps_come_in_the_order_of_the_specification(text: str) -> None:
    steps = re.findall(r"^([a-z]+(?: [\d-]+)?) \| (.*?) \|", text, re.MULTILINE)
    assert steps == [
        ("offline", "receiver"),
        ("online 1", "receiver to sender"),
        ("online 2", "sender"),
        ("online", "receiver"),
        ("offline", "sender"),
        ("offline", "receiver"),
        ("online 1", "sender to receiver"),
        ("online 2", "receiver to sender"),
        ("online 3-6", "sender to receiver"),
        ("online", "receiver"),
    ]


def test_every_value_of_both_variants_is_shown(text: str) -> None:
    names = {line[4:26].strip() for line in text.splitlines() if line.startswith("    ")}
    assert names >= {
        "p", "q", "N = p q", "sigma", "z = sigma^4", "fp", "public key", "sid", "session",
        "w", "x = w^2", "u_0 = x^2", "u_1 = u_0 z", "k = key(x)", "b", "i", "y = u_b", "query",
        "s = sqrt(y)", "s / rho", "key(s)", "key(s / rho)", "m_0", "c_0", "m_1", "c_1", "reply",
        "m_b", "a", "z_i = a^2", "x", "u = x^2", "h = digest(x)", "offer", "y", "s'", "swaps",
        "m0", "m1", *(f"ciphertext {j} (m{j // 2})" for j in range(4)),
        *(f"digest {j}" for j in range(4)),
    }  # fmt: skip


def test_of_secrets_only_the_first_digits_are_shown(text: str) -> None:
    secrets = [line for line in text.splitlines() if line.endswith("secret)")]
    assert len(secrets) > 25
    for line in secrets:
        shown = line[27:].split("  (")[0]
        assert re.fullmatch(r"[0-9a-f]{1,8}(\.\.\.)?", shown), line
    for message in MESSAGES:
        assert message.hex() not in text


def test_lines_are_short_enough_to_read(text: str) -> None:
    assert max(map(len, text.splitlines())) <= 120


def test_each_walk_has_its_own_key() -> None:
    one, other = (re.search(r"fp +([0-9a-f]{64})", walk(512))[1] for _ in range(2))
    assert one != other


@pytest.mark.parametrize("cls", [Receiver, SixReceiver])
def test_a_party_that_disagrees_with_the_steps_stops_the_walk(monkeypatch, cls) -> None:
    real = cls.retrieve
    monkeypatch.setattr(cls, "retrieve", lambda self, reply: real(self, reply)[::-1])
    with pytest.raises(WalkError):
        walk(512)


def test_a_step_that_disagrees_with_the_party_stops_the_walk(monkeypatch) -> None:
    monkeypatch.setattr(debug, "encode", lambda x, modulus: bytes(64))
    with pytest.raises(WalkError, match="y:"):
        walk(512)
