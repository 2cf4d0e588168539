"""The Bayesian observer of T transfers: exact laws of the sum of log-likelihood ratios.

Over T transfers with one choice b the log-likelihood ratios of the y add up, and
the best observer looks at the sign of the sum Λ. Two ways to its law:

- `direct_sum`: a sum over all paths with integers and rationals, exact, for small T
  and for the channels that have no small lattice, `direct_error` from it;
- `RatioSum`: on toy moduli the ratios take few values, all of them products of
  powers of one or two rationals, so Λ lives on a lattice of one or two dimensions;
  a power of a Fourier transform gives its law for T in the tens of thousands.

The transform is taken of R(y) = sqrt(P_0(y)·P_1(y))/Z, Z = Σ sqrt(P_0·P_1), since

    Bayes error = ½ Σ min(P_0, P_1) = ½ Z^T·E_R[e^(−|Λ|/2)]

has no cancellation: an error of 10^−200 comes out to as many digits as one of 0.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, fsum, gcd, log, prod, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from iot2.errors import ParameterError
from iot2.security.bayes import Cell, Channel

MOST_CELLS = 1 << 24
"""Largest lattice that is transformed: 128 MiB of float64."""

_LN_TAIL = 42.0
"""Mass outside the window is at most 2·d·e^(−42) ≈ 10^−18 of the whole, in d dimensions."""


def direct_sum(channel: Channel, transfers: int) -> dict[Fraction, tuple[int, int]]:
    """The law of the product of T likelihood ratios, by summing over all paths, exact.

    Returns:
        Ratio -> (cases under b = 0, cases under b = 1), each out of total^T. What is
        possible under one choice alone is left out: the rest of the total^T cases.
    """
    step: dict[Fraction, list[int]] = {}
    for cell in _shared(channel):
        entry = step.setdefault(Fraction(cell.one, cell.zero), [0, 0])
        entry[0] += cell.zeros
        entry[1] += cell.ones
    law: dict[Fraction, tuple[int, int]] = {Fraction(1): (1, 1)}
    for _ in range(transfers):
        longer: dict[Fraction, list[int]] = {}
        for ratio, (zeros, ones) in law.items():
            for factor, (zero, one) in step.items():
                entry = longer.setdefault(ratio * factor, [0, 0])
                entry[0] += zeros * zero
                entry[1] += ones * one
        law = {ratio: (zeros, ones) for ratio, (zeros, ones) in longer.items()}
    return law


def direct_error(channel: Channel, transfers: int) -> Fraction:
    """The Bayes error over T transfers at prior 1/2, exact, from `direct_sum`."""
    law = direct_sum(channel, transfers)
    least = sum(min(zeros, ones) for zeros, ones in law.values())
    return Fraction(least, 2 * channel.total**transfers)


@dataclass(frozen=True, slots=True)
class SumLaw:
    """The law of Λ = Σ ln(P_1(y)/P_0(y)) over T transfers of one choice.

    Attributes:
        values: what Λ can be, in nats, finite and ascending.
        mass: the probability of each.
        certain: the probability that Λ is infinite, and the choice known.
    """

    values: NDArray[np.float64]
    mass: NDArray[np.float64]
    certain: float


class RatioSum:
    """Laws and errors over T transfers, by Fourier transform on the lattice of ratios."""

    def __init__(self, channel: Channel) -> None:
        shared = _shared(channel)
        if not shared:
            raise ParameterError("no y is possible under both choices: every y tells")
        self._total = channel.total
        self._basis, points = lattice([Fraction(c.one, c.zero) for c in shared])
        self._cells = list(zip(shared, points, strict=True))
        self._logs = np.array([log(ratio) for ratio in self._basis])
        self._reach = [max(abs(point[i]) for point in points) for i in range(len(self._basis))]

    def bayes_error(self, transfers: int) -> float:
        """½ Z^T·E_R[e^(−|Λ|/2)], the Bayes error over T transfers at prior 1/2."""
        steps, affinity = self._steps(0.5)
        mass, ratios = self._power(steps, transfers)
        return 0.5 * affinity**transfers * float(np.sum(mass * np.exp(-np.abs(ratios) / 2)))

    def law(self, transfers: int, choice: int) -> SumLaw:
        """The law of Λ over T transfers with b = `choice`; the tails beyond 10^−18 are cut."""
        if choice not in (0, 1):
            raise ParameterError(f"a choice is 0 or 1, got {choice}")
        steps, common = self._steps(float(choice))
        mass, ratios = self._power(steps, transfers)
        order = np.argsort(ratios, kind="stable")
        return SumLaw(
            ratios[order], mass[order] * common**transfers, max(0.0, 1.0 - common**transfers)
        )

    def _steps(self, s: float) -> tuple[dict[tuple[int, ...], float], float]:
        """(P_0^(1−s)·P_1^s as a law on the lattice, the mass that makes it one)."""
        merged: dict[tuple[int, ...], float] = {}
        for cell, point in self._cells:
            mass = float((cell.zeros / self._total) ** (1 - s) * (cell.ones / self._total) ** s)
            merged[point] = merged.get(point, 0.0) + mass
        affinity = fsum(merged.values())
        return {point: mass / affinity for point, mass in merged.items()}, affinity

    def _power(
        self, steps: dict[tuple[int, ...], float], transfers: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(mass of the sum of T steps, Λ) on the window of the lattice that holds it, flattened."""
        if transfers < 0:
            raise ParameterError(f"a number of transfers is at least 0, got {transfers}")
        if not self._basis:
            return np.ones(1), np.zeros(1)
        shape = [
            fft.next_fast_len(2 * _span(reach, transfers) + 1, real=True) for reach in self._reach
        ]
        if prod(shape) > MOST_CELLS:
            raise ParameterError(
                f"{transfers} transfers need a lattice of {prod(shape)} cells; at most {MOST_CELLS}"
            )
        step = np.zeros(shape)
        for point, mass in steps.items():
            step[tuple(k % size for k, size in zip(point, shape, strict=True))] += mass
        law = fft.irfftn(fft.rfftn(step) ** transfers, s=shape)
        # Rounding leaves about 1e-16 everywhere; no true probability is negative.
        np.clip(law, 0.0, None, out=law)
        axes = []
        for i, size in enumerate(shape):
            mean = transfers * sum(mass * point[i] for point, mass in steps.items())
            first = round(mean) - size // 2
            axes.append((np.arange(size) - first) % size + first)
        grids = np.meshgrid(*axes, indexing="ij", sparse=True)
        ratios = sum(grid * ln for grid, ln in zip(grids, self._logs, strict=True))
        return law.ravel(), np.asarray(ratios, dtype=np.float64).ravel()


def _span(reach: int, transfers: int) -> int:
    """How far from its mean a coordinate can come, but for the tail (Hoeffding)."""
    return min(2 * reach * transfers, ceil(reach * sqrt(2 * transfers * _LN_TAIL)) + 1)


def lattice(ratios: Sequence[Fraction]) -> tuple[list[Fraction], list[tuple[int, ...]]]:
    """A few rationals of which every given ratio is a product of integer powers.

    >>> lattice([Fraction(9, 8), Fraction(1), Fraction(10, 9), Fraction(4, 5)])
    ([Fraction(10, 9), Fraction(9, 8)], [(0, 1), (0, 0), (1, 0), (-1, -1)])

    Returns:
        (basis, for each ratio its exponents). The ratios of smallest logarithm make
        the basis, which suits laws whose counts differ by few cases.

    Raises:
        ParameterError: the ratios are no lattice over that choice; `direct_sum` serves.
    """
    factors = _coprime_base(ratios)
    vectors = [_exponents(ratio, factors) for ratio in ratios]
    positive = {max(ratio, 1 / ratio) for ratio in ratios if ratio != 1}
    basis: list[Fraction] = []
    rows: list[list[Fraction]] = []
    for ratio in sorted(positive):
        vector = [Fraction(e) for e in _exponents(ratio, factors)]
        if _solve(rows, vector) is None:
            basis.append(ratio)
            rows.append(vector)
    points = []
    for ratio, exponents in zip(ratios, vectors, strict=True):
        solved = _solve(rows, [Fraction(e) for e in exponents])
        if solved is None or any(c.denominator != 1 for c in solved):
            raise ParameterError(
                f"{ratio} is no product of integer powers of {', '.join(map(str, basis))}"
            )
        points.append(tuple(int(c) for c in solved))
    return basis, points


def _shared(channel: Channel) -> list[Cell]:
    """The cells of y that are possible under both choices."""
    return [cell for cell in channel.cells if cell.zero and cell.one]


def _coprime_base(ratios: Sequence[Fraction]) -> list[int]:
    """Pairwise coprime numbers > 1 of whose powers every given ratio is made, without factoring."""
    base: list[int] = []
    pending = [n for ratio in ratios for n in (ratio.numerator, ratio.denominator)]
    while pending:
        number = pending.pop()
        if number == 1:
            continue
        for i, other in enumerate(base):
            shared = gcd(number, other)
            if shared > 1:
                del base[i]
                pending += [shared, number // shared, other // shared]
                break
        else:
            base.append(number)
    return sorted(base)


def _exponents(ratio: Fraction, base: Sequence[int]) -> list[int]:
    """The exponent of each number of the base in the ratio."""
    exponents = []
    for factor in base:
        exponent = 0
        for number, sign in ((ratio.numerator, 1), (ratio.denominator, -1)):
            while number % factor == 0:
                number //= factor
                exponent += sign
        exponents.append(exponent)
    return exponents


def _solve(rows: Sequence[Sequence[Fraction]], vector: Sequence[Fraction]) -> list[Fraction] | None:
    """The c with Σ c_i·rows_i = vector, for independent rows; None where there is none."""
    width = len(rows)
    system = [[*column, value] for *column, value in zip(*rows, vector, strict=True)]
    for k in range(width):
        pivot = next(i for i in range(k, len(system)) if system[i][k])
        system[k], system[pivot] = system[pivot], system[k]
        system[k] = [entry / system[k][k] for entry in system[k]]
        for i, line in enumerate(system):
            if i != k and line[k]:
                system[i] = [a - line[k] * b for a, b in zip(line, system[k], strict=True)]
    if any(line[width] for line in system[width:]):
        return None
    return [line[width] for line in system[:width]]
