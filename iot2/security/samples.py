"""The Monte-Carlo samples behind the security figures: drawn from a seed, stored as CSV.

| file | a row is |
|---|---|
| `sampling_<N>_<l>.csv` | a value v of S_ℓ and how often it was drawn |
| `posterior_<N>_<l>_<z>.csv` | what an observer knows after T transfers of one choice |
| `moduli.csv` | a modulus of real size, made as a sender's key makes it |

Every w is drawn by the routine that the protocol uses, from a source with ℓ random
bits. The same seed gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from iot2.errors import DataError, ParameterError
from iot2.security.bayes import observed
from iot2.security.moduli import FIGURE_MODULUS, REAL_SIZES, real_modulus
from iot2.security.sampling import sample
from iot2.security.store import Column, Schema, Stored, read, write
from iot2.security.stream import SeededBytes

SEED: Final = 2026
FIGURE_BITS: Final = (10, 11, 12, 14)
"""ℓ = 10 + 0, 1, 2, 4 for N = 989, just under 2^10."""

FOURTH_POWER: Final = 16
"""z = 2⁴ on the toy modulus: what π proves."""

NO_FOURTH_POWER: Final = 11
"""The positive control: a square mod 43 and none mod 23."""

SAMPLING: Final = Schema(
    "sampling",
    (
        Column("value", "count", "v in 0 ... N-1"),
        Column("count", "count", "how many draws gave v"),
    ),
)
POSTERIOR: Final = Schema(
    "posterior",
    (
        Column("trajectory", "count", "one sender's sequence of transfers, all with one choice"),
        Column("choice", "count", "the choice b of that trajectory"),
        Column("transfers", "count", "T, transfers seen so far"),
        Column("log_odds_nats", "real", "ln(Pr[b=1 | what was seen]/Pr[b=0 | what was seen])"),
    ),
)
MODULI: Final = Schema(
    "moduli",
    (
        Column("bits", "count", "bit length of N"),
        Column("modulus_hex", "word", "N = p q, p and q = 3 (mod 4), factors forgotten"),
    ),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What `iot2 security` draws.

    Attributes:
        seed: determines every byte of every file.
        draws: samples of S_ℓ for each ℓ of `FIGURE_BITS`.
        trajectories: sequences of transfers, half of them with b = 1.
        transfers: T at the end of a trajectory, a power of 2.
        posterior_bits: ℓ of the trajectories.
    """

    seed: int = SEED
    draws: int = 1_000_000
    trajectories: int = 1000
    transfers: int = 4096
    posterior_bits: int = 11

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 1 << 128:
            raise ParameterError(f"a seed is at least 0 and below 2^128, got {self.seed}")
        if self.draws < 1 or self.trajectories < 2:
            raise ParameterError("at least 1 draw and 2 trajectories are needed")
        if self.transfers < 1 or self.transfers & (self.transfers - 1):
            raise ParameterError(f"transfers must be a power of 2, got {self.transfers}")


def sampling_name(modulus: int, bits: int) -> str:
    """The file of draws of S_ℓ mod N."""
    return f"sampling_{modulus}_{bits}.csv"


def posterior_name(modulus: int, bits: int, z: int) -> str:
    """The file of trajectories for y = w⁴·z^b, w ~ S_ℓ."""
    return f"posterior_{modulus}_{bits}_{z}.csv"


def store_samples(folder: Path, plan: Plan, *, force: bool = False) -> Iterator[Path]:
    """Draw and store every file of the plan, one by one; give each path when it is written.

    Raises:
        DataError: a file with other content is there and `force` is false.
    """
    N = FIGURE_MODULUS.N
    for bits in FIGURE_BITS:
        path = folder / sampling_name(N, bits)
        about = {"modulus": N, "bits": bits, "draws": plan.draws, "seed": plan.seed}
        write(path, SAMPLING, draw_sampling(N, bits, plan.draws, plan.seed), about, force=force)
        yield path
    for z in (FOURTH_POWER, NO_FOURTH_POWER):
        path = folder / posterior_name(N, plan.posterior_bits, z)
        about = {
            "modulus": N,
            "bits": plan.posterior_bits,
            "z": z,
            "z_is_fourth_power": z in FIGURE_MODULUS.unit_powers(4),
            "trajectories": plan.trajectories,
            "seed": plan.seed,
        }
        frame = draw_posterior(
            N,
            plan.posterior_bits,
            z,
            trajectories=plan.trajectories,
            transfers=plan.transfers if z == FOURTH_POWER else min(16, plan.transfers),
            seed=plan.seed,
        )
        write(path, POSTERIOR, frame, about, force=force)
        yield path
    path = folder / "moduli.csv"
    write(path, MODULI, draw_moduli(REAL_SIZES, plan.seed), {"seed": plan.seed}, force=force)
    yield path


def draw_sampling(modulus: int, bits: int, draws: int, seed: int) -> pd.DataFrame:
    """`draws` samples of S_ℓ, counted: one row for each value, drawn or not."""
    values = sample(modulus, bits, draws, SeededBytes(seed, sampling_name(modulus, bits)))
    counts = np.bincount(values, minlength=modulus)
    return pd.DataFrame({"value": np.arange(modulus), "count": counts})


def draw_posterior(
    modulus: int, bits: int, z: int, *, trajectories: int, transfers: int, seed: int
) -> pd.DataFrame:
    """The observer's log-odds after 1, 2, 4, … `transfers` transfers of one choice.

    Trajectory t has the choice t mod 2; its transfers have w ~ S_ℓ, independent, and
    the observer sees y = w⁴·z^b. Log-odds of ±∞ mean that some y gave the choice away.
    """
    if gcd(z, modulus) != 1:
        raise ParameterError("z must be a unit mod N, and is not")
    source = SeededBytes(seed, posterior_name(modulus, bits, z))
    log_ratios = observed(modulus, bits, z).log_ratios()
    stops = np.array([1 << k for k in range(transfers.bit_length())])
    rows = []
    for trajectory in range(trajectories):
        choice = trajectory % 2
        w = sample(modulus, bits, transfers, source)
        y = w * w % modulus
        y = y * y % modulus * (z if choice else 1) % modulus
        # Rounded, so that no last bit of a logarithm changes the file; + 0.0 makes -0 a 0.
        sums = np.round(np.cumsum(log_ratios[y])[stops - 1], 9) + 0.0
        rows.append(
            pd.DataFrame(
                {
                    "trajectory": trajectory,
                    "choice": choice,
                    "transfers": stops,
                    "log_odds_nats": sums,
                }
            )
        )
    return pd.concat(rows, ignore_index=True)


def draw_moduli(sizes: Sequence[int], seed: int) -> pd.DataFrame:
    """A modulus of each size, from primes that the seed determines."""
    moduli = [real_modulus(bits, SeededBytes(seed, f"modulus {bits}")) for bits in sizes]
    return pd.DataFrame({"bits": list(sizes), "modulus_hex": [f"{N:x}" for N in moduli]})


def read_sampling(folder: Path | str, modulus: int, bits: int) -> Stored:
    """The stored draws of S_ℓ, one row for each v in {0 … N − 1}."""
    stored = read(Path(folder) / sampling_name(modulus, bits), SAMPLING)
    if stored.frame["value"].tolist() != list(range(modulus)):
        raise DataError(f"{stored.path}: expected a row for each value 0 ... {modulus - 1}")
    return stored


def read_posterior(folder: Path | str, modulus: int, bits: int, z: int) -> Stored:
    """The stored trajectories."""
    stored = read(Path(folder) / posterior_name(modulus, bits, z), POSTERIOR)
    if not stored.frame["choice"].isin((0, 1)).all():
        raise DataError(f"{stored.path}: expected choices 0 or 1")
    return stored


def read_moduli(folder: Path | str) -> dict[int, int]:
    """The stored moduli of real size: bits -> N."""
    stored = read(Path(folder) / "moduli.csv", MODULI)
    found: dict[int, int] = {}
    for bits, text in zip(stored.frame["bits"], stored.frame["modulus_hex"], strict=True):
        try:
            N = int(text, 16)
        except ValueError:
            raise DataError(f"{stored.path}: expected hexadecimal digits") from None
        if N.bit_length() != bits:
            raise DataError(f"{stored.path}: expected {bits} bits, came {N.bit_length()}")
        found[int(bits)] = N
    return found
