"""A key that is known already is still refused where its size is not asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from adversaries import sender_key

from iot2 import MessageError
from iot2.net.conversation import Ask, Conversation, Options
from iot2.net.events import Welcome
from iot2.net.known_keys import KnownKeys

KEY = sender_key().public


def greeted(known: KnownKeys, *, insecure: bool) -> Conversation:
    """A conversation whose server names the known key and does not send it."""
    conversation = Conversation("server:1", Options(insecure=insecure), known)
    steps = conversation._greet()
    ask: Any = next(steps)
    assert isinstance(ask, Ask)
    assert ask.data["known"] == [KEY.fingerprint.hex()]
    welcome = Welcome(KEY.fingerprint, KEY.bits, KEY.choices, {})
    with pytest.raises(StopIteration):
        steps.send(welcome.to_wire())
    return conversation


def test_a_small_key_that_was_remembered(tmp_path: Path) -> None:
    KnownKeys(tmp_path / "known").remember("server:1", KEY)
    known = KnownKeys.load(tmp_path / "known")
    assert greeted(known, insecure=True).key == KEY
    with pytest.raises(MessageError, match="2048, 3072, 4096 bits, has 512"):
        greeted(known, insecure=False)
