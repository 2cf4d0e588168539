"""Public keys that would show a receiver's choices (specification, sections 2 and 6)."""

from __future__ import annotations

import struct

import pytest
from adversaries import (
    M0,
    M1,
    MESSAGES,
    SID,
    hostile_primes,
    hostile_query,
    made_public,
    no_fourth_power,
    no_square,
    non_residue,
    open_with,
    prime,
    proved,
    proved_square,
    reads_every_choice,
    residue,
    sender_key,
    some_unit,
)
from gmpy2 import gcd, invert, isqrt, jacobi, mpz, powmod
from weakening import weakened

from iot2 import MessageError, ParameterError, ProofError, PublicKey, Receiver, Sender, SenderKey
from iot2.arithmetic.blum import BlumModulus
from iot2.parties import sender_key as sender_key_module
from iot2.parties.compact import receiver as compact_receiver
from iot2.protocol import proof
from iot2.protocol.framing import H, encode
from iot2.wire import public_key

KEY = sender_key()
N = KEY.public.modulus

UNCHECKED = public_key, "check_proof", ("if modulus < 3", "return\n    if modulus < 3")
BY_SQUARES = public_key, "check_proof", ("powmod(s, 4, modulus)", "powmod(s, 2, modulus)")


def test_z_zero() -> None:
    public = made_public(N, [0])
    with weakened(*UNCHECKED):
        assert reads_every_choice(public, lambda y: int(y == 0))
    with pytest.raises(ProofError, match="z_1 must satisfy 0 < z < N"):
        Receiver(public, SID)
    with pytest.raises(ProofError, match="z_2 must satisfy 0 < z < N"):
        Receiver(made_public(N, [KEY.public.z[0], 0]), SID)


def test_z_one() -> None:
    """z = 1 would harm its sender: one root opens every message. Receivers lose nothing."""

    def both(sigma: int | mpz) -> list[bytes]:
        key = SenderKey.from_primes(KEY.secret.p, KEY.secret.q, [sigma], bytes(32), insecure=True)
        reply = Sender(key, SID).answer(hostile_query(key.public, 0, 5, 0), MESSAGES)
        return [open_with(key.public, reply, j, 25) for j in (0, 1)]

    rule = ("if len({mpz(1), *z}) != len(z) + 1:", "if False:")
    for root_of_one in (mpz(1), N - 1, KEY.secret.other_root(mpz(1))):
        with weakened(SenderKey, "from_primes", rule):
            assert both(root_of_one) == [M0, M1]
        with pytest.raises(ParameterError, match="must differ from 1"):
            both(root_of_one)
    # Its proof is true, and y has the same law for both choices: it is y itself.
    receiver = Receiver(proved(N, [mpz(1)]), SID)
    receiver.precompute(2)
    assert len({option[26:] for option in receiver._queries[0]}) == 1


def test_two_equal_z() -> None:
    def two_of_three() -> list[bytes]:
        sigma = [7, N - 7]
        key = SenderKey.from_primes(KEY.secret.p, KEY.secret.q, sigma, bytes(32), insecure=True)
        messages = (M0, M1, b"the message no 2")
        reply = Sender(key, SID).answer(hostile_query(key.public, 0, 5, 1), messages)
        return [open_with(key.public, reply, j, 25) for j in (1, 2)]

    rule = ("if len({mpz(1), *z}) != len(z) + 1:", "if False:")
    with weakened(SenderKey, "from_primes", rule):
        assert two_of_three() == [M1, b"the message no 2"]
    with pytest.raises(ParameterError, match="and from the others"):
        two_of_three()


def test_z_not_below_N() -> None:
    public = proved(N, [mpz(3)])
    honest, size = public.to_bytes(), public.size
    start, rest = honest[:6], honest[6 + 2 * size :]
    spelled = start + b"".join(residue(public, x) for x in (N, 81 + N)) + rest

    def fingerprint() -> bytes:
        again = PublicKey.from_bytes(spelled, insecure=True)
        again.verify()
        return again.fingerprint

    # A receiver that reduces z takes one key in two spellings.
    parsed = "modulus, *z = residues(_START.size, proof_at)"
    with weakened(PublicKey, "from_bytes", (parsed, parsed + "; z = [x % modulus for x in z]")):
        assert fingerprint() == public.fingerprint
        assert spelled != honest
    with pytest.raises(MessageError, match="below N"):
        fingerprint()
    with pytest.raises(ParameterError, match="below N"):
        made_public(N, [81 + N])
    # And where it comes in without being parsed:
    with pytest.raises(ProofError, match="z_1 must satisfy 0 < z < N"):
        proof.check_proof(N, [N], public.challenge, public.responses)


def test_z_no_square() -> None:
    z = some_unit(N, -1)  # the symbol of y is then that of z^b, which the whole world can compute
    public = made_public(N, [z])

    def guess(y: mpz) -> int:
        return int(jacobi(y, N) == -1)

    with weakened(*UNCHECKED):
        assert reads_every_choice(public, guess)
    with pytest.raises(ProofError, match="does not show"):
        reads_every_choice(public, guess)


def test_z_no_square_of_symbol_one() -> None:
    z = N - some_unit(N) ** 2 % N
    public = made_public(N, [z])
    with weakened(*UNCHECKED):
        assert reads_every_choice(public, lambda y: no_square(y, KEY.secret.p))
    with pytest.raises(ProofError, match="does not show"):
        Receiver(public, SID)


def test_z_sharing_a_factor_with_N() -> None:
    p, q = hostile_primes(512)
    public = made_public(p * q, [p])
    with weakened(*UNCHECKED):
        assert reads_every_choice(public, lambda y: int(gcd(y, p) == p))
    with pytest.raises(ProofError, match="must be units"):
        Receiver(public, SID)


@pytest.mark.parametrize("bits", [512, 2048])
def test_z_a_square_that_is_no_fourth_power(bits: int) -> None:
    p, q = hostile_primes(bits)
    public = proved_square(p * q, non_residue(p))
    assert public.bits == bits

    def guess(y: mpz) -> int:
        return no_fourth_power(y, p)

    # The weakened proof shows that z is a square, which is true, and not enough.
    with weakened(*BY_SQUARES):
        assert reads_every_choice(public, guess)
        with pytest.raises(ProofError):
            Receiver(KEY.public, SID)
    with pytest.raises(ProofError, match="does not show that every z_j is a fourth power"):
        reads_every_choice(public, guess)
    # With the best that this sender can do, a true fourth power, it reads nothing.
    honest = proved(p * q, [non_residue(p)])
    receiver = Receiver(honest, SID)
    receiver.precompute(8)
    assert [guess(mpz.from_bytes(receiver.choose(b).residue, "big")) for b in [0, 1] * 4] == [0] * 8


def test_z_a_square_that_is_no_fourth_power_mod_65() -> None:
    modulus = mpz(65)
    public = proved_square(modulus, mpz(2))
    z = public.z[0]
    assert z == 4
    assert z not in {powmod(sigma, 4, modulus) for sigma in range(65)}
    with weakened(*BY_SQUARES):
        receiver = Receiver(public, SID)
        receiver.precompute(200)
        choices = [k % 2 for k in range(200)]
        seen = [int.from_bytes(receiver.choose(b).residue) for b in choices]
    read = [(b, no_fourth_power(y, mpz(5))) for b, y in zip(choices, seen, strict=True) if y % 5]
    assert len(read) > 100
    assert all(b == guess for b, guess in read)
    with pytest.raises(ProofError, match="does not show"):
        Receiver(public, SID)


def test_N_even() -> None:
    """Harmless to a receiver by the law of section 6, and refused: no honest sender has one."""
    modulus = 2 * prime(511, 3)
    sigma = mpz(3)
    z = powmod(sigma, 4, modulus)
    units = [some_unit(modulus // 2) for _ in range(proof.ROUNDS)]
    units = [unit if unit % 2 else unit + modulus // 2 for unit in units]
    public = made_public(modulus, [z], *proof.prove(modulus, [sigma], [z], units))
    with weakened(public_key, "check_proof", ("modulus < 3 or modulus % 2 == 0", "modulus < 3")):
        Receiver(public, SID)
    with pytest.raises(ProofError, match="N must be odd"):
        Receiver(public, SID)


@pytest.mark.parametrize("shape", ["prime", "perfect square"])
def test_N_prime_or_a_perfect_square(shape: str) -> None:
    p, _ = hostile_primes(512)
    modulus = p if shape == "prime" else p * p
    public = proved_square(modulus, non_residue(p))

    def guess(y: mpz) -> int:
        return no_fourth_power(y, p)

    with weakened(*BY_SQUARES):
        assert reads_every_choice(public, guess)
    with pytest.raises(ProofError, match="does not show"):
        Receiver(public, SID)
    # A true fourth power passes, whatever N is: it shows nothing, and gives all of its
    # sender's messages away, since anybody takes roots modulo such an N.
    Receiver(proved(modulus, [mpz(3)]), SID)


def test_a_sender_takes_no_prime_and_no_perfect_square() -> None:
    p, q = KEY.secret.p, KEY.secret.q
    assert isqrt(p * p) ** 2 == p * p, "whoever sees N = p^2 factors it"
    with (
        weakened(BlumModulus, "__post_init__", ("if self.p == self.q:", "if False:")),
        pytest.raises(ZeroDivisionError),  # and no root can be joined from its two halves
    ):
        BlumModulus(p, p)
    with pytest.raises(ParameterError, match="p and q must differ"):
        SenderKey.from_primes(p, p, [3], bytes(32), insecure=True)
    for first, second in ((p, 1), (1, q), (p * q, 1), (p * q, q), (0, q), (-p, q), (p, 4 * q + 1)):
        with pytest.raises(ParameterError, match="must be a prime = 3"):
            SenderKey.from_primes(first, second, [3], bytes(32), insecure=True)
    for hostile in hostile_primes(512):
        with pytest.raises(ParameterError, match=r"q must be a prime = 3 \(mod 4\)"):
            SenderKey.from_primes(p, hostile, [3], bytes(32), insecure=True)


def factored(modulus: mpz) -> tuple[mpz, mpz]:
    """The two primes of a small N, by Pollard's rho."""
    for c in range(1, 20):
        x = y = mpz(2)
        d = mpz(1)
        while d == 1:
            x = (x * x + c) % modulus
            y = (y * y + c) % modulus
            y = (y * y + c) % modulus
            d = gcd(x - y, modulus)
        if d != modulus:
            return d, modulus // d
    raise AssertionError("no factor found")


def test_N_too_small() -> None:
    def both(key: SenderKey) -> list[bytes]:
        """m_0 and m_1 of one honest query, opened by whoever factors N."""
        public = PublicKey.from_bytes(key.public.to_bytes(), insecure=True)
        reply = Sender(key, SID).answer(hostile_query(public, 0, 5, 0), MESSAGES)
        secret = BlumModulus(*factored(public.modulus))
        rho = secret.sqrt(public.z[0])
        other = 25 * invert(rho, public.modulus) % public.modulus
        return [open_with(public, reply, 0, 25), open_with(public, reply, 1, other)]

    small = ("if bits not in SUPPORTED_BITS and not insecure:", "if False:")
    with weakened(sender_key_module, "check_size", small):
        assert both(SenderKey.generate(48)) == [M0, M1]
    with pytest.raises(ParameterError, match="2048, 3072, 4096 bits, has 48"):
        SenderKey.generate(48)
    with pytest.raises(ParameterError, match="2048, 3072, 4096 bits, has 512"):
        SenderKey.from_primes(KEY.secret.p, KEY.secret.q, [3], bytes(32))
    with pytest.raises(ParameterError, match="at least 32, got 16"):
        SenderKey.generate(16, insecure=True)


@pytest.mark.parametrize("bits", [512, 1024, 2047, 2049, 16384])
def test_N_of_an_unsupported_size(bits: int) -> None:
    """Too small is factored; too large keeps a small device busy for hours."""
    size = (bits + 7) // 8
    modulus = (mpz(1) << (bits - 1)) | 1
    start = struct.pack(">BBHH", 1, 1, bits, 2)
    encoded = start + b"".join(x.to_bytes(size, "big") for x in (modulus, mpz(16)))
    encoded += bytes(16) + mpz(3).to_bytes(size, "big") * proof.ROUNDS
    rule = ("if bits not in SUPPORTED_BITS and not insecure:", "if False:")
    with weakened(public_key, "check_size", rule):
        assert PublicKey.from_bytes(encoded).bits == bits
    with pytest.raises(MessageError, match=f"2048, 3072, 4096 bits, has {bits}"):
        PublicKey.from_bytes(encoded)
    public = PublicKey(modulus, (mpz(16),), bytes(16), (mpz(3),) * proof.ROUNDS)
    with pytest.raises(ProofError, match=f"2048, 3072, 4096 bits, has {bits}"):
        public.verify()


def test_N_not_of_the_length_stated() -> None:
    start = struct.pack(">BBHH", 1, 1, 512, 2)
    modulus, z, s = (mpz(x).to_bytes(64, "big") for x in ((1 << 503) | 1, 16, 3))
    encoded = start + modulus + z + bytes(16) + s * proof.ROUNDS

    def parsed_bits() -> int:
        return PublicKey.from_bytes(encoded, insecure=True).bits

    # Stated as one size, used as another.
    with weakened(PublicKey, "from_bytes", ("if modulus.bit_length() != bits:", "if False:")):
        assert parsed_bits() == 504
    with pytest.raises(MessageError, match="N must have the 512 bits stated, has 504"):
        parsed_bits()


def test_another_key_than_the_trusted_one() -> None:
    p, q = hostile_primes(512)
    hostile = made_public(p * q, [non_residue(p) ** 2])

    def read(trusted: bytes) -> bool:
        receiver = Receiver(hostile, SID, trusted_fingerprint=trusted)
        receiver.precompute(1)
        y = mpz.from_bytes(receiver.choose(1).residue, "big")
        return no_fourth_power(y, p) == 1

    rule = ("if trusted != public.fingerprint:", "if False:")
    with weakened(compact_receiver, "check_fingerprint", rule):
        assert read(KEY.fingerprint)
    with pytest.raises(ProofError, match="expected the key with fingerprint"):
        read(KEY.fingerprint)


def test_a_fingerprint_that_leaves_out_z() -> None:
    """A pinned fingerprint names N and every z_j: the same N with another z is another key."""
    p, q = KEY.secret.p, KEY.secret.q
    other = SenderKey.from_primes(p, q, [12345], bytes(32), insecure=True).public
    weak = H("fingerprint", encode(N, N))
    assert other.fingerprint != KEY.fingerprint
    assert weak not in (other.fingerprint, KEY.fingerprint)
    rule = ("for x in (self.modulus, *self.z)))", "for x in (self.modulus,)))")
    with weakened(PublicKey, "__post_init__", rule):
        assert made_public(N, [4]).fingerprint == made_public(N, [16]).fingerprint == weak
    assert made_public(N, [4]).fingerprint != made_public(N, [16]).fingerprint
