"""Pipeline schedule 1F1B: one forward, one backward (Narayanan et al., arXiv 2104.04473)."""

from perfmodel.workloads.pipeline_schedule import SCHEDULES, Pass, passes

__all__ = ["one_forward_one_backward"]


def one_forward_one_backward(stage: int, stages: int, microbatches: int) -> list[Pass]:
    """Return one forward pass per remaining stage, then alternating passes."""
    return passes(min(microbatches, stages - stage), microbatches)


SCHEDULES.add("1f1b", one_forward_one_backward, rank=0)
