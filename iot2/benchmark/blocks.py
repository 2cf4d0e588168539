"""Steps repeated back to back, for what is too short to time singly.

A block runs one step for some transfers in a row and is timed as a whole, so
that the timer's cost is shared by all of them; the loop around them is not
subtracted. Beside every step the yardstick runs, one product `u*z % N`, so
that a step can be told in products whatever the machine was doing just then.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from iot2 import (
    Offer,
    Query,
    Receiver,
    Reply,
    Sender,
    SenderKey,
    SimplestReceiver,
    SimplestSender,
    SixQuery,
    SixReceiver,
    SixReply,
    SixSender,
)
from iot2.arithmetic.uniform import uniform_mod
from iot2.benchmark.series import no_collection, random_transfers
from iot2.benchmark.transfers import Messages, Parse, check_opened
from iot2.simplest.messages import SimplestOffer, SimplestQuery, SimplestReply

PRODUCTS: Final = 50
"""Products in one block of the yardstick."""

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Step:
    """One step of one block: ns per transfer, and ns of the product timed around it."""

    name: str
    ns: float
    product_ns: float

    @property
    def products(self) -> float:
        """The step in products."""
        return self.ns / self.product_ns


Block = dict[str, Step]
"""The steps of some transfers, by name."""

NextBlock = Callable[[], Block]


class Yardstick:
    """Products `u*z % N` of one key's numbers."""

    def __init__(self, key: SenderKey) -> None:
        self._modulus = key.public.modulus
        self._z = key.public.z[0]
        self._u = uniform_mod(self._modulus, os.urandom)

    def block(self) -> float:
        """Time `PRODUCTS` products in a row; ns each."""
        u, z, N = self._u, self._z, self._modulus
        start = time.perf_counter_ns()
        for _ in range(PRODUCTS):
            u * z % N
        return (time.perf_counter_ns() - start) / PRODUCTS

    def step(self, name: str, transfers: int, work: Callable[[], _Result]) -> tuple[Step, _Result]:
        """Time one step of `transfers` transfers, a block of products before and one after.

        Returns:
            The times, and what `work` returned.
        """
        with no_collection():
            before = self.block()
            start = time.perf_counter_ns()
            result = work()
            elapsed = time.perf_counter_ns() - start
            after = self.block()
        return Step(name, elapsed / transfers, (before + after) / 2), result


def compact_blocks(key: SenderKey, transfers: int, *, masked: bool = False) -> NextBlock:
    """Blocks of a compact receiver, one transfer after the other."""
    sender = Sender(key)
    receiver = Receiver(key.public, sender.sid, trusted_fingerprint=key.fingerprint, masked=masked)
    return _with_known_key(
        Yardstick(key), transfers, sender, receiver, Query.from_bytes, Reply.from_bytes
    )


def simplest_known_blocks(group: str, transfers: int, yardstick: Yardstick) -> NextBlock:
    """Blocks of SimplestOT with a long-term A."""
    sender = SimplestSender(group)
    receiver = SimplestReceiver(sender.public, sender.sid, group=group)
    return _with_known_key(
        yardstick,
        transfers,
        sender,
        receiver,
        SimplestQuery.from_bytes,
        SimplestReply.from_bytes,
    )


def six_blocks(key: SenderKey, transfers: int, *, masked: bool = False) -> NextBlock:
    """Blocks of the six-message variant, the sender's offers among them."""
    sender = SixSender(key)
    receiver = SixReceiver(key.public, sender.sid, masked=masked)
    return _with_offers(
        Yardstick(key),
        transfers,
        sender,
        receiver,
        lambda query, pair: sender.answer(query, *pair),
        Offer.from_bytes,
        SixQuery.from_bytes,
        SixReply.from_bytes,
    )


def simplest_fresh_blocks(group: str, transfers: int, yardstick: Yardstick) -> NextBlock:
    """Blocks of SimplestOT with a new A for each transfer."""
    sender = SimplestSender(group, split="fresh")
    receiver = SimplestReceiver(b"", sender.sid, group=group, split="fresh")
    return _with_offers(
        yardstick,
        transfers,
        sender,
        receiver,
        sender.answer,
        SimplestOffer.from_bytes,
        SimplestQuery.from_bytes,
        SimplestReply.from_bytes,
    )


def _with_known_key(
    yardstick: Yardstick,
    transfers: int,
    sender: Any,
    receiver: Any,
    to_query: Parse,
    to_reply: Parse,
) -> NextBlock:
    choose, retrieve = receiver.choose, receiver.retrieve

    def block() -> Block:
        choices, messages = random_transfers(transfers)
        first = _offline(yardstick, receiver, transfers)
        second, queries = yardstick.step(
            "receiver_choose", transfers, lambda: [choose(b).to_bytes() for b in choices]
        )
        replies = [
            sender.answer(to_query(query), pair).to_bytes()
            for query, pair in zip(queries, messages, strict=True)
        ]
        third, opened = yardstick.step(
            "receiver_retrieve",
            transfers,
            lambda: [retrieve(to_reply(reply)) for reply in replies],
        )
        check_opened(opened, choices, messages)
        return summed([first, second, third])

    return block


def _with_offers(
    yardstick: Yardstick,
    transfers: int,
    sender: Any,
    receiver: Any,
    answer: Callable[[Any, Messages], Any],
    to_offer: Parse,
    to_query: Parse,
    to_reply: Parse,
) -> NextBlock:
    choose, retrieve = receiver.choose, receiver.retrieve

    def block() -> Block:
        choices, messages = random_transfers(transfers)
        zeroth, offers = yardstick.step(
            "sender_offline", transfers, lambda: [sender.offer().to_bytes() for _ in choices]
        )
        first = _offline(yardstick, receiver, transfers)
        second, queries = yardstick.step(
            "receiver_choose",
            transfers,
            lambda: [
                choose(to_offer(offer), b).to_bytes()
                for offer, b in zip(offers, choices, strict=True)
            ],
        )
        replies = [
            answer(to_query(query), pair).to_bytes()
            for query, pair in zip(queries, messages, strict=True)
        ]
        third, opened = yardstick.step(
            "receiver_retrieve",
            transfers,
            lambda: [retrieve(to_reply(reply)) for reply in replies],
        )
        check_opened(opened, choices, messages)
        return summed([zeroth, first, second, third])

    return block


def _offline(yardstick: Yardstick, receiver: Any, transfers: int) -> Step:
    def work() -> None:
        for _ in range(transfers):
            receiver.precompute(1)

    return yardstick.step("receiver_offline", transfers, work)[0]


def summed(steps: list[Step]) -> Block:
    """The steps of a block by name, with the sums online and total."""
    block = {step.name: step for step in steps}
    for name, parts in (
        ("receiver_online", ("receiver_choose", "receiver_retrieve")),
        ("receiver_total", ("receiver_offline", "receiver_online")),
    ):
        one, other = (block[part] for part in parts)
        # Each part stands beside its own product, so the sum in products is
        # the sum of both ratios, and its product is what that makes it.
        ns = one.ns + other.ns
        block[name] = Step(name, ns, ns / (one.products + other.products))
    return block
