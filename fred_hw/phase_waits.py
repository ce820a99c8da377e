"""What waits for what between phases and unicasts that are in flight together in a fabric.

A phase on a tree of units adds two kinds of waits to those of unicasts (``fred_hw.waits``):

* A packet at the head of a queue waits for the packets with which it is reduced. They may be behind
  packets of others.
* An NPU begins a phase only when its part in the phases before is over.

A node is a queue with a flow whose packet is first in it, or a descriptor of an NPU that has not
begun. Packets of one flow never wait for each other in a cycle: they pass each queue in the order
of their numbers, and its queues form a tree. So edges between packets of one flow only lead onwards
in its tree, away from the queue where the wait begins.

Without a cycle nothing can wait for itself. The edges do not know the numbers of packets, so a
cycle may combine waits that never happen together.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from .compiler.flows import Flow
from .fabric_plan import End, FabricPlan
from .waits import Wait, WaitGraph

__all__ = ["Move", "PhaseFlow", "phase_flow", "phase_graph", "successive_sets", "unicasts_of"]


class Move(NamedTuple):
    """What a unit does with packets of a flow.

    Links to endpoints hold nothing up, as endpoints accept or drop each flit in bounded time.

    Parameters
    ----------
    inputs, outputs : tuple of End
        Links that it takes packets from, and links to other units that it fills, by their senders.
    npus : tuple of int
        Addresses to which it sends.
    """

    inputs: tuple[End, ...]
    outputs: tuple[End, ...]
    npus: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class PhaseFlow:
    """A flow between addresses, and its links.

    Parameters
    ----------
    phase : str
        Name of its phase. Two flows of one phase share no link in one direction.
    circuit : int
        Virtual channel of its packets.
    flow : Flow
        Addresses of sources and destinations.
    moves : tuple of Move
        What each unit does with its packets; the links form a tree.
    ordered : bool
        Whether NPUs begin it in the order of the phases; unicasts come at any time.
    """

    phase: str
    circuit: int
    flow: Flow
    moves: tuple[Move, ...]
    ordered: bool = True

    @property
    def members(self) -> frozenset[int]:
        """Sources and destinations."""
        return frozenset((*self.flow.inputs, *self.flow.outputs))

    @cached_property
    def taken(self) -> Mapping[End, Move]:
        """The move that takes packets from each link."""
        return {link: move for move in self.moves for link in move.inputs}

    @cached_property
    def filled(self) -> Mapping[End, Move]:
        """The move that fills each link between units."""
        return {link: move for move in self.moves for link in move.outputs}

    def queue(self, link: End) -> Wait:
        """Return the wait of its packet at the head of the queue behind a link."""
        return Wait("link queue", link, self.circuit, self.phase)

    def descriptor(self, npu: int) -> Wait:
        """Return the wait of an NPU that has not begun its part."""
        return Wait("descriptor", npu, self.circuit, self.phase)

    def behind(self, link: End) -> Sequence[End]:
        """Return a link, and all links that its packets come from."""
        found = [link]
        for one in found:
            found += self.filled[one].inputs if one in self.filled else ()
        return found

    @cached_property
    def sources(self) -> Mapping[End, frozenset[int]]:
        """The sources whose packets come to each link."""
        return {
            link: frozenset(one.number for one in self.behind(link) if one not in self.filled)
            for link in self.taken
        }

    @cached_property
    def incomplete(self) -> Mapping[End, frozenset[int]]:
        """NPUs whose part is not over while a packet is in the queue behind each link."""

        def reached(link: End) -> frozenset[int]:
            move = self.taken[link]
            return frozenset(move.npus).union(*map(reached, move.outputs))

        return {link: reached(link).union(self.flow.inputs) for link in self.taken}


def phase_flow(
    plan: FabricPlan[Any], phase: str, circuit: int, flow: Flow, parts: Mapping[int, Sequence[Flow]]
) -> PhaseFlow:
    """Return a flow of a phase, given its flows between ports of each unit on its tree."""
    moves: list[Move] = []
    for number, own in parts.items():
        ends = plan.units[number].ends
        for one in own:
            out = [End("unit", number, port) for port in one.outputs if ends[port].kind == "unit"]
            npus = [ends[port].number for port in one.outputs if ends[port].kind != "unit"]
            moves.append(Move(tuple(ends[port] for port in one.inputs), tuple(out), tuple(npus)))
    return PhaseFlow(phase, circuit, flow, tuple(moves))


def unicasts_of(plan: FabricPlan[Any], source: int, circuit: int) -> PhaseFlow:
    """Return the unicasts of an address to all others as one flow."""
    others = [one for one in range(plan.addresses) if one != source]
    after: dict[End, set[End]] = {}
    for destination in others:
        *links, _ = plan.route(source, destination)
        for link, following in zip(links, [*links[1:], None], strict=True):
            after.setdefault(link, set()).update(() if following is None else (following,))
    moves = tuple(Move((link,), tuple(sorted(following))) for link, following in after.items())
    name = f"unicasts of {plan.end_name(source)}"
    return PhaseFlow(name, circuit, Flow((source,), others), moves, ordered=False)


def phase_graph(flows: Sequence[PhaseFlow]) -> WaitGraph:
    """Return what waits for what while flows are in flight.

    Each NPU begins the phases that it takes part in in the order of the list. It does not wait for
    other phases.

    Parameters
    ----------
    flows : sequence of PhaseFlow
        Flows of all phases in that order, and unicasts.
    """
    return _Flight(flows).graph()


class _Flight:
    """Flows in flight, and who uses which queue."""

    def __init__(self, flows: Sequence[PhaseFlow]) -> None:
        self._flows = flows
        names = [*dict.fromkeys(one.phase for one in flows)]
        self._order = {one: names.index(one.phase) for one in flows}
        self._users: dict[tuple[End, int], list[PhaseFlow]] = defaultdict(list)
        for one in flows:
            for link in one.taken:
                self._users[link, one.circuit].append(one)

    def graph(self) -> WaitGraph:
        """Return the waits of all packets and descriptors."""
        edges: dict[Wait, dict[Wait, Flow]] = {}
        for one in self._flows:
            waits = [(one.queue(link), self._of_packet(one, link)) for link in one.taken]
            waits += [(one.descriptor(npu), self._of_npu(one, npu)) for npu in one.members]
            for wait, needs in waits:
                edges.setdefault(wait, {}).update(dict.fromkeys(needs, one.flow))
        return WaitGraph(edges)

    def _of_packet(self, one: PhaseFlow, link: End) -> Iterator[Wait]:
        """Yield what a packet waits for at the head of the queue behind a link."""
        move = one.taken[link]
        for output in move.outputs:
            yield from self._in_queue(one, link, output)
        for other in move.inputs:
            for late in one.behind(other) if other != link else ():
                yield from self._of_late(one, link, late)

    def _of_late(self, one: PhaseFlow, link: End, late: End) -> Iterator[Wait]:
        """Yield what keeps a packet from a queue while one with which it is reduced waits."""
        for wait in self._in_queue(one, link, late):
            if wait.phase != one.phase:
                yield wait
        if late in one.filled:
            for output in one.filled[late].outputs:
                if output != late:
                    yield from self._in_queue(one, link, output)
        else:
            yield one.descriptor(late.number)

    def _in_queue(self, one: PhaseFlow, link: End, queue: End) -> Iterator[Wait]:
        """Yield packets that can be first in a queue while a packet of a flow waits at a link."""
        for other in self._users[queue, one.circuit]:
            if other is one or not self._is_over(one, link, other, queue):
                yield other.queue(queue)

    def _is_over(self, one: PhaseFlow, link: End, other: PhaseFlow, queue: End) -> bool:
        """Return whether packets of two flows are never at these places at the same time.

        An NPU begins a phase when its part in the earlier one is over, and other unicasts when all
        its packets have arrived.
        """
        if one.ordered and other.ordered:
            if self._order[one] > self._order[other]:
                one, link, other, queue = other, queue, one, link
            return not other.sources[queue].isdisjoint(one.incomplete[link])
        return not one.sources[link].isdisjoint(other.sources[queue])

    def _of_npu(self, one: PhaseFlow, npu: int) -> Iterator[Wait]:
        """Yield what an NPU may wait for before it begins its part in a phase."""
        for other in self._flows if one.ordered else ():
            if npu not in other.members:
                continue
            if other.ordered and self._order[other] < self._order[one]:
                yield from (other.queue(link) for link in other.taken)
                yield from (other.descriptor(member) for member in other.members if member != npu)
            elif not other.ordered and other.circuit == one.circuit and npu in other.flow.inputs:
                yield from (other.queue(link) for link in other.taken)


def successive_sets(flows: Sequence[PhaseFlow]) -> list[list[PhaseFlow]]:
    """Return flows of phases in sets that have no cycle, in their order.

    A set begins when all flows of the set before are over at all their members. Each flow joins the
    last set if that closes no cycle, so flows of one phase may be in two sets. A flow alone has no
    cycle if unicasts are on other virtual channels.

    Parameters
    ----------
    flows : sequence of PhaseFlow
        Flows of phases, in the order in which each NPU begins them.
    """
    sets: list[list[PhaseFlow]] = [[]]
    for one in flows:
        if phase_graph([*sets[-1], one]).cycle():
            sets.append([])
        sets[-1].append(one)
    return sets
