"""What is counted in a transfer, and the table of claims."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from made_up import write_made_up

from iot2 import SenderKey
from iot2.arithmetic.blum import BlumModulus
from iot2.benchmark.published import PUBLISHED
from iot2.benchmark.storage import read_platform
from iot2.cli import main
from iot2.errors import DataError
from iot2.security import claims, counting
from iot2.security.claims import Claim
from iot2.security.claims_measured import Ratio, ratio_interval
from iot2.security.counting import Counted, calls_of, count_compact, count_six


@pytest.fixture(scope="module")
def key() -> SenderKey:
    return SenderKey.generate(512, insecure=True)


def test_what_a_six_message_transfer_sends(key: SenderKey) -> None:
    for length in (1, 16, 33):
        assert count_six(key, length=length) == Counted(3, 6, 4, 1)


@pytest.mark.parametrize("choices", [2, 5])
def test_what_a_compact_transfer_sends(choices: int) -> None:
    key = SenderKey.generate(512, choices, insecure=True)
    for length in (1, 16, 33):
        assert count_compact(key, length=length) == Counted(2, 2, 0, 1)


def test_bytes_that_are_no_digests_are_refused() -> None:
    assert counting._digests(64) == 2
    with pytest.raises(DataError, match="expected digests"):
        counting._digests(33)


def test_calls_are_counted_where_they_happen(key: SenderKey) -> None:
    y = key.public.z[0]
    with calls_of(BlumModulus.sqrt) as count:
        key.secret.sqrt(y)
        assert count[0] == 1
        key.secret.other_root(y)
        key.secret.sqrt(y)
    key.secret.sqrt(y)
    assert count[0] == 2


def test_a_second_square_root_would_be_seen(
    key: SenderKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = BlumModulus.is_unit

    def wasteful(self: BlumModulus, y: object) -> bool:
        self.sqrt(y)  # type: ignore[arg-type]
        return plain(self, y)  # type: ignore[arg-type]

    monkeypatch.setattr(BlumModulus, "is_unit", wasteful)
    assert count_compact(key).roots == 2


def test_every_claim_of_ours_that_needs_no_clock_holds(performances: Path) -> None:
    found = claims.collect(performances)
    fixed = [claim for claim in found if not claim.claim.startswith("here:")]
    assert len(fixed) == 12
    assert all(claim.holds for claim in fixed if claim.source == "ours")
    assert [claim.holds for claim in fixed if claim.source == "paper"] == [True]
    assert {claim.holds for claim in fixed if claim.source.startswith("README")} == {None}


def test_every_fair_split_is_judged_whichever_way_it_comes_out(performances: Path) -> None:
    measured = [c for c in claims.collect(performances) if c.claim.startswith("here:")]
    # (12 + 75)/(5 + 4) and so on, from the made-up costs; 10 is claimed for the first four.
    expected = [(87 / 9, False), (60 / 9, False), (1.3 / 1.7, False), (1.3 / 1.7, False),
                (111.3 / 19.7, True), (81.3 / 19.7, True)]  # fmt: skip
    assert [claim.source for claim in measured] == ["paper"] * 4 + ["ours"] * 2
    for claim, (value, holds) in zip(measured, expected, strict=True):
        assert claim.holds is holds
        assert float(claim.figure.split(": ")[1].split()[0]) == pytest.approx(value, rel=0.05)


def test_a_published_time_is_set_beside_the_machine_it_was_measured_on(tmp_path: Path) -> None:
    write_made_up(tmp_path, "theirs", "13th Gen Intel(R) Core(TM) Core i9-13900H")
    platform = read_platform(tmp_path / "theirs")
    found = [claims._of_published(published, [platform]) for published in PUBLISHED]
    assert found[0].figure.startswith("theirs: 9.")
    assert found[1].figure.startswith("not measured here")
    assert {claim.holds for claim in found} == {None}


def test_the_command_prints_and_writes_the_table(
    performances: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "deep" / "claims.md"
    status = main(["claims", "--data", str(performances), "--out", str(out)])
    printed = capsys.readouterr().out
    assert "18 claims; of ours" in printed
    assert status == (0 if "of ours 0 fail" in printed else 1)
    text = out.read_text()
    assert text.startswith("# Claims\n")
    assert len([line for line in text.splitlines() if line.startswith("| ")]) == 18 + 1
    assert "six messages and four digests online" in text


def test_a_claim_of_ours_that_fails_is_exit_status_1(
    performances: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = Claim("x", "ours", "1", "exact", False)
    theirs = Claim("x", "paper", "1", "exact", False)
    unknown = Claim("x", "ours", "1", "exact", None)
    for found, status in (([ours], 1), ([theirs], 0), ([unknown], 0), ([theirs, ours], 1)):
        monkeypatch.setattr(claims, "evaluate", lambda *_, found=found: iter(found))
        assert main(["claims", "--data", str(performances)]) == status


def test_no_platform_is_an_error(tmp_path: Path, performances: Path) -> None:
    (tmp_path / "security").mkdir()
    for path in (performances / "security").iterdir():
        (tmp_path / "security" / path.name).write_bytes(path.read_bytes())
    with pytest.raises(DataError, match="measured platform"):
        claims.collect(tmp_path)


def ratio(low: float, high: float, *, published: bool) -> Ratio:
    return Ratio("six", "fresh", "online", "g", 3072, 1.0, 5.0, low, high, published)


@pytest.mark.parametrize(
    ("low", "high", "published", "holds"),
    [
        (10.5, 12, True, True),
        (8, 9.9, True, False),
        (9, 11, True, None),
        (1.2, 3, False, True),
        (0.5, 0.9, False, False),
        (0.9, 1.1, False, None),
    ],
)
def test_a_ratio_holds_if_its_whole_interval_does(
    low: float, high: float, published: bool, holds: bool | None
) -> None:
    claim = claims._of_ratio("here", ratio(low, high, published=published))
    assert claim.holds is holds
    assert claim.source == ("paper" if published else "ours")
    assert claim.verdict == {True: "holds", False: "does not hold", None: "undecided"}[holds]


def test_the_ratio_s_interval_covers_it() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(20):
        above, below = rng.gamma(9, 2, 200), rng.gamma(9, 1, 200)
        low, high = ratio_interval(above, below)
        assert low < np.median(above) / np.median(below) < high
        covered += low < 2 < high
    assert covered >= 15


def test_a_bar_in_a_claim_does_not_break_the_table() -> None:
    text = claims.markdown([Claim("|t|", "ours", "1", "exact", True)])
    assert "\\|t\\|" in text
