"""Comparison of all applicable collective algorithms on several topologies.

A collective is a pattern, a size and a group. Each topology runs it with each algorithm that fits,
those included that `auto` does not try, as they need a schedule in each network interface, and with
the sequence of other patterns that `auto` takes, if it takes one. Each time is that of
`fred collective`: of orders of dimensions with network model ``fluid`` it is that of queues.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, product
from math import inf

from fred_hw.errors import InputError
from fred_hw.progress import track
from perfmodel.collectives.algorithm import ALGORITHMS
from perfmodel.collectives.guidelines import stages_of
from perfmodel.collectives.select import PUBLISHED, candidates, chosen
from perfmodel.collectives.themis.plan import POLICIES
from perfmodel.collectives.themis.run import Queuing, least_bytes
from perfmodel.network.model import CannotTimeError
from perfmodel.network.queued import QueuedResult, run_queued
from perfmodel.network.run import FLUID, CollectiveResult, run_collective
from perfmodel.topology.graph import Topology

__all__ = [
    "PATTERNS_COMPARED",
    "SIZES_COMPARED_BYTES",
    "TOPOLOGIES_COMPARED",
    "AlgorithmRow",
    "catching_up",
    "compare_algorithms",
    "winners",
    "wires_bytes_per_s",
]

PATTERNS_COMPARED = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast")
"""Patterns compared by default; a reduce is omitted as the mirror image of a broadcast."""

SIZES_COMPARED_BYTES = (64 * 1024.0, 16 * 1024.0**2, 1024.0**3)
"""Sizes compared by default [B]: dominated by latency, by both, and by bandwidth."""

TOPOLOGIES_COMPARED = ("mesh:5x4", "torus:5x4", "fred-a", "fred-b", "fred-c", "fred-d")
"""Topologies compared by default: those of the paper, and a torus."""


@dataclass(frozen=True, slots=True)
class AlgorithmRow:
    """A collective on one topology by one algorithm.

    Parameters
    ----------
    pattern : str
        One of ``collectives.schedule.PATTERNS``.
    size_bytes : float
        The whole vector [B], as for ``network.run.run_collective``.
    group : tuple of int
        NPUs that take part, the root of a broadcast first.
    topology : str
        Name of the topology.
    wires_bytes_per_s : float
        Sum of the rates of all links except those of I/O controllers [B/s], see
        :func:`wires_bytes_per_s`.
    in_network : bool
        Whether switches reduce or multicast.
    algorithm : str
        One of ``collectives.algorithm.ALGORITHMS``, or a sequence of other patterns.
    time_s : float
        Time from the start to the last byte at the last NPU [s].
    bus_bandwidth_bytes_per_s : float
        Bus bandwidth as nccl-tests defines it [B/s].
    on_topology : bool
        Whether this algorithm is the fastest on this topology.
    of_all : bool
        Whether this row is the fastest of all topologies.
    """

    pattern: str
    size_bytes: float
    group: tuple[int, ...]
    topology: str
    wires_bytes_per_s: float
    in_network: bool
    algorithm: str
    time_s: float
    bus_bandwidth_bytes_per_s: float
    on_topology: bool = False
    of_all: bool = False

    @property
    def collective(self) -> tuple[str, float, tuple[int, ...]]:
        """Pattern, size and group, which must be equal for rows to be comparable."""
        return self.pattern, self.size_bytes, self.group


def wires_bytes_per_s(topology: Topology) -> float:
    """Return the total rate of all links except I/O links, averaged over both directions [B/s].

    Two topologies with the same rate have equal wires, and equal perimeter of chiplets too, as a
    wire takes edge at both of its ends.
    """
    rates = (
        link.bytes_per_s
        for index, link in enumerate(topology.links)
        if "io" not in topology.link_ends(index)
    )
    return sum(rates) / 2


def compare_algorithms(
    topologies: Sequence[Topology],
    patterns: Sequence[str],
    sizes_bytes: Sequence[float],
    groups: Sequence[Sequence[int] | None],
    network_model: str = FLUID,
) -> tuple[AlgorithmRow, ...]:
    """Run each collective on each topology with each applicable algorithm.

    Parameters
    ----------
    topologies : sequence of Topology
        Where they run; all of them have the NPUs of the groups.
    patterns : sequence of str
        Of ``collectives.schedule.PATTERNS``.
    sizes_bytes : sequence of float
        Sizes of the whole vector [B].
    groups : sequence of sequences of int, or of None
        NPUs that take part; None for all, with equally many NPUs on all topologies.
    network_model : str
        One of ``network.model.NETWORK_MODELS``; algorithms that it cannot time are left out, and
        so are orders of dimensions where a chunk would have less than a byte.

    Returns
    -------
    tuple of AlgorithmRow
        Of each collective its rows together, those of a topology together, fastest first.

    Raises
    ------
    InputError
        A group is not valid, or means other NPUs on another topology, the network model can time
        no algorithm of a collective, or the errors of ``network.run.run_collective``.
    """
    _check_groups(topologies, groups)
    rows: list[AlgorithmRow] = []
    asked = list(product(patterns, sizes_bytes, groups))
    for pattern, size_bytes, given in track(asked, "collectives"):
        group = tuple(range(topologies[0].npus) if given is None else given)
        found = [
            sorted(
                _on_topology(topology, pattern, size_bytes, group, network_model),
                key=lambda row: row.time_s,
            )
            for topology in topologies
        ]
        if not any(found):  # `auto` raises the error that says what the network model cannot time
            _run(topologies[0], pattern, size_bytes, group, "auto", network_model)
        best_s = min((some[0].time_s for some in found if some), default=inf)
        rows += (
            replace(row, on_topology=row.time_s == some[0].time_s, of_all=row.time_s == best_s)
            for some in found
            for row in some
        )
    return tuple(rows)


def winners(rows: Sequence[AlgorithmRow]) -> tuple[AlgorithmRow, ...]:
    """Return the fastest algorithm of each collective on each topology; ties go to the first."""
    found: dict[object, AlgorithmRow] = {}
    for row in rows:
        if row.on_topology:
            found.setdefault((row.collective, row.topology), row)
    return tuple(found.values())


def catching_up(rows: Sequence[AlgorithmRow], margin: float = 0.05) -> tuple[AlgorithmRow, ...]:
    """Return where a network without in-network reduction matches one that has it and more wires.

    Of each collective that is the row of the cheapest topology which does not reduce in its
    switches, has fewer wires than the fastest one that does, and takes at most ``1 + margin``
    times as long.
    """
    found: list[AlgorithmRow] = []
    for _, some in groupby(winners(rows), key=lambda row: row.collective):
        own = [*some]
        best = min((row for row in own if row.in_network), key=lambda row: row.time_s, default=None)
        if best is None:
            continue
        near = [
            row
            for row in own
            if not row.in_network
            and row.wires_bytes_per_s < best.wires_bytes_per_s
            and row.time_s <= (1 + margin) * best.time_s
        ]
        found += [min(near, key=lambda row: row.wires_bytes_per_s)] if near else []
    return tuple(found)


def _check_groups(topologies: Sequence[Topology], groups: Sequence[object]) -> None:
    first = topologies[0]
    other = next((one for one in topologies if one.npus != first.npus), None)
    if None in groups and other is not None:
        counts = f"{first.npus} of {first.name} and {other.npus} of {other.name}"
        message = f"must be given for topologies with different numbers of NPUs, {counts}"
        raise InputError("", "group", message)


def _on_topology(
    topology: Topology, pattern: str, size_bytes: float, group: tuple[int, ...], network_model: str
) -> Iterator[AlgorithmRow]:
    """Yield the rows of one collective on one topology."""
    wires = wires_bytes_per_s(topology)
    for name in (*_algorithms(topology, pattern, group), "auto"):
        if name in POLICIES and size_bytes < least_bytes(pattern, len(group)):
            continue
        try:
            found = _run(topology, pattern, size_bytes, group, name, network_model)
        except CannotTimeError:
            continue
        if name == "auto" and not stages_of(found.algorithm_name, pattern):
            continue  # one of those that have been run
        yield AlgorithmRow(
            pattern=pattern,
            size_bytes=size_bytes,
            group=group,
            topology=topology.name,
            wires_bytes_per_s=wires,
            in_network=topology.in_network,
            algorithm=found.algorithm_name,
            time_s=found.time_s,
            bus_bandwidth_bytes_per_s=found.bus_bandwidth_bytes_per_s,
        )


def _run(
    topology: Topology,
    pattern: str,
    size_bytes: float,
    group: tuple[int, ...],
    algorithm: str,
    network_model: str,
) -> CollectiveResult | QueuedResult:
    """Return the result of `fred collective`."""
    if algorithm in POLICIES and network_model == FLUID:
        return run_queued(topology, pattern, size_bytes, group, Queuing(algorithm))
    return run_collective(
        topology, pattern, size_bytes, group, algorithm=algorithm, network_model=network_model
    )


def _algorithms(topology: Topology, pattern: str, group: tuple[int, ...]) -> list[str]:
    """Return the applicable algorithms of a group by name, in registry order."""
    fit = candidates(topology, pattern, [group], automatic=False)
    names = {chosen(topology, pattern, group, name) for name in fit if name == PUBLISHED}
    return [name for name in ALGORITHMS if name in names or name in fit]
