import numpy as np
import pytest

from iot2.benchmark.storage import read_platform
from iot2.errors import DataError
from iot2.plots.costs import key_costs, message_bytes, only, select, step_costs


@pytest.fixture(scope="module")
def platform(performances):
    return read_platform(performances / "linux")


@pytest.fixture(scope="module")
def costs(platform):
    return step_costs(platform)


def test_a_case_is_summarised_in_microseconds(platform, costs):
    samples = platform.table("compact", 3072)["receiver_offline_ns"].to_numpy() / 1000
    case = {"timing": "single", "variant": "compact", "bits": 3072, "selection": "index"}
    rows = select(costs, **case, step="receiver_offline")
    assert len(rows) == 1
    row = rows.iloc[0]
    assert (row["count"], row["split"]) == (40, "known_key")
    assert row[["p5", "median", "p95"]].to_list() == pytest.approx(
        list(np.percentile(samples, [5, 50, 95]))
    )


def test_groups_and_splits_stay_apart(platform, costs):
    table = platform.table("simplest")
    for (split, group), part in table.groupby(["split", "group"]):
        case = {"variant": "simplest", "split": split, "group": group}
        expected = part["receiver_total_ns"].median() / 1000
        assert only(costs, "median", **case, step="receiver_total") == pytest.approx(expected)


def test_blocks_and_batches_are_cases_of_their_own(costs):
    yardstick = select(costs, variant="yardstick", bits=3072)
    assert yardstick[["timing", "step"]].to_numpy().tolist() == [["blocks", "product"]]
    batch = select(costs, timing="batch", bits=3072)
    assert set(batch["batch"]) == {10_000}
    assert set(batch["step"]) > {"receiver_choose", "receiver_retrieve"}


def test_no_case_is_summarised_twice(costs):
    measured = [column for column in costs if column not in ("count", "p5", "median", "p95")]
    assert not costs.duplicated(measured).any()


def test_bytes_are_added_up_by_direction(platform):
    sizes = message_bytes(platform)
    compact = select(sizes, variant="compact", bits=3072).iloc[0]
    assert compact[["up", "down", "once"]].to_list() == [26 + 384, 64, 6 + 148 * 384 + 51]
    fresh = select(sizes, variant="simplest", group="ristretto255", split="fresh").iloc[0]
    assert fresh[["up", "down", "once"]].to_list() == [58, 58 + 64, 0]


def test_keys_are_summarised_by_size(platform):
    costs = key_costs(platform)
    assert only(costs, "median", bits=3072, step="proof_check") == pytest.approx(3000.002)


def test_only_wants_exactly_one_row(costs):
    with pytest.raises(DataError, match="expected one measurement of variant compact, came"):
        only(costs, "median", variant="compact")
    with pytest.raises(DataError, match="one measurement of variant none of these, came 0"):
        only(costs, "median", variant="none of these")
