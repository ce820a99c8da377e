"""Export of simulated training iterations as traces, one per NPU.

The tasks are those that ``fred estimate`` simulates (``perfmodel/training/graph.py``). A task of a
pipeline stage becomes a node on each NPU of the stage; a message to the next stage becomes a send
and a receive on each destination NPU, as a trace has no multicast. Other information is in
attributes (``marks``), from which the tasks can be reconstructed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from fred_hw.errors import InputError
from perfmodel.constants import NUMBER_BYTES
from perfmodel.network.fluid.task import Profile, Task
from perfmodel.training.estimate import Simulated
from perfmodel.training.graph import Work
from perfmodel.training.iteration import Plan
from perfmodel.training.operations import Groups, Operations
from perfmodel.training.placement.place import Placement

from .files import VERSION
from .kinds import NodeType
from .marks import ACKS, AFTER, COLLECTIVES, EFFORT, EXACT, NPUS, ROLE, STRATEGY, STREAMS, TASK
from .node import DURATION_NS, Attr, Metadata, Node, integers

__all__ = ["MAX_NODES", "Traces", "iteration_traces"]

MAX_NODES = 1 << 22
"""Largest number of nodes of all traces."""

_NO_CPU = Attr("is_cpu_op", "bool", False)


@dataclass(frozen=True, slots=True)
class Traces:
    """Traces of an iteration, and their communicator groups.

    Parameters
    ----------
    ranks : list of list of Node
        Nodes by NPU of the topology; empty for an NPU that does not take part.
    groups : dict of str to list of int
        NPUs of each communicator, by its ``pg_name`` in collectives.
    metadata : Metadata
        Metadata of each file, with the placement.
    """

    ranks: list[list[Node]]
    groups: dict[str, list[int]]
    metadata: Metadata = field(default_factory=lambda: Metadata(VERSION))


@dataclass(frozen=True, slots=True)
class _Message(Profile):
    """A communication that is recorded instead of simulated; it takes no time."""

    pattern: str = ""
    groups: Groups = ()
    numbers: float = 0.0
    role: str = ""
    to_stage: int = 0

    @property
    def size_bytes(self) -> int:
        return round(NUMBER_BYTES * self.numbers)


_SOME_S = 1.0
"""Placeholder time of acks [s]: marks that a stage waits for acks; the value is not used."""


class _Recorder(Operations):
    """Operations that record each communication instead of simulating it."""

    def _simulated(
        self, role: str, pattern: str, stage: int, to_stage: int, numbers: float
    ) -> Profile | None:
        found = self.groups(role, stage, to_stage)
        if numbers <= 0 or (not pattern.startswith("stream") and len(found[0]) < 2):
            return None
        return _Message(
            0.0,
            ack_s=_SOME_S,
            pattern=pattern,
            groups=found,
            numbers=numbers,
            role=role,
            to_stage=to_stage,
        )


def iteration_traces(simulated: Simulated) -> Traces:
    """Return the traces of one iteration, with the placement that the simulation found.

    Raises
    ------
    InputError
        There would be more than ``MAX_NODES`` nodes.
    """
    request, placement = simulated.request, simulated.iteration.placement
    recorder = _Recorder(request.topology, placement)
    where, what = request.topology, request.workload
    plan = Plan(where, what, placement, request.compute_npu, recorder)
    iteration = plan.iteration(request.compute_scale)
    return _Writer(iteration.tasks, placement, request.topology.npus).traces()


@dataclass(frozen=True, slots=True)
class _Doing:
    """A communication while its nodes are written.

    Parameters
    ----------
    number, task, message : int, Task, _Message
        The task.
    marks : tuple of Attr
        Marks of all its nodes.
    """

    number: int
    task: Task
    message: _Message
    marks: tuple[Attr, ...]


@dataclass
class _Rank:
    """The nodes of an NPU written so far.

    ``done`` has the nodes with which each task ends. ``streams`` has the last node of each
    direction to or from storage, which serves all stages in one order. ``work_s`` is the sum of all
    compute so far.
    """

    nodes: list[Node] = field(default_factory=list[Node])
    done: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    streams: dict[str, int] = field(default_factory=dict[str, int])
    work_s: float = 0.0

    def worked(self, time_s: float) -> tuple[int, int]:
        """Return compute in whole us and ns; sums of the returned values are off by at most one."""
        before = round(self.work_s * 1e6), round(self.work_s * 1e9)
        self.work_s += time_s
        return round(self.work_s * 1e6) - before[0], round(self.work_s * 1e9) - before[1]


class _Writer:
    """Converter of tasks to nodes."""

    def __init__(self, tasks: Sequence[Task], placement: Placement, npus: int) -> None:
        self._tasks, self._placement = tasks, placement
        self._ranks = [_Rank() for _ in range(npus)]
        self._groups: dict[tuple[int, ...], str] = {}
        self._acks: dict[int, int] = {}  # acknowledged task, by the task that waits for acks
        self._left = MAX_NODES

    def traces(self) -> Traces:
        """Return the traces of all tasks."""
        for number, task in enumerate(self._tasks):
            if isinstance(task.profile, _Message):
                self._communicate(number, task, task.profile)
            elif isinstance(task.profile, Work):
                self._compute(number, task, task.profile)
            else:  # acks of another message, which a trace does not represent
                (self._acks[number],) = task.after
        groups = {name: list(group) for group, name in self._groups.items()}
        placement = self._placement
        attrs = (
            Attr(STRATEGY, "string", str(placement.strategy)),
            Attr(NPUS, "int64_list", placement.npus),
        )
        return Traces([rank.nodes for rank in self._ranks], groups, Metadata(VERSION, attrs))

    def _compute(self, number: int, task: Task, work: Work) -> None:
        npus = list(chain.from_iterable(self._placement.mp_groups(task.place)))
        exact, effort = work.time_s, task.effort
        # A simulator with a roofline computes the time from these two; others use the duration. At
        # least one operation: a roofline gives nodes without any no time, even if they move bytes.
        needs = integers(
            num_ops=max(1, round(work.operations)), tensor_size=max(1, round(work.moved_bytes))
        )
        marks = (*self._marks(number, task, npus, exact), Attr(EFFORT, "double", float(effort)))
        for npu in npus:
            kind, after, rank = NodeType.COMP_NODE, self._after(npu, task), self._ranks[npu]
            duration_us, ns = rank.worked(work.time_s)
            attrs = (Attr(DURATION_NS, "int64", ns), *needs, *marks)
            node = self._add(npu, task.name, kind, after, *attrs, duration_us=duration_us)
            rank.done[number] = (node,)

    def _marks(
        self, number: int, task: Task, npus: Sequence[int], exact: float, *stages: int
    ) -> tuple[Attr, ...]:
        """Return the attributes of a task's nodes, including predecessors on other NPUs."""
        found = [
            Attr(TASK, "int64_list", (number, task.place, *stages)),
            Attr(EXACT, "double", float(exact)),
        ]
        acks = [self._acks[one] for one in task.after if one in self._acks]
        if acks:
            found.append(Attr(ACKS, "int64", acks[0]))
        unseen = tuple(
            one
            for one in task.after
            if one not in self._acks and not any(one in self._ranks[npu].done for npu in npus)
        )
        if unseen:
            found.append(Attr(AFTER, "int64_list", unseen))
        return tuple(found)

    def _after(self, npu: int, task: Task) -> list[int]:
        """Return the nodes of an NPU that end before a task starts there."""
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
        nodes, parents = self._ranks[npu].nodes, tuple(dict.fromkeys(after))
        number = len(nodes)
        nodes.append(Node(number, name, kind, (), parents, 0, duration_us, attrs=(_NO_CPU, *attrs)))
        return number

    def _communicate(self, number: int, task: Task, message: _Message) -> None:
        sends = message.pattern == "broadcast"
        npus = [group[0] for group in message.groups] if sends else chain(*message.groups)
        stages = (message.to_stage,) if sends else ()
        role = Attr(ROLE, "string", message.role)
        marks = (role, *self._marks(number, task, [*npus], message.numbers, *stages))
        one = _Doing(number, task, message, marks)
        for group in message.groups:
            if sends:
                self._multicast(one, group)
            elif message.pattern in COLLECTIVES:
                self._collective(one, group)
            else:
                self._stream(one, group)

    def _collective(self, one: _Doing, group: tuple[int, ...]) -> None:
        size = one.message.size_bytes
        if one.message.pattern == "all_gather":  # a trace gives the contribution of one NPU
            size = -(-size // len(group))
        attrs = (
            *integers(comm_type=COLLECTIVES[one.message.pattern], comm_size=size),
            Attr("pg_name", "string", self._group(group)),
            *one.marks,
        )
        for npu in group:
            kind, after = NodeType.COMM_COLL_NODE, self._after(npu, one.task)
            self._ranks[npu].done[one.number] = (
                self._add(npu, one.task.name, kind, after, *attrs),
            )

    def _group(self, members: tuple[int, ...]) -> str:
        """Return the name of a communicator, which is new if the group is."""
        return self._groups.setdefault(tuple(sorted(members)), str(len(self._groups) + 1))

    def _multicast(self, one: _Doing, group: tuple[int, ...]) -> None:
        source, *targets = group
        after, sent = self._after(source, one.task), list[int]()
        for target in targets:
            sizes = {"comm_tag": one.number, "comm_size": one.message.size_bytes}
            attrs = (*integers(comm_src=source, comm_dst=target, **sizes), *one.marks)
            sent.append(self._add(source, one.task.name, NodeType.COMM_SEND_NODE, after, *attrs))
            got = self._add(target, one.task.name, NodeType.COMM_RECV_NODE, (), *attrs)
            self._ranks[target].done[one.number] = (got,)
        self._ranks[source].done[one.number] = tuple(sent)

    def _stream(self, one: _Doing, group: tuple[int, ...]) -> None:
        kind = STREAMS[one.message.pattern]
        way = f"{one.task.kind} {one.message.pattern}"
        attrs = [Attr("tensor_size", "uint64", one.message.size_bytes)]
        if len(group) > 1:  # NPUs that load the same data, or store a reduced result
            attrs.append(Attr("pg_name", "string", self._group(group)))
        attrs += one.marks
        for npu in group:
            rank = self._ranks[npu]
            before = [rank.streams[way]] if way in rank.streams else []
            node = self._add(
                npu, one.task.name, kind, [*self._after(npu, one.task), *before], *attrs
            )
            rank.done[one.number], rank.streams[way] = (node,), node
