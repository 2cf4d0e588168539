"""Pre-computed OT over any of the other protocols (Beaver 1995; specification, section 5).

| phase    | who    | what                                                               |
|----------|--------|--------------------------------------------------------------------|
| offline  | both   | one transfer of the base, of random r_0 ... r_(c-1) at random gamma |
| online 1 | R -> S | d = b - gamma (mod c)                                              |
| online 2 | S -> R | e_j = m_j ^ r_(j - d mod c)                                        |
| online   | R      | m_b = e_b ^ r_gamma                                                |

For c = 2 both differences are XORs. Online, whatever the base is, one byte
goes up and c ciphertexts come down, and no party does more than an XOR: it is
the honest limit in every comparison of online cost. Offline the base's own
messages travel, as bytes of its own kinds.
"""

from iot2.parties.precomputed.receiver import PrecomputedReceiver
from iot2.parties.precomputed.sender import PrecomputedSender

__all__ = ["PrecomputedReceiver", "PrecomputedSender"]
