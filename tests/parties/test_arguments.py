"""Arguments of a wrong kind are refused as what they are, before anything is spent."""

from __future__ import annotations

import copy
import pickle

import pytest

from iot2 import (
    ParameterError,
    Receiver,
    Sender,
    SenderKey,
    SimplestReceiver,
    SimplestSender,
    SixReceiver,
    SixSender,
    StateError,
)

MESSAGES = (b"left", b"rite")


@pytest.fixture(scope="module")
def key() -> SenderKey:
    return SenderKey.generate(256, insecure=True)


@pytest.mark.parametrize("messages", [None, iter(MESSAGES), set(MESSAGES), b"ab", "ab", 7])
def test_messages_of_another_kind(key: SenderKey, messages: object) -> None:
    sender = Sender(key)
    receiver = Receiver(key.public, sender.sid)
    receiver.precompute(1)
    query = receiver.choose(1)
    with pytest.raises(ParameterError, match="must be bytes in a list or tuple"):
        sender.answer(query, messages)  # type: ignore[arg-type]
    with pytest.raises(ParameterError):
        sender.answer_many([query], messages)  # type: ignore[call-overload]
    assert receiver.retrieve(sender.answer(query, MESSAGES)) == b"rite"


@pytest.mark.parametrize("workers", [0, -1, 1.5, "2", None])
def test_workers_that_are_none(key: SenderKey, workers: object) -> None:
    sender = Sender(key)
    receiver = Receiver(key.public, sender.sid)
    receiver.precompute(1)
    query = receiver.choose(0)
    with pytest.raises(ParameterError, match="workers must be an integer of at least 1"):
        sender.answer_many([query], [MESSAGES], workers=workers)  # type: ignore[call-overload]
    assert len(sender.used) == 0
    with pytest.raises(ParameterError, match="workers must be an integer of at least 1"):
        SimplestSender().answer_many([], [], workers=workers)  # type: ignore[call-overload]


def test_keys_of_another_kind(key: SenderKey) -> None:
    for make in (Sender, SixSender):
        with pytest.raises(ParameterError, match="the key must be a SenderKey, got PublicKey"):
            make(key.public)  # type: ignore[arg-type]
    for receive in (Receiver, SixReceiver):
        with pytest.raises(ParameterError, match="the public key must be a PublicKey, got None"):
            receive(None, bytes(16))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="the public key must be a bytes, got bytearray"):
        SimplestReceiver(bytearray(32), bytes(16))  # type: ignore[arg-type]


@pytest.mark.parametrize("drawn", [None, "x" * 48, bytearray(48)])
def test_randomness_of_another_kind(key: SenderKey, drawn: object) -> None:
    sender = Sender(key)
    receiver = Receiver(key.public, sender.sid, randbytes=lambda count: drawn)  # type: ignore[arg-type, return-value]
    with pytest.raises(ParameterError, match=r"randbytes\(48\) must give 48 bytes, gave "):
        receiver.precompute(1)
    assert receiver.available == 0


def test_a_key_is_neither_pickled_nor_copied(key: SenderKey) -> None:
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(StateError, match="stored with save and read with load"):
            copied(key)
