"""Crossing activations on a wafer: multicasts of one layer as transfers over links."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fred_hw.errors import InputError
from perfmodel.collectives.algorithm import TABLES
from perfmodel.collectives.link_graph import chain, graph_of
from perfmodel.collectives.multitree import Edge, grow
from perfmodel.collectives.schedule import Part, Schedule, ScheduleBuilder
from perfmodel.network.model import Conditions, find_model
from perfmodel.topology.graph import Topology

from .crossings import Multicast

__all__ = ["MOST_FLOWS", "TREES", "Traffic", "joined", "schedule_of", "traffic_s"]

TREES = ("topology", "multitree")
"""Multicast trees: those of the topology, or those of MultiTree over NPUs."""

MOST_FLOWS = (1, 2, 4, 8, 16)
"""Numbers of multicasts per worker and layer to try; the fastest is used.

Fewer multicasts send some numbers to workers that do not need them, but wait for fewer acks."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Multicasts of one layer on a wafer.

    Parameters
    ----------
    time_s : float
        Time from the first number sent to the last received [s].
    flows : int
        Number of multicasts.
    sent_bytes : float
        Bytes that sources send, each multicast once [B].
    assumptions : tuple of str
        Assumptions of algorithm and network model.
    """

    time_s: float
    flows: int
    sent_bytes: float
    assumptions: tuple[str, ...] = ()


def joined(multicasts: Sequence[Multicast], most: int) -> list[Multicast]:
    """Return merged multicasts, with at most ``most`` per source.

    The largest ones are kept. Each other one is merged with the smallest one that reaches all of
    its targets, or with one that reaches the targets of all the rest.

    Parameters
    ----------
    multicasts : sequence of Multicast
        Multicasts from any sources.
    most : int
        Most multicasts of a source.
    """
    found: list[Multicast] = []
    for source in sorted({one.source for one in multicasts}):
        own = [one for one in multicasts if one.source == source]
        alike: dict[frozenset[int], Multicast] = {}
        for one in own:  # statistics may have the same targets as channels
            _join(alike, frozenset(one.targets), one)
        rest = sorted(alike.items(), key=lambda item: (-item[1].numbers, item[1].targets))
        if len(rest) > most:
            kept = dict(rest[: most - 1])
            left = rest[most - 1 :]
            every = frozenset[int]().union(*(targets for targets, _ in left))
            for targets, one in left:
                fit = [other for other in kept if targets <= other]
                _join(kept, min(fit, key=len) if fit else every, one)
            rest = list(kept.items())
        found += [one for _, one in rest]
    return found


def _join(found: dict[frozenset[int], Multicast], targets: frozenset[int], one: Multicast) -> None:
    """Merge a multicast into the one with the given targets."""
    known = found.get(targets)
    channels = (*known.channels, *one.channels) if known else one.channels
    numbers = one.numbers + (known.numbers if known else 0)
    found[targets] = replace(
        one, targets=tuple(sorted(targets)), channels=channels, numbers=numbers
    )


def schedule_of(
    topology: Topology, multicasts: Sequence[Multicast], number_bytes: float, trees: str
) -> Schedule:
    """Return the multicasts of one layer as a schedule; worker i is NPU i.

    All sources start at once, and each sends one multicast after the other. If switches or routers
    cannot fork, each target gets a separate message.

    Parameters
    ----------
    topology : Topology
        Topology of the workers.
    multicasts : sequence of Multicast
        Multicasts to be sent.
    number_bytes : float
        Bytes of a number [B].
    trees : str
        One of ``TREES``.

    Raises
    ------
    InputError
        The topology has fewer NPUs than there are workers.
    """
    last = max((one for cast in multicasts for one in (cast.source, *cast.targets)), default=0)
    if last >= topology.npus:
        message = f"must have {last + 1} or more NPUs for as many workers, not {topology.npus}"
        raise InputError(topology.name, "", message)
    builder, parts = ScheduleBuilder(topology), list[Part]()
    forest: Mapping[int, Sequence[Edge]] = {}
    if trees == "multitree":
        forest = grow(graph_of(topology, range(topology.npus))).trees
    for source in sorted({one.source for one in multicasts}):
        members = {source}
        for one in multicasts:
            if one.source == source:
                shard = builder.add_shard(source, one.numbers * number_bytes)
                members.update(one.targets)
                if forest:
                    _along_tree(builder, forest[source], one, shard)
                else:
                    _send(builder, topology, one, shard)
        parts.append(builder.end_part(sorted(members, key=lambda npu: (npu != source, npu))))
    words = "MultiTree" if forest else topology.multicast or "unicasts"
    return Schedule("broadcast", words, tuple(parts), tuple(builder.messages))


def _send(builder: ScheduleBuilder, topology: Topology, one: Multicast, shard: int) -> None:
    groups = [one.targets] if topology.multicast else [(target,) for target in one.targets]
    for targets in groups:
        builder.send((one.source,), targets, (shard,), "copy")


def _along_tree(builder: ScheduleBuilder, tree: Sequence[Edge], one: Multicast, shard: int) -> None:
    """Send along the edges of a tree that lead to targets; NPUs on the path forward."""
    needed = set(one.targets)
    for edge in reversed(tree):
        if edge.child in needed:
            needed.add(edge.parent)
    for edge in tree:
        if edge.child in needed:
            builder.send((edge.parent,), (edge.child,), (shard,), "copy", chain(edge.links))


def traffic_s(
    topology: Topology,
    multicasts: Sequence[Multicast],
    number_bytes: float,
    trees: str = "topology",
    network_model: str = "fluid",
) -> Traffic:
    """Return the time of the multicasts of one layer.

    Parameters
    ----------
    topology, multicasts, number_bytes, trees
        As for :func:`schedule_of`.
    network_model : str
        One of ``perfmodel.network.model.NETWORK_MODELS``.
    """
    sent = [one for one in multicasts if one.numbers]
    if not sent:
        return Traffic(0.0, 0, 0.0)
    counts = [sum(one.source == source for one in sent) for source in {one.source for one in sent}]
    tries = [most for most in MOST_FLOWS if most < max(counts)] or [1]
    if max(counts) <= MOST_FLOWS[-1]:
        tries.append(max(counts))
    how = (number_bytes, trees, network_model)
    found = [_timed(topology, joined(sent, most), *how) for most in dict.fromkeys(tries)]
    return min(found, key=lambda one: one.time_s)


def _timed(
    topology: Topology,
    flows: Sequence[Multicast],
    number_bytes: float,
    trees: str,
    network_model: str,
) -> Traffic:
    """Return the time of multicasts without merging any."""
    schedule = schedule_of(topology, flows, number_bytes, trees)
    model = find_model(network_model)
    timed = model.prepare(topology, schedule, Conditions())
    largest = max(one.numbers for one in flows) * number_bytes
    # Sizes in the schedule are in bytes, so it is simulated as for a vector of one byte.
    time_s = timed.time_s(1.0, model.chunk_bytes(topology, largest) / largest)
    assumed = (TABLES,) if trees == "multitree" else topology.fork_assumptions
    assumptions = tuple(dict.fromkeys((*assumed, *timed.assumptions)))
    sent = number_bytes * sum(one.numbers for one in flows)
    return Traffic(time_s, len(flows), sent, assumptions)
