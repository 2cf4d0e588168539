"""The sender's key: how it is made, stored and read, and every refusal."""

from __future__ import annotations

import hashlib
import json
import stat
from pathlib import Path
from typing import Any

import pytest
from adversaries import hostile_primes, prime, sender_key
from gmpy2 import is_prime, mpz, next_prime

from iot2 import DataError, ParameterError, ProofError, PublicKey, SenderKey
from iot2.security.stream import SeededBytes

KEY = sender_key()
P, Q = KEY.secret.p, KEY.secret.q
SEED = bytes(range(32))


@pytest.mark.parametrize("bits", [32, 64, 130, 512])
@pytest.mark.parametrize("choices", [2, 3])
def test_a_generated_key_has_the_shape_of_section_2(bits: int, choices: int) -> None:
    key = SenderKey.generate(bits, choices, insecure=True)
    assert (key.bits, key.choices, len(key.sigma)) == (bits, choices, choices - 1)
    for p in (key.secret.p, key.secret.q):
        assert is_prime(p)
        assert p % 4 == 3
        assert p.bit_length() == bits // 2
        assert p >> (bits // 2 - 2) == 3
    assert key.secret.p != key.secret.q
    N = key.public.modulus
    assert [pow(sigma, 4, N) for sigma in key.sigma] == list(key.public.z)
    assert [r * sigma**2 % N for r, sigma in zip(key.rho_inverse, key.sigma, strict=True)] == [
        1
    ] * (choices - 1)
    key.public.verify()


def test_a_key_of_the_default_size_needs_no_flag() -> None:
    key = SenderKey.generate()
    assert (key.bits, key.choices) == (3072, 2)
    public = PublicKey.from_bytes(key.public.to_bytes())
    public.verify()
    assert public.fingerprint == key.fingerprint


def test_the_same_draws_make_the_same_key() -> None:
    first, second = (
        SenderKey.generate(128, insecure=True, randbytes=SeededBytes(7, "key")) for _ in range(2)
    )
    assert (first.sigma, first.reject_seed) == (second.sigma, second.reject_seed)
    assert first.fingerprint == second.fingerprint
    assert first.public.responses != second.public.responses, "a proof has randomness of its own"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"bits": 3071}, "even integer of at least 32, got 3071"),
        ({"bits": 30, "insecure": True}, "at least 32, got 30"),
        ({"bits": 0, "insecure": True}, "at least 32, got 0"),
        ({"bits": "3072"}, "got '3072'"),
        ({"bits": 3072.0}, "got 3072.0"),
        ({"bits": 1024}, "2048, 3072, 4096 bits, has 1024"),
        ({"choices": 1}, "2 to 256 choices, got 1"),
        ({"choices": 257}, "2 to 256 choices, got 257"),
        ({"choices": "2"}, "got '2'"),
    ],
)
def test_what_generate_refuses(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ParameterError, match=text):
        SenderKey.generate(**arguments)


def test_a_poor_source_is_told() -> None:
    with pytest.raises(ParameterError, match=r"randbytes\(\d+\) must give \d+ bytes, gave 0"):
        SenderKey.generate(64, insecure=True, randbytes=lambda count: b"")


@pytest.mark.parametrize(
    ("sigma", "seed", "text"),
    [
        ([], SEED, "2 to 256 choices, got 1"),
        ([3] * 256, SEED, "2 to 256 choices, got 257"),
        ([3], SEED[1:], "reject_seed must be 32 bytes"),
        ([3], bytearray(SEED), "reject_seed must be 32 bytes"),
        ([0], SEED, "a unit with 0 < sigma < N"),
        ([-3], SEED, "a unit with 0 < sigma < N"),
        ([P * Q], SEED, "a unit with 0 < sigma < N"),
        ([P * Q + 3], SEED, "a unit with 0 < sigma < N"),
        ([P], SEED, "a unit with 0 < sigma < N"),
        ([5 * Q], SEED, "a unit with 0 < sigma < N"),
        ([1], SEED, "must differ from 1"),
        ([3, 3], SEED, "and from the others"),
    ],
)
def test_what_from_primes_refuses(sigma: list[Any], seed: Any, text: str) -> None:
    with pytest.raises(ParameterError, match=text) as caught:
        SenderKey.from_primes(P, Q, sigma, seed, insecure=True)
    for secret in (P, Q, SEED.hex()):
        assert str(secret) not in str(caught.value)


@pytest.mark.parametrize(
    ("p", "q", "sigma"),
    [(P, Q, [3.5]), (P, Q, ["3"]), (P, Q, [None]), (P, Q, 3), (float(P), Q, [3]), (str(P), Q, [3])],
)
def test_from_primes_takes_integers_alone(p: Any, q: Any, sigma: Any) -> None:
    with pytest.raises(ParameterError, match="must be integers"):
        SenderKey.from_primes(p, q, sigma, SEED, insecure=True)


def test_a_secure_key_has_primes_of_one_length() -> None:
    p, q = prime(1000, 3), prime(1048, 3)
    assert (p * q).bit_length() == 2048
    with pytest.raises(ParameterError, match="1024 bits each, the two top ones set"):
        SenderKey.from_primes(p, q, [3], SEED)
    SenderKey.from_primes(p, q, [3], SEED, insecure=True)


def test_a_secure_key_has_primes_that_are_far_apart() -> None:
    p = prime(1024, 3)
    q = next_prime(p + 2)
    while q % 4 != 3:
        q = next_prime(q)
    with pytest.raises(ParameterError, match=r"\|p - q\| must be above 2\^924"):
        SenderKey.from_primes(p, q, [3], SEED)


# Storage.


def stored(tmp_path: Path, name: str = "iot2_512") -> Path:
    path = tmp_path / "sender.key"
    sender_key(name).save(path)
    return path


def content_of(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_bytes())
    return content


def rewrite(path: Path, **changes: Any) -> None:
    """Change entries of the key, under a digest that fits."""
    document = content_of(path)
    document["key"].update(changes)
    text = json.dumps(document["key"], sort_keys=True)
    document["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(document))


@pytest.mark.parametrize("name", ["iot2_512", "iot2_512_1of5"])
def test_a_key_is_read_as_it_was_written(tmp_path: Path, name: str) -> None:
    key, path = sender_key(name), stored(tmp_path, name)
    again = SenderKey.load(path, insecure=True)
    assert again.public == key.public
    assert (again.sigma, again.rho_inverse) == (key.sigma, key.rho_inverse)
    assert (again.secret.p, again.secret.q) == (key.secret.p, key.secret.q)
    assert again.reject_seed == key.reject_seed
    assert again.public.insecure


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = stored(tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    sender_key().save(path, overwrite=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_key_is_not_overwritten_unless_asked(tmp_path: Path) -> None:
    path = stored(tmp_path)
    before = path.read_bytes()
    with pytest.raises(DataError, match="already exists"):
        sender_key("iot2_512_1of5").save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["sender.key"], "nothing is left over"
    sender_key("iot2_512_1of5").save(path, overwrite=True)
    assert SenderKey.load(path, insecure=True).choices == 5


def test_a_small_key_is_refused_unless_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="2048, 3072, 4096 bits, has 512"):
        SenderKey.load(stored(tmp_path))


def test_a_stored_key_of_another_shape_is_refused_unless_asked_for(tmp_path: Path) -> None:
    p, q = prime(1000, 3), prime(1048, 3)
    path = tmp_path / "sender.key"
    SenderKey.from_primes(p, q, [3], SEED, insecure=True).save(path)
    with pytest.raises(ParameterError, match="1024 bits each"):
        SenderKey.load(path)
    assert SenderKey.load(path, insecure=True).bits == 2048


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff\xfe", b"no json", b"[" * 200_000, b'{"a": ' * 200_000, b"1" * 10_000],
    ids=["empty", "no text", "no JSON", "deep list", "deep object", "long number"],
)
def test_a_file_that_is_no_json_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "sender.key"
    path.write_bytes(data)
    with pytest.raises(DataError, match="found no JSON"):
        SenderKey.load(path)


@pytest.mark.parametrize("document", [[], "text", None, 3, {}, {"format": "another"}])
def test_a_foreign_file_is_refused(tmp_path: Path, document: Any) -> None:
    path = tmp_path / "sender.key"
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match="found another kind of file"):
        SenderKey.load(path)


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_another_version_is_refused(tmp_path: Path, version: Any) -> None:
    path = stored(tmp_path)
    path.write_text(json.dumps(content_of(path) | {"version": version}))
    with pytest.raises(DataError, match="expected key version 1"):
        SenderKey.load(path)


def test_a_damaged_key_is_refused_wherever_it_is_damaged(tmp_path: Path) -> None:
    path = stored(tmp_path)
    whole = path.read_bytes()
    for at in range(0, len(whole) - 1, 41):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(DataError):
            SenderKey.load(path, insecure=True)
        path.write_bytes(whole[:at])
        with pytest.raises(DataError):
            SenderKey.load(path, insecure=True)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"p": "zz"}, "a part does not parse"),
        ({"p": 7}, "a part does not parse"),
        ({"p": None}, "a part does not parse"),
        ({"p": hex(P * 4)[2:]}, "do not belong together"),
        ({"p": "-" + hex(P)[2:]}, "do not belong together"),
        ({"p": "-" + hex(P)[2:], "q": "-" + hex(Q)[2:]}, "make no key"),
        ({"p": "1", "q": hex(P * Q)[2:]}, "make no key"),
        ({"q": hex(hostile_primes(512)[0])[2:]}, "do not belong together"),
        ({"q": hex(P)[2:]}, "do not belong together"),
        ({"sigma": ["3", None]}, "a part does not parse"),
        ({"sigma": 5}, "a part does not parse"),
        ({"reject_seed": "abc"}, "a part does not parse"),
        ({"public_key": ""}, "a part does not parse"),
        ({"p": hex(Q)[2:], "q": hex(prime(256, 3))[2:]}, "do not belong together"),
        ({"sigma": ["3"]}, "do not belong together"),
        ({"sigma": []}, "do not belong together"),
        ({"reject_seed": "00" * 31}, "do not belong together"),
        (
            {"public_key": sender_key("iot2_512_1of5").public.to_bytes().hex()},
            "do not belong together",
        ),
    ],
)
def test_parts_that_do_not_fit_are_refused(
    tmp_path: Path, changes: dict[str, Any], text: str
) -> None:
    path = stored(tmp_path)
    rewrite(path)
    SenderKey.load(path, insecure=True)  # rewritten as it was, it is read
    rewrite(path, **changes)
    with pytest.raises(DataError, match=text) as caught:
        SenderKey.load(path, insecure=True)
    assert caught.value.__cause__ is None
    error = caught.value
    assert error.__suppress_context__ or error.__context__ is None, "a cause could show a secret"


def test_a_missing_part_is_refused(tmp_path: Path) -> None:
    for name in ("p", "q", "sigma", "reject_seed", "public_key"):
        path = stored(tmp_path)
        document = content_of(path)
        del document["key"][name]
        text = json.dumps(document["key"], sort_keys=True)
        document["sha256"] = hashlib.sha256(text.encode()).hexdigest()
        path.write_text(json.dumps(document))
        with pytest.raises(DataError, match="a part does not parse"):
            SenderKey.load(path, insecure=True)
        path.unlink()


def test_a_stored_proof_is_checked(tmp_path: Path) -> None:
    path = stored(tmp_path)
    encoded = bytearray(KEY.public.to_bytes())
    encoded[-1] ^= 1
    with pytest.raises(ProofError):
        PublicKey.from_bytes(bytes(encoded), insecure=True).verify()
    rewrite(path, public_key=encoded.hex())
    with pytest.raises(DataError, match="its numbers make no key"):
        SenderKey.load(path, insecure=True)


def test_a_number_of_any_size_is_refused_before_it_is_tested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To test 40,000 bits for being prime takes half a minute."""
    path = stored(tmp_path)
    rewrite(path, q="f" * 10_000)
    monkeypatch.setattr("iot2.arithmetic.blum.is_prime", lambda *given: pytest.fail("tested"))
    with pytest.raises(DataError, match="do not belong together"):
        SenderKey.load(path, insecure=True)


@pytest.mark.parametrize("place", ["format", "version", "sha256", "key", "p"])
def test_nesting_of_any_depth_is_refused(tmp_path: Path, place: str) -> None:
    """As deep as the parser takes it, and deeper than what computes or shows it does."""
    path = stored(tmp_path)
    content = content_of(path)
    text = json.dumps(content | ({"key": {"p": "#"}} if place == "p" else {place: "#"}))
    for depth in (*range(100, 1100, 50), *range(930, 1000, 3)):
        path.write_text(text.replace('"#"', "[" * depth + "]" * depth))
        with pytest.raises(DataError):
            SenderKey.load(path)


def test_no_secret_shows(tmp_path: Path) -> None:
    shown = [repr(KEY), str(KEY), f"{KEY}"]
    assert (
        shown[0] == f"SenderKey(bits=512, choices=2, fingerprint={KEY.fingerprint.hex()[:16]}...)"
    )
    secrets = [P, Q, *KEY.sigma, *KEY.rho_inverse]
    forms = {str(x) for x in secrets} | {f"{mpz(x):x}" for x in secrets} | {KEY.reject_seed.hex()}
    for text in (*shown, repr(KEY.secret), repr(KEY.secret.powers)):
        assert not [form for form in forms if form in text]
