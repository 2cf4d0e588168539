"""What a notebook may be given: names and types, checked before and inside it.

papermill inspects the cell tagged `parameters`, and what it finds is what
`iot2 notebook` accepts. Given an unknown name papermill itself only prints a
line and goes on, so every notebook also checks, in its first call, what it
was given, by whatever ran it.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import io
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import GenericAlias
from typing import Any, Final

from iot2.errors import DataError, ParameterError

Kind = type | GenericAlias

KINDS: Final[dict[str, Kind]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "list[str]": list[str],
    "list[int]": list[int],
    "list[float]": list[float],
}
"""The types that a parameter may have, by the name it is annotated with."""

_IN_WORDS: Final = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
_BOOLEANS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_OF_IPYTHON: Final = frozenset({"In", "Out", "exit", "quit", "get_ipython", "open"})


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a notebook, as its `parameters` cell declares it."""

    name: str
    kind: Kind
    default: Any
    help: str


def inspect_parameters(notebook: Path) -> dict[str, Parameter]:
    """The parameters of a notebook, by name, in the order of their cell.

    Raises:
        DataError: the file is no notebook, or its parameters are no annotated literals.
    """
    from papermill.inspection import inspect_notebook

    try:
        with _quiet_papermill() as complaints:
            found = inspect_notebook(str(notebook))
    except Exception as error:  # nbformat and json raise much, and no common base
        reason = str(error) or type(error).__name__
        raise DataError(f"{notebook.name}: expected a notebook, came: {reason:.200}") from error
    if complaints.getvalue():
        raise DataError(f"{notebook.name}: {complaints.getvalue().strip()}")
    return {name: _declared(notebook.name, entry) for name, entry in found.items()}


def check_parameters(namespace: Mapping[str, Any], **declared: Kind) -> None:
    """Check the parameters of the notebook that calls this, before anything else does.

    A name set beside the declared ones is a misspelt parameter, which would
    otherwise be ignored.

    Args:
        namespace: the notebook's `globals()`.
        declared: each parameter and its type.

    Raises:
        ParameterError: one is missing, of another type, or not declared.

    >>> check_parameters({"quick": True}, quick=bool)
    >>> check_parameters({"quik": True}, quick=bool)
    Traceback (most recent call last):
    iot2.errors.ParameterError: unknown parameter 'quik', expected quick; did you mean quick?
    """
    for name, value in namespace.items():
        hidden = name.startswith("_") or name in _OF_IPYTHON
        if not hidden and name not in declared and _is_literal(value):
            raise unknown_parameter(name, declared)
    for name, kind in declared.items():
        if name not in namespace:
            raise ParameterError(f"parameter {name}: expected {in_words(kind)}, came nothing")
        check_value(name, kind, namespace[name])


def check_value(name: str, kind: Kind, value: object) -> None:
    """Raise `ParameterError` unless `value` is of `kind`; a bool is no number here."""
    single = _single(kind)
    values = value if single is not kind and isinstance(value, list) else [value]
    fits = isinstance(value, list) if single is not kind else True
    wanted = (int, float) if single is float else (single,)
    for each in values:
        fits = fits and isinstance(each, wanted) and (single is bool or not isinstance(each, bool))
    if not fits:
        raise ParameterError(f"parameter {name}: expected {in_words(kind)}, came {value!r:.80}")


def convert(parameter: Parameter, words: Sequence[str]) -> Any:
    """The value that the words of a command line give a parameter.

    >>> convert(Parameter("bits", list[int], [3072], ""), ["1024", "2048"])
    [1024, 2048]

    Raises:
        ParameterError: the words do not fit its type.
    """
    single = _single(parameter.kind)
    try:
        values = [_convert_one(single, word) for word in words]
    except ValueError:
        values = []
    if single is not parameter.kind and (values or not words):
        return values
    if single is parameter.kind and len(values) == 1:
        return values[0]
    came = " ".join(words) or "nothing"
    raise ParameterError(
        f"parameter {parameter.name}: expected {in_words(parameter.kind)}, came {came!r:.80}"
    )


def checked_values(
    notebook: str, declared: Mapping[str, Parameter], given: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Every value given on a command line, converted; names not declared are refused."""
    for name in given:
        if name not in declared:
            raise unknown_parameter(name, declared, notebook)
    return {name: convert(declared[name], words) for name, words in given.items()}


def unknown_parameter(
    name: str, declared: Iterable[str], notebook: str | None = None
) -> ParameterError:
    """The error that names what was expected instead of `name`."""
    names = list(declared)
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    where = f" of {notebook}" if notebook else ""
    expected = f"one of {', '.join(names)}" if names[1:] else "".join(names) or "none"
    return ParameterError(f"unknown parameter {name!r}{where}, expected {expected}{hint}")


def in_words(kind: Kind) -> str:
    """A type as an error or a help text names it.

    >>> in_words(list[int])
    'a list, each a whole number'
    """
    single = _single(kind)
    return _IN_WORDS[single] if single is kind else f"a list, each {_IN_WORDS[single]}"


def type_name(kind: Kind) -> str:
    """A type as it is annotated in a notebook."""
    return next(name for name, each in KINDS.items() if each == kind)


def _declared(notebook: str, entry: Mapping[str, str]) -> Parameter:
    name, default = entry["name"], entry["default"]
    try:
        value = ast.literal_eval(default)
    except (ValueError, SyntaxError) as error:
        raise DataError(
            f"{notebook}: parameter {name}: expected a literal, came {default!r:.80}"
        ) from error
    annotation = entry["inferred_type_name"].strip()
    kind = KINDS.get(annotation)
    if kind is None:
        raise DataError(
            f"{notebook}: parameter {name}: expected an annotation,"
            f" one of {', '.join(KINDS)}, came {annotation!r}"
        )
    try:
        check_value(name, kind, value)
    except ParameterError as error:
        raise DataError(f"{notebook}: {error}") from error
    return Parameter(name, kind, value, entry["help"].strip())


def _single(kind: Kind) -> type:
    return kind.__args__[0] if isinstance(kind, GenericAlias) else kind


def _convert_one(single: type, word: str) -> Any:
    if single is bool:
        if word.lower() not in _BOOLEANS:
            raise ValueError(word)
        return _BOOLEANS[word.lower()]
    return single(word)


def _is_literal(value: object) -> bool:
    literals = (str, bytes, int, float, list, tuple, dict, set)
    return value is None or isinstance(value, literals)


@contextlib.contextmanager
def _quiet_papermill() -> Any:
    """Collect what papermill would print about lines that it cannot read."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setLevel(logging.WARNING)
    logger = logging.getLogger("papermill")
    before, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield text
    finally:
        logger.removeHandler(handler)
        logger.propagate = before
