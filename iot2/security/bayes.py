"""The Bayesian observer: a sender that sees y = w⁴·z^b, w ~ S_ℓ (specification, section 8).

With P the law of w⁴, Pr[b = 1 | y] = P(y z⁻¹)/(P(y) + P(y z⁻¹)). Everything that
the observer uses is how many of the 2^ℓ cases give y for b = 0 and for b = 1;
values of y with the same pair of counts are one `Cell`. A count of 0 makes the
log-likelihood ratio infinite: that y gives the choice away.

`convolution` takes it from one observation to T.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from math import exp, fsum, gcd, inf, log, log2, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from iot2.errors import ParameterError
from iot2.security.sampling import (
    Counts,
    error,
    law,
    log2_exact,
    power_law,
    product_law,
    split,
    total,
)


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """All values of y that `zero` cases give under b = 0 and `one` cases under b = 1.

    `zeros` and `ones` are the cases of all those values together.
    """

    zero: int
    one: int
    values: int

    @property
    def zeros(self) -> int:
        """Cases of this cell under b = 0."""
        return self.zero * self.values

    @property
    def ones(self) -> int:
        """Cases of this cell under b = 1."""
        return self.one * self.values

    @property
    def log_ratio(self) -> float:
        """ln(Pr[y | b = 1]/Pr[y | b = 0]); infinite where one of the two is 0."""
        if self.zero == 0:
            return inf
        return log(Fraction(self.one, self.zero)) if self.one else -inf


@dataclass(frozen=True, slots=True)
class Channel:
    """What one transfer tells the observer: the laws of y for b = 0 and b = 1.

    Attributes:
        law_0: counts of y when b = 0.
        law_1: counts of y when b = 1, with the same total.
        cells: the same by pairs of counts, pairs (0, 0) left out.
        total: the number of equally likely cases.
    """

    law_0: Counts
    law_1: Counts
    cells: tuple[Cell, ...]
    total: int

    @classmethod
    def of_laws(cls, law_0: Counts, law_1: Counts) -> Channel:
        """From two laws over the same values, with the same total."""
        if law_0.shape != law_1.shape or total(law_0) != total(law_1) or not total(law_0):
            raise ParameterError(
                f"two laws over the same values and cases are needed, got {len(law_0)} values with "
                f"{total(law_0)} cases and {len(law_1)} with {total(law_1)}"
            )
        pairs = Counter(zip(law_0.tolist(), law_1.tolist(), strict=True))
        cells = tuple(
            Cell(zero, one, values) for (zero, one), values in sorted(pairs.items()) if zero or one
        )
        return cls(law_0, law_1, cells, total(law_0))

    def posterior(self) -> NDArray[np.float64]:
        """Pr[b = 1 | y] for every y, prior 1/2; nan for a y that never occurs."""
        zero, one = self.law_0.astype(float), self.law_1.astype(float)
        with np.errstate(invalid="ignore"):
            return np.asarray(one / (zero + one), dtype=np.float64)

    def log_ratios(self) -> NDArray[np.float64]:
        """ln(Pr[y | b = 1]/Pr[y | b = 0]) for every y; nan for a y that never occurs."""
        zero, one = self.law_0.astype(float), self.law_1.astype(float)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(one / zero), dtype=np.float64)

    def advantage(self) -> Fraction:
        """|Pr[says 1 | b = 1] − Pr[says 1 | b = 0]| of the best observer of one y, exact."""
        return Fraction(sum(abs(c.ones - c.zeros) for c in self.cells), 2 * self.total)

    def bayes_error(self) -> Fraction:
        """(1 − advantage)/2, the least error probability at prior 1/2, exact."""
        return (1 - self.advantage()) / 2

    def common(self) -> Fraction:
        """Pr[y is possible under both choices | b = 0], exact."""
        return Fraction(sum(c.zeros for c in self.cells if c.one), self.total)

    def affinity(self, s: float = 0.5) -> float:
        """Σ_y P_0(y)^(1−s)·P_1(y)^s over the y that are possible under both choices."""
        return fsum(
            float((c.zeros / self.total) ** (1 - s) * (c.ones / self.total) ** s)
            for c in self.cells
            if c.zero and c.one
        )

    def chernoff_exponent(self) -> float:
        """C = −min_s ln Σ_y P_0^(1−s)·P_1^s, 0 < s < 1: the error falls like e^(−C·T).

        Infinite where no y is possible under both choices.
        """
        if not any(c.zero and c.one for c in self.cells):
            return inf
        best = minimize_scalar(
            lambda s: log(self.affinity(s)),
            bounds=(0.0, 1.0),
            method="bounded",
            options={"xatol": 1e-10},
        )
        return max(0.0, -float(best.fun))


def observed(modulus: int, bits: int, z: int) -> Channel:
    """The channel of y = w⁴·z^b, w ~ S_ℓ, counted exactly over every w.

    Args:
        modulus: a toy N.
        bits: ℓ.
        z: a unit mod N, fourth power or not.
    """
    return _channel(law(modulus, bits), z)


def observed_uniform(modulus: int, z: int) -> Channel:
    """The channel of y = w⁴·z^b for w uniform mod N: the limit of large ℓ."""
    return _channel(np.ones(modulus, dtype=np.int64), z)


def observed_units(modulus: int, bits: int, z: int) -> Channel:
    """The channel of y = w⁴·z^b where w ~ S_ℓ is redrawn until it is a unit."""
    counts = law(modulus, bits)
    counts[np.gcd(np.arange(modulus), modulus) != 1] = 0
    return _channel(counts, z)


def _channel(counts: Counts, z: int) -> Channel:
    modulus = len(counts)
    if gcd(z, modulus) != 1:
        raise ParameterError("z must be a unit mod N, and is not")
    fourth = power_law(counts, 4)
    return Channel.of_laws(fourth, product_law(fourth, z))


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the advantage over T transfers never exceeds, exactly, for N of any size.

    Attributes:
        modulus: N.
        bits: ℓ.
    """

    modulus: int
    bits: int

    def linear(self, transfers: int) -> Fraction:
        """2·T·ERR(S_ℓ), exact: a triangle inequality for each transfer and choice."""
        return 2 * transfers * error(self.modulus, self.bits)

    def square(self, transfers: int) -> Fraction:
        """The square of sqrt(2T·r(N − r))/2^ℓ, exact (a square root seldom is)."""
        r = split(self.modulus, self.bits).r
        return Fraction(2 * transfers * r * (self.modulus - r), 1 << (2 * self.bits))

    def advantage(self, transfers: int) -> float:
        """min(1, 2·T·ERR, sqrt(2T·r(N − r))/2^ℓ); 0 where it is below every float."""
        one = Fraction(1)
        linear, square = self.linear(transfers), self.square(transfers)
        return min(float(min(linear, one)), sqrt(min(square, one)))

    def bayes_error(self, transfers: int) -> float:
        """(1 − bound on the advantage)/2: the error is at least this."""
        return (1.0 - self.advantage(transfers)) / 2.0

    def log2_linear(self, transfers: int) -> float:
        """log2(2·T·ERR), from exact integers."""
        return log2_exact(self.linear(transfers))

    def log2_root(self, transfers: int) -> float:
        """log2(sqrt(2T·r(N − r))/2^ℓ), from exact integers."""
        return log2_exact(self.square(transfers)) / 2

    def log2_advantage(self, transfers: int) -> float:
        """log2 min(1, 2·T·ERR, sqrt(2T·r(N − r))/2^ℓ), for real sizes too."""
        return min(0.0, self.log2_linear(transfers), self.log2_root(transfers))


def chernoff_bound(channel: Channel, transfers: int) -> float:
    """e^(−C·T)/2, which the Bayes error over T transfers never exceeds."""
    exponent = channel.chernoff_exponent()
    return exp(-exponent * transfers) / 2 if exponent < inf else 0.0


def information(channel: Channel) -> float:
    """Bits about a fair b in one y: 1 − H(b | y)."""
    bits = 0.0
    for cell in channel.cells:
        for own, other in ((cell.zeros, cell.ones), (cell.ones, cell.zeros)):
            if own:
                bits += own / (2 * channel.total) * log2(2 * own / (own + other))
    return bits
