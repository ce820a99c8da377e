"""Collectives and messages as flows that share the bandwidth of every link."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial

from perfmodel.clock import Clock
from perfmodel.collectives.schedule import ROOTED
from perfmodel.network.fluid.sharing import SharedFlow, Sharing
from tracemodel.astra.collectives.plan import Plan
from tracemodel.astra.collectives.streams import Queues

from .lines import Cost, Line, Link
from .network import FluidNetwork, WholeLine
from .phases import phase_cost

__all__ = ["Flows"]

_MESSAGES = 1 << 16

_Crossed = tuple[Line, Cost, list[tuple[int, int]]]
"""A line crossed by a collective, the cost on one such line, and the dimension and first NPU of all
of them; no such list if links already have network-wide names."""


class Flows:
    """Flows of a network's collectives and messages, each computed once.

    Parameters
    ----------
    network : FluidNetwork
        The network.
    alone : bool
        Whether nothing else is on the network while a collective of all its NPUs is.
    symmetry : bool
        Whether what NPUs do alike is worked out once.
    beside : callable
        Returns the groups that may do a collective of a kind at any time; a broadcast's have the
        root first.
    """

    def __init__(
        self,
        network: FluidNetwork,
        *,
        alone: bool = True,
        symmetry: bool = True,
        beside: Callable[[str], Sequence[tuple[int, ...]]] = lambda _: (),
    ) -> None:
        self._network, self._alone, self._symmetry = network, alone, symmetry
        self._beside = beside
        self._groups: dict[str, dict[tuple[int, int], list[tuple[int, ...]]]] = {}
        self._known: dict[tuple[int, int, int], tuple[Plan, SharedFlow]] = {}
        self.message = lru_cache(_MESSAGES)(self._message)

    def _message(self, source: int, target: int, size: int) -> SharedFlow:
        """Return the flow of a message between two NPUs."""
        route = self._network.route(source, target)
        rates = {link: self._network.bytes_per_ns(link) for link in route.links}
        time_ns = route.latency_ns + size / min(rates.values())
        return _flow(time_ns, dict.fromkeys(rates, float(size)), rates)

    def collective(self, plan: Plan, data_bytes: int, members: Sequence[int]) -> SharedFlow:
        """Return the flow of a collective, which starts when all participants are ready.

        Parameters
        ----------
        plan : Plan
            Phases of the collective.
        data_bytes : int
            Bytes, as ASTRA-sim counts them: of an all-gather, what an NPU contributes.
        members : sequence of int
            NPUs that take part.
        """
        key = id(plan), data_bytes, members[0]
        if key not in self._known:
            self._known[key] = plan, self._collective(plan, data_bytes, members)
        return self._known[key][1]

    def _collective(self, plan: Plan, data_bytes: int, members: Sequence[int]) -> SharedFlow:
        if not plan.axes:
            return SharedFlow(0.0)
        time_ns, lines = self._lines(plan, data_bytes, members)
        if self._alone and len(members) == self._network.npus:
            return SharedFlow(time_ns)
        return _flow(time_ns, *_named(lines))

    def carried(self, plan: Plan, data_bytes: int, members: Sequence[int]) -> dict[Link, float]:
        """Return the bytes that a collective puts on each link; arguments as ``collective``."""
        return _named(self._lines(plan, data_bytes, members)[1])[0] if plan.axes else {}

    def _lines(
        self, plan: Plan, data_bytes: int, members: Sequence[int]
    ) -> tuple[float, list[_Crossed]]:
        """Return what a collective takes alone [ns], and the lines that it crosses."""
        (axis, *others), network = plan.axes, self._network
        if axis.listed and (within := _fabric(network, axis.listed)):
            number, first, line = within
            size = plan.vector_bytes(data_bytes, len(members))
            places = [network.place(one, number) for one in axis.root_first]
            cost = line.collective(plan.kind, size, places, self._every(plan.kind, number, first))
            return cost.time_ns, [(line, cost, [(number, first)])]
        if axis.listed or (not others and axis.count > network.sizes[0]):
            whole = WholeLine(network, axis.listed or range(network.npus))
            time_ns, costs = self._simulated(plan, data_bytes, {axis.queue: whole})
            return time_ns, [(whole, costs[axis.queue], [])]
        parts = {one.queue: network.lines[one.queue] for one in plan.axes}
        time_ns, costs = self._simulated(plan, data_bytes, parts)
        return time_ns, [
            (parts[one.queue], costs[one.queue], _firsts(plan, number, members))
            for number, one in enumerate(plan.axes)
        ]

    def _every(self, kind: str, number: int, first: int) -> Sequence[tuple[int, ...]]:
        """Return the positions of all groups in a fabric that may run a collective at any time."""
        if kind not in self._groups:
            found = self._groups[kind] = dict[tuple[int, int], list[tuple[int, ...]]]()
            for group in self._beside(kind):
                if within := _fabric(self._network, group):
                    places = tuple(self._network.place(one, within[0]) for one in group)
                    found.setdefault(within[:2], []).append(places)
        return self._groups[kind].get((number, first), ())

    def _simulated(
        self, plan: Plan, data_bytes: int, lines: Mapping[int, Line]
    ) -> tuple[float, dict[int, Cost]]:
        """Return the end of all chunks, and the load on a line of each dimension."""
        clock, chunks, known = Clock(0), plan.chunks(data_bytes), dict[object, SharedFlow]()
        sharing, total = Sharing(clock), dict[int, Cost]()
        costs: dict[object, Cost] = {}

        def begin(chunk: int, number: int) -> None:
            phase = chunks[chunk][number]
            queue = phase.axis.queue
            key = phase, chunk % 2
            if key not in known:
                costs[key] = phase_cost(phase, plan, lines[queue], chunk, symmetry=self._symmetry)
                known[key] = _on(lines[queue], costs[key], queue)
            total[queue] = _sum(total.get(queue), costs[key])
            sharing.begin(known[key], partial(queues.ended, chunk, number))

        queues = Queues(chunks, plan.active_in_queue, begin, lambda: None, plan.order.intra)
        queues.start()
        clock.run()
        return float(clock.now), total


def _named(lines: Iterable[_Crossed]) -> tuple[dict[Link, float], dict[Link, float]]:
    """Return the bytes on each link of some lines and the links' rates, by network-wide name."""
    carried: dict[Link, float] = {}
    rates: dict[Link, float] = {}
    for line, cost, firsts in lines:
        for link, count in cost.bytes.items():
            every = dict.fromkeys(line.turned(link)) if cost.turned else [link]
            rate = line.bytes_per_ns(link)
            for one in every:
                for name in [(*first, one) for first in firsts] if firsts else [one]:
                    carried[name], rates[name] = carried.get(name, 0.0) + count, rate
    return carried, rates


def _fabric(network: FluidNetwork, members: Sequence[int]) -> tuple[int, int, Line] | None:
    """Return dimension, first NPU and fabric if one fabric contains all members, else None."""
    for number, line in enumerate(network.lines):
        firsts = {one - network.place(one, number) * network.strides[number] for one in members}
        if line.fabric and len(firsts) == 1:
            return number, firsts.pop(), line
    return None


def _firsts(plan: Plan, number: int, members: Sequence[int]) -> list[tuple[int, int]]:
    """Return the dimension and first NPU of each line of an axis that a collective uses."""
    axis, inner = plan.axes[number], plan.axes[:number]
    found = [one for one in members if not axis.place(one)]
    if plan.kind in ROOTED:  # on outer axes only on the line of the root
        found = [one for one in found if all(each.place(one) == each.root for each in inner)]
    return [(axis.queue, one) for one in found]


def _on(line: Line, cost: Cost, queue: int) -> SharedFlow:
    """Return the flow of a phase on the links of one line of a dimension."""
    carried: dict[Link, float] = {(queue, link): one for link, one in cost.bytes.items()}
    rates: dict[Link, float] = {(queue, link): line.bytes_per_ns(link) for link in cost.bytes}
    return _flow(cost.time_ns, carried, rates)


def _sum(first: Cost | None, second: Cost) -> Cost:
    if first is None:
        return second
    carried = dict(first.bytes)
    for link, count in second.bytes.items():
        carried[link] = carried.get(link, 0.0) + count
    return Cost(0.0, carried, second.turned)


def _flow(time_ns: float, carried: Mapping[Link, float], rates: Mapping[Link, float]) -> SharedFlow:
    """Return a flow with a duration on an idle network and bytes on each link."""
    if not time_ns or not any(carried.values()):
        return SharedFlow(time_ns)
    loads = tuple(
        (link, min(1.0, count / rates[link] / time_ns)) for link, count in carried.items() if count
    )
    return SharedFlow(time_ns, loads, max(carried.values()) / time_ns)
