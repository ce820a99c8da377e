"""One plane of a wafer: chiplets, their ports, and unicast routes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from fred_hw.fabric_plan import End, FabricPlan, FabricUnit, Hop
from fred_hw.spec import SwitchSpec

from .spec import WaferSpec

__all__ = ["Chiplet", "Plane"]


@dataclass(frozen=True, kw_only=True)
class Chiplet(FabricUnit):
    """A chiplet of a plane.

    Parameters
    ----------
    name : str
        Name of its switch, with ``_p0``, ``_p1``, ... if there are several in the plane.
    ends : tuple of End
        Peer of each port: NPUs, controllers, none, links down, links up.
    switch, part : int
        Number of its switch, and its number among the chiplets of that switch.
    spec : SwitchSpec
        Specification of the chiplet.
    """

    switch: int
    part: int
    spec: SwitchSpec


class Plane(FabricPlan[Chiplet]):
    """A plane of a wafer; NPU n has address n, controllers follow.

    Link k of a chiplet to the switch above leads to that one's chiplet k modulo their number.

    Parameters
    ----------
    wafer : WaferSpec
        The wafer.
    """

    def __init__(self, wafer: WaferSpec) -> None:
        self.wafer = wafer
        self.npus, self.endpoints = wafer.npus, wafer.endpoints
        self._first: list[int] = []
        count = 0
        for number in range(len(wafer.switches)):
            self._first.append(count)
            count += wafer.parts(number)

    def number(self, switch: int, part: int) -> int:
        """Return the number of a chiplet in the plane."""
        return self._first[switch] + part

    @cached_property
    def units(self) -> Sequence[Chiplet]:
        """All chiplets, switch by switch."""
        wafer, found = self.wafer, []
        controllers = wafer.npus
        for switch, entry in enumerate(wafer.switches):
            parts = wafer.parts(switch)
            for part in range(parts):
                ends = [End("npu", npu) for npu in entry.npus]
                ends += [End("controller", controllers + k) for k in range(entry.controllers)]
                ends += [End("nothing", 0)] * entry.spare
                ends += self._down(switch, part)
                ends += [self._up(switch, part, link) for link in range(entry.uplinks)]
                name = entry.name if parts == 1 else f"{entry.name}_p{part}"
                one = Chiplet(
                    name=name,
                    ends=tuple(ends),
                    switch=switch,
                    part=part,
                    spec=wafer.chiplet(switch),
                )
                found.append(one)
            controllers += entry.controllers
        return tuple(found)

    def chain(self, switch: int) -> list[int]:
        """Return a switch and those above it, up to the root."""
        found = [switch]
        while (above := self.wafer.above(found[-1])) >= 0:
            found.append(above)
        return found

    def ports_to(self, chiplet: int, other: int) -> list[int]:
        """Return the ports of a chiplet that lead to another chiplet."""
        ends = self.units[chiplet].ends
        return [p for p, end in enumerate(ends) if (end.kind, end.number) == ("unit", other)]

    def flit_cycles(self, unit: int, port: int) -> int:
        own, end = self.units[unit], self.units[unit].ends[port]
        if end.kind != "unit":
            return 1
        both = own.switch, self.units[end.number].switch
        below = next(one for one in both if self.wafer.above(one) in both)
        return self.wafer.switches[below].uplink_cycles

    def exit(self, unit: int, source: int, destination: int, *, alternate: bool = False) -> int:
        return self.port_for(unit, destination)

    def port_for(self, chiplet: int, address: int) -> int:
        """Return the default output port of a chiplet for unicasts to an address.

        The address chooses among several links, so each pair of endpoints has one route.
        """
        home, port = self.homes[address]
        if home == chiplet:
            return port
        own, chain = self.units[chiplet].switch, self.chain(self.units[home].switch)
        if own not in chain:
            return self._chosen(self._uplinks(chiplet), address)
        child = chain[chain.index(own) - 1]
        # All addresses that arrive from below have the same remainder: it selected the part.
        key, parts = address // self.wafer.parts(own), self.wafer.parts(child)
        links = self.ports_to(chiplet, self.number(child, key % parts))
        return self._chosen(links, key // parts)

    def hops(self, source: int, destination: int) -> Iterator[tuple[Hop, Hop]]:
        """Yield each hop that a packet may take, with one that may follow it.

        Tables of unicasts and routes of phases may select any link to the next switch.
        """
        unit, port = self.homes[source]
        links = {self.units[unit].ends[port]}
        while links:
            following = set[End]()
            for link in sorted(links):
                here = self._receiver(link)
                if here is not None:
                    outputs = [End("unit", here, out) for out in self.ports_for(here, destination)]
                    yield from ((Hop(link, 0), Hop(one, 0)) for one in outputs)
                    following |= {*outputs}
            links = following

    def _receiver(self, link: End) -> int | None:
        """Return the chiplet at the end of a link; None if an endpoint is there."""
        if link.kind != "unit":
            return self.homes[link.number][0]
        end = self.units[link.number].ends[link.port]
        return end.number if end.kind == "unit" else None

    def ports_for(self, chiplet: int, address: int) -> list[int]:
        """Return all possible output ports of a chiplet for unicasts to an address."""
        home, port = self.homes[address]
        if home == chiplet:
            return [port]
        own, chain = self.units[chiplet].switch, self.chain(self.units[home].switch)
        if own not in chain:
            return self._uplinks(chiplet)
        child = chain[chain.index(own) - 1]
        parts = range(self.wafer.parts(child))
        return [one for part in parts for one in self.ports_to(chiplet, self.number(child, part))]

    def _uplinks(self, chiplet: int) -> list[int]:
        one = self.units[chiplet]
        return list(range(len(one.ends)))[len(one.ends) - self.wafer.switches[one.switch].uplinks :]

    def _chosen(self, ports: Sequence[int], address: int) -> int:
        return ports[address % len(ports)]

    def _down(self, switch: int, part: int) -> list[End]:
        """Return the peers at the downward ports of a chiplet."""
        ends: list[End] = []
        for child in self.wafer.below(switch):
            entry, parts = self.wafer.switches[child], self.wafer.parts(switch)
            for below in range(self.wafer.parts(child)):
                first = entry.ports - entry.uplinks
                ends += [
                    End("unit", self.number(child, below), first + link)
                    for link in range(part, entry.uplinks, parts)
                ]
        return ends

    def _up(self, switch: int, part: int, link: int) -> End:
        """Return the peer at an upward port of a chiplet."""
        above = self.wafer.above(switch)
        parts, entry = self.wafer.parts(above), self.wafer.switches[above]
        port = len(entry.npus) + entry.controllers + entry.spare
        for child in self.wafer.below(above):
            if child == switch:
                break
            port += self.wafer.links_between(child)
        port += part * (self.wafer.switches[switch].uplinks // parts) + link // parts
        return End("unit", self.number(above, link % parts), port)
