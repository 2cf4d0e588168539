"""The parts without a network: messages files, shapes, packets, known keys, logs."""

import io
import itertools
import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iot2 import SenderKey, Session
from iot2.errors import DataError, MessageError, ParameterError
from iot2.net import KeyMismatch, KnownKeys, Options
from iot2.net import events as ev
from iot2.net.addresses import Address, is_loopback
from iot2.net.answering import offer
from iot2.net.events import MOST_NAME_BYTES, Hello, Refusal, SessionRequest, Welcome
from iot2.net.links import Endpoint
from iot2.net.log import Log, library_logger, sid_prefix
from iot2.net.messages_file import pad, read_items, unpad
from iot2.net.packets import BROKEN, FOREIGN, TOO_LARGE, packet_class
from iot2.wire.messages import Offer

KEY = SenderKey.generate(512, insecure=True)
OTHER_KEY = SenderKey.generate(512, insecure=True)


@given(st.lists(st.binary(max_size=40), min_size=2, max_size=6))
def test_padding_is_reversible_and_even(messages: list[bytes]) -> None:
    padded = pad(messages)
    assert len({len(m) for m in padded}) == 1
    assert [unpad(m) for m in padded] == messages


@pytest.mark.parametrize("bad", [b"", b"\0\0\0", b"\0\0\0\2a", b"\0\0\0\1ab", b"\xff" * 8])
def test_unpadding_refuses_what_padding_does_not_make(bad: bytes) -> None:
    with pytest.raises(MessageError):
        unpad(bad)


def items(tmp_path: Path, text: str | bytes) -> Any:
    data = text if isinstance(text, bytes) else text.encode()
    (tmp_path / "m.csv").write_bytes(data)
    return read_items(tmp_path / "m.csv", message_bytes=100)


def test_items_are_read(tmp_path: Path) -> None:
    read = items(tmp_path, 'item,m0,m1\r\nhex item,hex:00ff,"quoted, ""text"""\n\nempty,,é\n')
    assert read.choices == 2
    assert {name: [unpad(m) for m in row] for name, row in read.rows.items()} == {
        "hex item": [b"\0\xff", b'quoted, "text"'],
        "empty": [b"", "é".encode()],
    }
    assert "quoted" not in repr(read)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "header"),
        ("item,m0\na,b\n", "columns"),
        ("item,m1,m0\na,b,c\n", "columns"),
        ("name,m0,m1\na,b,c\n", "columns"),
        ("item,m0,m1\n", "at least one item"),
        ("item,m0,m1\na,b\n", "line 2.*3 fields"),
        ("item,m0,m1\na,b,c\na,d,e\n", "line 3.*once"),
        ("item,m0,m1\n,b,c\n", "name"),
        ("item,m0,m1\na,hex:0,hex:zz\n", "line 2.*m0.*hexadecimal"),
        ('item,m0,m1\na,"b,c\n', "CSV"),
        (b"item,m0,m1\na,\xff,b\n", "UTF-8"),
        ("item,m0,m1\na,b," + "c" * 97 + "\n", "message_bytes"),
        ("item," + ",".join(f"m{j}" for j in range(257)) + "\n", "256"),
    ],
    ids=range(13),
)
def test_items_that_are_none(tmp_path: Path, text: str | bytes, match: str) -> None:
    with pytest.raises(DataError, match=f"m.csv.*{match}"):
        items(tmp_path, text)


def test_a_messages_error_shows_no_message(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        items(tmp_path, "item,m0,m1\na,secret,hex:5ecre7\nb,hex:s,secret\n")
    assert "secret" not in str(caught.value)
    assert "5ecre7" not in str(caught.value)


@given(
    st.builds(
        Hello,
        st.just(1),
        st.sampled_from(["compact", "six", "x"]),
        st.lists(st.binary(min_size=32, max_size=32), max_size=3).map(tuple),
        st.none() | st.integers(),
        st.none() | st.tuples(*[st.integers(0, (1 << 64) - 1)] * 2),
    )
)
def test_hello_round_trip(hello: Hello) -> None:
    assert Hello.from_wire(json.loads(json.dumps(hello.to_wire()))) == hello


def test_welcome_and_refusal_round_trip() -> None:
    welcome = Welcome(b"\1" * 32, 512, 2, {"batch": 5}, b"key")
    assert Welcome.from_wire(welcome.to_wire()) == welcome
    refusal = Refusal(ev.Code.BUSY, "later", retry_after_ms=5)
    back = Refusal.from_wire(refusal.to_wire())
    assert back is not None
    assert (back.code, back.text, back.retry_after_ms) == ("BUSY", "later", 5)
    assert Refusal.from_wire({"fingerprint": 1}) is None
    assert ev.printable("a\x1b[31mb\n") == "a?[31mb?"


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=4))
def test_intervals_of_a_resumed_session(pairs: list[tuple[int, int]]) -> None:
    ordered = all(a <= b for a, b in pairs) and all(
        b + 2 <= c for (_, b), (c, _) in itertools.pairwise(pairs)
    )
    wire = ev.intervals_to_wire(pairs)
    if ordered:
        assert ev.intervals_from_wire(wire) == pairs
    else:
        with pytest.raises(MessageError):
            ev.intervals_from_wire(wire)


@settings(max_examples=40)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5)
                    | st.binary(max_size=5), lambda x: st.lists(x, max_size=3)
                    | st.dictionaries(st.sampled_from(["version", "items", "count", "error",
                      "text", "variant", "known"]), x, max_size=4), max_leaves=8))  # fmt: skip
def test_any_argument_is_parsed_or_refused(data: Any) -> None:
    for parse in (Hello.from_wire, SessionRequest.from_wire, Welcome.from_wire,
                  Refusal.from_wire, ev.intervals_from_wire,
                  lambda d: ev.batch_from_wire("queries", d)):  # fmt: skip
        try:
            parse(data)
        except MessageError as error:
            assert str(error)  # noqa: PT017 - the refusal says why


def test_offers_are_repeatable_and_differ() -> None:
    made = {offer(KEY, sid, index) for sid in (b"a" * 16, b"b" * 16) for index in range(20)}
    assert len(made) == 40
    assert offer(KEY, b"a" * 16, 3) in made
    N = KEY.public.modulus
    assert all(0 < int.from_bytes(Offer.from_bytes(m).residue) < N for m in made)


def parsed(text: str, *attachments: Any, frame_bytes: int = 100) -> Any:
    packet = packet_class(frame_bytes)(encoded_packet=text)
    for attachment in attachments:
        assert packet.add_attachment(attachment)
    return packet


@pytest.mark.parametrize(
    ("text", "attachments", "data", "number"),
    [
        ('27["close",{}]', (), ["close", {}], 7),
        ('251-["close",{}]', (), [FOREIGN], None),
        ('51-3["query",{"_placeholder":true,"num":0}]', (b"q",), ["query", b"q"], 3),
        ('51-3["query",{"_placeholder":true,"num":0}]', (b"q" * 101,), [TOO_LARGE], 3),
        ('51-3["query",{"_placeholder":true,"num":0}]', ("text",), [FOREIGN], 3),
        ('51-3["query",{"_placeholder":true,"num":1}]', (b"q",), [BROKEN], 3),
        ('51-3["query",{"_placeholder":true,"num":"x"}]', (b"q",), [BROKEN], 3),
        ('51-3["query",[{"_placeholder":true,"num":0}]]', (b"q",), [BROKEN], 3),
        ('51-3["batch",{"a":{"_placeholder":true,"num":0},"b":[]}]', (b"q",), [BROKEN], 3),
        ('51-3["batch",{"queries":{}}]', (b"q",), [BROKEN], 3),
        ('51-3["batch",{}]', (b"q",), [BROKEN], 3),
        ('51-3["query"]', (b"q",), [BROKEN], 3),
        ('51-3["batch",{"a":{"_placeholder":true,"num":0}}]', (b"q",), ["batch", {"a": b"q"}], 3),
        ('29["close",' + "1" * 100 + "]", (), [TOO_LARGE], 9),
        ('29["connect"]', (), [BROKEN], 9),
        ("29{", (), [BROKEN], 9),
        ("29", (), [BROKEN], 9),
        ('52-3["query"]', (), [FOREIGN], None),
        ('5["query"]', (), [FOREIGN], None),
        ("3[]", (), [FOREIGN], None),
        ("1" + "x" * 2000, (), [FOREIGN], None),
        ("0{", (), [FOREIGN], None),
    ],
    ids=range(22),
)
def test_packets(text: str, attachments: Any, data: list[Any], number: int | None) -> None:
    packet = parsed(text, *attachments)
    assert packet.data == data
    assert packet.id == number


def test_what_takes_long_to_parse_is_not_parsed() -> None:
    room = 1 << 20
    place = '{"_placeholder":true,"num":0}'
    for key, data in (("k" * 900, ["batch", {"k" * 900: b"q"}]), ("k" * 1024, [BROKEN])):
        text = f'51-3["batch",{{"{key}":{place}}}]'
        assert parsed(text, b"q", frame_bytes=room).data == data
    assert parsed('51-3["query",[' + "[]," * 9000 + place + "]]", b"q", frame_bytes=room).data == [
        BROKEN
    ]
    assert parsed('27["query",' + "[" * 9 + "]" * 9 + "]", frame_bytes=room).data[0] == "query"
    for pair, most in (
        ("[]", 60_000), ("{}", 60_000), ('{"a":1}', 30_000), ('{"a" :1}', 30_000), ("1", 250_000)
    ):  # fmt: skip
        few, many = (",".join([pair] * count) for count in (most, most * 6 // 5))
        assert len(parsed(f'27["query",[{few}]]', frame_bytes=room).data[1]) == most
        packet = parsed(f'27["query",[{many}]]', frame_bytes=room)
        assert (packet.data, packet.id) == ([BROKEN], 7)


def test_unknown_entries_are_counted_and_not_gone_through() -> None:
    class Unread(dict[str, Any]):
        def __iter__(self) -> Any:
            raise AssertionError("a key was read")

        keys = items = values = __iter__

    many = Unread({str(k): 0 for k in range(1000)} | {"count": 1})
    with pytest.raises(MessageError, match="takes count, items; missing: none; unknown: 1000"):
        SessionRequest.from_wire(many)
    with pytest.raises(MessageError, match=r"missing: known, variant; unknown: 1$"):
        Hello.from_wire({"version": 1, "more": 1})


def test_known_keys_are_kept_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "known"
    known = KnownKeys.load(path)
    assert not known.check("a:1", KEY.fingerprint)
    known.remember("a:1", KEY.public)
    assert path.stat().st_mode & 0o777 == 0o600
    again = KnownKeys.load(path)
    assert again.check("a:1", KEY.fingerprint)
    assert not again.check("b:1", KEY.fingerprint)
    with pytest.raises(KeyMismatch, match=f"{KEY.fingerprint.hex()}.*{'00' * 32}"):
        again.check("a:1", bytes(32))
    line = path.read_text()
    for bad in (line[:-10] + "\n", line + line, "x\n", line.replace("a:1 ", "a:1 00"), "é"):
        path.write_text(bad)
        with pytest.raises(DataError, match="known"):
            KnownKeys.load(path)


def test_known_keys_of_two_clients_are_both_kept(tmp_path: Path) -> None:
    path = tmp_path / "known"
    one, other = KnownKeys.load(path), KnownKeys.load(path)
    one.remember("a:1", KEY.public)
    other.remember("b:1", KEY.public)
    kept = KnownKeys.load(path)
    assert kept.check("a:1", KEY.fingerprint)
    assert kept.check("b:1", KEY.fingerprint)
    one.remember("c:1", OTHER_KEY.public)
    with pytest.raises(KeyMismatch, match=OTHER_KEY.fingerprint.hex()):
        other.remember("c:1", KEY.public)
    assert KnownKeys.load(path).check("c:1", OTHER_KEY.fingerprint), "the first one stays"


def test_known_keys_of_many_processes(tmp_path: Path) -> None:
    path = tmp_path / "known"
    code = (
        "import sys; from pathlib import Path; from iot2 import PublicKey;"
        "from iot2.net import KnownKeys;"
        "key = PublicKey.from_bytes(bytes.fromhex(sys.argv[3]), insecure=True);"
        "known = KnownKeys(Path(sys.argv[1]));"
        "[known.remember(f'server{sys.argv[2]}:{k}', key) for k in range(1, 9)]"
    )
    encoded = KEY.public.to_bytes().hex()
    clients = [
        subprocess.Popen([sys.executable, "-c", code, str(path), str(number), encoded])
        for number in range(3)
    ]
    assert [client.wait(60) for client in clients] == [0, 0, 0]
    kept = KnownKeys.load(path)
    names = [f"server{number}:{k}" for number in range(3) for k in range(1, 9)]
    assert all(kept.check(name, KEY.fingerprint) for name in names)
    assert list(tmp_path.iterdir()) == [path], "nothing else is left behind"


def test_a_folder_for_known_keys_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "absent" / "known"
    with pytest.raises(OSError, match=str(path)):
        KnownKeys.load(path).remember("a:1", KEY.public)


def test_log_lines_are_json_with_known_fields() -> None:
    stream = io.StringIO()
    log = Log("info", stream)
    log.debug("hidden", sid="x")
    log.info("query", sid=sid_prefix(b"\xab" * 16), index=3, code="OK", ms=1.5)
    line = json.loads(stream.getvalue())
    assert line["sid"] == "abababab"
    assert (line["level"], line["event"], line["index"]) == ("info", "query", 3)
    with pytest.raises(KeyError, match="message"):
        log.error("query", message="secret")
    library = library_logger("test", log)
    try:
        raise RuntimeError("secret")
    except RuntimeError:
        library.exception("secret %s", "secret")
    library.warning("secret")
    assert "secret" not in stream.getvalue()
    assert json.loads(stream.getvalue().splitlines()[-1])["what"] == "RuntimeError"
    assert library.getEffectiveLevel() >= logging.ERROR


def test_a_log_that_cannot_be_written_is_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("w") as full:
        Log("info", full).info("stopped")
    assert full.closed, "nothing was left in its buffer to fail then"
    closed = io.StringIO()
    closed.close()
    Log("info", closed).info("stopped")
    monkeypatch.setattr(sys, "stderr", None)
    Log("info").info("stopped")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "localhost", "::1", "[::1]"])
def test_loopback(host: str) -> None:
    assert is_loopback(host)
    Address(host=host).check()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org", "127.0.0.1.org", ""])
def test_not_loopback(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(ParameterError, match="TLS"):
        Address(host=host).check()
    Address(host=host, insecure_plain=True).check()
    Address(host=host, tls_cert=Path("c"), tls_key=Path("k")).check()
    with pytest.raises(ParameterError):
        Address(host=host, tls_cert=Path("c")).check()


@pytest.mark.parametrize(
    "url", ["http://example.org:1", "ftp://localhost", "localhost:5", "http://"]
)
def test_endpoints(url: str) -> None:
    with pytest.raises(ParameterError):
        Endpoint(url)
    assert Endpoint("https://example.org").name == "example.org:443"
    assert Endpoint("http://[::1]:7").name == "::1:7"
    with pytest.raises(ParameterError):
        Endpoint("http://localhost:5", ca_file=Path("x"))


@pytest.mark.parametrize(
    "bad",
    [{"variant": "seven"}, {"items": ()}, {"count": 0}, {"batch": 0}, {"demo": (-1, 0)},
     {"demo": (0, 1 << 64)}],
    ids=range(6),
)  # fmt: skip
def test_options(bad: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Options(**bad)


def test_secrets_are_not_shown() -> None:
    options = Options(demo=(123456789, 2))
    assert "123456789" not in repr(options)
    assert "123456789" not in repr(Hello(1, "compact", (), None, (123456789, 2)))
    assert Session(1, bytes(16), bytes(32))


def test_the_number_of_items_is_looked_at_before_any_name() -> None:
    class Unread(list[Any]):
        def __iter__(self) -> Any:
            raise AssertionError("a name was read")

    with pytest.raises(Refusal, match=r"LIMIT: transfers_per_session: at most 5") as caught:
        SessionRequest.from_wire({"items": Unread(["a"] * 6)}, 5)
    assert not caught.value.fatal
    with pytest.raises(Refusal, match="transfers_per_session"):
        SessionRequest.from_wire({"count": 6}, 5)
    assert SessionRequest.from_wire({"items": ["a"] * 5}, 5).items == ("a",) * 5
    assert SessionRequest.from_wire({"count": 5}, 5).count == 5


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("", "at least one character"),
        (5, "at least one character"),
        (["a"], "at least one character"),
        ("\ud800", "valid UTF-8"),
        ("é" * (MOST_NAME_BYTES // 2) + "x", "at most 256 bytes, got 257"),
    ],
)
def test_every_name_of_a_session_is_checked(name: object, text: str) -> None:
    with pytest.raises(MessageError, match=text):
        SessionRequest.from_wire({"items": ["good", name, "good too"]})
    longest = "é" * (MOST_NAME_BYTES // 2)
    assert SessionRequest.from_wire({"items": [longest]}).items == (longest,)
