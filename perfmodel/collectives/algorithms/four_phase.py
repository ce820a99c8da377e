"""All-reduces in four phases on a torus of packages: the algorithm of the ACE study."""

from collections.abc import Sequence

from perfmodel.collectives.algorithm import ALGORITHMS, Algorithm
from perfmodel.collectives.schedule import ScheduleBuilder

from .hierarchical import add_level, directions_of, level_of, lines

__all__ = ["four_phase"]


def four_phase(
    builder: ScheduleBuilder, members: Sequence[int], chunk_bytes: float, _pattern: str
) -> None:
    """Add an all-reduce: scattered in the innermost dimension, all-reduced along the others.

    The result is gathered along the innermost dimension (ACE, arXiv 2007.00156, has an LxVxH
    torus). Each all-reduce has what the innermost dimension leaves: more than in ``hierarchical``,
    where each dimension also divides what the next ones carry. Rings run in both directions,
    half of the data in each.
    """
    axes = lines(builder.topology.dimensions, members)
    assert axes
    (local, _), *others = axes
    first, directions = builder.lane, directions_of(axes)
    for lane, back in enumerate(directions):
        builder.lane = first + lane
        share = chunk_bytes / len(directions) / len(members)
        shards = {npu: builder.add_shard(npu, share) for npu in members}
        inner = level_of(shards, (local,), back=back)
        add_level(builder, local, inner, "reduce")
        for dimension, _ in others:
            level = level_of(shards, (local, dimension), back=back)
            add_level(builder, dimension, level, "reduce")
            add_level(builder, dimension, level, "copy")
        add_level(builder, local, inner, "copy")
    builder.lane = first


ALGORITHMS.add(
    "four_phase",
    Algorithm(
        "four phases: the innermost dimension scatters and gathers, each other one all-reduces",
        four_phase,
        ("all_reduce",),
        needs="all NPUs at which some lines of stacked blocks cross",
        fits=lambda topology, group: lines(topology.dimensions, group) is not None,
        automatic=False,
    ),
    rank=5.8,
)
