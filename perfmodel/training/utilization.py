"""Utilization of links in an iteration, by dimension of the topology."""

from collections import defaultdict
from dataclasses import dataclass

from perfmodel.topology.graph import Topology
from perfmodel.topology.link_dimensions import link_dimensions

from .counted import Counted

__all__ = ["DimensionUse", "utilization"]


@dataclass(frozen=True, slots=True)
class DimensionUse:
    """Use of the links of a dimension during an iteration.

    Parameters
    ----------
    dimension : str
        Its name, as of ``link_dimensions``.
    links : int
        Links, one for each direction.
    peak : float
        Share of the iteration that the payload of the busiest link takes at its payload bandwidth.
    average : float
        Mean of that share over all links of the dimension.
    """

    dimension: str
    links: int
    peak: float
    average: float


def utilization(topology: Topology, counts: Counted, time_s: float) -> tuple[DimensionUse, ...]:
    """Return the use of all dimensions, ordered by name.

    Parameters
    ----------
    topology : Topology
        Topology of the links; links to remote memory are not included.
    counts : Counted
        Number of executions of each task.
    time_s : float
        Time of the iteration, above 0 [s].
    """
    carried = [0.0] * len(topology.links)
    for _, profile, times in counts:
        for link, load in profile.loads:
            if link < len(carried):
                carried[link] += times * load
    shares: dict[str, list[float]] = defaultdict(list)
    links = zip(link_dimensions(topology), carried, topology.links, strict=True)
    for name, load, link in links:
        shares[name].append(load / link.payload_bytes_per_s / time_s)
    return tuple(
        DimensionUse(name, len(some), max(some), sum(some) / len(some))
        for name, some in sorted(shares.items())
    )
