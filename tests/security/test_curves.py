"""The frames behind the figures."""

from __future__ import annotations

import numpy as np
import pytest

from iot2.errors import ParameterError
from iot2.security import curves, sampling
from iot2.security.bayes import Bounds, observed, observed_uniform
from iot2.security.moduli import HONEST, HOSTILE, ToyModulus
from iot2.security.samples import draw_posterior

N = 989


def test_the_relative_law_of_w_is_n_times_the_probability() -> None:
    frame = curves.relative_law("w", N, 11)
    expected = N * sampling.law(N, 11) / 2**11
    assert frame["exact"].tolist() == pytest.approx(expected.tolist())
    r = sampling.split(N, 11).r
    steps = np.flatnonzero(np.diff(frame["exact"]))
    assert steps.tolist() == [r - 1]


@pytest.mark.parametrize("which", curves.LAWS)
def test_relative_laws_have_mean_one_and_tend_to_one(which: str) -> None:
    for bits, most in ((11, 0.6), (40, 1e-8)):
        frame = curves.relative_law(which, N, bits)
        assert (frame["exact"] * frame["ideal"]).sum() == pytest.approx(1)
        assert frame["ideal"].sum() == pytest.approx(1)
        assert (frame["exact"] - 1).abs().max() < most


def test_the_step_of_the_absolute_value_is_at_r_or_n_minus_r() -> None:
    for bits in (10, 14):
        frame = curves.relative_law("|w|", N, bits)
        r = sampling.split(N, bits).r
        steps = np.flatnonzero(np.abs(np.diff(frame["exact"])) > 1e-12)
        # |w| takes v from v and N - v: a step at the smaller of r and N - r + 1, and at 0.
        assert set(steps + 1) == {1, min(r, N - r + 1)}


def test_samples_are_grouped_without_crossing_the_step() -> None:
    counts = sampling.law(N, 11) * 1000
    frame = curves.relative_samples("w", counts, 11, bins=40)
    exact = curves.relative_law("w", N, 11)["exact"]
    assert 38 <= len(frame) <= 42
    # Counts that follow the law exactly lie on its two levels, and on nothing between.
    assert set(frame["sampled"].round(9)) == set(exact.round(9))
    assert (frame["low"] < frame["sampled"]).all()
    assert (frame["high"] > frame["sampled"]).all()


@pytest.mark.parametrize("which", curves.LAWS)
def test_every_value_alone_without_groups(which: str) -> None:
    counts = sampling.law(N, 12)
    frame = curves.relative_samples(which, counts, 12)
    exact = curves.relative_law(which, N, 12)
    assert frame["x"].tolist() == pytest.approx(exact["x"].tolist())
    assert frame["sampled"].tolist() == pytest.approx(exact["exact"].tolist())


def test_an_unknown_law_is_refused() -> None:
    with pytest.raises(ParameterError, match="expected one of"):
        curves.pushed("w^3", sampling.law(N, 11))


def test_error_rows_agree_with_the_formulas() -> None:
    frame = curves.error_curve([ToyModulus((7, 11))], range(3))
    for _, row in frame.iterrows():
        ell = int(row["l"])
        err = sampling.error(77, ell)
        assert 2 ** row["log2_err"] == pytest.approx(float(err))
        assert row["log2_ratio"] == pytest.approx(row["log2_err"] - row["log2_bound"])
        assert row["log2_bound"] == pytest.approx(-row["excess_bits"] - 2)


def test_the_distance_curve_is_under_its_bound_and_vanishes_at_half() -> None:
    frame = curves.distance_curve(11)
    f = frame["remainder"]
    assert frame["err"].tolist() == pytest.approx((f * (1 - f)).tolist())
    assert (frame["worst"] <= 2 * frame["err"] + 1e-12).all()
    assert (frame["median"] <= frame["worst"] + 1e-12).all()
    at_half = frame.loc[(f - 0.5).abs() < 0.02, "worst"]
    around = frame.loc[((f - 0.5).abs() > 0.2) & ((f - 0.5).abs() < 0.3), "worst"]
    assert len(at_half) >= 1
    assert at_half.max() < around.min() / 5


def test_sampled_errors_count_wrong_guesses_and_halve_ties() -> None:
    import pandas as pd

    frame = pd.DataFrame(
        {
            "trajectory": range(4),
            "choice": [0, 1, 0, 1],
            "transfers": 1,
            "log_odds_nats": [-1.0, -np.inf, 0.0, 2.0],
        }
    )
    row = curves.sampled_errors(frame).iloc[0]
    assert row["bayes_error"] == 1.5 / 4
    assert row["low"] < row["bayes_error"] < row["high"]


def test_sampled_errors_agree_with_the_exact_ones() -> None:
    frame = draw_posterior(N, 11, 16, trajectories=800, transfers=512, seed=4)
    exact = curves.exact_errors(observed(N, 11, 16), Bounds(N, 11), [1, 16, 256, 512])
    sampled = curves.sampled_errors(frame).set_index("transfers")
    for _, row in exact.iterrows():
        error = sampled.loc[row["transfers"], "bayes_error"]
        sigma = np.sqrt(row["bayes_error"] * (1 - row["bayes_error"]) / 800)
        assert abs(error - row["bayes_error"]) < 4 * sigma


def test_real_bounds_come_from_exact_integers() -> None:
    modulus = (3 << 2046) + 12345
    frame = curves.real_bounds({2048: modulus}, (64, 128), (0, 60))
    assert len(frame) == 4
    assert (frame["log2_advantage"] < -25).all()
    least = frame[["log2_linear", "log2_root"]].min(axis=1)
    assert frame["log2_advantage"].tolist() == least.tolist()


def test_equal_laws_table_counts_what_enumeration_finds() -> None:
    toys = [HONEST[1], HOSTILE[0]]
    frame = curves.equal_laws(toys)
    for toy, (_, row) in zip(toys, frame.iterrows(), strict=True):
        equal = [z for z in toy.units() if observed_uniform(toy.N, z).advantage() == 0]
        assert row["equal"] == len(equal) == row["fourth_powers"]
        assert row["disagree"] == 0
    assert curves.equal_laws(HONEST + HOSTILE)["disagree"].sum() == 0
