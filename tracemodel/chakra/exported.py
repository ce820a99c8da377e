"""Reconstruction of the tasks of a training iteration from exported traces.

An iteration has information for which its traces have no other place: that a stage sends one
message to many, the order of messages on a link, and the order in which I/O controllers serve. Its
nodes carry this information as marks (``marks``), so traces with complete marks end when the
iteration does. Sizes, durations, dependencies and participants are those of the nodes; if the marks
disagree with them, for example because a node was changed afterwards, the traces are treated like
any others.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, cast

from fred_hw.compiler.placement import Strategy
from fred_hw.errors import InputError
from perfmodel.constants import NUMBER_BYTES
from perfmodel.memory.file import MemoryFile
from perfmodel.network.fluid.task import Profile, Task
from perfmodel.network.fluid.tasks import Run, Simulation
from perfmodel.run_figures import Figures
from perfmodel.topology.graph import Topology
from perfmodel.training.counted import counted
from perfmodel.training.energy import EnergyTable
from perfmodel.training.graph import Work
from perfmodel.training.moved import TopologyLinks, figures, moved_by
from perfmodel.training.operations import ROLES, Operations
from perfmodel.training.parts import PARTS, PRIORITIES
from perfmodel.training.placement.place import Placement

from .files import read_tasks
from .kinds import NodeType
from .marks import ACKS, AFTER, COLLECTIVES, EFFORT, EXACT, NPUS, ROLE, STRATEGY, STREAMS, TASK
from .node import DURATION_NS, Metadata
from .node import Node as WholeNode
from .node import Task as TaskNode
from .traces import find_traces

__all__ = ["Exported", "ExportedRun", "exported_of", "load_exported", "run_exported"]

_PATTERNS: dict[int, str] = {kind: pattern for pattern, kind in COLLECTIVES.items()}
_SENDS, _RECEIVES = NodeType.COMM_SEND_NODE, NodeType.COMM_RECV_NODE
_COMPUTES, _COLLECTIVE = NodeType.COMP_NODE, NodeType.COMM_COLL_NODE
_STREAMS: dict[int, str] = {kind: pattern for pattern, kind in STREAMS.items()}
_MOST = 1 << 62
_ROUNDING_NS = 1.5
"""Largest rounding error of a duration [ns]: durations are rounded so that their sums stay within
one."""
_OF_MESSAGES = {"comm_src", "comm_dst", "comm_tag", "comm_size"}
_OTHERS = {"is_cpu_op", DURATION_NS, "comm_type", "pg_name", "tensor_size", "num_ops"}
_WRITTEN = {*_OF_MESSAGES, *_OTHERS, TASK, ROLE, EXACT, EFFORT, AFTER, ACKS}
"""Attributes that the exporter writes; a node with any other attribute was changed."""


Node = WholeNode | TaskNode


class _OtherError(Exception):
    """Traces are not those of an exported iteration, or were changed afterwards."""


@dataclass(frozen=True, slots=True)
class _Marks:
    """Properties of a task that all of its nodes share.

    Parameters
    ----------
    stage, to_stage : int
        Pipeline stage, and the one that a message goes to, else 0.
    role, pattern : str
        See ``Operations.communication``; empty if it computes.
    exact, effort : float
        Seconds and operations of compute; numbers in a group, and 0.
    needs : tuple of int or None
        Operations of compute on one NPU, and bytes that it moves, if the nodes say so.
    after : tuple of int
        Tasks that it waits for, but for those that nodes wait for.
    acks : int or None
        Message whose acks it waits for.
    """

    stage: int
    to_stage: int
    role: str
    pattern: str
    exact: float
    effort: float
    needs: tuple[int, ...] | None
    after: tuple[int, ...]
    acks: int | None


@dataclass(slots=True)
class _Seen:
    """The part of a task found in the nodes read so far.

    ``after`` holds the dependencies of its nodes, and ``parts`` the participants and their
    partners.
    """

    marks: _Marks
    after: frozenset[int] | None = None
    parts: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])


@dataclass(frozen=True)
class Exported:
    """Exported traces of an iteration.

    Parameters
    ----------
    placement : Placement
        Strategy, and placement of the workers.
    tasks : mapping of int to pair
        Content of each task's nodes, in the order of task numbers, and the tasks on which it
        depends.
    ranks : tuple of dict
        Tasks of each NPU, and the type of its nodes.
    """

    placement: Placement
    tasks: Mapping[int, tuple[_Marks, tuple[int, ...]]]
    ranks: tuple[dict[int, int], ...]


@dataclass(frozen=True)
class ExportedRun:
    """Result of running an iteration from its traces.

    Parameters
    ----------
    spans : tuple
        For each NPU when it computes, when it communicates, and when it loads or stores [s].
    assumptions : tuple of str
        Assumptions of its communication.
    figures : callable
        Returns the figures of the iteration, given the energy table and the time [s].
    """

    spans: tuple[tuple[list[tuple[float, float]], ...], ...]
    assumptions: tuple[str, ...]
    figures: Callable[[EnergyTable, float], Figures]


def load_exported(prefix: str | Path, groups: Mapping[str, Sequence[int]]) -> Exported | None:
    """Return the iteration that traces were exported from; None if none, or if unreadable.

    Parameters
    ----------
    prefix : str or Path
        Folder and name of the traces, without rank and ending.
    groups : mapping of str to sequence of int
        NPUs of each communicator.
    """
    try:
        return exported_of(_files(find_traces(prefix)), groups)
    except InputError:
        return None


def _files(paths: Iterable[Path]) -> Iterator[tuple[Metadata, Iterable[Node]]]:
    for path in paths:
        with read_tasks(path) as nodes:
            yield nodes.metadata, nodes


def exported_of(
    traces: Iterable[tuple[Metadata, Iterable[Node]]], groups: Mapping[str, Sequence[int]]
) -> Exported | None:
    """Return the iteration that traces were exported from; None if there is none.

    Parameters
    ----------
    traces : iterable of pair
        Metadata and nodes of each NPU.
    groups : mapping of str to sequence of int
        NPUs of each communicator.
    """
    reader = None
    try:
        for metadata, nodes in traces:
            reader = reader or _Reader(metadata, groups)
            reader.take(metadata, nodes)
        return reader and reader.exported()
    except _OtherError:
        return None


def run_exported(
    exported: Exported,
    topology: Topology,
    algorithm: str = "published",
    memory: MemoryFile | None = None,
    roofline_ns: Callable[[int, int], int] | None = None,
) -> ExportedRun | None:
    """Run an iteration from its traces; return None if the fabric cannot run it.

    Parameters
    ----------
    exported : Exported
        The iteration.
    topology, algorithm, memory : Topology, str, MemoryFile or None
        Fabric, algorithm and storage, as for ``Operations``.
    roofline_ns : callable or None
        Time of compute, given operations and bytes [ns]; if None it is as long as traces say.
    """
    streams = any(marks.pattern.startswith("stream") for marks, _ in exported.tasks.values())
    if len(exported.ranks) > topology.npus or (streams and not (topology.io_nodes or memory)):
        return None
    operations = Operations(topology, exported.placement, algorithm, memory)
    tasks: list[Task] = []
    places: dict[int, int] = {}
    for number, (marks, before) in exported.tasks.items():
        after = [places[one] for one in before]
        if marks.acks is not None:
            last = places[marks.acks]
            wait_s = tasks[last].profile.ack_s
            if wait_s:
                after.append(len(tasks))
                waits = Profile(wait_s)
                tasks.append(_task("pp", marks.stage, waits, (last,)))
        places[number] = len(tasks)
        if not marks.role:
            profile, kind = _compute(marks, roofline_ns), "compute"
        else:
            what = (marks.role, marks.pattern, marks.stage, marks.exact, marks.to_stage)
            profile, kind = operations.communication(*what), ROLES[marks.role].kind
        if profile is None:
            return None
        tasks.append(_task(kind, marks.stage, profile, tuple(sorted(after)), marks.effort))
    run = Simulation(tasks, operations.capacities).run()
    spans = tuple(_spans(rank, places, run) for rank in exported.ranks)
    strategy = exported.placement.strategy
    moved = tuple(moved_by(counted(tasks, run), strategy.workers // strategy.pp))

    def summed(table: EnergyTable, time_s: float) -> Figures:
        return figures(table, TopologyLinks(topology), time_s, moved, PARTS)

    return ExportedRun(spans, (*operations.assumptions, operations.storage), summed)


def _compute(marks: _Marks, roofline_ns: Callable[[int, int], int] | None) -> Profile | None:
    """Return the compute of a task; None if a roofline lacks operations or bytes."""
    if marks.needs is None:
        return Profile(marks.exact) if roofline_ns is None else None
    time_s = 1e-9 * roofline_ns(*marks.needs) if roofline_ns else marks.exact
    operations, moved_bytes = marks.needs
    return Work(time_s, operations=operations, moved_bytes=moved_bytes)


def _task(
    kind: str, stage: int, profile: Profile, after: tuple[int, ...], effort: float = 0.0
) -> Task:
    return Task(kind, stage, kind, profile, after, effort, PRIORITIES.get(kind, 0))


def _spans(
    rank: Mapping[int, int], places: Mapping[int, int], run: Run
) -> tuple[list[tuple[float, float]], ...]:
    """Return the spans in which an NPU computes, communicates, and accesses storage."""
    found: tuple[list[tuple[float, float]], ...] = ([], [], [])
    for number, kind in rank.items():
        which = 0 if kind == _COMPUTES else 2 if kind in _STREAMS else 1
        place = places[number]
        found[which].append((run.start_s[place], run.end_s[place]))
    return found


class _Reader:
    """Reader of the traces of an iteration; fails when they are not consistent with one.

    Parameters
    ----------
    metadata : Metadata
        Metadata of the first trace, which is that of all.
    groups : mapping of str to sequence of int
        NPUs of each communicator.
    """

    def __init__(self, metadata: Metadata, groups: Mapping[str, Sequence[int]]) -> None:
        self._metadata, self._placement = metadata, _placement(metadata)
        self._groups = {name: tuple(sorted(members)) for name, members in groups.items()}
        self._seen: dict[int, _Seen] = {}
        self._ranks: list[dict[int, int]] = []

    def take(self, metadata: Metadata, nodes: Iterable[Node]) -> None:
        """Read the trace of the next NPU; NPUs come in order."""
        _check(metadata.attrs == self._metadata.attrs)
        self._ranks.append(self._rank(len(self._ranks), nodes))

    def exported(self) -> Exported:
        """Return the iteration that all traces read belong to."""
        tasks: dict[int, tuple[_Marks, tuple[int, ...]]] = {}
        for number, seen in sorted(self._seen.items()):
            after = {*(seen.after or ()), *seen.marks.after}
            _check(all(one in tasks for one in after))
            acks = seen.marks.acks
            _check(acks is None or (acks in tasks and tasks[acks][0].role == "pp"))
            _check(sorted(seen.parts) == sorted(_parts(self._placement, seen.marks)))
            tasks[number] = seen.marks, tuple(sorted(after))
        return Exported(self._placement, tasks, tuple(self._ranks))

    def _rank(self, rank: int, nodes: Iterable[Node]) -> dict[int, int]:
        """Read the nodes of an NPU; return its tasks and the type of their nodes."""
        tasks: dict[int, int] = {}
        begun: list[tuple[int, tuple[int, ...]]] = []
        numbers: dict[int, int] = {}
        for node in nodes:
            number, marks, attrs = _marks(node)
            seen = self._seen.setdefault(number, _Seen(marks))
            _check(seen.marks == marks and node.id not in numbers and not node.ctrl_deps)
            seen.parts.append(self._part(rank, number, int(node.type), marks, attrs))
            numbers[node.id], tasks[number] = number, int(node.type)
            if node.type == _RECEIVES:
                _check(not node.data_deps)
            else:
                begun.append((number, node.data_deps))
        for number, deps in begun:
            _check(all(one in numbers for one in deps))
            after = frozenset(numbers[one] for one in deps)
            seen = self._seen[number]
            _check(seen.after in (None, after))
            seen.after = after
        return tasks

    def _part(
        self, rank: int, number: int, kind: int, marks: _Marks, attrs: Mapping[str, Any]
    ) -> tuple[int, ...]:
        """Return the node type of a task's node, its NPU and the other participants."""
        _check(attrs.get("is_cpu_op") is False and attrs.keys() <= _WRITTEN)
        if kind == _COMPUTES:
            (duration_ns,) = _numbers((attrs.get(DURATION_NS),))
            _check(abs(duration_ns - 1e9 * marks.exact) <= _ROUNDING_NS)
            return kind, rank
        size = round(NUMBER_BYTES * marks.exact)
        if kind in (_SENDS, _RECEIVES):
            ends = _numbers((attrs.get("comm_src"), attrs.get("comm_dst")))
            _check(attrs.get("comm_size") == size and attrs.get("comm_tag") == number)
            _check(rank == ends[kind == _RECEIVES])
            return kind, *ends
        name = attrs.get("pg_name")
        members = (rank,) if name is None else self._groups.get(str(name), ())
        if kind == _COLLECTIVE:
            if marks.pattern == "all_gather":
                size = -(-size // max(1, len(members)))
            _check(attrs.get("comm_size") == size)
        else:
            _check(attrs.get("tensor_size") == size)
        return kind, rank, *members


def _check(so: bool) -> None:
    if not so:
        raise _OtherError


def _placement(metadata: Metadata) -> Placement:
    """Return the placement that the metadata of a file describes."""
    attrs: dict[str, object] = {one.name: one.value for one in metadata.attrs}
    npus = _numbers(attrs.get(NPUS))
    try:
        strategy = Strategy.parse(str(attrs.get(STRATEGY)))
    except ValueError:
        raise _OtherError from None
    _check(len({*npus}) == len(npus) == strategy.workers)
    return Placement(strategy, npus, "exported")


def _numbers(value: object) -> tuple[int, ...]:
    """Return the integers of a metadata list, each 0 or more."""
    _check(isinstance(value, tuple))
    found = cast("tuple[object, ...]", value)
    _check(all(type(one) is int and 0 <= one < _MOST for one in found))
    return cast("tuple[int, ...]", found)


def _positive(value: object) -> float:
    _check(isinstance(value, float) and isfinite(value) and value >= 0)
    return cast("float", value)


def _marks(node: Node) -> tuple[int, _Marks, dict[str, Any]]:
    """Return a node's task number, the properties of the task, and the node's attributes."""
    attrs: dict[str, Any] = {one.name: one.value for one in node.attrs}
    role: object = attrs.get(ROLE, "")
    kind, pattern = node.type, ""
    if kind == _COLLECTIVE:
        pattern = _PATTERNS.get(attrs.get("comm_type", -1), "")
    elif kind in (_SENDS, _RECEIVES):
        pattern = "broadcast"
    elif kind != _COMPUTES:
        pattern = _STREAMS.get(kind, "")
    _check((role in ROLES) == (pattern != "") and (role == "") == (kind == _COMPUTES))
    task, sends = _numbers(attrs.get(TASK)), role == "pp"
    _check(len(task) == 2 + sends and sends == (pattern == "broadcast"))
    number, stage, to_stage = (*task, 0)[:3]
    (acks,) = _numbers((attrs[ACKS],)) if ACKS in attrs else (None,)
    return (
        number,
        _Marks(
            stage=stage,
            to_stage=to_stage,
            role=str(role),
            pattern=pattern,
            exact=_positive(attrs.get(EXACT)),
            effort=_positive(attrs.get(EFFORT, 0.0)),
            needs=_needs(kind, attrs),
            after=_numbers(attrs.get(AFTER, ())),
            acks=acks,
        ),
        attrs,
    )


def _needs(kind: int, attrs: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Return the operations and bytes of compute; None if a node does not state both."""
    if kind != _COMPUTES or not {"num_ops", "tensor_size"} <= attrs.keys():
        return None
    return _numbers((attrs["num_ops"], attrs["tensor_size"]))


def _parts(placement: Placement, marks: _Marks) -> Iterable[tuple[int, ...]]:
    """Return the type of each node of a task, its NPU and the other participants."""
    stages = range(placement.strategy.pp)
    _check(marks.stage in stages and marks.to_stage in stages)
    if not marks.role:
        return [
            (int(_COMPUTES), npu) for group in placement.mp_groups(marks.stage) for npu in group
        ]
    groups = ROLES[marks.role].groups(placement, marks.stage, marks.to_stage)
    if marks.role == "pp":
        return [
            (int(kind), source, target)
            for source, *targets in groups
            for target in targets
            for kind in (_SENDS, _RECEIVES)
        ]
    kind = int(STREAMS.get(marks.pattern, _COLLECTIVE))
    return [(kind, npu, *sorted(group)) for group in groups for npu in group]
