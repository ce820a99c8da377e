"""Dimensions of a network as queues: members, bandwidth and latency."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import Literal

from fred_hw.errors import InputError
from perfmodel.collectives.algorithms.hierarchical import lines
from perfmodel.topology.block import Dimension
from perfmodel.topology.graph import Topology

__all__ = [
    "NEEDS",
    "SHARED",
    "Kind",
    "QueueDimension",
    "ideal_s",
    "queue_dimensions",
    "share_links",
]

NEEDS = "all NPUs at which some lines of dimensions cross"
"""Requirement on the topology and the group, for error messages."""

SHARED = (
    "an NPU reaches several dimensions by the same link: the collective takes at least as long as "
    "the same chunks on the links, but orders and busy shares are those of independent dimensions"
)
"""Assumption where several dimensions share links."""


Kind = Literal["ring", "line", "fully_connected", "switch"]
"""How the NPUs of a line are connected."""


@dataclass(frozen=True, slots=True)
class QueueDimension:
    """A dimension that serves one chunk at a time.

    Parameters
    ----------
    npus : int
        NPUs in a line, 2 or more.
    bytes_per_s : float
        Rate at which an NPU sends and receives in a collective along the dimension, over all its
        links [B/s].
    step_s : float
        Latency of one step of the collective [s]: of links, switches and endpoints on the way from
        one NPU of a line to another.
    kind : str
        ``ring`` and ``line``: the collective goes around in n - 1 steps. ``fully_connected``: each
        NPU sends to each other at once. ``switch``: recursive halving and doubling in log2 n steps
        for a power of two of NPUs, otherwise each sends to each other at once.
    """

    npus: int
    bytes_per_s: float
    step_s: float = 0.0
    kind: Kind = "switch"

    @property
    def halving(self) -> bool:
        """Whether the dimension uses recursive halving and doubling."""
        return self.kind == "switch" and self.npus & (self.npus - 1) == 0

    @property
    def steps(self) -> int:
        """Number of steps of a reduce-scatter or an all-gather."""
        if self.kind in ("ring", "line"):
            return self.npus - 1
        return self.npus.bit_length() - 1 if self.halving else 1


def queue_dimensions(topology: Topology, members: Sequence[int]) -> tuple[QueueDimension, ...]:
    """Return the dimensions that a group spans, the innermost first.

    Raises
    ------
    InputError
        The topology has no dimensions, or the group is not all NPUs at which some lines cross.
    """
    axes = lines(topology.scheduling_dimensions, members)
    if not axes:
        given = f"{len(members)} NPUs of {topology.name}"
        if not topology.scheduling_dimensions:
            raise InputError("topology", "", f"must have dimensions, not {topology.name} with none")
        raise InputError("group", "", f"must be {NEEDS}, not {given}")
    return tuple(_along(topology, min(members), *axis) for axis in axes)


def share_links(topology: Topology, members: Sequence[int]) -> bool:
    """Return whether an NPU of a group reaches several of the group's dimensions over one link."""
    axes, first = lines(topology.scheduling_dimensions, members) or [], min(members)
    ends = [first + one.stride * (places[1] - places[0]) for one, places in axes]
    own = {topology.hops((first,), (end,))[0][0] for end in ends}
    return len(own) < len(ends)


def _along(
    topology: Topology, first: int, dimension: Dimension, places: Sequence[int]
) -> QueueDimension:
    """Return a dimension as a queue for the group's positions, starting at its first NPU."""
    line = [first + dimension.stride * (place - places[0]) for place in places]
    gaps = [b - a for a, b in pairwise([*places, places[0] + dimension.npus])]
    kind = dimension.kind
    if kind == "ring" and 2 * max(gaps) > dimension.npus:
        kind = "line"  # the shortest route across the widest gap goes back over the other links
    neighbours = pairwise([*line, line[0]] if kind == "ring" else line)
    step_s = max(topology.latency_s(topology.hops((a,), (b,))) for a, b in neighbours)
    own = replace(dimension, kind=kind)
    return QueueDimension(len(line), own.npu_bytes_per_s(len(line)), step_s, kind)


def ideal_s(dimensions: Sequence[QueueDimension], size_bytes: float, pattern: str) -> float:
    """Return the time if all dimensions sent at full rate throughout [s].

    Parameters
    ----------
    dimensions : sequence of QueueDimension
        Dimensions that take part.
    size_bytes : float
        The whole vector [B].
    pattern : str
        ``all_reduce``, ``reduce_scatter`` or ``all_gather``.
    """
    npus = prod(one.npus for one in dimensions)
    halves = 2 if pattern == "all_reduce" else 1
    rate = sum(one.bytes_per_s for one in dimensions)
    return halves * size_bytes * (npus - 1) / npus / rate
