"""SimplestOT, the baseline: 1-out-of-2 oblivious transfer over a prime-order group.

From T. Chou and C. Orlandi, "The Simplest Protocol for Oblivious Transfer",
LATINCRYPT 2015 (specification, section 9). Most callers want `SimplestSender`
and `SimplestReceiver`, importable from `iot2`; they have the surface of the
classes that they are compared with. Research software, not constant time.
"""

from iot2.simplest.receiver import SimplestReceiver
from iot2.simplest.sender import SimplestSender

__all__ = ["SimplestReceiver", "SimplestSender"]
