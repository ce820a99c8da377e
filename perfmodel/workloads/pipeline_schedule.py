"""Pipeline schedules: the order in which a stage processes its microbatches."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Literal

from fred_hw.registry import Registry

__all__ = ["SCHEDULES", "Pass", "microbatches_held", "passes"]

Pass = tuple[Literal["forward", "backward"], int]
"""Direction of a pass, and the number of the microbatch."""

SCHEDULES: Registry[Callable[[int, int, int], Sequence[Pass]]] = Registry(
    "perfmodel.workloads.pipeline_schedules", "pipeline schedule"
)
"""Pipeline schedules by name: functions that return the passes of a stage in order, given the stage
number, the number of stages and of microbatches."""


def passes(ahead: int, microbatches: int) -> list[Pass]:
    """Return ``ahead`` forward passes, followed by alternating backward and forward passes."""
    order: list[Pass] = [("forward", number) for number in range(ahead)]
    for number in range(microbatches):
        order.append(("backward", number))
        if ahead + number < microbatches:
            order.append(("forward", ahead + number))
    return order


def microbatches_held(schedule: str, stages: int, microbatches: int) -> int:
    """Return the largest number of microbatches with activations on the first stage at a time.

    Large numbers are reduced first: a schedule holds the same number for any more microbatches, or
    holds all.
    """
    few = min(microbatches, 2 * stages + 64)
    order = SCHEDULES[schedule](0, stages, few)
    held = max(accumulate(1 if way == "forward" else -1 for way, _ in order))
    return microbatches if held == few else held
