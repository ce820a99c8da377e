"""Pipeline schedule GPipe (Huang et al., arXiv 1811.06965)."""

from perfmodel.workloads.pipeline_schedule import SCHEDULES, Pass, passes

__all__ = ["gpipe"]


def gpipe(_stage: int, _stages: int, microbatches: int) -> list[Pass]:
    """Return all forward passes, then all backward passes."""
    return passes(microbatches, microbatches)


SCHEDULES.add("gpipe", gpipe, rank=1)
