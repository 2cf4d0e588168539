"""What a hostile receiver may send as y (specification, sections 3 and 6)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from adversaries import (
    M0,
    M1,
    MESSAGES,
    SID,
    ask,
    hostile_query,
    is_square,
    open_with,
    prime,
    residue,
    sender_key,
    some_unit,
    source,
)
from gmpy2 import jacobi, mpz
from weakening import weakened

from iot2 import (
    Iot2Error,
    MessageError,
    Query,
    QueryBatch,
    Reply,
    Sender,
    SenderKey,
    SixQuery,
    SixSender,
)
from iot2.parties.compact import sender as compact_sender
from iot2.protocol import compact
from iot2.protocol.framing import H, X, encode, pad, u64, xor
from iot2.wire.header import HEADER, SIX_QUERY

KEY = sender_key()
PUBLIC = KEY.public
N = PUBLIC.modulus
HONEST = residue(PUBLIC, 3**4)

BELOW_ZERO = ("if not 0 < y < key.public.modulus:", "if not 0 <= y < key.public.modulus:")
ANY_FACTOR = ("if not key.secret.is_unit(y):", "if False:")
ANY_LENGTH = ("if len(residue) != size:", "if False:")
REDUCED = ('mpz.from_bytes(residue, "big")', 'mpz.from_bytes(residue, "big") % key.public.modulus')

Answer = Callable[[bytes], object]


def one_by_one(sender: Sender, y: bytes) -> object:
    return sender.answer(Query(SID, 0, y), MESSAGES)


def in_a_list(sender: Sender, y: bytes) -> object:
    return sender.answer_many([Query(SID, 1, HONEST), Query(SID, 0, y)], [MESSAGES, MESSAGES])


def in_a_batch(sender: Sender, y: bytes) -> object:
    query = Query(SID, 0, y).to_bytes()
    return sender.answer_many(QueryBatch.from_bytes(query, len(query)), [MESSAGES])


def sealed(sender: Sender, y: bytes) -> object:
    return compact_sender.seal(sender.key, SID, Query(SID, 0, y), MESSAGES)


def refused_everywhere(y: bytes, text: str) -> None:
    """Every way to ask refuses y, and an honest query under the same index is answered after."""
    for way in (one_by_one, in_a_list, in_a_batch, sealed):
        sender = Sender(KEY, SID)
        with pytest.raises(MessageError, match=text):
            way(sender, y)
        assert len(sender.used) == 0
        way(sender, HONEST)
    six = SixSender(KEY, SID)
    six.offer()
    with pytest.raises(MessageError, match=text):
        six.answer(SixQuery(SID, 0, y), M0, M1)
    six.answer(SixQuery(SID, 0, HONEST), M0, M1)


def test_y_zero() -> None:
    y = residue(PUBLIC, 0)
    with weakened(compact_sender, "check_residue", BELOW_ZERO, ANY_FACTOR):
        reply = ask(KEY, y)
    assert [open_with(PUBLIC, reply, j, 0) for j in (0, 1)] == [M0, M1]
    refused_everywhere(y, "0 < y < N")


def test_y_equal_to_N() -> None:
    y = residue(PUBLIC, N)
    # A sender that reduces what it reads meets y = 0 in another spelling.
    with weakened(compact_sender, "check_residue", BELOW_ZERO, ANY_FACTOR, REDUCED):
        reply = ask(KEY, y)
    assert [open_with(PUBLIC, reply, j, 0) for j in (0, 1)] == [M0, M1]
    refused_everywhere(y, "0 < y < N")


def test_y_above_N() -> None:
    y = mpz(5**4)
    spelled = [residue(PUBLIC, y + k * N) for k in (0, 1)]

    def both_spellings_open() -> bool:
        return all(open_with(PUBLIC, ask(KEY, spelling), 0, 5**2) == M0 for spelling in spelled)

    with weakened(compact_sender, "check_residue", REDUCED):
        assert both_spellings_open()
    with pytest.raises(MessageError):
        both_spellings_open()
    refused_everywhere(spelled[1], "0 < y < N")
    refused_everywhere(b"\xff" * PUBLIC.size, "0 < y < N")


@pytest.mark.parametrize("change", ["longer", "shorter", "empty at the end"])
def test_y_of_a_wrong_length(change: str) -> None:
    honest = residue(PUBLIC, 5**4)
    y = {"longer": b"\0" + honest, "shorter": honest[1:], "empty at the end": honest[-2:]}[change]
    with weakened(compact_sender, "check_residue", ANY_LENGTH):
        assert open_with(PUBLIC, ask(KEY, y), 0, 5**2) == M0, "a second spelling of one query"
    refused_everywhere(y, f"y must have {PUBLIC.size} bytes, has {len(y)}")


@pytest.mark.parametrize("factor", ["p", "q"])
def test_y_sharing_a_factor_with_N(factor: str) -> None:
    r = getattr(KEY.secret, factor) * 12345
    y = residue(PUBLIC, r * r % N)
    # Such a y has two roots instead of four: |r| opens whether or not r is a square, so the
    # answer is outside the law that the proof of section 6 speaks of.
    with weakened(compact_sender, "check_residue", ANY_FACTOR):
        for root in (r, r * some_unit(N) ** 2 % N):
            reply = ask(KEY, residue(PUBLIC, root * root % N))
            assert open_with(PUBLIC, reply, 0, root) == M0
    refused_everywhere(y, "must be a unit")


def non_square(symbol: int) -> mpz:
    """Minus a square where the Jacobi symbol is to be +1: both factors are 3 (mod 4)."""
    y = -(some_unit(N) ** 2) % N if symbol == 1 else some_unit(N, -1)
    assert jacobi(y, N) == symbol
    assert not is_square(KEY, y)
    return y


def says_square(y: mpz) -> bool:
    """A residuosity oracle, if the sender is one: does it treat y as a square?"""
    try:
        reply = ask(KEY, residue(PUBLIC, y))
    except (Iot2Error, ValueError):
        return False
    assert (reply.choices, reply.length) == (2, len(M0))
    return True


@pytest.mark.parametrize("symbol", [1, -1])
def test_y_a_non_square_shown_by_a_refusal(symbol: int) -> None:
    squares = [some_unit(N) ** 2 % N for _ in range(8)]
    others = [non_square(symbol) for _ in range(8)]
    rule = "return (rejected, opened)[s * s % N == y]"
    honest_about_it = "if s * s % N != y:\n        raise ValueError('no square')\n    return opened"
    with weakened(compact, "sender_keys", (rule, honest_about_it)):
        assert [says_square(y) for y in squares + others] == [True] * 8 + [False] * 8
    assert [says_square(y) for y in squares + others] == [True] * 16


@pytest.mark.parametrize("symbol", [1, -1])
def test_y_a_non_square_shown_by_keys_that_anyone_can_make(symbol: int) -> None:
    def recognised(y: mpz) -> bool:
        """Whether the reply opens under the keys of a rejection, made without the secret seed."""
        reply = ask(KEY, residue(PUBLIC, y))
        parts = (KEY.fingerprint, SID, u64(0), encode(y, N))
        keys = [X("reject", 32, *parts, bytes([j])) for j in (0, 1)]
        return tuple(map(compact.decrypt, keys, reply.ciphertexts)) == MESSAGES

    candidates = [some_unit(N) ** 2 % N, non_square(symbol)]
    with weakened(compact, "sender_keys", ("KEY_BYTES, reject_seed, fp", "KEY_BYTES, fp")):
        assert [recognised(y) for y in candidates] == [False, True]
    assert [recognised(y) for y in candidates] == [False, False]


def raw_root_opens(r: mpz, y: mpz) -> bool:
    """Whether c_0 of the reply to y opens under a key made from r itself, not from |r|."""
    reply = ask(KEY, residue(PUBLIC, y))
    key = H("key/compact", KEY.fingerprint, SID, u64(0), encode(r, N))
    return xor(reply.ciphertexts[0], pad(key, len(M0))) == M0


def test_y_the_square_of_a_chosen_r_as_a_residuosity_oracle() -> None:
    chosen = [some_unit(N, 1) for _ in range(16)]
    truth = [is_square(KEY, r) for r in chosen]
    assert set(truth) == {True, False}

    def oracle() -> list[bool]:
        return [raw_root_opens(r, r * r % N) for r in chosen]

    rule = ("encode(absolute(root, modulus), modulus)", "encode(root, modulus)")
    with weakened(compact, "root_key", rule):
        assert oracle() == truth
    # Under |root| what opens is what anyone computes: the smaller of r and N - r.
    assert oracle() == [r < N - r for r in chosen]


@pytest.mark.parametrize("symbol", [1, -1])
def test_y_the_square_of_a_chosen_r_opens_by_its_public_symbol_alone(symbol: int) -> None:
    chosen = [some_unit(N, symbol) for _ in range(16)]

    def opens(r: mpz) -> bool:
        return open_with(PUBLIC, ask(KEY, residue(PUBLIC, r * r % N)), 0, r) == M0

    # A sender that took a root of its own choosing, not the principal one, would tell more.
    other = (
        "s = secret.sqrt(y)",
        "s = secret.sqrt(y)\n    s = s if s % 2 else secret.other_root(s)",
    )
    with weakened(compact, "sender_keys", other):
        assert len({opens(r) for r in chosen}) == 2
    assert [opens(r) for r in chosen] == [symbol == 1] * 16


def test_minus_y() -> None:
    # Where (-1)^((p+1)/4) is the same for both primes, sqrt(-y) is sqrt(y) up to sign.
    p, q = (next(x for x in iter(lambda: prime(256, 3), 0) if x % 8 == 7) for _ in range(2))
    key = SenderKey.from_primes(p, q, [3], bytes(32), insecure=True)
    x = mpz(source.getrandbits(500)) ** 2 % key.public.modulus
    y = x * x % key.public.modulus
    spelled = [residue(key.public, y), residue(key.public, key.public.modulus - y)]

    def opened() -> list[bytes]:
        return [open_with(key.public, ask(key, spelling), 0, x) for spelling in spelled]

    # A sender that does not look at s^2 gives two queries one key.
    with weakened(compact, "sender_keys", ("(rejected, opened)[s * s % N == y]", "opened")):
        assert opened() == [M0, M0]
    first, second = opened()
    assert first == M0
    assert second not in MESSAGES


def test_no_root_opens_two_messages() -> None:
    """What a receiver knows of an honest query opens its own choice and nothing else."""
    for b in (0, 1):
        w = mpz(source.getrandbits(500))
        reply = Sender(KEY, SID).answer(hostile_query(PUBLIC, 0, w, b), MESSAGES)
        opened = [open_with(PUBLIC, reply, j, w * w % N) for j in (0, 1)]
        assert opened[b] == MESSAGES[b]
        assert opened[1 - b] != MESSAGES[1 - b]
    # Weakened: with z = 1 in the sender's answer, both would open.
    with weakened(compact, "sender_keys", ("s * inverse % N for", "s for")):
        reply = Sender(KEY, SID).answer(hostile_query(PUBLIC, 0, 5, 0), MESSAGES)
        assert [open_with(PUBLIC, reply, j, 25) for j in (0, 1)] == [M0, M1]


def test_a_query_of_one_variant_to_a_session_of_the_other() -> None:
    six = SixQuery(SID, 0, residue(PUBLIC, 5**4))

    def answered(query: object) -> Reply:
        return Sender(KEY, SID).answer(query, MESSAGES)  # type: ignore[arg-type]

    # Without the check one square serves in both variants.
    with weakened(compact_sender, "check_query", ("if type(query) is not Query:", "if False:")):
        assert open_with(PUBLIC, answered(six), 0, 5**2) == M0
    with pytest.raises(MessageError, match="expected a Query, got SixQuery"):
        answered(six)
    with pytest.raises(MessageError, match="version 1 and kind 5"):
        Query.from_bytes(six.to_bytes())
    with pytest.raises(MessageError, match="another version or kind"):
        QueryBatch.from_bytes(six.to_bytes(), len(six.to_bytes()))

    query = Query(SID, 0, residue(PUBLIC, 5**4))
    sender = SixSender(KEY, SID)
    sender.offer()
    with pytest.raises(MessageError, match="expected a SixQuery, got Query"):
        sender.answer(query, M0, M1)  # type: ignore[arg-type]
    with pytest.raises(MessageError, match=f"kind {SIX_QUERY}, got version 1 and kind 2"):
        SixQuery.from_bytes(query.to_bytes())
    assert len(sender.used) == 0
    assert query.to_bytes()[2 : HEADER.size] == six.to_bytes()[2 : HEADER.size]
