"""Completion times of a collective at each NPU on an otherwise idle network.

This holds in the model without congestion, where messages of other NPUs do not matter. Work that is
the same for all NPUs is computed once: if they start together, each of them behaves like the first,
and its phases take equally long whatever the other chunks do. A ring whose NPUs start at different
times has a closed form. All other cases are simulated message by message.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate

from perfmodel.clock import Clock
from perfmodel.collectives.schedule import Pattern
from tracemodel.astra.files.system import SystemFile
from tracemodel.astra.network import Network
from tracemodel.astra.transport import MODELS, Exchange, Transport, Unaware

from .plan import Axis, Phase, Plan, plan_of
from .program import program_of, ring_costs_ns
from .runs import ProgramRun
from .streams import Queues, Streams

__all__ = ["Ends", "collective_ends", "simulate"]


def collective_ends(
    kind: Pattern,
    data_bytes: int,
    network: Network,
    system: SystemFile,
    model: str = "unaware",
    *,
    group: tuple[int, ...] | None = None,
    source: str = "system",
    queues: int = 1,
) -> dict[int, int]:
    """Return when a collective that all NPUs start at time 0 ends at each NPU [ns].

    Parameters
    ----------
    kind : str
        ``all_reduce``, ``all_gather``, ``reduce_scatter`` or ``all_to_all``.
    data_bytes : int
        Bytes of an NPU before the collective, 0 or more.
    network, system : Network, SystemFile
        Network, and settings of the execution.
    model : str
        Network model, one of ``tracemodel.astra.transport.MODELS``.
    group : tuple of int or None
        Participants; None for all.
    source : str
        File of the system, for errors.
    queues : int
        Queues of each dimension.

    Raises
    ------
    InputError
        The system has no algorithm that fits.
    """
    plan = plan_of(kind, network, system, source, group, queues=queues)
    starts = [(npu, 0) for npu in plan.members(group[0] if group else 0)]
    if model == "unaware":
        return Ends(network).of(plan, data_bytes, starts)
    return simulate(plan, data_bytes, starts, network, MODELS[model])


def simulate(
    plan: Plan,
    data_bytes: int,
    starts: Sequence[tuple[int, int]],
    network: Network,
    model: type[Transport],
    trees: int = 0,
) -> dict[int, int]:
    """Return when a lone collective ends at each NPU, simulated message by message [ns].

    Parameters
    ----------
    plan : Plan
        Phases of the collective.
    data_bytes : int
        Bytes, as ASTRA-sim counts them: of an all-gather, what an NPU contributes.
    starts : sequence of tuple
        NPUs that take part, and when each begins [ns], in this order.
    network, model : Network, type
        The network, and the transport of messages on it.
    trees : int
        Number of chunks sent over a tree before.
    """
    clock = Clock(0)
    found: dict[int, int] = {}
    exchange = Exchange(model(network, clock), clock)
    chunks = plan.chunks(data_bytes)

    def end(npu: int) -> None:
        found[npu] = clock.now

    for npu, start in starts:
        one = Streams(plan, chunks, npu, None, trees, exchange, clock, partial(end, npu))
        clock.at(start, one.start)
    clock.run()
    return found


class _Alike:
    """Messages of one NPU that stands for all: each receive mirrors the NPU's own last send."""

    def __init__(self, axis: Axis, network: Network, clock: Clock[int]) -> None:
        self._axis, self._network, self._clock = axis, network, clock
        self._arrival = 0

    def send(self, place: int, count: int) -> None:
        npu = self._axis.member(0, place)
        self._arrival = self._clock.now + self._network.delay_ns(0, npu, count)

    def receive(self, place: int, count: int, received: Callable[[], object]) -> None:
        self._clock.at(self._arrival, received)


class Ends:
    """Completion times of collectives on a network without congestion.

    Parameters
    ----------
    network : Network
        The network.
    """

    def __init__(self, network: Network) -> None:
        self._network = network
        self._phases: dict[object, int] = {}
        self._known: dict[object, tuple[int, ...]] = {}

    def of(
        self, plan: Plan, data_bytes: int, starts: Sequence[tuple[int, int]], trees: int = 0
    ) -> dict[int, int]:
        """Return when a collective ends at each NPU [ns]; agrees with :func:`simulate`."""
        first = min(start for _, start in starts)
        after = tuple(start - first for _, start in starts)
        members = tuple(npu for npu, _ in starts)
        shape = tuple(tuple(self._edges(one)) if one.listed else one for one in plan.axes)
        alike = replace(plan, axes=())
        key = alike, shape, data_bytes, after, trees % 2
        listed = bool(plan.axes and plan.axes[0].listed)
        if not listed:
            key = *key, members
        ends = self._known.get(key)
        if ends is None:
            ends = self._known[key] = self._ends(plan, data_bytes, members, after, trees)
        return {npu: first + end for npu, end in zip(members, ends, strict=True)}

    def _ends(
        self,
        plan: Plan,
        data_bytes: int,
        members: tuple[int, ...],
        after: tuple[int, ...],
        trees: int,
    ) -> tuple[int, ...]:
        tree = any(one.algorithm == "double_binary_tree" for one in plan.axes)
        even = all(len({*self._edges(one)}) == 1 for one in plan.axes if one.listed)
        if len({*after}) == 1 and even and not tree:
            return (self._together(plan, data_bytes),) * len(members)
        if len(plan.axes) == 1 and plan.axes[0].algorithm == "ring":
            return self._ring(plan, data_bytes, members, after)
        starts = list(zip(members, after, strict=True))
        found = simulate(plan, data_bytes, starts, self._network, Unaware, trees)
        return tuple(found[npu] for npu in members)

    def _edges(self, axis: Axis) -> list[tuple[int, int]]:
        """Return the dimension and the number of links of each step around a ring."""
        found: list[tuple[int, int]] = []
        for place in range(axis.count):
            ends = [axis.member(0, one % axis.count) for one in (place, place + 1)]
            dimension, hops = self._network.crossing(*ends)
            found.append((self._network.dimensions.index(dimension), hops))
        return found

    def _together(self, plan: Plan, data_bytes: int) -> int:
        """Return the common end of equivalent NPUs that all start at time 0 [ns]."""
        clock, chunks = Clock(0), plan.chunks(data_bytes)

        def begin(chunk: int, number: int) -> None:
            length_ns = self._phase_ns(chunks[chunk][number], plan)
            clock.at(clock.now + length_ns, queues.ended, chunk, number)

        queues = Queues(chunks, plan.active_in_queue, begin, lambda: None, plan.order.intra)
        queues.start()
        clock.run()
        return clock.now

    def _phase_ns(self, phase: Phase, plan: Plan) -> int:
        """Return the duration of a phase that all NPUs start at the same time [ns]."""
        key = phase, plan.endpoint_ns, plan.memory_bytes_per_ns
        if key not in self._phases:
            program, axis = program_of(phase, plan), phase.axis
            if axis.algorithm == "ring":
                delay_ns = self._network.delay_ns(
                    axis.member(0, 0), axis.member(0, 1), program.size(0)
                )
                self._phases[key] = ring_costs_ns(phase, plan, program) + program.sends * delay_ns
            else:
                clock = Clock(0)
                messages = _Alike(axis, self._network, clock)
                ProgramRun(program, 0, messages, clock, lambda: None).begin()
                clock.run()
                self._phases[key] = clock.now
        return self._phases[key]

    def _ring(
        self, plan: Plan, data_bytes: int, members: tuple[int, ...], after: tuple[int, ...]
    ) -> tuple[int, ...]:
        """Return the ends of a ring whose ``members`` (in ring order) start at different times."""
        ends: list[Sequence[int]] = []
        active = plan.active_in_queue * plan.queues
        for number, (phase,) in enumerate(plan.chunks(data_bytes)):
            program, direction = program_of(phase, plan), -1 if phase.backward else 1
            starts = (after if number < active else ends[number - active])[::direction]
            ring = members[::direction]
            steps = zip(ring, [*ring[1:], ring[0]], strict=True)
            delays = [self._network.delay_ns(*ends, program.size(0)) for ends in steps]
            costs_ns = ring_costs_ns(phase, plan, program)
            last = _last(starts, delays, program.sends)
            ends.append([costs_ns + one for one in last][::direction])
        return tuple(max(npu) for npu in zip(*ends, strict=True))


def _last(starts: Sequence[int], delays: Sequence[int], sends: int) -> list[int]:
    """Return when the last message of a ring reaches each NPU, without packet costs [ns].

    Message k + 1 is sent when message k has been sent and that of the predecessor has arrived. So
    the last one arrives after the longest of all paths around the ring to it, of at most ``sends``
    steps; of those from one NPU that is the one with the most rounds.

    Parameters
    ----------
    starts : sequence of int
        Start of each NPU [ns].
    delays : sequence of int
        Delay of a message from each to the next [ns].
    sends : int
        Messages of each; at least the number of NPUs minus one.
    """
    count = len(starts)
    turn = sum(delays)
    passed = [0, *accumulate(delays)]
    found: list[int] = []
    for npu in range(count):
        best = 0
        for steps in range(sends - count + 1, sends + 1):
            source = (npu - steps) % count
            turns = steps // count
            path_ns = passed[npu] - passed[source] + (turn if source > npu else 0)
            best = max(best, starts[source] + turns * turn + path_ns)
        found.append(best)
    return found
