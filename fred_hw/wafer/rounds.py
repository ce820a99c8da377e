"""Flows of a phase in rounds, where they do not fit on links or micro-switches at the same time.

A round token of one flit tells the next round on a link that the previous one is over.
docs/decisions/0057 shows that no endpoint waits forever.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fred_hw.compiler.flows import Flow

from .flows import NoWayError, PhaseWays, find_ways
from .plane import Plane

__all__ = ["NO_ROUNDS", "Round", "Rounds", "find_rounds"]


@dataclass(frozen=True)
class Round:
    """Flows that are active at once.

    Parameters
    ----------
    flows : tuple of Flow
        Between NPUs, and controllers that have endpoints.
    ways : PhaseWays
        What each chiplet does then.
    """

    flows: tuple[Flow, ...]
    ways: PhaseWays


@dataclass(frozen=True)
class Rounds:
    """What switches do in a phase: each of these rounds has a number of its own.

    Parameters
    ----------
    rounds : tuple of Round
        Of the flows of the phase; nothing where endpoints do it.
    turns : tuple of Round
        Flits from those who have had their round to those who have the next one over the same
        links, first those that cross the top: who sends several does so in this order.
    ends : tuple of Round
        From those of the last round on a switch to all who have had theirs before.
    """

    rounds: tuple[Round, ...] = ()
    turns: tuple[Round, ...] = field(default=(), kw_only=True)
    ends: tuple[Round, ...] = field(default=(), kw_only=True)

    @property
    def all(self) -> tuple[Round, ...]:
        """All of them, in the order of their numbers."""
        return (*self.rounds, *self.turns, *self.ends)


NO_ROUNDS = Rounds()
"""Of a phase that endpoints do."""


def find_rounds(plane: Plane, flows: Sequence[Flow], busy: dict[tuple[int, int], int]) -> Rounds:
    """Return rounds of flows, each of as many as fit in the order given; one if all do.

    Flows that are one on all links between switches need not know of each other: their packets wait
    for space alone. Those that are joined there wait for packets of other inputs, too, so whoever
    sends in one begins when those before it on the same switch are over.

    Parameters
    ----------
    plane, flows, busy
        As for ``find_ways``.

    Raises
    ------
    NoWayError
        They do not fit at once, and one does not fit alone, or flows are joined in a tree of more
        than two levels, where switches share links that have no NPUs in common.
    """
    try:
        return Rounds((Round(tuple(flows), find_ways(plane, flows, busy)),))
    except NoWayError:
        sources = [_sources(plane, flow) for flow in flows]
        joined = [own for own in sources if len(own) > 1]
        if any(len(plane.chain(switch)) > 2 for own in joined for switch in own):
            raise
    rounds = _greedy(plane, flows, busy)
    across, inside, ends = (_greedy(plane, flows, {}) for flows in _told(plane, rounds))
    return Rounds(rounds, turns=(*across, *inside), ends=ends)


def _greedy(
    plane: Plane, flows: Sequence[Flow], busy: dict[tuple[int, int], int]
) -> tuple[Round, ...]:
    """Return rounds of as many flows as fit, in the order given."""
    found: list[Round] = []
    left = list(flows)
    while left:
        own: list[Flow] = []
        for flow in left:
            inputs = {npu for one in own for npu in one.inputs}
            if not inputs & {*flow.inputs} and _fit(plane, [*own, flow], busy):
                own.append(flow)
        if not own:
            raise NoWayError(len(flows) - len(left), len(flows))
        found.append(Round(tuple(own), find_ways(plane, own, busy)))
        left = [flow for flow in left if flow not in own]
    return tuple(found)


def _fit(plane: Plane, flows: Sequence[Flow], busy: dict[tuple[int, int], int]) -> bool:
    try:
        find_ways(plane, flows, dict(busy))
    except NoWayError:
        return False
    return True


def _sources(plane: Plane, flow: Flow) -> dict[int, tuple[int, ...]]:
    """Return the NPUs that send in a flow, by the switch that they hang on."""
    found: dict[int, list[int]] = defaultdict(list)
    for npu in flow.inputs:
        found[plane.chiplets[plane.homes[npu][0]].switch].append(npu)
    return {switch: tuple(npus) for switch, npus in found.items()}


class _Joined(NamedTuple):
    """Sources of a flow that is joined above them: its place among all, round, and NPUs."""

    place: int
    number: int
    npus: tuple[int, ...]


def _told(plane: Plane, rounds: Sequence[Round]) -> tuple[list[Flow], list[Flow], list[Flow]]:
    """Return who tells whom: of the round before, across the top and inside, and of the last.

    One of a flow's members on a switch speaks for all: what it sent is acknowledged by the ends of
    the whole flow.
    """
    on: dict[int, list[list[_Joined]]] = {}  # by switch, round after round
    flows = [(number, flow) for number, one in enumerate(rounds) for flow in one.flows]
    for place, (number, flow) in enumerate(flows):
        sources = _sources(plane, flow)
        for switch, npus in sources.items() if len(sources) > 1 else ():
            if plane.wafer.above(switch) >= 0:  # at the top each NPU has a link of its own
                own = on.setdefault(switch, [])
                if not own or own[-1][0].number != number:
                    own.append([])
                own[-1].append(_Joined(place, number, npus))
    known: dict[int, set[int]] = {}
    turns = [_turns(on, number, known) for number in range(1, len(rounds))]
    across, inside = ([flow for each in turns for flow in each[side]] for side in (0, 1))
    ends = [
        Flow(_speakers(own[-1]), _members([one for each in own[:-1] for one in each]))
        for own in on.values()
        if len(own) > 1
    ]
    return across, inside, ends


def _turns(
    on: dict[int, list[list[_Joined]]], number: int, known: dict[int, set[int]]
) -> tuple[list[Flow], list[Flow]]:
    """Return who tells whom that a round may begin, across the top, and inside a switch.

    On each switch by itself, if flows come behind the same ones on all of their switches. Else some
    would begin while others still wait, and send again what is not acknowledged for a long time: so
    all begin when the last may, and a flit crosses the top. Who sends it tells those on its own
    switch when that is acknowledged: if it has to be sent again, nothing of theirs is before it.

    Parameters
    ----------
    on : dict
        What is joined, by switch, round after round.
    number : int
        The round.
    known : dict of int to set of int
        Of each flow, by place, those that are over when it begins; those of the round are added.
    """
    across: list[Flow] = []
    inside: list[Flow] = []
    here: dict[int, tuple[list[_Joined], list[_Joined]]] = {}  # before, and in this round
    for switch, own in on.items():
        place = next((k for k, one in enumerate(own) if one[0].number == number), None)
        if place is not None:
            here[switch] = (own[place - 1] if place else [], own[place])
    for flows, switches in _connected(here):
        pairs = [here[switch] for switch in switches]
        past = [one for before, _ in pairs for one in before]
        implied = set[int]().union(*(known.get(one.place, set()) for one in past))
        known |= dict.fromkeys(flows, implied.union(one.place for one in past))
        if len({tuple(one.place for one in before) for before, _ in pairs}) == 1:
            inside += [Flow(_speakers(before), _members(now)) for before, now in pairs if past]
            continue
        # Who is known to be over by others need not speak, and of a flow one does.
        spoken, speak = implied, dict[int, list[int]]()
        for switch in switches:
            for one in here[switch][0]:
                if one.place not in spoken:
                    spoken = spoken | {one.place}
                    speak.setdefault(switch, []).append(one.npus[0])
        speakers = [npu for own in speak.values() for npu in own]
        told = [npu for k in switches if k not in speak for npu in _members(here[k][1])]
        # Several speakers have to know of each other.
        across.append(Flow(speakers, [*told, *(speakers if len(speakers) > 1 else ())]))
        inside += [Flow(own, _members(here[switch][1])) for switch, own in speak.items()]
    return across, inside


def _connected(
    here: Mapping[int, tuple[list[_Joined], list[_Joined]]],
) -> Iterator[tuple[set[int], list[int]]]:
    """Yield flows of a round that have switches in common, by place, and all these switches."""
    left = {one.place for _, now in here.values() for one in now}
    while left:
        flows, switches = {left.pop()}, set[int]()
        while more := {
            switch
            for switch, (_, now) in here.items()
            if switch not in switches and flows & {one.place for one in now}
        }:
            switches |= more
            flows |= {one.place for switch in more for one in here[switch][1]}
        left -= flows
        yield flows, sorted(switches)


def _speakers(groups: Sequence[_Joined]) -> list[int]:
    return [one.npus[0] for one in groups]


def _members(groups: Sequence[_Joined]) -> Iterator[int]:
    return (npu for one in groups for npu in one.npus)
