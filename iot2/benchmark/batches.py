"""Whole batches, arrays in and arrays out."""

import os
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from iot2 import QueryBatch, ReplyBatch, SenderKey, SixReceiver, SixSender
from iot2.benchmark import sessions
from iot2.benchmark.blocks import Block, NextBlock, Yardstick, summed
from iot2.benchmark.series import MESSAGE_BYTES
from iot2.benchmark.sessions import Parties
from iot2.benchmark.transfers import WrongMessageError
from iot2.simplest.batch import SimplestQueryBatch, SimplestReplyBatch
from iot2.wire.header import HEADER

GENUINE: Final = 100
"""Transfers of a batch that the sender answers; see `batch_blocks`."""


def batch_blocks(
    key: SenderKey, size: int, *, masked: bool = False, genuine: int = GENUINE
) -> NextBlock:
    """Blocks that are one compact batch each, `sender_online` among the steps.

    The sender answers the first `genuine` transfers, and they are compared
    with what was chosen. The rest of the batch, which would cost the sender
    minutes, holds random ciphertexts instead: to the receiver they look and
    cost the same, since it opens whatever comes.
    """
    parties = sessions.compact(key, masked=masked)
    return _batches(Yardstick(key), size, genuine, parties, QueryBatch, ReplyBatch)


def simplest_batch_blocks(
    group: str, size: int, yardstick: Yardstick, *, genuine: int = GENUINE
) -> NextBlock:
    """The same for SimplestOT with a long-term A."""
    parties = sessions.simplest_known(group)
    return _batches(yardstick, size, genuine, parties, SimplestQueryBatch, SimplestReplyBatch)


def _batches(
    yardstick: Yardstick,
    size: int,
    genuine: int,
    parties: Parties,
    query_batch: Any,
    reply_batch: Any,
) -> NextBlock:
    sender, receiver = parties.sender, parties.receiver
    rng = np.random.default_rng()
    answered = min(genuine, size)

    def block() -> Block:
        choices = rng.integers(0, 2, size)
        messages = random_array(answered, 2, MESSAGE_BYTES)
        offline, _ = yardstick.step("receiver_offline", size, lambda: receiver.precompute(size))
        choose, queries = yardstick.step(
            "receiver_choose", size, lambda: receiver.choose_many(choices).to_bytes()
        )
        stride = len(queries) // size
        online, replies = yardstick.step(
            "sender_online",
            answered,
            lambda: sender.answer_many(
                query_batch.from_bytes(queries[: answered * stride], stride), messages
            ).to_bytes(),
        )
        replies += unanswered(query_batch.from_bytes(queries, stride), answered, replies[1])
        retrieve, opened = yardstick.step(
            "receiver_retrieve",
            size,
            lambda: receiver.retrieve_many(reply_batch.from_bytes(replies)),
        )
        chosen = messages[np.arange(answered), choices[:answered]]
        if not np.array_equal(opened[:answered], chosen):
            raise WrongMessageError
        return summed([offline, choose, online, retrieve])

    return block


def six_batch_blocks(key: SenderKey, size: int) -> NextBlock:
    """The one step of the six-message variant that works on many transfers at once."""
    yardstick = Yardstick(key)

    def block() -> Block:
        receiver = SixReceiver(key.public, SixSender(key).sid)
        offline, _ = yardstick.step("receiver_offline", size, lambda: receiver.precompute(size))
        return {offline.name: offline}

    return block


def unanswered(queries: Any, answered: int, kind: int) -> bytes:
    """Well-formed replies with random ciphertexts to all queries after the first `answered`."""
    rest = queries.rows[answered:]
    start = bytes([0, 2]) + MESSAGE_BYTES.to_bytes(4)
    rows = np.empty((len(rest), HEADER.size + len(start) + 2 * MESSAGE_BYTES), np.uint8)
    rows[:, : HEADER.size] = rest[:, : HEADER.size]
    rows[:, 1] = kind
    rows[:, HEADER.size : HEADER.size + len(start)] = np.frombuffer(start, np.uint8)
    rows[:, HEADER.size + len(start) :] = random_array(len(rest), 2 * MESSAGE_BYTES)
    return rows.tobytes()


def random_array(*shape: int) -> NDArray[np.uint8]:
    """Uniform bytes from the operating system."""
    return np.frombuffer(os.urandom(int(np.prod(shape))), np.uint8).reshape(shape)
