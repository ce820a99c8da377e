"""Training iterations of our own model as traces, one for each NPU.

The tasks are those that ``fred estimate`` simulates (``perfmodel/training/graph.py``). A task of a
pipeline stage becomes a node on each NPU of it; a message to the next stage becomes a send and a
receive on each NPU that it goes to, as a trace knows no multicast.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from fred_hw.errors import InputError
from perfmodel.constants import NUMBER_BYTES
from perfmodel.fluid.task import Profile, Task
from perfmodel.topology.graph import Topology
from perfmodel.training.compute import Npu
from perfmodel.training.iteration import simulate_iteration
from perfmodel.training.operations import Operations
from perfmodel.training.placement.place import Placement
from perfmodel.workloads.workload import Workload

from .kinds import CollectiveType, NodeType
from .node import DURATION_NS, Attr, Node

__all__ = ["MAX_NODES", "Traces", "iteration_traces"]

MAX_NODES = 1 << 22
"""Nodes of all traces at most."""

_COLLECTIVES = {
    "all_reduce": CollectiveType.ALL_REDUCE,
    "all_gather": CollectiveType.ALL_GATHER,
    "reduce_scatter": CollectiveType.REDUCE_SCATTER,
    "all_to_all": CollectiveType.ALL_TO_ALL,
}

_NO_CPU = Attr("is_cpu_op", "bool", False)


@dataclass(frozen=True, slots=True)
class Traces:
    """Traces of an iteration.

    Parameters
    ----------
    ranks : list of list of Node
        By NPU of the topology; nothing for an NPU that does not take part.
    groups : dict of str to list of int
        NPUs of each communicator, by the name that ``pg_name`` of a collective has.
    """

    ranks: list[list[Node]]
    groups: dict[str, list[int]]


@dataclass(frozen=True, slots=True)
class _Message(Profile):
    """A communication that is told apart, and takes no time."""

    pattern: str = ""
    groups: tuple[tuple[int, ...], ...] = ()
    size_bytes: int = 0


class _Recorder(Operations):
    """Says what each communication is, instead of simulating it."""

    def _profile(
        self,
        key: tuple[str, int, int, float],
        groups: Callable[[], tuple[tuple[int, ...], ...]],
        beside: Callable[[], tuple[tuple[int, ...], ...]] = tuple,
        *,
        urgent: bool = False,
        changes: int = 0,
    ) -> Profile | None:
        pattern, _, _, numbers = key
        found = groups()
        if numbers <= 0 or (not pattern.startswith("stream") and len(found[0]) < 2):
            return None
        return _Message(0.0, (), 0.0, pattern, found, round(NUMBER_BYTES * numbers))


def iteration_traces(
    topology: Topology, workload: Workload, placement: Placement, npu: Npu, scale: float = 1.0
) -> Traces:
    """Return the traces of one iteration.

    Parameters
    ----------
    topology, workload, placement : Topology, Workload, Placement
        What runs, and where.
    npu : Npu
        The roofline, which says how long compute takes.
    scale : float
        All compute takes so many times its time.

    Raises
    ------
    InputError
        As for ``simulate_iteration``, or there would be more than ``MAX_NODES`` nodes.
    """
    recorder = _Recorder(topology, placement)
    iteration = simulate_iteration(topology, workload, placement, npu, scale, recorder)
    return _Writer(iteration.tasks, placement, topology.npus).traces()


@dataclass
class _Rank:
    """The nodes of an NPU so far.

    ``done`` has by task what stands for its end, ``streams`` the last node of each way to storage:
    storage serves in one order, which runs over all stages. ``work_s`` is all compute so far.
    """

    nodes: list[Node] = field(default_factory=list[Node])
    done: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    streams: dict[str, int] = field(default_factory=dict[str, int])
    work_s: float = 0.0

    def worked(self, time_s: float) -> tuple[int, int]:
        """Return whole micro- and nanoseconds of compute, sums of which stay within one of it."""
        before = round(self.work_s * 1e6), round(self.work_s * 1e9)
        self.work_s += time_s
        return round(self.work_s * 1e6) - before[0], round(self.work_s * 1e9) - before[1]

    def add(
        self,
        name: str,
        kind: NodeType,
        after: Sequence[int],
        *attrs: Attr,
        duration_us: int = 0,
    ) -> int:
        number = len(self.nodes)
        parents = tuple(dict.fromkeys(after))
        node = Node(number, name, kind, (), parents, 0, duration_us, attrs=(_NO_CPU, *attrs))
        self.nodes.append(node)
        return number


class _Writer:
    """Makes nodes of tasks."""

    def __init__(self, tasks: Sequence[Task], placement: Placement, npus: int) -> None:
        self._tasks, self._placement = tasks, placement
        self._ranks = [_Rank() for _ in range(npus)]
        self._groups: dict[tuple[int, ...], str] = {}
        self._left = MAX_NODES

    def traces(self) -> Traces:
        """Return all of them."""
        for number, task in enumerate(self._tasks):
            if isinstance(task.profile, _Message):
                self._communicate(number, task, task.profile)
                continue
            for npu in chain.from_iterable(self._placement.mp_groups(task.place)):
                kind, after, rank = NodeType.COMP_NODE, self._after(npu, task), self._ranks[npu]
                duration_us, ns = rank.worked(task.profile.time_s)
                exact = Attr(DURATION_NS, "int64", ns)
                node = self._add(npu, task.name, kind, after, exact, duration_us=duration_us)
                rank.done[number] = (node,)
        groups = {name: list(group) for group, name in self._groups.items()}
        return Traces([rank.nodes for rank in self._ranks], groups)

    def _after(self, npu: int, task: Task) -> list[int]:
        """Return what of an NPU ends before a task begins there."""
        done = self._ranks[npu].done
        return [node for number in task.after for node in done.get(number, ())]

    def _add(
        self,
        npu: int,
        name: str,
        kind: NodeType,
        after: Sequence[int],
        *attrs: Attr,
        duration_us: int = 0,
    ) -> int:
        self._left -= 1
        if self._left < 0:
            message = f"must make at most {MAX_NODES:,} nodes of traces, not more"
            raise InputError("", "workload", message)
        return self._ranks[npu].add(name, kind, after, *attrs, duration_us=duration_us)

    def _communicate(self, number: int, task: Task, message: _Message) -> None:
        for group in message.groups:
            if message.pattern == "broadcast":
                self._multicast(number, task, message, group)
            elif message.pattern in _COLLECTIVES:
                self._collective(number, task, message, group)
            else:
                self._stream(number, task, message, group)

    def _collective(
        self, number: int, task: Task, message: _Message, group: tuple[int, ...]
    ) -> None:
        size = message.size_bytes
        if message.pattern == "all_gather":  # of which a trace says what an NPU contributes
            size = -(-size // len(group))
        attrs = (
            Attr("comm_type", "int64", int(_COLLECTIVES[message.pattern])),
            Attr("comm_size", "int64", size),
            Attr("pg_name", "string", self._group(group)),
        )
        for npu in group:
            kind, after = NodeType.COMM_COLL_NODE, self._after(npu, task)
            self._ranks[npu].done[number] = (self._add(npu, task.name, kind, after, *attrs),)

    def _group(self, members: tuple[int, ...]) -> str:
        """Return the name of a communicator."""
        return self._groups.setdefault(tuple(sorted(members)), str(len(self._groups) + 1))

    def _multicast(
        self, number: int, task: Task, message: _Message, group: tuple[int, ...]
    ) -> None:
        source, *targets = group
        after, sent = self._after(source, task), list[int]()
        for target in targets:
            attrs = (
                Attr("comm_src", "int64", source),
                Attr("comm_dst", "int64", target),
                Attr("comm_tag", "int64", number),
                Attr("comm_size", "int64", message.size_bytes),
            )
            sent.append(self._add(source, task.name, NodeType.COMM_SEND_NODE, after, *attrs))
            got = self._add(target, task.name, NodeType.COMM_RECV_NODE, (), *attrs)
            self._ranks[target].done[number] = (got,)
        self._ranks[source].done[number] = tuple(sent)

    def _stream(self, number: int, task: Task, message: _Message, group: tuple[int, ...]) -> None:
        loads = message.pattern == "stream_in"
        kind = NodeType.MEM_LOAD_NODE if loads else NodeType.MEM_STORE_NODE
        way = f"{task.kind} {message.pattern}"
        attrs = [Attr("tensor_size", "uint64", message.size_bytes)]
        if len(group) > 1:  # who loads the same, or stores what is added up
            attrs.append(Attr("pg_name", "string", self._group(group)))
        for npu in group:
            rank = self._ranks[npu]
            before = [rank.streams[way]] if way in rank.streams else []
            node = self._add(npu, task.name, kind, [*self._after(npu, task), *before], *attrs)
            rank.done[number], rank.streams[way] = (node,), node
