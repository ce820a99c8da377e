"""Tree all-reduces: schedule tables of the endpoints of a mesh."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.ace.operations import EXCHANGE_REDUCE, Buffer, Descriptor, FlowId, block_of
from fred_hw.ace.schedule_entry import CYCLE_BITS, PARENT, Arrival, ScheduleEntry
from fred_hw.ace.steps import EndpointProgram, Step
from fred_hw.checks import check_int
from fred_hw.spec import SwitchSpec

from .spec import MeshSpec

__all__ = ["CHILDREN", "TREE_ALGORITHM", "TreeEdge", "TreePhase", "TreeProgram", "steps_of"]

TREE_ALGORITHM = "multitree_one_port"
"""Name of all-reduces along the trees of MultiTree, whose NPUs have one link each."""

CHILDREN = 4
"""Children of an endpoint in a tree that have a dependency bit."""

_PREPARING, _RUNNING = 2, 1
"""Bits of STATUS and of SCHEDULE_STATUS."""


class TreeEdge(NamedTuple):
    """An edge of a root's tree: in ``step`` of an all-gather the parent sends to the child.

    A reduce-scatter runs in the opposite order of time.
    """

    root: int
    child: int
    parent: int
    step: int


def steps_of(edges: Sequence[TreeEdge]) -> int:
    """Return the steps of an all-reduce: twice those of the all-gather along the edges."""
    return 2 * max((1 + edge.step for edge in edges), default=0)


@dataclass(frozen=True)
class TreePhase:
    """The only phase of a tree program."""

    name: str = "all_reduce"
    number: int = 0


class _Message(NamedTuple):
    """A block sent between two NPUs, with its dependency ``bit`` at the receiver."""

    step: int
    source: int
    target: int
    tree: int
    reduces: bool
    waits: int
    receive_waits: int
    bit: int


@dataclass(frozen=True)
class TreeProgram(EndpointProgram):
    """Software writes to the endpoints of a mesh for an in-place all-reduce along trees.

    NPU n is the root of tree n, which carries block n of the data. With ``steps`` steps of an
    all-gather the all-reduce has twice as many. An endpoint has one link, so it sends one message
    at most in a step, and receives one.

    Parameters
    ----------
    mesh : MeshSpec
        The mesh, whose endpoints have a schedule table.
    edges : tuple of TreeEdge
        All trees.
    size : int
        Bytes of the buffer, whole flits for each block; it begins at address 0.
    step_cycles : int
        Estimated time of a step, 0 to 2^24 - 1 [cycles].

    Raises
    ------
    TypeError, ValueError
        The edges are no such trees, the table has too few entries, the size does not fit, or
        ``step_cycles`` is not an integer in its range.
    """

    mesh: MeshSpec
    edges: tuple[TreeEdge, ...]
    size: int
    step_cycles: int
    phases: tuple[TreePhase, ...] = (TreePhase(),)

    def __post_init__(self) -> None:
        most = (1 << CYCLE_BITS) - 1
        check_int("step_cycles", self.step_cycles, minimum=0, maximum=most)
        unit = self.npus * self.link.data_width // 8
        if self.size % unit or self.size <= 0:
            raise ValueError(f"size must be a multiple of {unit} bytes, not {self.size}")
        self._check_trees()
        entries = max(len(self.entries(npu)) for npu in range(self.npus))
        if entries > self.mesh.endpoint.schedule_entries:
            raise ValueError(
                f"endpoint.schedule_entries must be {entries} or more for these trees, not "
                f"{self.mesh.endpoint.schedule_entries}"
            )

    def _check_trees(self) -> None:
        """Fail if edges do not form trees, or need more links than an endpoint has."""
        busy: set[tuple[int, int, str]] = set()
        for root in range(self.npus):
            when = {root: -1}
            for edge in sorted((e for e in self.edges if e.root == root), key=lambda e: e.step):
                if edge.child in when or when.get(edge.parent, edge.step) >= edge.step:
                    raise ValueError(
                        f"tree of {root} must reach NPU {edge.child} once, from an NPU that it "
                        f"reached in an earlier step, not from {edge.parent} in step {edge.step}"
                    )
                when[edge.child] = edge.step
                for npu, does in ((edge.parent, "sends"), (edge.child, "receives")):
                    if (edge.step, npu, does) in busy:
                        raise ValueError(
                            f"NPU {npu} must have at most one message in step {edge.step}, as it "
                            f"{does} on one link"
                        )
                    busy.add((edge.step, npu, does))
            if when.keys() != set(range(self.npus)):
                raise ValueError(f"tree of {root} must reach all {self.npus} NPUs")

    @property
    def link(self) -> SwitchSpec:
        """Specification of the endpoints."""
        return self.mesh.link

    @property
    def npus(self) -> int:
        """Number of NPUs, each of which has an endpoint."""
        return self.mesh.routers

    @property
    def steps(self) -> int:
        """Steps of the all-reduce."""
        return steps_of(self.edges)

    def alone(self, name: str) -> "TreeProgram":
        """Return the program itself, which has only one phase."""
        return replace(self)

    def descriptors(self, npu: int, phase: TreePhase) -> list[Descriptor]:
        """Return the descriptors in an endpoint's entries."""
        return [one.descriptor for one in self.entries(npu)]

    def unit_steps(self) -> Sequence[Sequence[Step]]:
        """Return no steps, since routers have no registers."""
        return ()

    def entries(self, npu: int) -> list[ScheduleEntry]:
        """Return the schedule table of an endpoint."""
        return self._tables[npu]

    def load_steps(self, npu: int) -> list[Step]:
        """Return the steps that load the table of an endpoint, without its start."""
        registers = endpoint_map(self.link)

        def at(name: str) -> int:
            return registers.register(name).address

        steps = [Step(at("STEP_CYCLES"), self.step_cycles)]
        for entry in self.entries(npu):
            for name, word, value in entry.writes(self.link.data_width // 8):
                steps.append(Step(at(name) + 4 * word, value))
            steps.append(Step(at("STATUS"), 0, _PREPARING))
        return steps

    def run_steps(self) -> list[Step]:
        """Return the steps that run the table of an endpoint, and wait for completion."""
        registers = endpoint_map(self.link)
        return [
            Step(registers.register("SCHEDULE").address, 1),
            Step(registers.register("SCHEDULE_STATUS").address, 0, _RUNNING),
        ]

    @cached_property
    def _tables(self) -> list[list[ScheduleEntry]]:
        messages = sorted(self._messages())
        circuits = _circuits(messages, self.mesh.protocol.channels.names)
        sends: dict[tuple[int, int], _Message] = {}
        receives: dict[tuple[int, int], _Message] = {}
        for one in messages:
            sends[one.source, one.step] = receives[one.target, one.step] = one
        tables: list[list[ScheduleEntry]] = [[] for _ in range(self.npus)]
        for npu, step in sorted({*sends, *receives}):
            send, receive = sends.get((npu, step)), receives.get((npu, step))
            if send and receive and circuits[send[1:3]] == circuits[receive[1:3]]:
                tables[npu].append(self._entry(send, receive, circuits))
                continue
            if receive:
                tables[npu].append(self._entry(None, receive, circuits))
            if send:
                tables[npu].append(self._entry(send, None, circuits))
        return tables

    def _messages(self) -> Iterator[_Message]:
        """Yield all messages of the all-reduce."""
        last = self.steps // 2 - 1
        children: dict[tuple[int, int], list[int]] = defaultdict(list)
        # A parent reduces its children in the order in which they send.
        for edge in sorted(self.edges, key=lambda edge: -edge.step):
            children[edge.root, edge.parent].append(edge.child)
        for (root, parent), own in children.items():
            if len(own) > CHILDREN:
                raise ValueError(
                    f"NPU {parent} must have at most {CHILDREN} children in the tree of {root}, "
                    f"not {len(own)}"
                )

        def all_of(root: int, npu: int) -> int:
            return sum(2 << place for place in range(len(children[root, npu])))

        for root, child, parent, step in self.edges:
            place = children[root, parent].index(child)
            before, own = (2 << place) - 2, all_of(root, child)
            yield _Message(last - step, child, parent, root, True, own, before, 2 << place)
            there = all_of(root, root) if parent == root else 1 << PARENT
            yield _Message(last + 1 + step, parent, child, root, False, there, 0, 1 << PARENT)

    def _entry(
        self,
        send: _Message | None,
        receive: _Message | None,
        circuits: dict[tuple[int, int], str],
    ) -> ScheduleEntry:
        """Return the entry of a sent message, a received message, or both."""
        one = send or receive
        assert one is not None
        flit, whole = self.link.data_width // 8, Buffer(0, self.size)
        descriptor = Descriptor(
            operation=EXCHANGE_REDUCE if one.reduces else "exchange",
            circuit=circuits[one.source, one.target],
        )
        entry = ScheduleEntry(descriptor=descriptor, step=one.step)
        if send:
            block = block_of(whole, self.npus, send.tree, flit)
            flow = FlowId(send.target, unicast=True)
            descriptor = replace(descriptor, source=block, send=flow)
            entry = replace(entry, send=Arrival(send.tree, send.waits))
        if receive:
            block = block_of(whole, self.npus, receive.tree, flit)
            flow = FlowId(receive.source, unicast=True)
            descriptor = replace(descriptor, destination=block, receive=flow)
            arrival = Arrival(receive.tree, receive.receive_waits, receive.bit)
            entry = replace(entry, receive=arrival)
        return replace(entry, descriptor=descriptor)


def _circuits(messages: Sequence[_Message], names: Sequence[str]) -> dict[tuple[int, int], str]:
    """Return the virtual channel of each pair of source and target.

    A pair has one virtual channel, as no two may have the same flow. It is the one that both have
    not used for the longest time when they first send: a virtual channel changes its flow when all
    packets of the flow before are acknowledged.
    """
    found: dict[tuple[int, int], str] = {}
    used: dict[tuple[int, str, str], int] = defaultdict(lambda: -1)
    for one in messages:
        pair = one.source, one.target
        if pair not in found:
            found[pair] = min(
                names,
                key=lambda name: max(used[pair[0], name, "send"], used[pair[1], name, "receive"]),
            )
        used[pair[0], found[pair], "send"] = used[pair[1], found[pair], "receive"] = one.step
    return found
