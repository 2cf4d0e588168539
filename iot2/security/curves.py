"""The frames behind the security figures: exact laws, with the stored samples beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from iot2.errors import ParameterError
from iot2.security.bayes import Bounds, Channel, chernoff_bound
from iot2.security.convolution import RatioSum
from iot2.security.moduli import HONEST, HOSTILE, ToyModulus, honest_between
from iot2.security.sampling import (
    Counts,
    absolute_law,
    distance,
    error,
    error_bound,
    excess,
    law,
    log2_exact,
    power_law,
    product_law,
    split,
    total,
    uniform_law,
)
from iot2.security.stats import wilson

LAWS: Final = ("w", "|w|", "w^4")
"""The residue that a device draws, and what the protocol makes of it."""


def pushed(which: str, counts: Counts) -> Counts:
    """The law of w, |w| or w⁴ for w of the given law (or counts)."""
    if which == "w":
        return counts
    if which == "|w|":
        return absolute_law(counts)
    if which == "w^4":
        return power_law(counts, 4)
    raise ParameterError(f"expected one of {', '.join(LAWS)}, got {which!r}")


def relative_law(which: str, modulus: int, bits: int) -> pd.DataFrame:
    """Pr[f(S_ℓ) = v] over what it would be for w uniform: exactly 1 everywhere at ℓ = ∞.

    For f(w) = w this is N·Pr[S_ℓ = v].

    Returns:
        A row for each possible v: `x` (v/N), `exact` (that ratio), `ideal` (the
        probability for w uniform).
    """
    ideal = pushed(which, uniform_law(modulus)) / modulus
    exact = pushed(which, law(modulus, bits)) / (1 << bits)
    seen = np.flatnonzero(ideal)
    return pd.DataFrame(
        {"x": seen / modulus, "exact": exact[seen] / ideal[seen], "ideal": ideal[seen]}
    )


def relative_samples(
    which: str, sampled: Counts, bits: int, *, bins: int | None = None
) -> pd.DataFrame:
    """What stored draws say of the same ratio.

    Args:
        which: one of `LAWS`.
        sampled: how often each value of S_ℓ was drawn.
        bits: ℓ.
        bins: neighbouring values are taken together in about this many groups, none
            of which straddles the step; by default every value stands alone.

    Returns:
        A row for each value or group: `x`, `sampled`, and the bounds `low`, `high` of
        its 95 % interval.
    """
    modulus = len(sampled)
    ideal = pushed(which, uniform_law(modulus)) / modulus
    counts = pushed(which, sampled)
    seen = np.flatnonzero(ideal)
    r = split(modulus, bits).r
    edge = r if which == "w" else min(r, modulus - r)
    draws = total(sampled)
    rows = []
    # 0 is its own negative: |w| = 0 has the full step, and stands alone.
    edges = [edge] if which == "w" else [1, edge]
    for group in _groups(seen, edges, bins):
        expected = float(ideal[group].sum())
        low, high = wilson(int(counts[group].sum()), draws)
        rows.append(
            (
                group.mean() / modulus,
                counts[group].sum() / draws / expected,
                low / expected,
                high / expected,
            )
        )
    return pd.DataFrame(rows, columns=["x", "sampled", "low", "high"])


def _groups(seen: NDArray[Any], edges: list[int], bins: int | None) -> list[NDArray[Any]]:
    """Neighbours in about `bins` groups, none across one of the edges; or each value alone."""
    if bins is None:
        return [np.array([v]) for v in seen]
    sides = np.split(seen, np.searchsorted(seen, edges))
    return [
        group
        for side in sides
        if len(side)
        for group in np.array_split(side, max(1, round(bins * len(side) / len(seen))))
    ]


def error_curve(moduli: Sequence[ToyModulus], excesses: range) -> pd.DataFrame:
    """log2 ERR of toy moduli, for ℓ = bits + each of `excesses`."""
    rows = [
        _error_row(str(toy), toy.N, toy.N.bit_length() + more)
        for toy in moduli
        for more in excesses
    ]
    return pd.DataFrame(rows)


def real_errors(moduli: Mapping[int, int], margins: Sequence[int] = (64, 128)) -> pd.DataFrame:
    """log2 ERR of moduli of real size, for ℓ = bits + each margin; exact integers throughout."""
    rows = [
        _error_row(f"{bits} bits", N, bits + margin)
        for bits, N in moduli.items()
        for margin in margins
    ]
    return pd.DataFrame(rows)


def _error_row(name: str, modulus: int, bits: int) -> dict[str, object]:
    exact, bound = error(modulus, bits), error_bound(modulus, bits)
    return {
        "name": name,
        "l": bits,
        "excess_bits": excess(modulus, bits),
        "log2_err": log2_exact(exact),
        "log2_bound": log2_exact(bound),
        "log2_ratio": log2_exact(exact / bound),
    }


def distance_curve(bits: int = 12) -> pd.DataFrame:
    """ERR and the distance of the two laws of y against r/N, ℓ fixed.

    Every honest N with ⌊2^ℓ/N⌋ = 2 is a row, so that r/N runs from 0 to 1. Distances are
    in units of N/2^ℓ, in which ERR is (r/N)(1 − r/N) for every N.

    Returns:
        Columns `modulus`, `remainder` (r/N), `err`, `worst` (the largest distance over
        every z = σ⁴) and `median`.
    """
    rows = []
    for toy in honest_between((1 << bits) // 3 + 1, (1 << bits) // 2 + 1):
        unit = Fraction(toy.N, 1 << bits)
        drawn = law(toy.N, bits)
        fourth = power_law(drawn, 4)
        distances = [
            float(distance(fourth, product_law(fourth, z)) / unit)
            for z in toy.unit_powers(4)
            if z != 1
        ]
        rows.append(
            {
                "modulus": toy.N,
                "remainder": split(toy.N, bits).r / toy.N,
                "err": float(distance(drawn, uniform_law(toy.N)) / unit),
                "worst": max(distances),
                "median": float(np.median(distances)),
            }
        )
    return pd.DataFrame(rows).sort_values("remainder", ignore_index=True)


def powers_of_two(most: int) -> list[int]:
    """1, 2, 4, … up to `most`."""
    return [1 << k for k in range(most.bit_length())]


def exact_errors(channel: Channel, bounds: Bounds, transfers: Sequence[int]) -> pd.DataFrame:
    """The exact Bayes error and advantage for each T, with both bounds on the advantage."""
    sums = RatioSum(channel)
    rows = []
    for T in transfers:
        bayes_error = sums.bayes_error(T)
        rows.append(
            {
                "transfers": T,
                "bayes_error": bayes_error,
                "advantage": 1 - 2 * bayes_error,
                "linear": float(bounds.linear(T)),
                "root": float(bounds.square(T)) ** 0.5,
                "chernoff": chernoff_bound(channel, T),
            }
        )
    return pd.DataFrame(rows)


def sampled_errors(trajectories: pd.DataFrame) -> pd.DataFrame:
    """How often the observer was wrong, for each T of stored trajectories.

    It says the choice that the log-odds favour; log-odds of 0 count as half an error.
    The bounds `low` and `high` are of a 95 % Wilson interval.
    """
    rows = []
    for T, group in trajectories.groupby("transfers"):
        sums = group["log_odds_nats"].to_numpy()
        favoured = np.sign(sums) * np.where(group["choice"] == 1, 1, -1)
        wrong = float(np.sum(favoured < 0) + np.sum(favoured == 0) / 2)
        low, high = wilson(wrong, len(group))
        rows.append(
            {
                "transfers": T,
                "bayes_error": wrong / len(group),
                "low": low,
                "high": high,
                "trajectories": len(group),
            }
        )
    return pd.DataFrame(rows)


def real_bounds(
    moduli: Mapping[int, int], margins: Sequence[int], log2_transfers: Sequence[int]
) -> pd.DataFrame:
    """log2 of the bound on the advantage over T = 2^k transfers, for moduli of real size."""
    rows = [
        {
            "bits": bits,
            "margin": margin,
            "log2_transfers": k,
            "log2_advantage": bounds.log2_advantage(1 << k),
            "log2_linear": bounds.log2_linear(1 << k),
            "log2_root": bounds.log2_root(1 << k),
        }
        for bits, N in moduli.items()
        for margin in margins
        for bounds in [Bounds(N, bits + margin)]
        for k in log2_transfers
    ]
    return pd.DataFrame(rows)


def equal_laws(moduli: Sequence[ToyModulus] = HONEST + HOSTILE) -> pd.DataFrame:
    """For w uniform and every unit z: whether both choices give y the same law, and z = σ⁴.

    Returns:
        A row for each modulus: its `units`, how many of them are `fourth_powers`,
        for how many z the two laws are `equal`, and for how many z that `disagree`s with
        z being a fourth power.
    """
    rows = []
    for toy in moduli:
        fourth = set(toy.unit_powers(4))
        uniform = power_law(uniform_law(toy.N), 4)
        equal = {z for z in toy.units() if np.array_equal(uniform, product_law(uniform, z))}
        rows.append(
            {
                "modulus": str(toy),
                "honest": toy.honest,
                "units": len(toy.units()),
                "fourth_powers": len(fourth),
                "equal": len(equal),
                "disagree": len(equal ^ fourth),
            }
        )
    return pd.DataFrame(rows)
