import itertools

from iot2.benchmark import clock


def test_the_cost_is_the_median_distance_of_readings(monkeypatch) -> None:
    steps = itertools.cycle([0, 40, 0, 40, 0, 60])
    readings = itertools.accumulate(steps)
    monkeypatch.setattr(clock.time, "perf_counter_ns", lambda: next(readings))
    cost = clock.timer_cost()
    assert cost.cost == 40
    assert cost.resolution == 40


def test_a_coarse_clock_has_no_cost_but_a_step(monkeypatch) -> None:
    ticks = itertools.count()
    monkeypatch.setattr(clock.time, "perf_counter_ns", lambda: next(ticks) // 1001 * 1000)
    cost = clock.timer_cost()
    assert cost.cost == 0
    assert cost.resolution == 1000


def test_the_real_clock_moves() -> None:
    cost = clock.timer_cost()
    assert cost.resolution > 0
    assert cost.cost >= 0
