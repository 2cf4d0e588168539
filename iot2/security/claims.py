"""`iot2 claims`: each claim beside what stored data and code say of it.

A published claim that does not hold here is shown as such and is no failure; one
of ours that does not is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Final, Literal

import pandas as pd

from iot2 import SenderKey
from iot2.benchmark.published import PUBLISHED, Published
from iot2.benchmark.storage import Platform, platform_folders, read_platform
from iot2.errors import DataError
from iot2.files import write_atomically
from iot2.paths import in_repository
from iot2.security.claims_measured import Ratio, ratios
from iot2.security.counting import Counted, count_compact, count_six
from iot2.security.curves import equal_laws
from iot2.security.leakage import has_recordings, read_recordings
from iot2.security.moduli import HONEST, HOSTILE
from iot2.security.samples import read_moduli
from iot2.security.sampling import error, error_bound, log2_exact
from iot2.security.verdict import judge
from iot2.wire.public_key import SUPPORTED_BITS

Source = Literal["paper", "README of the original", "ours"]

FILE_NAME: Final = "claims.md"

PUBLISHED_FACTOR: Final = 10.0
"""Published: the receiver online, more than so many times less than SimplestOT."""

_COUNTED_BITS: Final = 512
"""Keys that are only counted with: what is counted does not depend on their size."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One row of the table.

    Attributes:
        claim: in words.
        source: who claims it.
        figure: what was found, with its unit.
        interval: how sure that is, "exact", or "counted".
        holds: None where the data do not decide.
    """

    claim: str
    source: Source
    figure: str
    interval: str
    holds: bool | None

    @property
    def verdict(self) -> str:
        """`holds` in words."""
        return {True: "holds", False: "does not hold", None: "undecided"}[self.holds]

    @property
    def failed(self) -> bool:
        """Whether this is a claim of ours that does not hold."""
        return self.source == "ours" and self.holds is False


def evaluate(performances: Path, platforms: Sequence[str] = ()) -> Iterator[Claim]:
    """Every claim, one after the other.

    Args:
        performances: the folder with `security` and a folder for each platform.
        platforms: which platforms; every one that is there by default.

    Raises:
        DataError: stored data are missing or damaged.
    """
    yield from _of_transfers()
    yield from _of_sampling(performances / "security")
    yield _of_toy_moduli()
    folders = platform_folders(performances)
    names = platforms or [folder.name for folder in folders]
    if not names:
        raise DataError(f"{performances}: expected a measured platform, came none")
    measured = [read_platform(performances / name) for name in names]
    for published in PUBLISHED:
        yield _of_published(published, measured)
    for name, platform in zip(names, measured, strict=True):
        for ratio in ratios(platform):
            yield _of_ratio(name, ratio)
        if has_recordings(performances / name):
            yield from _of_stopwatch(name, performances / name)


def _of_transfers() -> Iterator[Claim]:
    """What one real transfer of each variant sends and computes."""
    two, five = (SenderKey.generate(_COUNTED_BITS, choices, insecure=True) for choices in (2, 5))
    six, compact, many = count_six(two), count_compact(two), count_compact(five)

    def row(claim: str, source: Source, counted: Counted, holds: bool) -> Claim:
        figure = (
            f"{counted.messages} messages in {counted.frames} frames, {counted.digests} digests"
        )
        return Claim(claim, source, figure, "counted", holds)

    published = six.messages == 6 and six.digests == 4
    yield row("six-message: six messages and four digests online", "paper", six, published)
    ours = compact.messages == 2 and compact.digests == 0
    yield row("compact: two messages online, no digest", "ours", compact, ours)
    for name, counted in (
        ("six-message", six),
        ("compact", compact),
        ("compact, 1 out of 5", many),
    ):
        yield Claim(
            f"{name}: one square root per transfer",
            "ours",
            f"{counted.roots} calls of sqrt",
            "counted",
            counted.roots == 1,
        )


def _of_sampling(folder: Path) -> Iterator[Claim]:
    """ERR of every stored modulus, and the bound for every modulus of a supported size."""
    limit = Fraction(1, 1 << 128)
    for bits, N in read_moduli(folder).items():
        err = error(N, bits + 128)
        yield Claim(
            f"ERR below 2^-128 at l = bits + 128, a modulus of {bits} bits",
            "ours",
            f"2^{log2_exact(err):.2f}",
            "exact",
            err < limit,
        )
    worst = max(error_bound((1 << bits) - 1, bits + 128) for bits in SUPPORTED_BITS)
    yield Claim(
        "ERR below 2^-128 at l = bits + 128, every modulus of a supported size",
        "ours",
        f"at most 2^{ceil(log2_exact(worst) * 100) / 100:.2f}",
        "exact bound",
        worst < limit,
    )


def _of_toy_moduli() -> Claim:
    """Whether both choices give y the same law exactly if z is a fourth power, and only then."""
    laws = equal_laws()
    pairs, wrong = int(laws["units"].sum()), int(laws["disagree"].sum())
    return Claim(
        "the law of y is the same for both choices if and only if z is a fourth power",
        "ours",
        f"{pairs - wrong} of {pairs} pairs (N, z), on {len(HONEST)} honest and "
        f"{len(HOSTILE)} hostile toy moduli",
        "exact",
        not wrong,
    )


def _of_published(published: Published, platforms: Sequence[Platform]) -> Claim:
    """A published time; only the machine that it was measured on could bear it out."""
    found = []
    for platform in platforms:
        if platform.has("six", published.bits) and published.device in (
            platform.record.machine.processor or ""
        ):
            table = platform.table("six", published.bits)
            times = table.loc[table["selection"] == "index", "receiver_online_ns"]
            found.append(f"{platform.name}: {times.median() / 1000:.2f} µs")
    return Claim(
        f"receiver online {published.receiver_online_us:.2f} µs at {published.bits} bits on a "
        f"{published.device}",
        "README of the original",
        "; ".join(found) or "not measured here: no platform is that machine",
        "none: another program, in C",
        None,
    )


def _of_ratio(platform: str, ratio: Ratio) -> Claim:
    """A cost of SimplestOT's receiver over one of ours."""
    limit = PUBLISHED_FACTOR if ratio.published else 1.0
    holds: bool | None = None
    if ratio.low > limit:
        holds = True
    elif ratio.high <= limit:
        holds = False
    wanted = "more than 10 times less" if ratio.published else "less"
    return Claim(
        f"{platform}: receiver {ratio.step}, {wanted} than SimplestOT "
        f"({ratio.split}, {ratio.group}): {ratio.variant} at {ratio.bits} bits",
        "paper" if ratio.published else "ours",
        f"{ratio.ours_us:.2f} against {ratio.theirs_us:.2f} µs: {ratio.value:.3g} times",
        f"{ratio.low:.3g} to {ratio.high:.3g} times (95 %)",
        holds,
    )


def _of_stopwatch(platform: str, folder: Path) -> Iterator[Claim]:
    """What each case's online times tell, and what they could have told unnoticed."""
    for timings in read_recordings(folder):
        verdict = judge(timings)
        worst = verdict.tests.worst
        accuracy, low, high = verdict.observer.accuracy()
        what = "is found by its times" if timings.control else "does not show in its times"
        label = "choice" if timings.party == "receiver" else "a non-square"
        yield Claim(
            f"{platform}: {verdict.name}: {label} {what}",
            "ours",
            f"largest |t| {abs(worst.t):.1f} of {len(timings.labels):,} times (limit 4.5; a "
            f"difference of {verdict.tests.detectable_ns:.1f} ns would show)",
            f"guesses right {accuracy:.1%}, {low:.1%} to {high:.1%} (95 %)",
            verdict.as_expected,
        )


def markdown(claims: Sequence[Claim]) -> str:
    """The table as `figures/claims.md` holds it."""
    lines = [
        "# Claims",
        "",
        "What `iot2 claims` finds in the stored data and the code. A ratio is of medians, "
        "theirs over ours, singly timed.",
        "",
        "| claim | source | found | interval | holds |",
        "|---|---|---|---|---|",
    ]
    for claim in claims:
        cells = (claim.claim, claim.source, claim.figure, claim.interval, claim.verdict)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def write_claims(data: str, platforms: Sequence[str], folder: Path) -> pd.DataFrame:
    """Write `claims.md` to a folder and give the same table as a frame.

    Args:
        data: the folder of all platforms; relative to the repository's root.
        platforms: which ones; every one that is there by default.
        folder: where the table goes.
    """
    claims = collect(in_repository(data), platforms)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / FILE_NAME, markdown(claims).encode())
    return pd.DataFrame(
        [(c.claim, c.source, c.figure, c.interval, c.verdict) for c in claims],
        columns=["claim", "source", "found", "interval", "holds"],
    )


def collect(
    performances: Path,
    platforms: Sequence[str] = (),
    *,
    told: Callable[[Claim], object] = lambda claim: None,
) -> list[Claim]:
    """`evaluate` as a list; `told` hears of each claim as it is settled."""
    claims = []
    for claim in evaluate(performances, platforms):
        told(claim)
        claims.append(claim)
    return claims
