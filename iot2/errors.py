"""The one family of errors that iot2 raises on purpose.

Every text says what was expected and what came; none ever holds a secret
(a key, a root, a message or a choice bit).
"""


class Iot2Error(Exception):
    """Base of every error that iot2 raises on purpose."""


class ParameterError(Iot2Error, ValueError):
    """An argument of the caller's is outside its domain."""


class MessageError(Iot2Error):
    """Bytes from the other party do not parse, or a value in them is out of range."""


class ProofError(Iot2Error):
    """A public key parses but does not prove that every z_j is a fourth power."""


class StateError(Iot2Error):
    """A step out of order, or a second use of something that serves once."""


class DataError(Iot2Error):
    """A stored file (key, CSV, sidecar) is damaged, foreign or a mixture of runs."""
