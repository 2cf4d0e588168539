"""A clock that tests move, to see whose work a time holds."""

from __future__ import annotations

import functools
from typing import Any

import pytest


class Clock:
    """Stands still but where a test moves it."""

    def __init__(self) -> None:
        self.time = 0

    def __call__(self) -> int:
        return self.time


def slow(monkeypatch: pytest.MonkeyPatch, clock: Clock, cls: type, name: str, cost: int) -> None:
    """Let every call of the method move the clock by `cost`."""
    real = getattr(cls, name)

    @functools.wraps(real)
    def method(self: Any, *arguments: Any, **named: Any) -> Any:
        clock.time += cost
        return real(self, *arguments, **named)

    monkeypatch.setattr(cls, name, method)
