"""Phases of a collective: members, algorithm and bytes of each phase."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from fred_hw.errors import InputError
from perfmodel.collectives.algorithm import SCATTERED
from perfmodel.collectives.schedule import ROOTED, Pattern
from perfmodel.collectives.themis.plan import GAP_DENOMINATOR, ChunkPlan, plan_sizes
from tracemodel.astra.files.system import ORDERS, SystemFile
from tracemodel.astra.network import Shape

__all__ = ["GROUP_ENDPOINT_NS", "Axis", "Load", "Order", "Phase", "Plan", "chunk_bytes", "plan_of"]

GROUP_ENDPOINT_NS = 10
"""Endpoint delay of a ring over a subset of the NPUs [ns]; fixed, whatever the file says
(``MemBus``, "fast")."""


@dataclass(frozen=True)
class Axis:
    """Members of the phase that an NPU takes part in, and the algorithm they use.

    Parameters
    ----------
    queue : int
        Dimension in whose queue the chunks wait.
    count : int
        NPUs in a phase.
    stride : int
        Difference between the numbers of adjacent members, unless ``listed`` is given.
    algorithm : str
        ``ring``, ``direct``, ``halving_doubling``, ``double_binary_tree``, or ``chain`` (broadcast
        and reduce).
    window : int
        Messages that an NPU has in flight at a time in a direct algorithm; 0 for all.
    listed : tuple of int or None
        Members in ring order, for a group without a stride.
    root : int
        Position of the root of a broadcast or reduce.
    """

    queue: int
    count: int
    stride: int
    algorithm: str
    window: int = 0
    listed: tuple[int, ...] | None = None
    root: int = 0

    @property
    def root_first(self) -> tuple[int, ...]:
        """The listed NPUs in ring order, starting at the root."""
        assert self.listed is not None
        return self.listed[self.root :] + self.listed[: self.root]

    def place(self, npu: int) -> int:
        """Return the position of an NPU among the participants."""
        if self.listed is not None:
            return self.listed.index(npu)
        return npu // self.stride % self.count

    def member(self, npu: int, place: int) -> int:
        """Return the NPU at a given position of a phase."""
        if self.listed is not None:
            return self.listed[place]
        return npu + (place - self.place(npu)) * self.stride


@dataclass(frozen=True)
class Phase:
    """One phase of a collective, for one chunk.

    Parameters
    ----------
    axis, kind : Axis, str
        NPUs and algorithm of the phase, and its pattern.
    data_bytes : int
        Bytes of an NPU before the phase.
    queue : int
        Queue of the dimension in which the phase waits.
    backward : bool
        Whether messages go to the previous NPU of a ring, not to the next, as those of the second
        half of the queues do (``QueueLevelHandler.cc``).
    """

    axis: Axis
    kind: Pattern
    data_bytes: int
    queue: int = 0
    backward: bool = False

    @property
    def result_bytes(self) -> int:
        """Bytes that an NPU holds after the phase."""
        if self.kind == "all_gather":
            return self.data_bytes * self.axis.count
        return self.data_bytes // (self.axis.count if self.kind == "reduce_scatter" else 1)


class Load(NamedTuple):
    """Size and bandwidth of an axis: NPUs per line and bandwidth per NPU."""

    npus: int
    bytes_per_s: float


@dataclass(frozen=True)
class Order:
    """Scheduling policy: the order of dimensions for a chunk, and of chunks in a dimension.

    Parameters
    ----------
    policy : str
        Policy for the dimensions of a chunk, one of ``perfmodel.collectives.themis.plan.POLICIES``.
    intra : str
        Policy for chunks that wait for a dimension, one of ``themis.queues.INTRA``.
    gap_denominator : int
        See ``themis.plan.plan``.
    loads : tuple of Load
        Size and bandwidth of the axes of a plan.
    """

    policy: str = "dimension_order"
    intra: str = "fifo"
    gap_denominator: int = GAP_DENOMINATOR
    loads: tuple[Load, ...] = ()


@dataclass(frozen=True)
class Plan:
    """How a collective is executed, independent of its size.

    Parameters
    ----------
    kind : str
        Kind of the collective.
    axes : tuple of Axis
        Axes of the collective, the innermost first; none if there is only one NPU.
    baseline : bool
        Whether an all-reduce is one all-reduce along each axis, instead of reduce-scatters and
        all-gathers.
    splits, active : int
        Chunks, and how many of them a dimension works on at a time.
    endpoint_ns : int
        Delay before each message and after the last [ns].
    memory_bytes_per_ns : float or None
        Rate of reductions' three accesses to memory; None if they are free.
    npus : int
        NPUs in the network, the least number of bytes in a chunk.
    traces : str
        Prefix of the traces that define a custom collective on the single axis, by position; empty
        with an algorithm.
    queues : int
        Queues of each dimension, used by phases in turn.
    order : Order
        Order of dimensions and chunks.
    """

    kind: Pattern
    axes: tuple[Axis, ...]
    baseline: bool
    splits: int
    active: int
    endpoint_ns: int
    memory_bytes_per_ns: float | None
    npus: int
    traces: str = ""
    queues: int = 1
    order: Order = Order()

    @property
    def active_in_queue(self) -> int:
        """Number of chunks that each queue processes at the same time."""
        return -(-self.active // self.queues)

    def vector_bytes(self, data_bytes: int, members: int) -> int:
        """Return the size of the whole vector [B], given ASTRA-sim's count of bytes per NPU."""
        return data_bytes * (members if self.kind == "all_gather" else 1)

    def reduction_ns(self, count: int) -> int:
        """Return the duration of reducing a number of bytes [ns]."""
        rate = self.memory_bytes_per_ns
        return 0 if rate is None else 3 * int(count / rate)

    def first(self, npu: int) -> int:
        """Return the first member of the collective that an NPU takes part in."""
        for axis in self.axes:
            npu = axis.member(npu, 0)
        return npu

    def members(self, npu: int) -> tuple[int, ...]:
        """Return the members of the collective that an NPU takes part in."""
        found = [self.first(npu)]
        for axis in self.axes:
            found = [axis.member(one, place) for one in found for place in range(axis.count)]
        return tuple(found)

    def phases(self, chunk: ChunkPlan) -> list[Phase]:
        """Return the phases of a chunk."""
        return list(self._phases(chunk))

    def _phases(self, chunk: ChunkPlan) -> Iterator[Phase]:
        axes = [self.axes[number] for number in chunk.order]
        steps: list[tuple[Axis, Pattern]] = [(axis, self.kind) for axis in axes]
        if self.kind == "all_reduce" and not self.baseline:
            scatter: Pattern = "reduce_scatter"
            gather: Pattern = "all_gather"
            inner = axes[:-1] if chunk.merged else axes
            steps[: len(inner)] = [(axis, scatter) for axis in inner]
            steps.extend((axis, gather) for axis in reversed(inner))
        left = chunk.size_bytes
        for axis, kind in steps:
            phase = Phase(axis, kind, left)
            left = phase.result_bytes
            yield phase

    def chunks(self, data_bytes: int) -> list[list[Phase]]:
        """Return the phases of each chunk of a collective."""
        if not self.axes:
            return []
        found = [self.phases(one) for one in self._ordered(chunk_bytes(self, data_bytes))]
        return found if self.queues == 1 else [*self._queued(found)]

    def _ordered(self, sizes: Sequence[int]) -> list[ChunkPlan]:
        """Return chunks of the given sizes, each with its order of axes."""
        if self.kind in SCATTERED and self.order.policy != Order.policy:
            order = self.order
            how = order.policy, order.gap_denominator
            return plan_sizes(order.loads, sizes, self.kind, *how, compatible=True)
        numbers = tuple(range(len(self.axes)))
        if self.kind in ("all_gather", "broadcast"):
            numbers = numbers[::-1]
        return [ChunkPlan(size, numbers, merged=True) for size in sizes]

    def _queued(self, chunks: Sequence[Sequence[Phase]]) -> Iterator[list[Phase]]:
        """Yield chunks, assigning their phases to the queues of each dimension in rotation."""
        taken: dict[int, int] = {}
        for phases in chunks:
            queued: list[Phase] = []
            for one in phases:
                queue = taken.get(one.axis.queue, 0)
                taken[one.axis.queue] = (queue + 1) % self.queues
                queued.append(replace(one, queue=queue, backward=queue >= self.queues // 2))
            yield queued


def chunk_bytes(plan: Plan, data_bytes: int) -> list[int]:
    """Return the size of each chunk [B]; all chunks have the same size.

    S bytes in k splits are chunks of floor(S / k) bytes, as many as S bytes need: more than k if k
    does not divide S (``Sys::generate_collective``). A chunk has at least one byte for each NPU of
    the network, or in an all-gather at least one byte (``Sys::determine_chunk_size``). An
    all-gather with fewer bytes than splits therefore has one chunk for each byte, where ASTRA-sim
    divides by zero; one without bytes has one chunk.
    """
    size = data_bytes // plan.splits
    if plan.kind == "all_gather":
        size = max(1, size)
    elif size < plan.npus:
        size, data_bytes = plan.npus, plan.npus * plan.splits
    return [size] * max(1, -(-data_bytes // size))


def plan_of(
    kind: Pattern,
    network: Shape,
    system: SystemFile,
    source: str,
    group: tuple[int, ...] | None = None,
    involved: Sequence[bool] | None = None,
    root: int | None = None,
    queues: int = 1,
) -> Plan:
    """Return the plan by which a system executes a collective.

    Parameters
    ----------
    kind : str
        Kind of the collective.
    network, system : Shape, SystemFile
        Network, and settings of the execution.
    source : str
        File of the system, for errors.
    group : tuple of int or None
        Participants; None for all. A group of some NPUs is one ring over those listed.
    involved : sequence of bool or None
        Dimensions in which all take part; the others are left out; all by default. Ignored with a
        group.
    root : int or None
        Source of a broadcast, or destination of a reduce; by default the first participant.
    queues : int
        Queues of each dimension.

    Raises
    ------
    InputError
        The system has no algorithm that fits.
    """
    axes: list[Axis] = []
    endpoint_ns = system.endpoint_delay
    if group is not None and len(group) < network.npus:
        endpoint_ns = GROUP_ENDPOINT_NS
        if len(group) > 1:
            axes = [_listed(kind, group, root)]
    else:
        names = system.implementation(kind, network.sizes, source)
        axes = _axes(names, network, involved if group is None else None, root or 0)
    return Plan(
        kind=kind,
        axes=tuple(axes),
        baseline=system.collective_optimization == "baseline",
        splits=system.splits,
        active=system.active_chunks,
        endpoint_ns=endpoint_ns,
        memory_bytes_per_ns=system.local_mem_bw,
        npus=network.npus,
        queues=queues,
        order=_order(axes, network, system, source, queues),
    )


def _order(
    axes: Sequence[Axis], network: Shape, system: SystemFile, source: str, queues: int
) -> Order:
    """Return the scheduling policy of a system, with the bandwidth of each axis's algorithm."""
    policy, intra = ORDERS[system.inter_dimension_scheduling], system.intra_dimension_scheduling
    if policy == Order.policy or len(axes) < 2:
        return Order(intra=intra.lower())
    loads: list[Load] = []
    for axis in axes:
        joins = network.joins(axis.queue)
        if joins is None:
            message = "must be baseline if a dimension is a fabric, not "
            message += repr(system.inter_dimension_scheduling)
            raise InputError(source, "inter-dimension-scheduling", message)
        links = 1
        if axis.algorithm == "direct" and joins.kind == "fully_connected":
            links = axis.count - 1
        elif axis.algorithm == "ring" and queues > 1:  # half of the queues run in reverse
            links = min(2, axis.count - 1)
        loads.append(Load(axis.count, links * joins.bandwidth))
    return Order(policy, intra.lower(), system.gap_denominator, tuple(loads))


def _axes(
    names: Sequence[str], network: Shape, involved: Sequence[bool] | None, root: int
) -> list[Axis]:
    """Return the dimensions in which all NPUs take part, with the named algorithms."""
    sizes = (network.npus,) if names[0].startswith("one") else network.sizes
    axes: list[Axis] = []
    for number, (name, count) in enumerate(zip(names, sizes, strict=True)):
        if involved is not None and not [*involved, *[True] * 9][number]:
            continue
        algorithm, window = _algorithm(name)
        place = network.place(root, number)
        axes.append(Axis(number, count, network.strides[number], algorithm, window, root=place))
    return axes


def _listed(kind: Pattern, group: tuple[int, ...], root: int | None) -> Axis:
    """Return a list of NPUs as one ring, or for a broadcast as one chain."""
    name = "chain" if kind in ROOTED else "ring"
    first = 0 if root is None else group.index(root)
    return Axis(0, len(group), 0, name, listed=group, root=first)


def _algorithm(name: str) -> tuple[str, int]:
    """Return the algorithm and the window that a name in a file stands for."""
    plain = name.removeprefix("one").lower()
    if plain.startswith("direct"):
        return "direct", int(plain.removeprefix("direct") or 0)
    names = {"halvingdoubling": "halving_doubling", "doublebinarytree": "double_binary_tree"}
    return names.get(plain, plain), 0
