"""What a client must not do, said on the wire, and the code that answers it."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
from net_support import HELLO, Peer, RawSocket, write_items

from iot2 import Offer, Query, Reply, Session, SixQuery
from iot2.net.local import LocalServer
from iot2.protocol.framing import u64


@pytest.fixture(scope="module")
def items(start_once: Any, key_file: Path, tmp_path_factory: Any) -> LocalServer:
    folder = tmp_path_factory.mktemp("items")
    write_items(folder / "m.csv", 40)
    return start_once("--key", str(key_file), "--messages", str(folder / "m.csv"))


@pytest.mark.parametrize(
    ("hello", "code"),
    [
        ({**HELLO, "version": 2}, "VERSION"),
        ({"version": 7}, "VERSION"),
        ({**HELLO, "variant": "five"}, "VARIANT"),
        ({**HELLO, "variant": 1}, "MALFORMED"),
        ({**HELLO, "extra": 1}, "MALFORMED"),
        ({"version": 1}, "MALFORMED"),
        ({**HELLO, "version": True}, "MALFORMED"),
        ({**HELLO, "known": ["zz"]}, "MALFORMED"),
        ({**HELLO, "known": ["00" * 32] * 65}, "MALFORMED"),
        ({**HELLO, "demo": [1, 2, 3]}, "MALFORMED"),
        ({**HELLO, "demo": [1, 1 << 64]}, "MALFORMED"),
        ({**HELLO, "demo": [1, -1]}, "MALFORMED"),
        ({**HELLO, "bits": "1024"}, "MALFORMED"),
        ({**HELLO, "bits": 1024}, "REFUSED"),
        ("hello", "MALFORMED"),
        (None, "MALFORMED"),
        (b"\x01\x02", "MALFORMED"),
    ],
)
def test_hello(demo: LocalServer, hello: object, code: str) -> None:
    peer = Peer(demo.url)
    assert peer.code("hello", hello) == code
    assert "error" not in peer.ask("hello", HELLO), "the connection lives"
    peer.close()


@pytest.mark.parametrize("more", [{"bits": 512}, {"demo": [1, 2]}])
def test_bits_and_demo_are_for_demonstration_servers(items: LocalServer, more: Any) -> None:
    peer = Peer(items.url)
    assert peer.code("hello", {**HELLO, **more}) == "REFUSED"
    peer.close()


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({"count": 1}, "REFUSED"),
        ({"items": ["item0", "nothing"]}, "REFUSED"),
        ({"items": []}, "MALFORMED"),
        ({"items": ["item0"], "count": 1}, "MALFORMED"),
        ({"items": [1]}, "MALFORMED"),
        ({"items": ["\ud800"]}, "MALFORMED"),
        ({"items": ["x" * 257]}, "MALFORMED"),
        ({}, "MALFORMED"),
        (b"item0", "MALFORMED"),
    ],
)
def test_session(items: LocalServer, request_: object, code: str) -> None:
    peer = Peer(items.url)
    peer.hello()
    assert peer.code("session", request_) == code
    peer.close()


@pytest.mark.parametrize("request_", [{"count": 0}, {"count": True}, {"items": ["a"]}])
def test_session_of_a_demonstration(demo: LocalServer, request_: object) -> None:
    peer = Peer(demo.url)
    peer.hello()
    assert peer.code("session", request_) in ("MALFORMED", "REFUSED")
    peer.close()


def test_order(demo: LocalServer) -> None:
    peer = Peer(demo.url)
    assert peer.code("session", {"count": 1}) == "STATE"
    assert peer.code("resume", Session(1, bytes(16), bytes(32)).to_bytes()) == "STATE"
    assert peer.code("query", Query(bytes(16), 0, b"\1" * 64).to_bytes()) == "UNKNOWN_SESSION"
    assert peer.code("offer", bytes(24)) == "UNKNOWN_SESSION"
    assert peer.code("close", {"now": 1}) == "MALFORMED"
    assert peer.ask("close", {}) == {}
    peer.close()


def test_queries_out_of_form_and_range(demo: LocalServer) -> None:
    peer = Peer(demo.url)
    receiver = peer.open({"count": 3})
    receiver.precompute(3)
    sid, key = peer.session.sid, peer.key
    query = receiver.choose(0).to_bytes()
    for cut in range(len(query)):
        assert peer.code("query", query[:cut]) in ("MALFORMED", "UNKNOWN_SESSION")
    assert peer.code("query", query + b"\0") == "MALFORMED"
    assert peer.code("query", b"\2" + query[1:]) == "MALFORMED"
    assert peer.code("query", query[:1] + b"\3" + query[2:]) == "MALFORMED"
    assert peer.code("query", "text") == "MALFORMED"
    assert peer.code("query", {"queries": query}) == "MALFORMED"
    assert peer.code("query", Query(os.urandom(16), 0, query[26:]).to_bytes()) == "UNKNOWN_SESSION"
    for y in (0, int(key.modulus), int(key.modulus) + 1, (1 << 512) - 1):
        assert peer.code("query", Query(sid, 0, y.to_bytes(64)).to_bytes()) == "RANGE"
    assert peer.code("query", Query(sid, 3, query[26:]).to_bytes()) == "RANGE"
    assert peer.code("query", Query(sid, (1 << 64) - 1, query[26:]).to_bytes()) == "RANGE"
    six = SixQuery(sid, 0, query[26:]).to_bytes()
    assert peer.code("query", six) == "VARIANT"
    assert peer.code("batch", {"queries": six}) == "VARIANT"
    assert peer.code("offer", sid + u64(0)) == "VARIANT"
    # None of these consumed the index.
    assert receiver.retrieve(Reply.from_bytes(peer.ask("query", query)))
    # Form and range come before state, also for an index that is used.
    zero = Query(sid, 0, bytes(64)).to_bytes()
    assert peer.code("query", zero) == "RANGE"
    peer.close()


def test_a_factor_of_the_modulus_is_refused(start: Any, tmp_path: Path) -> None:
    from iot2 import SenderKey

    key = SenderKey.generate(512, insecure=True)
    key.save(tmp_path / "k")
    server = start("--key", str(tmp_path / "k"))
    peer = Peer(server.url)
    receiver = peer.open({"count": 1})
    multiple = int(key.secret.p) * 5
    query = Query(peer.session.sid, 0, multiple.to_bytes(64))
    assert peer.code("query", query.to_bytes()) == "RANGE"
    receiver.precompute(1)
    assert receiver.retrieve(Reply.from_bytes(peer.ask("query", receiver.choose(0).to_bytes())))
    peer.close()


def test_a_non_square_is_answered_like_a_square(demo: LocalServer) -> None:
    peer = Peer(demo.url)
    peer.open({"count": 64}, demo=[1, 2])
    replies = []
    for index in range(64):
        y = int.from_bytes(os.urandom(80)) % int(peer.key.modulus)
        query = Query(peer.session.sid, index, y.to_bytes(64))
        replies.append(Reply.from_bytes(peer.ask("query", query.to_bytes())))
    # 3 of 4 units are no squares, and every one got two ciphertexts of 8 bytes.
    assert {(reply.choices, reply.length) for reply in replies} == {(2, 8)}
    peer.close()


def test_replays(demo: LocalServer) -> None:
    peer = Peer(demo.url)
    receiver = peer.open({"count": 8}, demo=[1, 2])
    receiver.precompute(8)
    first, second = receiver.choose(0), receiver.choose(1)
    reply = peer.ask("query", first.to_bytes())
    assert peer.ask("query", first.to_bytes()) == reply
    other = Query(peer.session.sid, 0, second.to_bytes()[26:])
    assert peer.code("query", other.to_bytes()) == "STATE"
    # New messages do not reach an answered index: the stored bytes are repeated.
    peer.hello(demo=[3, 4])
    assert peer.ask("query", first.to_bytes()) == reply
    assert receiver.retrieve(Reply.from_bytes(peer.ask("query", second.to_bytes())))
    peer.close()


def test_batches_are_taken_whole(demo: LocalServer) -> None:
    peer = Peer(demo.url)
    receiver = peer.open({"count": 10}, demo=[1, 2])
    receiver.precompute(9)
    a, b, c, d, e, *_ = (q.to_bytes() for q in receiver.choose_many([0, 1, 0, 1, 0, 1, 0, 1, 0]))
    zero = Query(peer.session.sid, 1, bytes(64)).to_bytes()
    foreign = Query(os.urandom(16), 1, b[26:]).to_bytes()
    beyond = Query(peer.session.sid, 10, b[26:]).to_bytes()
    for bad, code in (
        (a + a, "STATE"),
        (a + zero, "RANGE"),
        (a + beyond, "RANGE"),
        (a + foreign, "MALFORMED"),
        (a + b[:-1], "MALFORMED"),
        (b"", "MALFORMED"),
    ):
        assert peer.code("batch", {"queries": bad}) == code
    assert peer.code("batch", a) == "MALFORMED"
    assert peer.code("batch", {"replies": a}) == "MALFORMED"
    # Not one of those consumed anything.
    replies = peer.ask("batch", {"queries": a + b})["replies"]
    assert peer.ask("batch", {"queries": a + b})["replies"] == replies
    assert peer.ask("query", a) == replies[: len(replies) // 2]
    assert peer.code("batch", {"queries": b + c}) == "STATE"
    assert "replies" in peer.ask("batch", {"queries": c + d})
    assert peer.ask("query", e)
    peer.close()


def test_other_peoples_sessions(demo: LocalServer) -> None:
    owner, other = Peer(demo.url), Peer(demo.url)
    receiver = owner.open({"count": 4})
    receiver.precompute(4)
    other.hello()
    query = receiver.choose(0).to_bytes()
    assert other.code("query", query) == "UNKNOWN_SESSION"
    assert other.code("batch", {"queries": query}) == "UNKNOWN_SESSION"
    guess = Session(1, os.urandom(16), demo.fingerprint).to_bytes()
    assert other.code("resume", guess) == "UNKNOWN_SESSION"
    wrong_key = Session(1, owner.session.sid, bytes(32)).to_bytes()
    assert other.code("resume", wrong_key) == "UNKNOWN_SESSION"
    wrong_variant = Session(2, owner.session.sid, demo.fingerprint).to_bytes()
    assert other.code("resume", wrong_variant) == "UNKNOWN_SESSION"
    assert other.code("resume", owner.session.to_bytes()[:-1]) == "MALFORMED"
    assert owner.ask("query", query)
    # Who resumes takes the session over: it is open on one connection at a time.
    assert other.ask("resume", owner.session.to_bytes()) == {"answered": [[0, 0]]}
    assert owner.code("query", query) == "UNKNOWN_SESSION"
    assert other.ask("close", {}) == {}
    assert owner.code("resume", owner.session.to_bytes()) == "UNKNOWN_SESSION"
    owner.close()
    other.close()


def test_six_out_of_order(demo: LocalServer) -> None:
    peer = Peer(demo.url)
    receiver = peer.open_six({"count": 2})
    receiver.precompute(2)
    sid = peer.session.sid
    early = SixQuery(sid, 0, (5).to_bytes(64))
    assert peer.code("query", early.to_bytes()) == "STATE", "no offer was made"
    assert peer.code("offer", sid + u64(2)) == "RANGE"
    assert peer.code("offer", sid) == "MALFORMED"
    assert peer.code("query", Query(sid, 0, (5).to_bytes(64)).to_bytes()) == "VARIANT"
    offer = Offer.from_bytes(peer.ask("offer", sid + u64(0)))
    assert peer.code("query", SixQuery(sid, 0, bytes(64)).to_bytes()) == "RANGE"
    query = receiver.choose(offer, 1).to_bytes()
    assert peer.ask("query", query)
    assert peer.code("query", early.to_bytes()) == "STATE"
    peer.close()


def test_one_variant_alone(start: Any, key_file: Path) -> None:
    server = start("--key", str(key_file), "--variant", "six")
    peer = Peer(server.url)
    assert peer.code("hello", HELLO) == "VARIANT"
    assert "error" not in peer.ask("hello", {**HELLO, "variant": "six"})
    peer.close()


def test_six_of_a_key_with_five_choices(start: Any, key_of_5: Path) -> None:
    server = start("--key", str(key_of_5))
    peer = Peer(server.url)
    assert peer.code("hello", {**HELLO, "variant": "six"}) == "VARIANT"
    assert peer.code("hello", {**HELLO, "demo": [1, 2]}) == "REFUSED"
    peer.close()


EVENTS_OF_NOBODY = [
    '421["shout",1]', '421["connect",{}]', '421["disconnect"]', '421[["query"]]', "421{}", "421[]",
    '421["hello",1,2]', "421", "421é", "421[" + "[" * 5000, '421["query",', '451-1["query"]',
    '451-1{"_placeholder":true,"num":0}', '451-1["query",{"_placeholder":true,"num":7}]',
]  # fmt: skip


@pytest.mark.parametrize("frame", EVENTS_OF_NOBODY, ids=range(len(EVENTS_OF_NOBODY)))
def test_events_that_are_none_get_a_code(demo: LocalServer, frame: str) -> None:
    raw = RawSocket(demo.url)
    raw.socket.send(frame)
    if frame.startswith("45"):
        raw.socket.send(b"attachment")
    assert raw.answer()[0]["error"] == "MALFORMED"
    raw.event("hello", HELLO, 2)
    raw.socket.recv(10)
    raw.socket.close()


FOREIGN: list[str | bytes] = [
    b"no event before", "452-1[1]", "4599999999999-1[1]", '43["ack"]', '461-1["ack"]', '44{}',
    "40" + "x" * 2000, "", "x", "9", '4{"a":1}', "4[" * 3000, "3{", "0", "7",
]  # fmt: skip


@pytest.mark.parametrize("frame", FOREIGN, ids=range(len(FOREIGN)))
def test_frames_of_no_client_end_the_connection(demo: LocalServer, frame: str | bytes) -> None:
    raw = RawSocket(demo.url)
    raw.socket.send(frame)
    assert raw.ended(5)


def test_text_in_place_of_an_attachment(demo: LocalServer) -> None:
    raw = RawSocket(demo.url)
    raw.socket.send('451-1["query",{"_placeholder":true,"num":0}]')
    raw.socket.send('42["hello",1]')
    assert raw.ended(5)


def test_random_bytes_do_not_hurt(demo: LocalServer) -> None:
    for seed in range(60):
        raw = RawSocket(demo.url)
        noise = os.urandom(seed + 1)
        raw.socket.send(noise if seed % 2 else noise.decode("latin-1"))
        raw.socket.close()
    peer = Peer(demo.url)
    peer.open({"count": 1})
    peer.close()
    assert demo.process.poll() is None
    time.sleep(0.1)
    assert not [line for line in demo.errors if "Traceback" in line]
