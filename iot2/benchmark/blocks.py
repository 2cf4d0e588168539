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
from typing import Final, TypeVar

from iot2 import SenderKey
from iot2.arithmetic.uniform import uniform_mod
from iot2.benchmark import sessions
from iot2.benchmark.series import no_collection, random_transfers
from iot2.benchmark.sessions import Parties
from iot2.benchmark.transfers import check_opened

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
    return _blocks(Yardstick(key), transfers, sessions.compact(key, masked=masked))


def simplest_known_blocks(group: str, transfers: int, yardstick: Yardstick) -> NextBlock:
    """Blocks of SimplestOT with a long-term A."""
    return _blocks(yardstick, transfers, sessions.simplest_known(group))


def six_blocks(key: SenderKey, transfers: int, *, masked: bool = False) -> NextBlock:
    """Blocks of the six-message variant, the sender's offers among them."""
    return _blocks(Yardstick(key), transfers, sessions.six(key, masked=masked))


def simplest_fresh_blocks(group: str, transfers: int, yardstick: Yardstick) -> NextBlock:
    """Blocks of SimplestOT with a new A for each transfer."""
    return _blocks(yardstick, transfers, sessions.simplest_fresh(group))


def _blocks(yardstick: Yardstick, transfers: int, parties: Parties) -> NextBlock:
    sender, receiver, answer = parties.sender, parties.receiver, parties.answer
    to_offer, to_query, to_reply = parties.to_offer, parties.to_query, parties.to_reply
    choose, retrieve = receiver.choose, receiver.retrieve

    def precompute() -> None:
        for _ in range(transfers):
            receiver.precompute(1)

    def block() -> Block:
        choices, messages = random_transfers(transfers)
        steps: list[Step] = []

        def timed(name: str, work: Callable[[], _Result]) -> _Result:
            step, result = yardstick.step(name, transfers, work)
            steps.append(step)
            return result

        if to_offer is None:
            timed("receiver_offline", precompute)
            queries = timed("receiver_choose", lambda: [choose(b).to_bytes() for b in choices])
        else:
            offers = timed("sender_offline", lambda: [sender.offer().to_bytes() for _ in choices])
            timed("receiver_offline", precompute)
            queries = timed(
                "receiver_choose",
                lambda: [
                    choose(to_offer(offer), b).to_bytes()
                    for offer, b in zip(offers, choices, strict=True)
                ],
            )
        replies = [
            answer(to_query(query), pair).to_bytes()
            for query, pair in zip(queries, messages, strict=True)
        ]
        opened = timed(
            "receiver_retrieve", lambda: [retrieve(to_reply(reply)) for reply in replies]
        )
        check_opened(opened, choices, messages)
        return summed(steps)

    return block


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
