"""The plan of a fabric: its units, the links between their ports, addresses and unicast routes.

``Plane`` (a wafer) and ``MeshPlan`` (a mesh) are plans. Generator, co-simulation and compiler read
them, so that wiring and routes are stated once.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

__all__ = ["End", "FabricPlan", "FabricUnit", "Hop", "Joint"]


class End(NamedTuple):
    """The peer at a port, or the sender of a link.

    Parameters
    ----------
    kind : str
        "npu", "controller" or "unit"; "nothing" at a spare port.
    number : int
        Address of an NPU or a controller, or number of a unit in the plan; 0 of nothing.
    port : int
        Port of that unit, by its place among ``ends``; 0 of others.
    """

    kind: str
    number: int
    port: int = 0


class Hop(NamedTuple):
    """A link of a route, by its sender, and the virtual channel of the packet's urgency class."""

    link: End
    channel: int


class Joint(NamedTuple):
    """One direction of a link in a netlist: sender and its port, receiver and its port.

    It takes a flit every ``pace`` cycles.
    """

    unit: int
    port: int
    other: int
    entry: int
    pace: int = 1


@dataclass(frozen=True, kw_only=True)
class FabricUnit:
    """A switching unit of a fabric: a chiplet or a router.

    Parameters
    ----------
    name : str
        Name, unique in the plan.
    ends : tuple of End
        Peer of each port.
    """

    name: str
    ends: tuple[End, ...]

    @property
    def numbers(self) -> Sequence[int]:
        """Number of each port in the names of the unit's pins."""
        return range(len(self.ends))

    @property
    def ports(self) -> Sequence[str]:
        """Name of each port in the names of wires."""
        return [str(number) for number in self.numbers]

    @property
    def pins(self) -> Mapping[str, int]:
        """Constant inputs."""
        return {}


U = TypeVar("U", bound=FabricUnit)


class FabricPlan(ABC, Generic[U]):
    """A fabric of units; addresses of NPUs come first, those of I/O controllers follow.

    Attributes
    ----------
    npus, endpoints : int
        Number of NPUs, and of the first addresses that have a collective endpoint.
    """

    npus: int
    endpoints: int

    @cached_property
    @abstractmethod
    def units(self) -> Sequence[U]:
        """All units by number."""

    @abstractmethod
    def exit(self, unit: int, source: int, destination: int, *, alternate: bool = False) -> int:
        """Return the output port of a unit for unicasts from an address to an address.

        Where sources choose routes, it is that of the route that addresses name, or of the other if
        ``alternate``.
        """

    def channel(self, unit: int, entry: int, channel: int, port: int) -> int:
        """Return the virtual channel on which a packet leaves a unit by a port.

        It is one of those of the packet's urgency class, by number. The packet came by the port
        ``entry`` on ``channel``.
        """
        return 0

    def flit_cycles(self, unit: int, port: int) -> int:
        """Return the cycles between flits on the link at a port, in either direction."""
        return 1

    @cached_property
    def homes(self) -> Sequence[tuple[int, int]]:
        """Unit and port of each address."""
        found = {
            end.number: (number, port)
            for number, one in enumerate(self.units)
            for port, end in enumerate(one.ends)
            if end.kind in ("npu", "controller")
        }
        return tuple(found[address] for address in range(len(found)))

    @property
    def addresses(self) -> int:
        """Number of unicast addresses: NPUs and controllers."""
        return len(self.homes)

    def end_name(self, address: int) -> str:
        """Return the name of an NPU or a controller: ``npu3``, ``io20``."""
        return f"{'npu' if address < self.npus else 'io'}{address}"

    def joints(self) -> Iterator[Joint]:
        """Yield the links between endpoints, numbered by address, and units, which follow them."""
        for unit, one in enumerate(self.units, self.endpoints):
            for port, end in enumerate(one.ends):
                if end.kind == "unit":
                    pace = self.flit_cycles(unit - self.endpoints, port)
                    yield Joint(unit, port, self.endpoints + end.number, end.port, pace)
                elif end.kind != "nothing" and end.number < self.endpoints:
                    yield Joint(unit, port, end.number, 0)
                    yield Joint(end.number, 0, unit, port)

    def route(self, source: int, destination: int, *, alternate: bool = False) -> list[End]:
        """Return the links from an address to an address, each as the sender at its beginning."""
        unit, port = self.homes[source]
        found = [self.units[unit].ends[port]]
        while True:
            port = self.exit(unit, source, destination, alternate=alternate)
            found.append(End("unit", unit, port))
            end = self.units[unit].ends[port]
            if end.kind != "unit":
                return found
            unit = end.number

    @property
    def class_channels(self) -> int:
        """Virtual channels of each urgency class."""
        return 1

    @property
    def alternates(self) -> Sequence[bool]:
        """Values of ``alternate`` that a source may choose."""
        return (False,)

    def hops(self, source: int, destination: int) -> Iterator[tuple[Hop, Hop]]:
        """Yield each hop that a packet may take, with one that may follow it."""
        for alternate in self.alternates:
            yield from pairwise(self.channels(source, destination, alternate=alternate))

    def channels(self, source: int, destination: int, *, alternate: bool = False) -> list[Hop]:
        """Return the hops of a route."""
        entry, channel = self.homes[source][1], 0
        first, *links = self.route(source, destination, alternate=alternate)
        found = [Hop(first, channel)]
        for link in links:
            channel = self.channel(link.number, entry, channel, link.port)
            found.append(Hop(link, channel))
            entry = self.units[link.number].ends[link.port].port
        return found

    def loads(self, flits: Mapping[tuple[int, int], int]) -> Counter[End]:
        """Return the flits on each link, given the flits between pairs of addresses."""
        found: Counter[End] = Counter()
        for (source, destination), count in flits.items():
            found.update(dict.fromkeys(self.route(source, destination), count))
        return found
