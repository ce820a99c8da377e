"""What traces move: operations, memory, and the bytes on each link along all routes.

Amounts follow from the nodes and from the plans of collectives, whatever the network model, so the
nodes that a run leaves out as repeated or alike are counted too.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from perfmodel.collectives.schedule import REDUCTIONS
from perfmodel.memory.access import Tier
from perfmodel.run_figures import Figures, unknown
from perfmodel.training.energy import EnergyTable
from perfmodel.training.moved import Moved, TopologyLinks, UsedLink, figures
from tracemodel.chakra.kinds import MEMORY_NODES, NodeType

from .collectives.plan import Plan
from .engine.custom import load_custom
from .engine.job import Job
from .engine.operation import SIMULATES_BROADCASTS, Operation, Unit, message_ends
from .engine.plans import Plans
from .engine.setup import Setup
from .engine.trace import Trace
from .engine.uneven import shares, uneven_groups
from .fluid.flows import Flows
from .fluid.lines import BlockLine
from .fluid.network import FluidNetwork, as_fluid

__all__ = ["NetworkLinks", "Traffic"]

_PARTS = ("compute", "collectives", "messages", "memory")
"""Parts of a run of traces."""

_REMOTE = -1
"""Dimension in the keys of links to remote memory."""


class NetworkLinks:
    """Links of a network by dimension, first NPU of the line, and name in the line.

    Parameters
    ----------
    network : FluidNetwork
        The network; dimensions have the names of ``link_dimensions``.
    """

    def __init__(self, network: FluidNetwork) -> None:
        self._network = network
        self._fabrics = {
            number: TopologyLinks(line.fabric)
            for number, line in enumerate(network.lines)
            if line.fabric
        }

    @property
    def dimensions(self) -> Mapping[str, int]:
        """Number of links of each dimension."""
        found: Counter[str] = Counter()
        for number, line in enumerate(self._network.lines):
            own = {"": line.dimension.block.links} if isinstance(line, BlockLine) else {}
            fabric = self._fabrics.get(number)
            for name, links in (fabric.dimensions if fabric else own).items():
                found[self._name(number, name)] += links * (self._network.npus // line.npus)
        return found

    def _name(self, number: int, name: str) -> str:
        line = self._network.lines[number]
        if isinstance(line, BlockLine):
            return f"{number + 1}: {line.dimension.kind} of {line.npus}"
        return name if len(self._network.lines) == 1 else f"{number + 1}: {name}"

    def find(self, key: tuple[int, int, Any]) -> UsedLink | None:
        """Return a link; None for one that stands for rounds inside a switch."""
        number, _, one = key
        if number == _REMOTE:
            return UsedLink("remote_memory")
        if number in self._fabrics:
            found = self._fabrics[number].find(one) if isinstance(one, int) else None
            return found and found._replace(dimension=self._name(number, found.dimension))
        kind = "npu_switch" if min(one) < 0 else "npu_npu"
        rate = 1e9 * self._network.lines[number].bytes_per_ns(one)
        return UsedLink(kind, rate, self._name(number, ""))

    def ends(self, key: tuple[int, int, Any]) -> tuple[str, str]:
        """Return the two ends of a link as text."""
        number, first, one = key
        network, line = self._network, self._network.lines[number]
        if line.fabric:
            front = f"{first}: " if network.npus > line.npus else ""
            source, _, target = line.fabric.link_name(one).partition(" -> ")
            return front + source, front + target
        names = {-1: f"switch {first}"}
        stride = network.strides[number]
        ends: list[str] = [names.get(place, f"npu {first + place * stride}") for place in one]
        return ends[0], ends[1]


class Traffic:
    """What the traces of some jobs move.

    Parameters
    ----------
    jobs, setup : sequence of Job, Setup
        Jobs whose run has ended without error, and their network and system.
    model : str
        Network model, which decides whether broadcasts are simulated.

    Attributes
    ----------
    replayed : bool
        Whether communication is replayed for as long as its nodes say, without known links.
    """

    def __init__(self, jobs: Sequence[Job], setup: Setup, model: str) -> None:
        self.network = as_fluid(setup.network)
        self.links = NetworkLinks(self.network)
        self.replayed = False
        self._setup, self._jobs, self._plans = setup, jobs, Plans(jobs, setup)
        self._broadcasts = model in SIMULATES_BROADCASTS
        self._collectives: dict[tuple[int, int, int], tuple[Plan, int, tuple[int, ...], int]] = {}
        self._messages: dict[str, Counter[tuple[int, int]]] = {}
        self._moved: Counter[tuple[str, str]] = Counter()
        self._unknown = False
        self._remote: Counter[tuple[tuple[int, ...], int]] = Counter()
        self._known: dict[int, list[tuple[Operation, int]]] = {}
        self._customs: dict[tuple[str, int], list[Trace]] = {}
        for number, job in enumerate(jobs):
            uneven = uneven_groups(job)
            for rank, trace in enumerate(job.traces):
                for operation, times in self._counted(trace):
                    self._count(number, rank, operation, times, uneven)

    def _counted(self, trace: Trace) -> list[tuple[Operation, int]]:
        """Return operations of a trace, one of each kind, with the number of its kind."""
        key = id(trace.operations)
        if key not in self._known:
            found: dict[object, tuple[Operation, int]] = {}
            custom = self._setup.system.custom
            for one in trace.nodes:
                how = custom(one.what.collective, one.id) if one.what.collective else None
                first, times = found.get((id(one.what), how), (one, 0))
                found[id(one.what), how] = first, times + 1
            self._known[key] = list(found.values())
        return self._known[key]

    def _count(
        self, number: int, rank: int, operation: Operation, times: int, uneven: frozenset[str]
    ) -> None:
        job, what = self._jobs[number], operation.what
        if self._setup.system.replay_only and what.type != NodeType.COMP_NODE:
            self.replayed |= what.type not in (NodeType.METADATA_NODE, NodeType.INVALID_NODE)
        elif what.type == NodeType.COMP_NODE:
            if what.unit == Unit.COMPUTE and what.duration_ns:
                self._unknown |= not (what.bytes or what.operations)
                self._moved["compute", "operations"] += times * what.operations
                self._moved["compute", "memory"] += times * what.bytes
        elif what.type in MEMORY_NODES:
            if what.duration_ns is not None:
                self._moved["memory", "memory"] += times * what.bytes
            else:
                self._count_remote(number, rank, operation, times)
        elif what.duration_ns is not None and not (what.collective and self._broadcasts):
            self.replayed |= what.duration_ns > 0
        elif what.type == NodeType.COMM_SEND_NODE:
            source, target = message_ends(operation, rank, len(job.npus))
            self._send("messages", job.npus[source], job.npus[target], times * what.bytes)
        elif what.collective:
            self._count_collective(number, rank, operation, times, uneven)

    def _count_remote(self, number: int, rank: int, operation: Operation, times: int) -> None:
        """Count an access of remote memory; one of a group that joins is that of its first rank."""
        job, memory = self._jobs[number], self._setup.memory
        ranks: Sequence[int] = (rank,)
        if operation.what.joint and memory.in_switch == 1:
            name = self._plans.name(number, rank, operation)
            ranks = job.groups[name] if name else range(len(job.npus))
            if rank != min(ranks):
                return
        self._remote[tuple(job.npus[one] for one in ranks), operation.what.bytes] += times

    def _send(self, part: str, source: int, target: int, count: int) -> None:
        self._messages.setdefault(part, Counter())[source, target] += count

    def _count_collective(
        self, number: int, rank: int, operation: Operation, times: int, uneven: frozenset[str]
    ) -> None:
        job, what = self._jobs[number], operation.what
        name, npu = self._plans.name(number, rank, operation), job.npus[rank]
        plan = self._plans.of(number, rank, operation, name)
        members = plan.members(npu)
        if plan.traces:
            place = plan.axes[0].place(npu)
            for one in self._custom(plan.traces, len(members))[place].nodes:
                if one.what.type == NodeType.COMM_SEND_NODE:
                    source, target = message_ends(one, place, len(members))
                    count = times * one.what.bytes
                    self._send("collectives", members[source], members[target], count)
        elif what.collective == "all_to_all" and name in uneven:
            for target, count in zip(members, shares(what, len(members)), strict=True):
                if target != npu:
                    self._send("collectives", npu, target, times * count)
        elif npu == min(members):
            key = id(plan), what.bytes, members[0]
            before = self._collectives.get(key, (plan, what.bytes, members, 0))[3]
            self._collectives[key] = plan, what.bytes, members, before + times
        if what.collective in REDUCTIONS and npu == min(members):
            size = plan.vector_bytes(what.bytes, len(members)) * (len(members) - 1)
            self._moved["collectives", "additions"] += times * size

    def _custom(self, prefix: str, npus: int) -> list[Trace]:
        key = prefix, npus
        if key not in self._customs:
            self._customs[key] = load_custom(prefix, npus, control=self._setup.control)
        return self._customs[key]

    def figures(self, table: EnergyTable, time_s: float) -> Figures:
        """Return the figures of the run, given its time [s]."""
        if self.replayed:
            return unknown("communication takes the durations in the trace, without any links")
        return figures(table, self.links, time_s, self.moved(), _PARTS)

    def moved(self) -> Iterator[Moved]:
        """Yield what moves, part by part; operations are unknown where a node states none."""
        moved = self._moved
        work: tuple[float | None, float | None]
        work = moved["compute", "operations"], moved["compute", "memory"]
        yield Moved("compute", 1, *((None, None) if self._unknown else work))
        yield Moved("memory", 1, 0.0, moved["memory", "memory"], loads=self._remote_loads())
        yield Moved("collectives", added_bytes=moved["collectives", "additions"])
        flows = Flows(self.network, alone=False)
        for plan, size, members, times in self._collectives.values():
            yield Moved("collectives", times, loads=flows.carried(plan, size, members).items())
        for part, messages in self._messages.items():
            for (source, target), size in messages.items():
                links = self.network.route(source, target).links
                yield Moved(part, loads=[(link, size) for link in links])

    def _remote_loads(self) -> Iterator[tuple[tuple[int, int, object], float]]:
        """Yield the bytes on links to remote memory: with a pool, at each of its levels."""
        memory = self._setup.memory
        tier = Tier(memory) if memory.hierarchical else None
        for (npus, count), times in self._remote.items():
            loads = tier.access([npus], count).loads if tier else dict.fromkeys(npus, count)
            for link, carried in loads.items():
                yield (_REMOTE, 0, link), times * carried
