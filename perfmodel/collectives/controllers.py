"""Data between the members of a group on one wafer and the I/O controllers of this wafer."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fred_hw.progress import track
from perfmodel.topology.graph import Part, Topology

from .algorithms.two_level import rings
from .schedule import ScheduleBuilder

__all__ = ["Route", "Shards", "collect", "distribute", "shares_of"]

_NOTHING = 1e-12  # shares below this are rounding


class Route(NamedTuple):
    """A route of data between the NPUs of a group on one wafer and storage or other wafers.

    Parameters
    ----------
    io : int
        Node of the I/O controller.
    member : int or None
        NPU that exchanges the data with the controller; other members have it by rings. None where
        all members do so by a tree.
    """

    io: int
    member: int | None


Shards = Mapping[Route, tuple[int, ...]]
"""Shards of the data on each route, by their numbers in a ``ScheduleBuilder``."""


def shares_of(topology: Topology, part: Part, *, trees: bool) -> dict[Route, float]:
    """Return the share of the data of a group on each route, 0 to 1.

    All shares add up to 1, and each I/O controller has an equal share.

    Parameters
    ----------
    topology : Topology
        Topology of the group.
    part : Part
        Members of the group on a wafer, and controllers of this wafer.
    trees : bool
        Whether messages fork, or are added up, on their route.
    """
    if trees:
        return {Route(io, None): 1 / len(part.io_nodes) for io in part.io_nodes}
    return {Route(*ends): share for ends, share in _shares(topology, part).items()}


def collect(builder: ScheduleBuilder, members: Sequence[int], shards: Shards) -> None:
    """Add up what the members have of all shards, at the controllers.

    Parameters
    ----------
    builder : ScheduleBuilder
        Receives the messages.
    members : sequence of int
        NPUs of a group on one wafer.
    shards : mapping
        Shards on each route: all routes are trees, or none is.

    Raises
    ------
    ValueError
        The topology cannot carry a message.
    """
    if any(route.member is not None for route in shards):
        rings(builder, members, _parts(members, shards), "reduce_scatter")
    for route, some in track(list(shards.items()), "I/O controllers"):
        if route.member is not None:
            builder.send((route.member,), (route.io,), some, "copy", feeds_pass=True)
            continue
        hops = builder.topology.reduction_hops(members, route.io)
        builder.send(members, (route.io,), some, "reduce", hops, feeds_pass=True)


def distribute(builder: ScheduleBuilder, members: Sequence[int], shards: Shards) -> None:
    """Send all shards from the controllers to all members.

    The parameters and errors are those of :func:`collect`.
    """
    for route, some in track(list(shards.items()), "I/O controllers"):
        targets = members if route.member is None else (route.member,)
        builder.send((route.io,), targets, some, "copy", feeds_pass=True)
    if any(route.member is not None for route in shards):
        rings(builder, members, _parts(members, shards), "all_gather")


def _parts(members: Sequence[int], shards: Shards) -> dict[int, tuple[int, ...]]:
    """Return the shards that each member exchanges with controllers."""
    found: dict[int, tuple[int, ...]] = dict.fromkeys(members, ())
    for route, some in shards.items():
        assert route.member is not None
        found[route.member] += some
    return found


def _shares(topology: Topology, part: Part) -> dict[tuple[int, int], float]:
    """Return the share of the data that goes between each I/O controller and each member.

    Every controller has the same share in all, and every member too. What can stay on an L1
    stays; controllers of an L1 that has more than its members take serve the members that lack.
    """
    supply = dict.fromkeys(part.io_nodes, 1 / len(part.io_nodes))
    demand = dict.fromkeys(part.npus, 1 / len(part.npus))
    shares: dict[tuple[int, int], float] = {}
    switch_of = topology.switch_of
    for switch in dict.fromkeys(switch_of.values()):
        ios = [io for io in supply if switch_of.get(io) == switch]
        members = [member for member in part.npus if switch_of.get(member) == switch]
        if not ios or not members:
            continue
        offered, wanted = (
            sum(held[node] for node in nodes) for held, nodes in ((supply, ios), (demand, members))
        )
        each = min(offered, wanted) / len(ios) / len(members)
        for io in ios:
            supply[io] -= each * len(members)
            shares.update({(io, member): each for member in members})
        for member in members:
            demand[member] -= each * len(ios)
    lacking = {member: left for member, left in demand.items() if left > _NOTHING}
    total = sum(lacking.values())
    for io, left in supply.items():
        if left > _NOTHING:
            for member, lack in lacking.items():
                shares[io, member] = shares.get((io, member), 0.0) + left * lack / total
    return shares
