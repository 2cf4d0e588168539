"""Whether a run can be trusted: warnings by pyperf's criteria, which drop nothing."""

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from iot2.benchmark.platform_record import Machine

SPREAD: Final = 0.10
"""pyperf: a standard deviation of more than this part of the mean."""

EXTREME: Final = 0.50
"""pyperf: a maximum or minimum further than this part of the mean from it."""

VALUE_NS: Final = 1_000_000
"""pyperf calls a value shorter than 1 ms too short to judge by."""

FEWEST_VALUES: Final = 3


def unstable_steps(samples_ns: Mapping[str, NDArray[np.int64]]) -> list[str]:
    """A warning for each step whose samples spread more than pyperf accepts.

    A step of microseconds is judged as pyperf judges it: by values that are
    means over as many samples in a row as fill 1 ms together.

    Args:
        samples_ns: raw samples in ns, in the order taken, by the step's name.
    """
    warnings: list[str] = []
    for name, samples in samples_ns.items():
        mean = float(samples.mean()) if samples.size else 0.0
        if mean == 0:
            continue
        in_a_row = max(1, int(np.ceil(VALUE_NS / mean)))
        count = samples.size // in_a_row
        if count < FEWEST_VALUES:
            warnings.append(
                f"{name}: {samples.size} samples of {mean / 1000:.3g} µs are too few to judge"
            )
            continue
        values = samples[: count * in_a_row].reshape(count, in_a_row).mean(axis=1)
        centre = float(values.mean())
        spread = float(values.std(ddof=1)) / centre
        above = float(values.max()) / centre - 1
        below = 1 - float(values.min()) / centre
        if spread > SPREAD:
            warnings.append(f"{name}: the standard deviation is {spread:.0%} of the mean")
        if above > EXTREME:
            warnings.append(f"{name}: the maximum is {above:.0%} above the mean")
        if below > EXTREME:
            warnings.append(f"{name}: the minimum is {below:.0%} below the mean")
    return warnings


def restless_machine(
    machine: Machine, load: tuple[float, ...] | None, *, pinned: bool
) -> list[str]:
    """A warning for each setting of the machine that lets times wander."""
    warnings: list[str] = []
    if machine.governor not in (None, "performance"):
        warnings.append(f"the governor is {machine.governor}, not performance")
    if load is not None and load[0] > 0.5:
        warnings.append(f"the load average was {load[0]:.2f} before anything was measured")
    if not pinned:
        warnings.append("the process could not be pinned to one core")
    return warnings
