"""Detection of NPUs that provably behave the same, so that only one of them is simulated.

Two are alike if their traces are but for the names of communicator groups, and the groups in the
same places of the traces are: as many NPUs, round a ring of the same steps from theirs on, each
like the one in its place. Then what one waits for comes when what the other waits for does, so by
induction over time they do everything together, as long as nothing else comes between: messages
from one NPU to another, memory that serves one after the other, or groups that share a link.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from perfmodel.collectives.schedule import ROOTED
from tracemodel.astra.fluid.network import FluidNetwork, as_fluid
from tracemodel.astra.network import Dimension, Network
from tracemodel.chakra.kinds import NodeType

from .job import Job
from .operation import Operation, What
from .setup import Setup
from .trace import Trace

__all__ = ["Alike", "alike"]

_MOST = 64
"""Largest group whose rotations are compared with other groups."""

_HEAD = 64
"""Leading nodes of a trace, compared first since they distinguish most traces."""

_Places = tuple[tuple[int, tuple[int, ...]], ...]
"""Class of each member of a group, and the step to the next member."""


@dataclass(frozen=True)
class Alike:
    """Equivalent ranks and groups, each with its representative.

    Parameters
    ----------
    first : tuple of int
        Representative of each rank: the first of the equivalent ranks.
    group : mapping
        Representative of each group, by name.
    count : mapping
        Number of groups that each representative stands for, by name.
    """

    first: tuple[int, ...]
    group: Mapping[str, str]
    count: Mapping[str, int]


def alike(job: Job, setup: Setup, model: str) -> Alike | None:
    """Return the representatives of a job's ranks; None if all differ or nothing can be proved.

    Parameters
    ----------
    job : Job
        The only job.
    setup : Setup
        Network and system.
    model : str
        ``fluid`` or ``unaware``, where collectives and messages do not delay others that share no
        link with them.
    """
    network = setup.network
    dimensions = _dimensions(network)
    if dimensions is None or job.npus != tuple(range(network.npus)):
        return None
    used: dict[int, list[str]] = {}  # names of groups in each distinct list of operations
    whole = False
    for trace in job.traces:
        if id(trace.operations) not in used:
            found = _names(trace, setup, model)
            if found is None:
                return None
            used[id(trace.operations)] = [name for name in found if name]
            whole = whole or "" in found
    names = [[one.names.get(name, name) for name in used[id(one.operations)]] for one in job.traces]
    groups = {name: job.groups.get(name, ()) for name in dict.fromkeys(chain(*names))}
    for rank, own in enumerate(names):
        if any(rank not in groups[name] for name in own):
            return None  # the engine reports the error
    if model == "fluid" and _share_links(network, groups):
        return None
    steps = {name: _steps(members, network, dimensions) for name, members in groups.items()}
    classes = _classes(job.traces, names, groups, steps)
    first = {one: rank for rank, one in reversed([*enumerate(classes)])}
    if len(first) == len(classes) or (whole and model == "unaware" and len(first) > 1):
        return None
    return _stand_ins(names, groups, steps, classes, [first[one] for one in classes])


def _dimensions(network: Network | FluidNetwork) -> list[Dimension] | None:
    """Return the dimensions of an ASTRA-sim network, which treats all NPUs alike; None if other."""
    return list(network.dimensions) if isinstance(network, Network) else None


def _names(trace: Trace, setup: Setup, model: str) -> list[str] | None:
    """Return the groups that a trace names ("" for all); None if classes of NPUs may interact."""
    found: dict[str, None] = {}
    for one in trace.operations.values():
        if one.what.collective is not None and (one.what.duration_ns is None or model == "fluid"):
            if one.what.involved is not None and not all(one.what.involved):
                return None
            if one.what.collective in ROOTED and one.what.group:
                return None  # the root behaves differently
            if setup.system.custom(one.what.collective, one.id):
                return None  # each member has its own trace
            found[one.what.group] = None
        elif _couples(one, setup):
            return None
    trees = "doubleBinaryTree" in (setup.system.all_reduce or ())
    return None if "" in found and trees and model == "unaware" else [*found]


def _couples(one: Operation, setup: Setup) -> bool:
    """Return whether an operation may wait for an NPU of another class."""
    if one.what.duration_ns is not None:
        return False
    if one.what.type in (NodeType.COMM_SEND_NODE, NodeType.COMM_RECV_NODE):
        return True
    return setup.memory.memory_type != "PER_NPU_MEMORY_EXPANSION"


def _steps(
    members: Sequence[int], network: Network | FluidNetwork, dimensions: Sequence[Dimension]
) -> list[tuple[int, ...]]:
    """Return the steps between consecutive members of a ring, independent of absolute position."""
    found: list[tuple[int, ...]] = []
    for here, there in zip(members, [*members[1:], *members[:1]], strict=True):
        step: list[int] = []
        for number, dimension in enumerate(dimensions):
            step.append(
                (network.place(there, number) - network.place(here, number)) % dimension.npus
            )
            if dimension.kind != "ring":
                step[-1] = min(step[-1], 1)
        found.append(tuple(step))
    return found


def _share_links(network: Network | FluidNetwork, groups: Mapping[str, Sequence[int]]) -> bool:
    """Return whether disjoint groups, which may run at the same time, share a link."""
    network = as_fluid(network)
    known: dict[object, list[str]] = {}
    members = {name: {*group} for name, group in groups.items()}
    for name, group in groups.items():
        links: dict[object, None] = {}
        for pair in zip(group, [*group[1:], *group[:1]], strict=True):
            links.update(dict.fromkeys(network.route(*pair).links))
        for link in links:
            others = known.setdefault(link, [])
            if any(members[name].isdisjoint(members[other]) for other in others):
                return True
            others.append(name)
    return False


def _classes(
    traces: Sequence[Trace],
    names: Sequence[Sequence[str]],
    groups: Mapping[str, Sequence[int]],
    steps: Mapping[str, Sequence[tuple[int, ...]]],
) -> list[int]:
    """Return a class number for each rank, refined until no class can be split further."""
    classes = _numbered(_shapes(traces))
    while True:
        seen: dict[tuple[str, int], object] = {}
        for name, members in groups.items():
            places = tuple(zip((classes[one] for one in members), steps[name], strict=True))
            even = len({*places}) == 1
            for number, one in enumerate(members):
                own = (len(places), places[0]) if even else places[number:] + places[:number]
                seen[name, one] = own
        finer = _numbered(
            [
                (classes[rank], tuple(seen[name, rank] for name in own))
                for rank, own in enumerate(names)
            ]
        )
        if max(finer) == max(classes):
            return finer
        classes = finer


def _shapes(traces: Sequence[Trace]) -> list[int]:
    """Return a number for each trace; traces equal except for group names get the same number."""
    own = {id(one.operations): one for one in traces}
    kinds: dict[What, int] = {}
    known: dict[int, object] = {
        key: (len(one.nodes), _shape(one.nodes[:_HEAD], kinds)) for key, one in own.items()
    }
    often = Counter(known.values())
    for key, one in own.items():
        if often[known[key]] > 1:
            known[key] = _shape(one.nodes, kinds)
    return _numbered([known[id(one.operations)] for one in traces])


def _shape(nodes: Sequence[Operation], kinds: dict[What, int]) -> tuple[object, ...]:
    """Return nodes with numbers in place of their requests and groups."""
    groups: dict[str, int] = {"": 0}
    seen: dict[int, tuple[int, int]] = {}
    shape: list[object] = []
    for one in nodes:
        what = seen.get(id(one.what))
        if what is None:
            group = groups.setdefault(one.what.group, len(groups))
            what = kinds.setdefault(one.what._replace(group=""), len(kinds)), group
            seen[id(one.what)] = what
        shape.append((one.id, one.data_deps, one.tag, *what))
    return tuple(shape)


def _numbered(values: Sequence[object]) -> list[int]:
    known: dict[object, int] = {}
    return [known.setdefault(value, len(known)) for value in values]


def _stand_ins(
    names: Sequence[Sequence[str]],
    groups: Mapping[str, Sequence[int]],
    steps: Mapping[str, Sequence[tuple[int, ...]]],
    classes: Sequence[int],
    first: Sequence[int],
) -> Alike | None:
    """Return the representatives; None if two groups of one rank would become one."""
    by_key: dict[_Places | tuple[int, object], str] = {}
    group: dict[str, str] = {}
    for name, members in groups.items():
        places = tuple(zip((classes[one] for one in members), steps[name], strict=True))
        key: _Places | tuple[int, object] = places
        if len({*places}) == 1:
            key = len(places), places[0]
        elif len(places) > _MOST:
            return None
        else:
            key = min(places[i:] + places[:i] for i in range(len(places)))
        group[name] = by_key.setdefault(key, name)
    for own in names:
        if len({group[name] for name in own}) < len({*own}):
            return None
    count: dict[str, int] = {}
    for name in group.values():
        count[name] = count.get(name, 0) + 1
    return Alike(tuple(first), group, count)
