"""Flows of a phase in rounds, if they do not fit on links or micro-switches together.

A round token of one flit tells the next round on a link that the previous one is over.
docs/decisions/0057 shows that no endpoint waits forever.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fred_hw.compiler.flows import Flow

from .flows import NoPathError, PhasePaths, find_paths
from .plane import Plane

__all__ = ["NO_ROUNDS", "Round", "Rounds", "find_rounds"]


@dataclass(frozen=True)
class Round:
    """Concurrent flows.

    Parameters
    ----------
    flows : tuple of Flow
        Flows between NPUs, and controllers with endpoints.
    paths : PhasePaths
        Configuration of each chiplet in the round.
    """

    flows: tuple[Flow, ...]
    paths: PhasePaths


@dataclass(frozen=True)
class Rounds:
    """Rounds of a phase on switches; each round has its own phase number.

    Parameters
    ----------
    rounds : tuple of Round
        Rounds of the flows of the phase; empty if endpoints execute it.
    tokens : tuple of Round
        Round tokens from the members of finished rounds to those of the next one on the same links,
        those that cross the top first: a member sends several of them in this order.
    ends : tuple of Round
        Tokens from the members of the last round on a switch to all earlier ones.
    """

    rounds: tuple[Round, ...] = ()
    tokens: tuple[Round, ...] = field(default=(), kw_only=True)
    ends: tuple[Round, ...] = field(default=(), kw_only=True)

    @property
    def all(self) -> tuple[Round, ...]:
        """All rounds and token flows, in the order of their numbers."""
        return (*self.rounds, *self.tokens, *self.ends)


NO_ROUNDS = Rounds()
"""Value for a phase that endpoints execute."""


def find_rounds(plane: Plane, flows: Sequence[Flow], busy: dict[tuple[int, int], int]) -> Rounds:
    """Return rounds of flows, each with as many as fit in order; one round if all fit.

    Flows that are alone on all links between switches need no tokens: their packets only wait for
    buffer space. Flows that are reduced there also wait for packets of other inputs, so their
    senders start when the previous ones on the same switch are over.

    Parameters
    ----------
    plane, flows, busy
        As for ``find_paths``.

    Raises
    ------
    NoPathError
        They do not fit at once, and one does not fit by itself, or flows are reduced in a tree of
        more than two levels, where switches share links but no NPUs.
    """
    try:
        return Rounds((Round(tuple(flows), find_paths(plane, flows, busy)),))
    except NoPathError:
        sources = [_sources(plane, flow) for flow in flows]
        joined = [own for own in sources if len(own) > 1]
        if any(len(plane.chain(switch)) > 2 for own in joined for switch in own):
            raise
    rounds = _greedy(plane, flows, busy)
    across, inside, ends = (_greedy(plane, flows, {}) for flows in _token_flows(plane, rounds))
    return Rounds(rounds, tokens=(*across, *inside), ends=ends)


def _greedy(
    plane: Plane, flows: Sequence[Flow], busy: dict[tuple[int, int], int]
) -> tuple[Round, ...]:
    """Return rounds of as many flows as fit, in the given order."""
    found: list[Round] = []
    left = list(flows)
    while left:
        own: list[Flow] = []
        for flow in left:
            if _disjoint(own, flow) and _fit(plane, [*own, flow], busy):
                own.append(flow)
        if not own:
            raise NoPathError(len(flows) - len(left), len(flows))
        found.append(Round(tuple(own), find_paths(plane, own, busy)))
        left = [flow for flow in left if flow not in own]
    return tuple(found)


def _disjoint(flows: Sequence[Flow], other: Flow) -> bool:
    """Return whether a flow shares no source and no destination with others."""
    return not any(
        {*one.inputs} & {*other.inputs} or {*one.outputs} & {*other.outputs} for one in flows
    )


def _fit(plane: Plane, flows: Sequence[Flow], busy: dict[tuple[int, int], int]) -> bool:
    try:
        find_paths(plane, flows, dict(busy))
    except NoPathError:
        return False
    return True


def _sources(plane: Plane, flow: Flow) -> dict[int, tuple[int, ...]]:
    """Return the sending NPUs of a flow, grouped by switch."""
    found: dict[int, list[int]] = defaultdict(list)
    for npu in flow.inputs:
        found[plane.units[plane.homes[npu][0]].switch].append(npu)
    return {switch: tuple(npus) for switch, npus in found.items()}


class _Joined(NamedTuple):
    """Sources of a flow joined above their switches: its index, round and NPUs."""

    place: int
    number: int
    npus: tuple[int, ...]


def _token_flows(
    plane: Plane, rounds: Sequence[Round]
) -> tuple[list[Flow], list[Flow], list[Flow]]:
    """Return the round-token flows: across the top, inside switches, and after the last round.

    One member of a flow on a switch sends for all: its packets are acknowledged by the
    destinations of the whole flow.
    """
    on: dict[int, list[list[_Joined]]] = {}  # rounds of each switch
    flows = [(number, flow) for number, one in enumerate(rounds) for flow in one.flows]
    for place, (number, flow) in enumerate(flows):
        sources = _sources(plane, flow)
        for switch, npus in sources.items() if len(sources) > 1 else ():
            if plane.wafer.above(switch) >= 0:  # the top switch has a link for each NPU
                own = on.setdefault(switch, [])
                if not own or own[-1][0].number != number:
                    own.append([])
                own[-1].append(_Joined(place, number, npus))
    known: dict[int, set[int]] = {}
    signals = [_signals(on, number, known) for number in range(1, len(rounds))]
    across, inside = ([flow for each in signals for flow in each[side]] for side in (0, 1))
    ends = [
        Flow(_speakers(own[-1]), _members([one for each in own[:-1] for one in each]))
        for own in on.values()
        if len(own) > 1
    ]
    return across, inside, ends


def _signals(
    on: dict[int, list[list[_Joined]]], number: int, known: dict[int, set[int]]
) -> tuple[list[Flow], list[Flow]]:
    """Return the flows that signal the start of a round, across the top and inside a switch.

    If flows follow the same ones on all of their switches, this happens on each switch by itself.
    Otherwise some would start while others still wait, and retransmit packets that are not
    acknowledged for a long time: so all start when the last one may, and a token crosses the top.
    Its sender informs those on its own switch when the token is acknowledged: if it has to be sent
    again, none of their packets is ahead of it.

    Parameters
    ----------
    on : dict
        Reduced flows, by switch, round after round.
    number : int
        The round.
    known : dict of int to set of int
        For each flow, by index, the flows that are over when it starts; updated with the round.
    """
    across: list[Flow] = []
    inside: list[Flow] = []
    here: dict[int, tuple[list[_Joined], list[_Joined]]] = {}  # members before, and in this round
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
        # A switch whose end others imply need not send a token, and one sender in a flow suffices.
        signalled, senders = implied, dict[int, list[int]]()
        for switch in switches:
            for one in here[switch][0]:
                if one.place not in signalled:
                    signalled = signalled | {one.place}
                    senders.setdefault(switch, []).append(one.npus[0])
        sending = [npu for own in senders.values() for npu in own]
        informed = [npu for k in switches if k not in senders for npu in _members(here[k][1])]
        # Several senders also need each other's tokens.
        across.append(Flow(sending, [*informed, *(sending if len(sending) > 1 else ())]))
        inside += [Flow(own, _members(here[switch][1])) for switch, own in senders.items()]
    return across, inside


def _connected(
    here: Mapping[int, tuple[list[_Joined], list[_Joined]]],
) -> Iterator[tuple[set[int], list[int]]]:
    """Yield flows of a round that share switches, by index, and these switches."""
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
