"""Sender and receiver of the compact variant, this project's default."""

from iot2.parties.compact.receiver import Receiver
from iot2.parties.compact.sender import Sender, check_query, check_residue, seal

__all__ = ["Receiver", "Sender", "check_query", "check_residue", "seal"]
