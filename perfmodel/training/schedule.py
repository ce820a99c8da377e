"""Pipeline schedules: the order in which a stage works on its microbatches."""

from typing import Literal

__all__ = ["SCHEDULES", "Pass", "microbatches_held", "stage_order"]

SCHEDULES = ("1f1b", "gpipe")
"""One forward, one backward (Narayanan et al., arXiv 2104.04473); GPipe (arXiv 1811.06965)."""

Pass = tuple[Literal["forward", "backward"], int]
"""A pass, and the number of the microbatch."""


def stage_order(schedule: str, stage: int, stages: int, microbatches: int) -> list[Pass]:
    """Return the passes of a stage in order.

    GPipe runs all forward passes, then all backward passes. In 1F1B a stage runs as many forward
    passes as there are stages from it to the end, then a backward and a forward pass in turn.

    Parameters
    ----------
    schedule : str
        One of ``SCHEDULES``.
    stage, stages, microbatches : int
        Number of the stage, from 0; how many stages; how many microbatches.
    """
    ahead = microbatches if schedule == "gpipe" else min(microbatches, stages - stage)
    order: list[Pass] = [("forward", number) for number in range(ahead)]
    for number in range(microbatches):
        order.append(("backward", number))
        if ahead + number < microbatches:
            order.append(("forward", ahead + number))
    return order


def microbatches_held(schedule: str, stages: int, microbatches: int) -> int:
    """Return how many microbatches the first stage holds activations of at once, at most."""
    return microbatches if schedule == "gpipe" else min(microbatches, stages)
