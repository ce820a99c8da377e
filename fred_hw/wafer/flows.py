"""Flows between NPUs as flows of chiplets: up the tree, reduced, and down again.

FRED, arXiv 2406.19580, on its two levels (our section 7): an L1 reduces what its members send, the
L2 reduces what the L1s send, and the result goes back the same way.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from fred_hw.compiler.configuration import Configuration
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route

from .plane import Plane

__all__ = ["NoPathError", "Part", "PhasePaths", "find_paths"]

_MOST_STEPS, _MOST_ROUTINGS = 20_000, 50
"""Search limits: flows placed, and whole phases whose micro-switch routing is tried."""


class NoPathError(ValueError):
    """Not all flows of a phase can be active together; contains the number that can.

    Parameters
    ----------
    space, flows : int
        Flows that can be active at once, and flows of the phase.
    """

    def __init__(self, space: int, flows: int) -> None:
        self.space, self.flows = space, flows
        super().__init__(
            f"must have at most {space} flows at once, as many as links and micro-switches carry, "
            f"not {flows}"
        )


@dataclass(frozen=True)
class PhasePaths:
    """Configuration of each chiplet in a phase.

    Parameters
    ----------
    flows : dict of int to tuple of Flow
        Flows of each chiplet that takes part, by its number.
    configurations : dict of int to Configuration
        State of its micro-switches.
    owners : dict of int to tuple of int
        For each of these flows the flow of the phase to which it belongs.
    """

    flows: dict[int, tuple[Flow, ...]]
    configurations: dict[int, Configuration]
    owners: dict[int, tuple[int, ...]]


@dataclass(frozen=True)
class Part:
    """A chiplet's part of a flow between NPUs."""

    chiplet: int
    flow: Flow


@dataclass
class _Taken:
    """Ports and flows of a phase that are occupied in each chiplet."""

    inputs: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    outputs: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    flows: dict[int, list[tuple[int, Flow]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, owner: int, parts: Sequence[Part]) -> None:
        for one in parts:
            self.inputs[one.chiplet] |= {*one.flow.inputs}
            self.outputs[one.chiplet] |= {*one.flow.outputs}
            self.flows[one.chiplet].append((owner, one.flow))

    def remove(self, parts: Sequence[Part]) -> None:
        for one in reversed(parts):
            self.inputs[one.chiplet] -= {*one.flow.inputs}
            self.outputs[one.chiplet] -= {*one.flow.outputs}
            self.flows[one.chiplet].pop()

    def paths(self, plane: Plane) -> PhasePaths | None:
        """Return the flows of chiplets if the micro-switches of each can route them."""
        found = {n: tuple(flow for _, flow in own) for n, own in sorted(self.flows.items()) if own}
        configurations: dict[int, Configuration] = {}
        for chiplet, flows in found.items():
            spec = plane.units[chiplet].spec
            configuration = route(flows, spec.ports, spec.middle_switches).configuration
            if configuration is None:
                return None
            configurations[chiplet] = configuration
        owners = {n: tuple(owner for owner, _ in self.flows[n]) for n in found}
        return PhasePaths(found, configurations, owners)


@dataclass
class _Search:
    """Depth-first search that places flows on free links, with backtracking.

    Parameters
    ----------
    most : int
        Flows that were placed at once.
    steps, routings : int
        Remaining search effort.
    """

    plane: Plane
    flows: Sequence[Flow]
    busy: dict[tuple[int, int], int]
    taken: _Taken = field(default_factory=_Taken)
    most: int = 0
    steps: int = _MOST_STEPS
    routings: int = _MOST_ROUTINGS

    def place(self, number: int) -> PhasePaths | None:
        """Return the routes of all flows from a number on, given the earlier ones."""
        self.most = max(self.most, number)
        if number == len(self.flows):
            self.routings -= 1
            return self.taken.paths(self.plane)
        for choice in _choices(self.plane, self.flows[number], self.taken, self.busy):
            if not self.steps or not self.routings:
                return None
            self.steps -= 1
            parts = _parts(self.plane, self.flows[number], choice, self.taken, self.busy)
            if parts is None:
                continue
            self.taken.add(number, parts)
            if found := self.place(number + 1):
                return found
            self.taken.remove(parts)
        return None


def find_paths(
    plane: Plane, flows: Sequence[Flow], busy: dict[tuple[int, int], int] | None = None
) -> PhasePaths:
    """Return chiplet flows and settings for concurrent flows between NPUs.

    Among parallel links and chiplets, a flow takes those that the fewest other flows use, counting
    its phase and ``busy``; the lowest number decides between equals. If later flows need these
    links, the search moves the flow to others.

    Parameters
    ----------
    plane : Plane
        The plane.
    flows : sequence of Flow
        Flows whose ports are addresses of NPUs, disjoint in inputs and in outputs.
    busy : dict, optional
        By chiplet and output port towards another chiplet, the number of flows of other phases of
        the virtual channel. The flows of this phase are added.

    Raises
    ------
    NoPathError
        The flows do not fit on the links or through the micro-switches; has the number that fits.
    """
    busy = {} if busy is None else busy
    search = _Search(plane, flows, busy)
    found = search.place(0)
    if found is None:
        raise NoPathError(min(search.most, len(flows) - 1), len(flows))
    for chiplet, own in found.flows.items():
        for port in (port for flow in own for port in flow.outputs):
            if plane.units[chiplet].ends[port].kind == "unit":
                busy[chiplet, port] = busy.get((chiplet, port), 0) + 1
    return found


def _switches(plane: Plane, flow: Flow) -> tuple[int, dict[int, set[int]], set[int], set[int]]:
    """Return the reducing switch of a flow, NPUs by switch, and the switches below it.

    The last two are those from which it goes up, and those that it comes down to.
    """
    homes: dict[int, set[int]] = defaultdict(set)
    for npu in {*flow.inputs, *flow.outputs}:
        homes[plane.units[plane.homes[npu][0]].switch].add(npu)
    chains = [plane.chain(switch) for switch in homes]
    meeting = next(one for one in chains[0] if all(one in chain for chain in chains))

    def below(npus: Iterable[int]) -> set[int]:
        found: set[int] = set()
        for npu in npus:
            chain = plane.chain(plane.units[plane.homes[npu][0]].switch)
            found |= {*chain[: chain.index(meeting)]}
        return found

    return meeting, homes, below(flow.inputs), below(flow.outputs)


def _choices(
    plane: Plane, flow: Flow, taken: _Taken, busy: dict[tuple[int, int], int]
) -> Iterator[dict[int, int]]:
    """Yield possible chiplets of a flow, by switch, the least used first."""
    meeting, _, ups, downs = _switches(plane, flow)
    switches = sorted({meeting, *ups, *downs})
    load: dict[tuple[int, int], int] = defaultdict(int)
    for chiplet, own in taken.flows.items():
        load[plane.units[chiplet].switch, plane.units[chiplet].part] += len(own)
    for (chiplet, _), count in busy.items():
        one = plane.units[chiplet]
        load[one.switch, one.part] += count
    sides = [
        sorted(range(plane.wafer.parts(one)), key=lambda part, one=one: load[one, part])
        for one in switches
    ]
    for choice in product(*sides):
        yield dict(zip(switches, choice, strict=True))


def _parts(
    plane: Plane,
    flow: Flow,
    choice: dict[int, int],
    taken: _Taken,
    busy: dict[tuple[int, int], int],
) -> list[Part] | None:
    """Return the parts of a flow for chosen chiplets; None if a link is not free."""
    meeting, homes, ups, downs = _switches(plane, flow)
    into: dict[int, set[int]] = defaultdict(set)  # input ports of the way up
    out: dict[int, set[int]] = defaultdict(set)
    for npus, ports in ((flow.inputs, into), (flow.outputs, out)):
        for switch, own in homes.items():
            ports[switch] |= {plane.homes[npu][1] for npu in npus if npu in own}
    up: dict[int, int] = {}
    down: dict[int, int] = {}
    for switch in sorted({*ups, *downs}):
        chiplet = plane.number(switch, choice[switch])
        above = plane.wafer.above(switch)
        other = plane.number(above, choice[above])
        if switch in ups:
            free = [p for p in plane.ports_to(chiplet, other) if p not in taken.outputs[chiplet]]
            if not free:
                return None
            up[switch] = min(free, key=lambda port: busy.get((chiplet, port), 0))
            into[above].add(plane.units[chiplet].ends[up[switch]].port)
        if switch in downs:
            free = [p for p in plane.ports_to(other, chiplet) if p not in taken.outputs[other]]
            if not free:
                return None
            port = min(free, key=lambda port: busy.get((other, port), 0))
            out[above].add(port)
            down[switch] = plane.units[other].ends[port].port
    found = []
    for switch, part in choice.items():
        chiplet = plane.number(switch, part)
        if switch == meeting:
            found.append(Part(chiplet, Flow(into[switch], out[switch])))
            continue
        if switch in up:
            found.append(Part(chiplet, Flow(into[switch], (up[switch],))))
        if switch in down:
            found.append(Part(chiplet, Flow((down[switch],), out[switch])))
    return found
