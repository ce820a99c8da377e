"""Synthesized collectives: schedules searched for a topology, a pattern and a group."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from fred_hw.errors import InputError
from perfmodel.collectives.algorithm import ALGORITHMS, TABLES, Algorithm
from perfmodel.collectives.link_graph import LinkGraph, chain, graph_of
from perfmodel.collectives.schedule import REDUCTIONS, ROOTED, ScheduleBuilder

if TYPE_CHECKING:
    from perfmodel.collectives.synthesis import Plan, Shard

__all__ = ["synthesized"]

_LARGEST = 1024
"""Largest group."""

_SHARDS, _TIMES = 256, 8
"""Largest number of shards for which more are tried, and most parts that a shard is cut into."""

_PAIRS = 256
"""Largest group for an all-to-all, which has a shard for each pair."""


def synthesized(
    builder: ScheduleBuilder, members: Sequence[int], chunk_bytes: float, pattern: str
) -> None:
    """Add any collective.

    A reduce-scatter is an all-gather on reversed links, in the opposite order of time, and
    so is a reduce of a broadcast. An all-reduce is a reduce-scatter and an all-gather. Plans are
    made with several numbers of shards, and the one that needs the least time is taken.

    Raises
    ------
    InputError
        An all-to-all has too many members.
    """
    from perfmodel.collectives.synthesis import Shard  # numpy is slow to load

    graph, count = graph_of(builder.topology, members), len(members)
    if pattern == "all_to_all":
        if count > _PAIRS:
            message = f"must have at most {_PAIRS} NPUs in an all-to-all with synthesized"
            raise InputError("group", "", f"{message}, not {count}")
        shards = [Shard(one, other) for one in members for other in members if one != other]
        share = chunk_bytes / count
    else:
        shards = [Shard(one) for one in members]
        if pattern in ROOTED:  # one part for each link of the root
            shards = shards[:1] * len(graph.outgoing[members[0]])
        share = chunk_bytes / len(shards)
    graphs: list[LinkGraph] = []
    if pattern in REDUCTIONS:
        graphs.append(graph.reversed())
    if pattern not in ("reduce_scatter", "reduce"):
        graphs.append(graph)
    times, plans = _shortest(graphs, shards)
    cut = [one for one in shards for _ in range(times)]
    numbers = [builder.add_shard(one.origin, share / times, one.target) for one in cut]
    for one, plan in zip(graphs, plans, strict=True):
        _add(builder, plan, numbers, "copy" if one is graph else "reduce")
    steps = sum(plan.steps for plan in plans)
    used = sum(plan.steps * plan.link_utilization for plan in plans) / steps
    builder.details = {"steps": steps, "shards": len(cut), "link_utilization": used}


def _shortest(graphs: Sequence[LinkGraph], shards: "Sequence[Shard]") -> "tuple[int, list[Plan]]":
    """Return the fastest plans for all graphs, and the number of parts per shard."""
    from perfmodel.collectives.synthesis import synthesize

    found: list[tuple[float, int, list[Plan]]] = []
    times = 1
    while times == 1 or (times <= _TIMES and times * len(shards) <= _SHARDS):
        cut = [one for one in shards for _ in range(times)]
        seeds = (0,) if times > 1 else ()
        plans = [synthesize(graph, cut, seeds) for graph in graphs]
        found.append((sum(plan.steps for plan in plans) / times, times, plans))
        times *= 2
    return min(found, key=lambda one: one[:2])[1:]


def _add(
    builder: ScheduleBuilder,
    plan: "Plan",
    numbers: Sequence[int],
    action: Literal["reduce", "copy"],
) -> None:
    """Add the messages of a plan; for a plan on reversed links, in reverse order of time."""
    if action == "copy":
        for one in plan.moves:
            ends = (one.source,), (one.target,)
            builder.send(*ends, (numbers[one.shard],), action, chain(one.links))
    else:
        for one in sorted(plan.moves, key=lambda one: -(one.step + one.slots)):
            ends = (one.target,), (one.source,)
            builder.send(*ends, (numbers[one.shard],), action, chain(one.links[::-1]))


ALGORITHMS.add(
    "synthesized",
    Algorithm(
        "synthesized",
        synthesized,
        needs=f"at most {_LARGEST} NPUs",
        fits=lambda _, group: len(group) <= _LARGEST,
        assumptions=lambda _topology, _pattern: (TABLES,),
        automatic=False,
        falls_back=True,
    ),
    rank=8,
)
