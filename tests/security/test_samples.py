"""The stored Monte-Carlo samples: what is drawn, repeated and refused."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from iot2.cli import main
from iot2.errors import DataError, ParameterError
from iot2.security import samples
from iot2.security.agreement import (
    all_agreements,
    posterior_agreement,
    require_agreement,
    sampling_agreement,
)
from iot2.security.bayes import observed
from iot2.security.moduli import FIGURE_MODULUS
from iot2.security.sampling import sample
from iot2.security.stream import SeededBytes

N = FIGURE_MODULUS.N
SMALL = samples.Plan(draws=20_000, trajectories=100, transfers=64)
ARGUMENTS = ["--draws", "20000", "--trajectories", "100", "--transfers", "64"]


@pytest.fixture(scope="module")
def stored(samples_folder: Path) -> Path:
    return samples_folder


def test_a_rerun_gives_the_same_bytes(stored: Path, tmp_path: Path) -> None:
    assert main(["security", "--out", str(tmp_path), *ARGUMENTS]) == 0
    names = {path.name for path in stored.iterdir()}
    assert len(names) == 14  # a sidecar each
    for name in names:
        assert (tmp_path / name).read_bytes() == (stored / name).read_bytes()


def test_another_seed_gives_other_samples_and_needs_force(stored: Path, tmp_path: Path) -> None:
    for path in stored.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    assert main(["security", "--out", str(tmp_path), "--seed", "3", *ARGUMENTS]) == 2
    arguments = ["security", "--out", str(tmp_path), "--seed", "3", "--force", *ARGUMENTS]
    assert main(arguments) == 0
    name = samples.sampling_name(N, 11)
    assert (tmp_path / name).read_bytes() != (stored / name).read_bytes()
    assert samples.read_sampling(tmp_path, N, 11).about["seed"] == 3


def test_every_draw_is_counted(stored: Path) -> None:
    for bits in samples.FIGURE_BITS:
        frame = samples.read_sampling(stored, N, bits).frame
        drawn = sample(N, bits, SMALL.draws, SeededBytes(SMALL.seed, f"sampling_{N}_{bits}.csv"))
        assert frame["count"].tolist() == np.bincount(drawn, minlength=N).tolist()


def test_log_odds_are_sums_of_log_ratios() -> None:
    z, bits, T = 16, 11, 8
    frame = samples.draw_posterior(N, bits, z, trajectories=4, transfers=T, seed=9)
    ratios = observed(N, bits, z).log_ratios()
    source = SeededBytes(9, samples.posterior_name(N, bits, z))
    for trajectory in range(4):
        b = trajectory % 2
        ys = [pow(int(w), 4, N) * pow(z, b) % N for w in sample(N, bits, T, source)]
        rows = frame[frame["trajectory"] == trajectory]
        assert rows["choice"].tolist() == [b] * 4
        assert rows["transfers"].tolist() == [1, 2, 4, 8]
        expected = [sum(ratios[y] for y in ys[:k]) for k in (1, 2, 4, 8)]
        assert rows["log_odds_nats"].tolist() == pytest.approx(expected, abs=1e-8)


def test_the_control_tells_its_choice(stored: Path) -> None:
    frame = samples.read_posterior(stored, N, 11, samples.NO_FOURTH_POWER).frame
    last = frame[frame["transfers"] == 16]
    certain = last["log_odds_nats"].abs() == math.inf
    assert certain.mean() > 0.95
    says = last.loc[certain, "log_odds_nats"] > 0
    assert (says == (last.loc[certain, "choice"] == 1)).all()


def test_stored_moduli_have_their_sizes(stored: Path) -> None:
    moduli = samples.read_moduli(stored)
    assert list(moduli) == [2048, 3072, 4096]
    assert all(modulus.bit_length() == bits for bits, modulus in moduli.items())


def test_samples_follow_the_exact_laws(stored: Path) -> None:
    tests = all_agreements(stored, N)
    assert len(tests) == 14
    assert require_agreement(tests) is tests


def test_samples_of_another_law_are_found(stored: Path) -> None:
    counts = samples.read_sampling(stored, N, 10).frame["count"].to_numpy()
    assert sampling_agreement(counts, 10).p_value > 0.001
    assert sampling_agreement(counts, 11).p_value < 1e-6
    assert sampling_agreement(counts, 11, "w^4").p_value < 1e-3
    # A law without the step at r.
    uniform = np.bincount(np.random.default_rng(1).integers(0, N, 20_000), minlength=N)
    assert sampling_agreement(uniform, 10).p_value < 1e-6


def test_log_odds_of_another_law_are_found() -> None:
    frame = samples.draw_posterior(N, 11, 16, trajectories=600, transfers=256, seed=1)
    assert posterior_agreement(frame, N, 11, 16, 256).p_value > 0.001
    shifted = frame.assign(log_odds_nats=frame["log_odds_nats"] + 0.4)
    assert posterior_agreement(shifted, N, 11, 16, 256).p_value < 1e-3
    swapped = frame.assign(choice=1 - frame["choice"])
    assert posterior_agreement(swapped, N, 11, 16, 256).p_value < 1e-6


def test_certainty_about_the_wrong_choice_is_refused() -> None:
    frame = samples.draw_posterior(N, 11, 11, trajectories=50, transfers=1, seed=1)
    assert posterior_agreement(frame, N, 11, 11, 1).p_value > 0.001
    swapped = frame.assign(choice=1 - frame["choice"])
    with pytest.raises(DataError, match="not made"):
        posterior_agreement(swapped, N, 11, 11, 1)


def test_disagreement_is_an_error() -> None:
    row = {"samples": ["some"], "p_value": [1e-5]}
    with pytest.raises(DataError, match="some: the samples do not follow"):
        require_agreement(pd.DataFrame(row))


@pytest.mark.parametrize(
    "change",
    [{"seed": -1}, {"draws": 0}, {"trajectories": 1}, {"transfers": 3}, {"transfers": 0}],
)
def test_plans_outside_their_domain(change: dict[str, int]) -> None:
    with pytest.raises(ParameterError):
        samples.Plan(**change)


def test_damaged_samples_are_refused(stored: Path, tmp_path: Path) -> None:
    gaps = pd.DataFrame({"value": [0, 2], "count": [1, 1]})
    samples.write(tmp_path / samples.sampling_name(N, 11), samples.SAMPLING, gaps, {})
    with pytest.raises(DataError, match="each value"):
        samples.read_sampling(tmp_path, N, 11)
    frame = samples.read_posterior(stored, N, 11, 16).frame.assign(choice=2)
    samples.write(tmp_path / samples.posterior_name(N, 11, 16), samples.POSTERIOR, frame, {})
    with pytest.raises(DataError, match="choices 0 or 1"):
        samples.read_posterior(tmp_path, N, 11, 16)
    for text, problem in (("zz", "hexadecimal"), ("1f", "2048 bits, came 5")):
        moduli = pd.DataFrame({"bits": [2048], "modulus_hex": [text]})
        samples.write(tmp_path / "moduli.csv", samples.MODULI, moduli, {}, force=True)
        with pytest.raises(DataError, match=problem):
            samples.read_moduli(tmp_path)
    with pytest.raises(ParameterError, match="unit"):
        samples.draw_posterior(N, 11, 23, trajectories=2, transfers=1, seed=1)
