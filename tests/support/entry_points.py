"""Every place where bytes of another party's come in, and seeds for a search there.

An entry takes any bytes, and gives a value or raises an `Iot2Error`. The seeds
are made from the stored vectors whenever they are asked for.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adversaries import SID, VECTORS, sender_key
from gmpy2 import mpz

from iot2 import (
    Iot2Error,
    Offer,
    PublicKey,
    Query,
    QueryBatch,
    Receiver,
    Reply,
    ReplyBatch,
    Sender,
    SenderKey,
    Session,
    SixQuery,
    SixReceiver,
    SixReply,
    SixSender,
)
from iot2.parties.six import seal
from iot2.simplest.batch import SimplestQueryBatch, SimplestReplyBatch
from iot2.simplest.messages import SimplestOffer, SimplestQuery, SimplestReply
from iot2.wire.batch import Batch
from iot2.wire.header import HEADER
from iot2.wire.precomputed import (
    Correction,
    CorrectionBatch,
    PrecomputedReply,
    PrecomputedReplyBatch,
)


@dataclass(frozen=True)
class Entry:
    """One entry point: `run(data)` for any bytes, and the seeds for a search."""

    run: Callable[[bytes], object]
    seeds: Callable[[], list[bytes]]
    group: str


FIELDS = (
    "sid", "index", "choices", "length", "ciphertexts", "digests", "residue", "point", "d",
    "bits", "size", "fingerprint", "indexes", "rows", "variant",
)  # fmt: skip


def looked_at(message: Any) -> Any:
    """Read every field that a parsed message has, as a party would; give it back."""
    for name in FIELDS:
        getattr(message, name, None)
    repr(message)
    if isinstance(message, SixReply):
        assert message.pair(0)[: message.length] == message.ciphertexts[0]
        assert message.pair(1)[-32:] == message.digests[3]
    if isinstance(message, Batch):
        assert len(list(message)) == len(message)
        assert (message[0].index, message[-1].index) == (message.indexes[0], message.indexes[-1])
    return message


def encoded_again(parse: Callable[[bytes], Any]) -> Callable[[bytes], object]:
    """Parse, look at everything, and see that the same bytes come out: none has two spellings."""

    def run(data: bytes) -> object:
        message = looked_at(parse(data))
        assert message.to_bytes() == data
        return message

    return run


def with_stride(kind: Any) -> Callable[[bytes], Any]:
    """A batch of queries, whose length each is told by the first two bytes."""

    def run(data: bytes) -> object:
        stride, rest = int.from_bytes(data[:2]), data[2:]
        message = looked_at(kind.from_bytes(rest, stride))
        assert message.to_bytes() == rest
        return message

    return run


# Seeds.


@functools.cache
def vectors() -> list[dict[str, Any]]:
    """The stored vectors of small moduli."""
    names = ("iot2_512", "iot2_512_1of5", "iot2_1024")
    return [json.loads((VECTORS / f"{name}.json").read_text()) for name in names]


def from_vectors(*paths: str) -> Callable[[], list[bytes]]:
    """The bytes at `list.field`, `object.field` or `field` in each vector that has it."""

    def seeds() -> list[bytes]:
        found = []
        for v in vectors():
            for path in paths:
                *places, field = path.split(".")
                entries: Any = v.get(places[0], []) if places else [v]
                for entry in entries if isinstance(entries, list) else [entries]:
                    if field in entry:
                        found.append(bytes.fromhex(entry[field]))
        return found

    return seeds


compact_queries = from_vectors("compact.query", "compact_non_residue.query")
compact_replies = from_vectors("compact.reply", "compact_non_residue.reply")
six_queries = from_vectors("six.query", "six_non_residue.query")
six_replies = from_vectors("six.reply", "six_non_residue.reply")
offers = from_vectors("six.offer", "six_non_residue.offer")


def to_our_session(seeds: Callable[[], list[bytes]], count: int = 1) -> Callable[[], list[bytes]]:
    """The same messages under `SID` and indexes from 0 on, where a party of ours looks further."""

    def made() -> list[bytes]:
        return [
            b"".join(data[:2] + SID + k.to_bytes(8) + data[26:] for k in range(count))
            for data in seeds()
        ]

    return made


def other_kind(seeds: Callable[[], list[bytes]], kind: int) -> Callable[[], list[bytes]]:
    """The same bytes as a message of another kind."""
    return lambda: [data[:1] + bytes([kind]) + data[2:] for data in seeds()]


def joined(seeds: Callable[[], list[bytes]], count: int = 3) -> Callable[[], list[bytes]]:
    """Each message a few times, as a batch."""
    return lambda: [data * count for data in seeds()]


def stride_before(seeds: Callable[[], list[bytes]]) -> Callable[[], list[bytes]]:
    return lambda: [len(data).to_bytes(2) + data * 3 for data in seeds()]


def points(kind: int) -> Callable[[], list[bytes]]:
    def seeds() -> list[bytes]:
        return [bytes((1, kind)) + SID + bytes(8) + b"\2" * size for size in (32, 33)]

    return seeds


# Parties.


def sender_answers(data: bytes) -> object:
    sender = Sender(sender_key(), SID)
    reply = sender.answer(Query.from_bytes(data), (b"left", b"rite"))
    assert (len(sender.used), reply.length) == (1, 4)
    return reply


def sender_answers_a_batch(data: bytes) -> object:
    key = sender_key()
    sender = Sender(key, SID)
    batch = QueryBatch.from_bytes(data, HEADER.size + key.public.size)
    try:
        return sender.answer_many(batch, [(b"left", b"rite")] * len(batch))
    except Iot2Error:
        assert len(sender.used) == 0
        raise


def six_sender_answers(data: bytes) -> object:
    sender = SixSender(sender_key(), SID)
    sender.offer()
    return sender.answer(SixQuery.from_bytes(data), b"left", b"rite")


def a_receiver(masked: bool) -> Receiver:
    key = sender_key()
    receiver = Receiver(key.public, SID, trusted_fingerprint=key.fingerprint, masked=masked)
    receiver.precompute(3)
    receiver.choose_many([0, 1, 1])
    return receiver


def receiver_opens(data: bytes) -> object:
    masked = bool(data[-1:] < b"\x80")
    message = a_receiver(masked).retrieve(Reply.from_bytes(data))
    assert message
    return message


def receiver_opens_a_batch(data: bytes) -> object:
    batch = ReplyBatch.from_bytes(data)
    receiver = a_receiver(bool(data[-1] & 1))
    opened = receiver.retrieve_many(batch)
    assert opened.shape == (len(batch), batch.length)
    return opened


def a_six_receiver(masked: bool = False) -> SixReceiver:
    """Always the same one, so that the digests of a seed can fit."""
    public = sender_key().public
    receiver = SixReceiver(public, SID, masked=masked, randbytes=lambda count: b"\7" * count)
    receiver.precompute(1)
    return receiver


def fitting_six_replies() -> list[bytes]:
    """Replies whose digests fit, in each order of the pairs."""
    query = a_six_receiver().choose(Offer(SID, 0, (4).to_bytes(64)), 1)
    return [
        seal(sender_key(), SID, query, mpz(2), swaps, b"left", b"rite").to_bytes()
        for swaps in range(4)
    ]


def six_receiver_takes(data: bytes) -> object:
    """An offer, or a reply to the open query."""
    receiver = a_six_receiver(masked=bool(data[-1:] < b"\x80"))
    if data[1:2] == b"\4":
        return receiver.choose(Offer.from_bytes(data), 1)
    receiver.choose(Offer(SID, 0, (4).to_bytes(64)), 1)
    return receiver.retrieve(SixReply.from_bytes(data))


def key_is_checked(data: bytes) -> object:
    public = PublicKey.from_bytes(data, insecure=True)
    if public.bits <= 1024 and public.choices <= 5:
        public.verify()
    return public


@functools.cache
def scratch() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


def key_is_loaded(data: bytes) -> object:
    """A key file with these bytes; and, where they are JSON, with a digest that fits them."""
    path = Path(scratch().name) / "sender.key"
    documents = [data]
    try:
        content = json.loads(data)
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        document = {"format": "iot2 sender key", "version": 1, "sha256": digest, "key": content}
        documents.insert(0, json.dumps(document).encode())
    except (ValueError, RecursionError):
        pass
    for document in documents[:-1]:
        path.write_bytes(document)
        with contextlib.suppress(Iot2Error):
            SenderKey.load(path, insecure=True)
    path.write_bytes(documents[-1])
    return SenderKey.load(path, insecure=True)


def stored_keys() -> list[bytes]:
    path = Path(scratch().name) / "seed.key"
    found = []
    for name in ("iot2_512", "iot2_512_1of5"):
        sender_key(name).save(path, overwrite=True)
        found += [path.read_bytes(), json.dumps(json.loads(path.read_bytes())["key"]).encode()]
    return found


# What a server and a client of the network read.


def event_is_read(data: bytes) -> object:
    """The first byte names the event or answer; then JSON, in which {"b": hex} is an attachment."""
    from iot2.net import events
    from iot2.net.limits import told

    readers: tuple[Callable[[Any], object], ...] = (
        events.Hello.from_wire,
        events.SessionRequest.from_wire,
        events.Refusal.from_wire,
        events.Welcome.from_wire,
        events.intervals_from_wire,
        lambda value: events.batch_from_wire("queries", value),
        lambda value: events.bytes_of(value, "query"),
    )
    try:
        value = json.loads(data[1:], object_hook=_attachment)
    except (ValueError, RecursionError):
        return None
    result = readers[data[0] % len(readers)](value)
    if isinstance(result, events.Welcome):
        most = [told(result.limits, name) for name in result.limits]
        assert all(x is None or int(x) >= 0 for x in most)
    if isinstance(result, events.Hello | events.SessionRequest):
        result.to_wire()
    return result


def _attachment(value: dict[str, Any]) -> Any:
    if value.keys() == {"b"} and isinstance(value["b"], str):
        return bytes.fromhex(value["b"])
    return value


def event_seeds() -> list[bytes]:
    fp = "ab" * 32
    texts = (
        (0, {"version": 1, "variant": "compact", "known": [fp], "bits": 2048, "demo": [1, 2]}),
        (0, {"version": 2}),
        (1, {"items": ["one", "two"]}),
        (1, {"count": 3}),
        (2, {"error": "BUSY", "text": "later", "retry_after_ms": 5}),
        (2, {"error": [], "text": {}}),
        (3, {"fingerprint": fp, "bits": 512, "choices": 2, "limits": {"batch": 1e400, "x": 5}}),
        (3, {"fingerprint": fp, "bits": 1, "choices": 2, "limits": {"batch": 10**320}}),
        (3, {"fingerprint": fp, "bits": 1, "choices": 2, "limits": {}, "key": {"b": "00"}}),
        (4, {"answered": [[0, 3], [5, 5]]}),
        (5, {"queries": {"b": "0102"}}),
        (6, {"b": "01"}),
    )
    return [bytes([which]) + json.dumps(value).encode() for which, value in texts]


def packet_is_read(data: bytes) -> object:
    """Frames split at zero bytes: the first is text, and so on as the packet asks."""
    from iot2.net.packets import packet_class

    first, *rest = data.split(b"\0")
    packet = packet_class(1 << 16)(encoded_packet=first.decode("utf-8", "replace"))
    while packet.attachment_count and rest:
        if packet.add_attachment(rest.pop(0)):
            break
    return packet


def packet_seeds() -> list[bytes]:
    return [
        b'2["hello",{"version":1}]',
        b'212["session",{"count":1}]',
        b'51-7["query",{"_placeholder":true,"num":0}]\0\1\2\3',
        b'51-8["batch",{"queries":{"_placeholder":true,"num":0}}]\0abc',
        b'0{"token":1}',
        b"1",
        b"4x",
    ]


def seeds_of(cls: Any, seeds: Callable[[], list[bytes]]) -> Entry:
    return Entry(encoded_again(cls.from_bytes), seeds, "wire")


MESSAGES: dict[type[Any], Entry] = {
    PublicKey: Entry(
        encoded_again(functools.partial(PublicKey.from_bytes, insecure=True)),
        from_vectors("public_key"),
        "wire",
    ),
    Query: seeds_of(Query, compact_queries),
    Reply: seeds_of(Reply, compact_replies),
    Offer: seeds_of(Offer, offers),
    SixQuery: seeds_of(SixQuery, six_queries),
    SixReply: seeds_of(SixReply, six_replies),
    Session: seeds_of(Session, from_vectors("session", "six_session")),
    QueryBatch: Entry(with_stride(QueryBatch), stride_before(compact_queries), "wire"),
    ReplyBatch: seeds_of(ReplyBatch, joined(compact_replies)),
    SimplestOffer: seeds_of(SimplestOffer, points(0x81)),
    SimplestQuery: seeds_of(SimplestQuery, points(0x82)),
    SimplestReply: seeds_of(SimplestReply, other_kind(compact_replies, 0x83)),
    SimplestQueryBatch: Entry(with_stride(SimplestQueryBatch), stride_before(points(0x82)), "wire"),
    SimplestReplyBatch: seeds_of(SimplestReplyBatch, joined(other_kind(compact_replies, 0x83))),
    Correction: seeds_of(Correction, lambda: [p[:27] for p in points(0x91)()]),
    CorrectionBatch: seeds_of(CorrectionBatch, lambda: [p[:27] * 3 for p in points(0x91)()]),
    PrecomputedReply: seeds_of(PrecomputedReply, other_kind(compact_replies, 0x92)),
    PrecomputedReplyBatch: seeds_of(
        PrecomputedReplyBatch, joined(other_kind(compact_replies, 0x92))
    ),
}
"""Every class with a `from_bytes`."""

PARTIES: dict[str, Entry] = {
    "sender": Entry(sender_answers, to_our_session(compact_queries), "parties"),
    "sender of a batch": Entry(
        sender_answers_a_batch, to_our_session(compact_queries, 3), "parties"
    ),
    "receiver": Entry(receiver_opens, to_our_session(compact_replies), "parties"),
    "receiver of a batch": Entry(
        receiver_opens_a_batch, to_our_session(compact_replies, 3), "parties"
    ),
    "six-message sender": Entry(six_sender_answers, to_our_session(six_queries), "parties"),
    "six-message receiver": Entry(
        six_receiver_takes,
        lambda: fitting_six_replies() + to_our_session(six_replies)() + to_our_session(offers)(),
        "parties",
    ),
    "proof": Entry(key_is_checked, from_vectors("public_key"), "parties"),
    "key file": Entry(key_is_loaded, stored_keys, "parties"),
}

NETWORK: dict[str, Entry] = {
    "event": Entry(event_is_read, event_seeds, "network"),
    "packet": Entry(packet_is_read, packet_seeds, "network"),
}

ENTRIES: dict[str, Entry] = {cls.__name__: entry for cls, entry in MESSAGES.items()}
ENTRIES |= PARTIES | NETWORK


def outcome(entry: Entry, data: bytes) -> object:
    """What the entry gives, or the `Iot2Error` that it raises; nothing else gets through."""
    try:
        return entry.run(data)
    except Iot2Error as error:
        return error


def groups(names: Iterable[str] = ENTRIES) -> dict[str, list[str]]:
    """The names of the entries, by group."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(ENTRIES[name].group, []).append(name)
    return found
