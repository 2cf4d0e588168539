"""What the stopwatch says of a platform's recordings, case by case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pandas as pd

from iot2.errors import DataError
from iot2.paths import in_repository
from iot2.security.leakage import Timings, has_recordings, read_recordings
from iot2.security.stopwatch import (
    THRESHOLD,
    Dudect,
    Null,
    Observer,
    dudect,
    null,
    observe,
    shuffled,
)

OBSERVATIONS: Final = tuple(1 << k for k in range(13))

NAMES: Final = {
    ("receiver", "six_index"): "receiver, six-message, by index",
    ("receiver", "six_masked"): "receiver, six-message, masked",
    ("receiver", "compact_index"): "receiver, compact, by index",
    ("receiver", "compact_masked"): "receiver, compact, masked",
    ("receiver", "control"): "control: multiplies only if b = 1",
    ("sender", "six"): "sender, six-message",
    ("sender", "compact"): "sender, compact",
    ("sender", "control"): "control: stops at a non-square",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """One step of one case.

    Attributes:
        timings: the case.
        step: "choose", "retrieve" or "online".
        tests: dudect's, on the true labels.
        null: dudect's, on shuffled ones.
        observer: the Bayesian one, on the true labels.
        blind: the same observer, fitted and judged on shuffled labels.
    """

    timings: Timings
    step: str
    tests: Dudect
    null: Null
    observer: Observer
    blind: Observer

    @property
    def name(self) -> str:
        """The case in words."""
        return NAMES[self.timings.party, self.timings.case]

    @property
    def found(self) -> bool:
        """Whether dudect, or the observer as surely, tells the labels apart.

        With two dozen cases one 95 % interval in forty lies above 1/2 by chance, so the
        observer has to pass dudect's 4.5 standard errors too.
        """
        return self.tests.found or self.observer.accuracy(THRESHOLD)[1] > 0.5

    @property
    def as_expected(self) -> bool:
        """A control is found, a real party is not, and shuffled labels never are."""
        return self.found == self.timings.control and not self.null.too_often


def judge(timings: Timings, step: str = "online", *, shuffles: int = 20) -> Verdict:
    """Both looks at one step of one case, and both on shuffled labels."""
    times, labels = timings.steps[step], timings.labels
    return Verdict(
        timings,
        step,
        dudect(times, labels),
        null(times, labels, shuffles=shuffles),
        observe(times, labels),
        observe(times, shuffled(labels, seed=7)),
    )


def judge_all(recordings: Sequence[Timings], *, shuffles: int = 20) -> list[Verdict]:
    """Every step of every case."""
    return [
        judge(timings, step, shuffles=shuffles) for timings in recordings for step in timings.steps
    ]


def stored_verdicts(data: str, platform: str) -> list[Verdict]:
    """`judge_all` of a platform's recordings, or of the first platform that holds any.

    Args:
        data: the folder of all platforms; relative to the repository's root.
        platform: the name of its folder.

    Raises:
        DataError: no platform holds recordings, or one is damaged.
    """
    root = in_repository(data)
    others = sorted(path.name for path in root.iterdir()) if root.is_dir() else []
    for name in (platform, *others):
        if has_recordings(root / name):
            return judge_all(read_recordings(root / name))
    raise DataError(f"{data}: expected recordings, came none; `iot2 leakage` makes some")


def require_expected(verdicts: Sequence[Verdict]) -> Sequence[Verdict]:
    """The verdicts as they came, if the analysis can be believed.

    A control must be found in its whole online time, and shuffled labels never. A leak of a
    real party is no error here but a result.

    Raises:
        DataError: a control was missed, or a null was found.
    """
    for verdict in verdicts:
        if verdict.timings.control and verdict.step == "online" and not verdict.found:
            raise DataError(
                f"{verdict.name}: expected the positive control to be found, it was not"
            )
        if verdict.null.too_often:
            raise DataError(
                f"{verdict.name}, {verdict.step}: shuffled labels were told apart "
                f"(|t| = {verdict.null.largest:.1f}): nothing that this analysis finds counts"
            )
    return verdicts


def table(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """A row a verdict: what was measured, what was found, and what could have been."""
    rows = []
    for verdict in verdicts:
        worst = verdict.tests.worst
        accuracy, low, high = verdict.observer.accuracy()
        bits, bits_low, bits_high = verdict.observer.information()
        rows.append(
            {
                "case": verdict.name,
                "step": verdict.step,
                "times": len(verdict.timings.labels),
                "largest_t": worst.t,
                "test": worst.name,
                "null_largest_t": verdict.null.largest,
                "detectable_ns": verdict.tests.detectable_ns,
                "accuracy": accuracy,
                "accuracy_low": low,
                "accuracy_high": high,
                "bits": bits,
                "bits_low": bits_low,
                "bits_high": bits_high,
                "found": verdict.found,
                "expected": verdict.timings.control,
            }
        )
    return pd.DataFrame(rows)
