"""What a key costs once: making it, parsing it, checking its proof."""

import time
from collections.abc import Callable

import pandas as pd

from iot2 import PublicKey, SenderKey
from iot2.benchmark.schema import KEY_STEPS, Table
from iot2.benchmark.series import no_collection


def measure_key(bits: int, *, generations: int, checks: int) -> tuple[SenderKey, pd.DataFrame]:
    """Time the costs of a key, and keep the last one made.

    Args:
        bits: modulus size; one that needs it is made as insecure.
        generations: keys to make; each takes seconds.
        checks: times to parse the last key and check its proof.

    Returns:
        The key and the table of kind `keys`.
    """
    rows: list[tuple[str, int, int]] = []

    def timed(step: str, repetition: int, work: Callable[[], object]) -> None:
        with no_collection():
            start = time.perf_counter_ns()
            work()
            rows.append((step, repetition, time.perf_counter_ns() - start))

    made: list[SenderKey] = []
    generate, parse, check = KEY_STEPS
    for repetition in range(generations):
        timed(generate, repetition, lambda: made.append(SenderKey.generate(bits, insecure=True)))
    encoded = made[-1].public.to_bytes()
    for repetition in range(checks):
        timed(parse, repetition, lambda: PublicKey.from_bytes(encoded, insecure=True))
        public = PublicKey.from_bytes(encoded, insecure=True)
        timed(check, repetition, public.verify)
    columns = [column.name for column in Table("keys", bits).columns]
    return made[-1], pd.DataFrame(rows, columns=columns)
