"""Chunks of a collective as messages, for the symbolic check and for network models.

Each phase of a chunk is a reduce-scatter or an all-gather on every line of its dimension. Phases
are in the order in which the queues serve them: an NPU begins a phase when it has received all of
the phase that its dimension served before, so links keep the order that was planned.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from perfmodel.collectives.algorithms.hierarchical import (
    Axis,
    Level,
    add_level,
    add_order,
    directions_of,
    levels_of,
    lines,
)
from perfmodel.collectives.schedule import Schedule, ScheduleBuilder
from perfmodel.collectives.transfer import RingPass, Transfer
from perfmodel.topology.block import Dimension
from perfmodel.topology.graph import Topology

from .network import queue_dimensions
from .plan import POLICIES, ChunkPlan
from .queues import Service
from .run import Queuing, run_chunks

__all__ = ["add_chunks", "add_orders", "chunk_schedule"]

_PLANNED = 1 << 20
"""Bytes per NPU in a chunk of the plan that stands for collectives of any size."""


def chunk_schedule(
    topology: Topology,
    pattern: str,
    size_bytes: float,
    group: Sequence[int] | None = None,
    how: Queuing | None = None,
) -> Schedule:
    """Return the schedule of all chunks of a collective over one group.

    The parameters and the errors are those of ``run.run_queued``.
    """
    how = how or Queuing()
    members = tuple(range(topology.npus) if group is None else group)
    builder = ScheduleBuilder(topology)
    add_chunks(builder, members, size_bytes, pattern, how)
    parts = (builder.end_part(members),)
    return Schedule(pattern, POLICIES[how.policy].words, parts, tuple(builder.messages))


def add_chunks(
    builder: ScheduleBuilder,
    members: Sequence[int],
    size_bytes: float,
    pattern: str,
    how: Queuing,
) -> None:
    """Add a collective on a vector of ``size_bytes``, with separate messages for each chunk.

    The plan is that of a collective of whole bytes; shards are shares of ``size_bytes``.
    """
    plans, services = _planned(builder.topology, members, size_bytes, pattern, how)
    axes = _axes(builder.topology, members)
    total = sum(one.size_bytes for one in plans)
    chunks = [
        _Chunk(builder, members, axes, one, size_bytes * one.size_bytes / total, pattern)
        for one in plans
    ]
    last: list[dict[int, list[int]]] = [{} for _ in axes]
    for one in services:
        first = len(builder.messages)
        chunks[one.chunk].add(builder, one)
        _follow(builder.messages, first, last[one.phase.dimension])


def add_orders(
    builder: ScheduleBuilder,
    members: Sequence[int],
    size_bytes: float,
    pattern: str,
    how: Queuing,
) -> None:
    """Add a collective in which all chunks with the same order form one part of the data.

    Links carry what they do with each chunk by itself. The order in which dimensions serve the
    chunks is left to the links.
    """
    plans, _ = _planned(builder.topology, members, None, pattern, how)
    axes = _axes(builder.topology, members)
    total = sum(one.size_bytes for one in plans)
    parts = Counter[tuple[int, ...]]()
    for one in plans:
        parts[_scattering(one, pattern)] += one.size_bytes
    for order, count in parts.items():
        own = [axes[number] for number in order]
        add_order(builder, members, own, size_bytes * count / total, pattern)


def _axes(topology: Topology, members: Sequence[int]) -> list[Axis]:
    axes = lines(topology.scheduling_dimensions, members)
    assert axes
    return axes


def _planned(
    topology: Topology,
    members: Sequence[int],
    size_bytes: float | None,
    pattern: str,
    how: Queuing,
) -> tuple[list[ChunkPlan], list[Service]]:
    """Return the chunks and services of a size, or of a stand-in size if none is given."""
    if size_bytes is None or size_bytes < how.chunks * len(members):
        size_bytes = float(how.chunks * len(members) * _PLANNED)
    return run_chunks(queue_dimensions(topology, members), size_bytes, pattern, how)


def _scattering(chunk: ChunkPlan, pattern: str) -> tuple[int, ...]:
    """Return the dimensions in reduce-scatter order; an all-gather visits them in reverse."""
    return chunk.order[::-1] if pattern == "all_gather" else chunk.order


class _Chunk:
    """Lines and shards of a chunk along each dimension, for rings in both directions."""

    def __init__(
        self,
        builder: ScheduleBuilder,
        members: Sequence[int],
        axes: Sequence[Axis],
        plan: ChunkPlan,
        size_bytes: float,
        pattern: str,
    ) -> None:
        order = _scattering(plan, pattern)
        own = [axes[number] for number in order]
        directions = directions_of(own)
        self._levels: dict[int, list[tuple[Dimension, Level]]] = {number: [] for number in order}
        for back in directions:
            found = levels_of(builder, members, own, size_bytes / len(directions), back=back)
            for number, level in zip(order, found, strict=True):
                self._levels[number].append(level)

    def add(self, builder: ScheduleBuilder, service: Service) -> None:
        """Add the messages of a chunk's phase."""
        kind = service.phase.kind
        actions: list[Literal["reduce", "copy"]] = []
        if kind != "all_gather":
            actions.append("reduce")
        if kind != "reduce_scatter":
            actions.append("copy")
        for own, level in self._levels[service.phase.dimension]:
            for action in actions:
                add_level(builder, own, level, action, halving=True)


def _follow(messages: list[Transfer | RingPass], first: int, last: dict[int, list[int]]) -> None:
    """Make the messages of a phase wait for the phase that was served before.

    A message that waits for nothing in its phase waits for what its source received ``last``.
    Then ``last`` becomes what each NPU receives in this phase.
    """
    came: dict[int, list[int]] = {}
    for number, one in enumerate(messages[first:], first):
        assert isinstance(one, Transfer)  # only transfers occur without lockstep
        if not one.after or one.after[-1] < first:
            before = {*one.after, *(other for npu in one.sources for other in last.get(npu, ()))}
            messages[number] = replace(one, after=tuple(sorted(before)))
        for npu in one.targets:
            came.setdefault(npu, []).append(number)
    last.clear()
    last.update(came)
