"""The security figures: what they draw, and that the same data give the same bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from drawn import check_texts, letters
from matplotlib.figure import Figure

from iot2.plots import bayesian, sampling, stopwatch
from iot2.plots.style import figure_style
from iot2.security import curves
from iot2.security.bayes import Bounds, observed
from iot2.security.leakage import Timings
from iot2.security.moduli import FIGURE_MODULUS
from iot2.security.recording import RECEIVERS, SENDERS
from iot2.security.samples import draw_posterior
from iot2.security.sampling import law, split
from iot2.security.verdict import Verdict, judge_all

N = FIGURE_MODULUS.N


@pytest.fixture(scope="module")
def verdicts() -> list[Verdict]:
    rng = np.random.default_rng(1)
    recordings = []
    for party, cases in (("receiver", RECEIVERS), ("sender", SENDERS)):
        for case in cases:
            labels = rng.integers(0, 2, 2000)
            times = (1000 + rng.gamma(4, 10, 2000)).astype(np.int64)
            times += 60 * labels * (case == "control")
            recordings.append(Timings(party, case, labels, {"online": times}, {}))
    return judge_all(recordings, shuffles=2)


def axes() -> object:
    with figure_style():
        return Figure(layout="constrained").add_subplot()


def test_a_figure_is_written_twice_and_the_same_again(
    samples_folder: Path, verdicts: list[Verdict], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The rest takes long and adds nothing; the notebook's test draws every figure in full.
    monkeypatch.setattr(bayesian, "MOST_TRANSFERS", 64)
    for folder in (tmp_path / "a", tmp_path / "b"):
        saved = bayesian.bayesian_figure(samples_folder, verdicts, folder)
        assert saved.path == folder / "bayesian.pdf"
    for name in ("bayesian.png", "bayesian.pdf"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    png = (tmp_path / "a" / "bayesian.png").read_bytes()
    assert int.from_bytes(png[16:20]) == round(7.16 * 300)


@pytest.mark.parametrize(("bits", "folded"), [(10, False), (14, False), (10, True), (14, True)])
def test_the_step_is_marked_where_the_law_steps(bits: int, folded: bool) -> None:
    line, text = sampling.mark_step(N, bits, axes(), folded=folded)  # type: ignore[arg-type]
    place = float(line.get_xdata()[0])  # type: ignore[attr-defined]
    which = "|w|" if folded else "w"
    exact = curves.relative_law(which, N, bits)
    largest = int(np.abs(np.diff(exact["exact"].to_numpy()[2:])).argmax()) + 2
    assert place == pytest.approx((largest + 1) / N, abs=1.5 / N)
    assert f"{place:.3f}" in text.get_text()  # type: ignore[attr-defined]


def test_exact_and_sampled_laws_are_drawn_as_given() -> None:
    exact = curves.relative_law("w", N, 11)
    points = curves.relative_samples("w", law(N, 11) * 100, 11, bins=40)
    line = sampling.plot_law(exact, axes(), joined=True)[0]  # type: ignore[arg-type]
    assert line.get_ydata().tolist() == exact["exact"].tolist()  # type: ignore[attr-defined]
    dots = sampling.plot_samples(points, axes())[0]  # type: ignore[arg-type]
    assert dots.get_ydata().tolist() == points["sampled"].tolist()  # type: ignore[attr-defined]
    # The points lie over the line.
    assert dots.get_zorder() > line.get_zorder()


def test_no_point_of_the_error_figure_is_off_its_axis() -> None:
    toys = curves.error_curve([FIGURE_MODULUS], range(25))
    real = curves.real_errors({2048: (1 << 2048) - 12345, 4096: (9 << 4092) + 1})
    for plot, column in (
        (sampling.plot_errors, "log2_err"),
        (sampling.plot_below_bound, "log2_ratio"),
    ):
        panel = axes()
        plot(toys, real, panel)  # type: ignore[arg-type]
        low, high = panel.get_ylim()  # type: ignore[attr-defined]
        for frame in (toys, real):
            assert frame[column].between(low, high).all()


def test_the_bound_is_never_drawn_below_what_it_bounds() -> None:
    exact = curves.exact_errors(observed(N, 11, 16), Bounds(N, 11), curves.powers_of_two(64))
    panel = axes()
    lines = {line.get_label(): line for line in bayesian.plot_advantage(exact, panel)}  # type: ignore[arg-type]
    drawn = dict(zip(*lines["exact"].get_data(), strict=True))  # type: ignore[attr-defined]
    bounds = [line for label, line in lines.items() if str(label).startswith("bound")]
    assert len(bounds) == 2
    for line in bounds:
        for T, bound in zip(*line.get_data(), strict=True):  # type: ignore[attr-defined]
            assert bound >= drawn[T]


def test_sampled_errors_carry_their_intervals() -> None:
    exact = curves.exact_errors(observed(N, 11, 16), Bounds(N, 11), curves.powers_of_two(64))
    sampled = curves.sampled_errors(
        draw_posterior(N, 11, 16, trajectories=60, transfers=64, seed=1)
    )
    points = bayesian.plot_errors(exact, sampled, axes())[-1]  # type: ignore[arg-type]
    assert points.get_ydata().tolist() == sampled["bayes_error"].tolist()  # type: ignore[attr-defined]


def test_every_case_has_its_accuracy_with_and_without_labels(verdicts: list[Verdict]) -> None:
    panel = axes()
    drawn = stopwatch.plot_accuracy(verdicts, panel)  # type: ignore[arg-type]
    shares = [float(line.get_xdata()[0]) for line in drawn[:-1]]  # type: ignore[attr-defined]
    assert len(shares) == 2 * len(RECEIVERS + SENDERS)
    expected = [
        share for v in verdicts for share in (v.observer.accuracy()[0], v.blind.accuracy()[0])
    ]
    assert shares == pytest.approx(expected)
    low, high = panel.get_xlim()  # type: ignore[attr-defined]
    assert all(low < share < high for share in shares)


def test_posteriors_against_the_rank_run_from_0_to_1(verdicts: list[Verdict]) -> None:
    lines = stopwatch.plot_times(verdicts, axes())[:-1]  # type: ignore[arg-type]
    assert len(lines) == len(stopwatch.DRAWN)
    for line in lines:
        ranks = line.get_xdata()  # type: ignore[attr-defined]
        assert (np.diff(ranks) > 0).all()
        assert ranks[0] > 0
        assert ranks[-1] < 1


def test_the_control_is_learnt_and_the_others_are_not(verdicts: list[Verdict]) -> None:
    def last(*, control: bool) -> list[float]:
        """True labels and shuffled ones in turn."""
        panel = axes()
        lines = stopwatch.plot_posteriors(verdicts, panel, control=control)[:-1]  # type: ignore[arg-type]
        low, high = panel.get_ylim()  # type: ignore[attr-defined]
        for line in lines:
            assert all(low < value < high for value in line.get_ydata())  # type: ignore[attr-defined]
        return [float(line.get_ydata()[5]) for line in lines]  # type: ignore[attr-defined]

    learnt, shuffled = last(control=True)
    assert learnt > 0.95
    others = last(control=False)
    assert len(others) == 2 * (len(stopwatch.DRAWN) - 1)
    assert all(0.2 < value < 0.8 for value in [shuffled, *others])


def test_every_panel_has_a_letter_and_texts_keep_apart(
    samples_folder: Path, verdicts: list[Verdict], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bayesian, "MOST_TRANSFERS", 64)
    for saved, expected in (
        (sampling.pdf_figure(samples_folder, tmp_path), "abcdefghijkl"),
        (sampling.err_figure(samples_folder, tmp_path), "abc"),
        (bayesian.bayesian_figure(samples_folder, verdicts, tmp_path), "abcdefg"),
    ):
        assert letters(saved._figure) == expected
        check_texts(saved._figure)


def test_figure_moduli_step_at_a_different_place_for_each_l() -> None:
    places = {split(N, bits).r for bits in sampling.FIGURE_BITS}
    assert len(places) == 4
