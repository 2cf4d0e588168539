"""One transfer of each variant, every step and value in order, for reading along.

The parties are the public classes. Beside them every value is computed once
more by the pure steps of `iot2.protocol`, from the draws that the parties
made; the walk stops if the two ever differ.
"""

import os
from dataclasses import dataclass, field
from typing import Final

from gmpy2 import invert, mpz

from iot2 import Receiver, Sender, SenderKey, SixReceiver, SixSender
from iot2.errors import Iot2Error
from iot2.protocol import compact, six
from iot2.protocol.framing import encode

MESSAGES: Final = (b"left of the two.", b"right of the two")

_NAME, _SHOWN, _SECRET = 22, 16, 8


class WalkError(Iot2Error):
    """A party and the pure steps disagree."""


@dataclass(slots=True)
class Recorder:
    """The operating system's randomness, each draw kept."""

    draws: list[bytes] = field(default_factory=list)

    def __call__(self, count: int) -> bytes:
        """Draw `count` bytes and keep them."""
        self.draws.append(os.urandom(count))
        return self.draws[-1]


@dataclass(slots=True)
class Page:
    """Lines of a walk."""

    lines: list[str] = field(default_factory=list)

    def title(self, text: str) -> None:
        """Begin a variant."""
        self.lines += ["", text, "=" * len(text)]

    def step(self, phase: str, who: str, what: str) -> None:
        """Begin a row of the specification's table."""
        self.lines += ["", f"{phase} | {who} | {what}"]

    def value(self, name: str, value: mpz | bytes | int, *, secret: bool = False) -> None:
        """Show one value: a secret by its first digits alone, a long one by both its ends."""
        if isinstance(value, int):
            digits, size = str(value), "number"
        elif isinstance(value, bytes):
            digits, size = value.hex(), f"{len(value)} bytes"
        else:
            digits, size = f"{value:x}", f"{value.bit_length()} bits"
        if secret:
            shown = f"{digits[:_SECRET]}..." if len(digits) > _SECRET else digits
        elif len(digits) > 4 * _SHOWN:
            shown = f"{digits[:_SHOWN]}...{digits[-_SHOWN:]}"
        else:
            shown = digits
        kind = ", secret" if secret else ""
        self.lines.append(f"    {name:<{_NAME}} {shown}  ({size}{kind})")

    def text(self, name: str, text: str) -> None:
        """Show one remark."""
        self.lines.append(f"    {name:<{_NAME}} {text}")

    def same(self, name: str, ours: object, theirs: object) -> None:
        """Stop unless the party's value is the one computed beside it."""
        if ours != theirs:
            raise WalkError(f"{name}: a party and the steps of the protocol disagree")


def walk(bits: int = 3072) -> str:
    """One transfer of each variant under a fresh key of `bits` bits, as printed text."""
    page = Page()
    key = SenderKey.generate(bits, insecure=True)
    page.lines.append(
        "Values are hexadecimal; of secrets only the first digits are shown. The key is made"
        " for this walk and forgotten."
    )
    _show_key(page, key)
    _walk_compact(page, key)
    _walk_six(page, key)
    return "\n".join(page.lines) + "\n"


def _show_key(page: Page, key: SenderKey) -> None:
    public = key.public
    page.title(f"The sender's key, {key.bits} bits (specification, section 2)")
    page.value("p", key.secret.p, secret=True)
    page.value("q", key.secret.q, secret=True)
    page.value("N = p q", public.modulus)
    page.value("sigma", key.sigma[0], secret=True)
    page.value("z = sigma^4", public.z[0])
    page.value("reject_seed", key.reject_seed, secret=True)
    page.value("e of the proof", public.challenge)
    page.value("s_0 of the proof", public.responses[0])
    page.value("public key", public.to_bytes())
    page.value("fp", public.fingerprint)
    public.verify()
    page.text("proof", "checked: z is a fourth power")
    page.text("square roots", key.secret.powers.name)


def _walk_compact(page: Page, key: SenderKey) -> None:
    public, N, z, fp, b = key.public, key.public.modulus, key.public.z, key.fingerprint, 1
    page.title("Compact variant (specification, section 5)")
    sender, drawn = Sender(key), Recorder()
    receiver = Receiver(public, sender.sid, trusted_fingerprint=fp, randbytes=drawn)
    page.value("sid", sender.sid)
    page.value("session", sender.session.to_bytes())

    page.step("offline", "receiver", "w <- uniform, x = w^2, u_0 = x^2, u_1 = u_0 z, k = key(x)")
    receiver.precompute(1)
    w = mpz.from_bytes(drawn.draws[-1], "big") % N
    x, residues = compact.receiver_offline(w, z, N)
    k = compact.key(fp, sender.sid, 0, x, N)
    page.value("w", w, secret=True)
    page.value("x = w^2", x, secret=True)
    page.value("u_0 = x^2", residues[0], secret=True)
    page.value("u_1 = u_0 z", residues[1], secret=True)
    page.value("k = key(x)", k, secret=True)

    page.step("online 1", "receiver to sender", "(i, y = u_b)")
    query = receiver.choose(b)
    page.same("y", encode(residues[b], N), query.residue)
    page.value("b", b, secret=True)
    page.value("i", query.index)
    page.value("y = u_b", residues[b])
    page.value("query", query.to_bytes())

    page.step(
        "online 2", "sender", "s = sqrt(y), c_0 = m_0 ^ pad(key(s)), c_1 = m_1 ^ pad(key(s/rho))"
    )
    y = residues[b]
    s = key.secret.sqrt(y)
    other = s * key.rho_inverse[0] % N
    page.same("s", s * s % N, y)
    keys = compact.sender_keys(key.secret, key.rho_inverse, key.reject_seed, fp, sender.sid, 0, y)
    reply = sender.answer(query, MESSAGES)
    page.same("c", compact.encrypt(keys, MESSAGES), reply.ciphertexts)
    page.value("s = sqrt(y)", s, secret=True)
    page.value("s / rho", other, secret=True)
    page.value("key(s)", keys[0], secret=True)
    page.value("key(s / rho)", keys[1], secret=True)
    for j, message in enumerate(MESSAGES):
        page.value(f"m_{j}", message, secret=True)
        page.value(f"c_{j}", reply.ciphertexts[j])
    page.value("reply", reply.to_bytes())

    page.step("online", "receiver", "m_b = c_b ^ pad(k)")
    message = receiver.retrieve(reply)
    page.same("m_b", compact.decrypt(k, reply.ciphertexts[b]), message)
    page.same("m_b", message, MESSAGES[b])
    page.text("k and key(s / rho)", "are equal: x is the root that the sender found, up to sign")
    page.same("k", k, keys[b])
    page.value("m_b", message, secret=True)


def _walk_six(page: Page, key: SenderKey) -> None:
    public, N, fp, b = key.public, key.public.modulus, key.fingerprint, 0
    page.title("Six-message variant (specification, section 4)")
    sender_draws, drawn = Recorder(), Recorder()
    sender = SixSender(key, randbytes=sender_draws)
    receiver = SixReceiver(public, sender.sid, randbytes=drawn)
    page.value("sid", sender.sid)
    page.value("session", sender.session.to_bytes())

    page.step("offline", "sender", "a <- unit, z_i = a^2")
    offer = sender.offer()
    a = mpz.from_bytes(sender_draws.draws[-1], "big") % N
    z_i = a * a % N
    page.same("z_i", encode(z_i, N), offer.residue)
    page.value("a", a, secret=True)
    page.value("z_i = a^2", z_i)

    page.step("offline", "receiver", "x <- uniform, u = x^2, h = digest(x), k = key(x)")
    receiver.precompute(1)
    x = mpz.from_bytes(drawn.draws[-1], "big") % N
    u = x * x % N
    k, h = six.key_and_digest(fp, sender.sid, 0, x, N)
    page.value("x", x, secret=True)
    page.value("u = x^2", u, secret=True)
    page.value("h = digest(x)", h, secret=True)
    page.value("k = key(x)", k, secret=True)

    page.step("online 1", "sender to receiver", "z_i")
    page.value("offer", offer.to_bytes())

    page.step("online 2", "receiver to sender", "y = u if b = 0, u z_i if b = 1")
    query = receiver.choose(offer, b)
    y = (u, u * z_i % N)[b]
    page.same("y", encode(y, N), query.residue)
    page.value("b", b, secret=True)
    page.value("y", y)
    page.value("query", query.to_bytes())

    page.step(
        "online 3-6", "sender to receiver", "m0 under both roots of y, m1 under both of y/z_i"
    )
    reply = sender.answer(query, *MESSAGES)
    swaps = sender_draws.draws[-1][0]
    slots = six.sender_slots(key.secret, key.reject_seed, fp, sender.sid, 0, y, invert(a, N))
    arranged = six.arrange(slots, swaps)
    page.same("reply", six.encrypt(arranged, *MESSAGES), (reply.ciphertexts, reply.digests))
    s = key.secret.sqrt(y)
    page.value("s = sqrt(y)", s, secret=True)
    page.value("s'", key.secret.other_root(s), secret=True)
    page.value("swaps", swaps & 3, secret=True)
    for name, message in zip(("m0", "m1"), MESSAGES, strict=True):
        page.value(name, message, secret=True)
    for j in range(4):
        page.value(f"ciphertext {j} (m{j // 2})", reply.ciphertexts[j])
        page.value(f"digest {j}", reply.digests[j])
    page.value("reply", reply.to_bytes())

    page.step("online", "receiver", "find h in pair b; m_b = that ciphertext ^ pad(k)")
    message = receiver.retrieve(reply)
    at = reply.digests.index(h)
    page.same("h", at // 2, b)
    page.same("m_b", compact.decrypt(k, reply.ciphertexts[at]), message)
    page.same("m_b", message, MESSAGES[b])
    page.text("h", f"is digest {at}")
    page.value("m_b", message, secret=True)
