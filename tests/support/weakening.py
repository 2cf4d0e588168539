"""Weakened copies of the rules: an attack must work once before its failure means anything."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def weakened(owner: Any, name: str, *changes: tuple[str, str]) -> Iterator[None]:
    """Run with a copy of `owner.name` in whose source each rule is replaced by something weaker.

    Args:
        owner: the module or class whose function is replaced, and put back.
        name: of the function.
        changes: (rule, instead): a piece of the function's source and what
            stands there in the copy. The rule must stand there exactly once,
            so that a rule that was rewritten is noticed here first.
    """
    original = inspect.getattr_static(owner, name)
    function = getattr(original, "__func__", original)
    source = textwrap.dedent(inspect.getsource(function))
    for rule, instead in changes:
        found = source.count(rule)
        assert found == 1, f"the rule {rule!r} stands {found} times in {name}, not once"
        source = source.replace(rule, instead)
    names: dict[str, Any] = {}
    code = compile("from __future__ import annotations\n" + source, f"<weakened {name}>", "exec")
    exec(code, function.__globals__, names)
    setattr(owner, name, names[name])
    try:
        yield
    finally:
        setattr(owner, name, original)
