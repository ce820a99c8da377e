"""A plane with a broken link or chiplet, and a strategy compiled around the fault."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from fred_hw.compiler.placement import Strategy
from fred_hw.fabric_plan import End

from .plane import Chiplet, Plane
from .program import COLLECTIVES, WaferProgram, compile_strategy
from .spec import WaferSpec

__all__ = ["Fault", "FaultyPlane", "Outcome", "outcomes", "single_faults"]

_NOTHING = End("nothing", 0)


class Fault(NamedTuple):
    """A fault of a plane.

    Parameters
    ----------
    kind : str
        What is broken, and the level of its switches: ``L1 to L2``, ``L2 chiplet``.
    chiplet : int
        The chiplet, or the one at the lower end of the link.
    port : int or None
        Port of the link, both directions of which are broken; None for the whole chiplet.
    """

    kind: str
    chiplet: int
    port: int | None = None


@dataclass(frozen=True)
class Outcome:
    """What becomes of a plane with a fault.

    Parameters
    ----------
    fault : Fault
        The fault.
    survives : bool
        Whether all endpoints reach each other and the strategy compiles.
    lost : tuple of str
        Endpoints that the fault cuts off.
    slowdown : float or None
        Largest ratio of the rounds of a phase, or of the unicasts on its busiest link, to those of
        a plane without faults; None if the plane does not survive.
    reason : str
        Why the plane does not survive.
    """

    fault: Fault
    survives: bool
    lost: tuple[str, ...] = ()
    slowdown: float | None = None
    reason: str = ""


class FaultyPlane(Plane):
    """A plane in which links or chiplets are broken; other routes lead around them.

    Parameters
    ----------
    wafer : WaferSpec
        The wafer.
    faults : sequence of Fault
        What is broken.
    """

    def __init__(self, wafer: WaferSpec, faults: Sequence[Fault]) -> None:
        super().__init__(wafer)
        self.whole = Plane(wafer)
        self._broken = {end for one in faults for end in _ends(self.whole, one)}
        self._ports: dict[tuple[int, int], list[int]] = {}

    @cached_property
    def units(self) -> Sequence[Chiplet]:
        """All chiplets; nothing is connected to a port of a broken link."""
        return tuple(
            replace(
                one,
                ends=tuple(
                    _NOTHING if (number, port) in self._broken else end
                    for port, end in enumerate(one.ends)
                ),
            )
            for number, one in enumerate(self.whole.units)
        )

    @cached_property
    def homes(self) -> Sequence[tuple[int, int]]:
        """Chiplet and port of each address, also of those that the fault cuts off."""
        return self.whole.homes

    @property
    def lost(self) -> tuple[str, ...]:
        """Names of endpoints whose links are broken."""
        return tuple(
            self.end_name(address)
            for address, home in enumerate(self.homes)
            if home in self._broken
        )

    @property
    def connected(self) -> bool:
        """Whether unicasts have a route from the chiplet of each endpoint to each endpoint."""
        return not self.lost and all(
            self.ports_for(chiplet, address)
            for chiplet in {home for home, _ in self.homes}
            for address in range(self.addresses)
        )

    def ports_for(self, chiplet: int, address: int) -> list[int]:
        """Return the ports of a chiplet from which an address is still reached."""
        found = self._ports.get((chiplet, address))
        if found is None:
            found = [
                port
                for port in self.whole.ports_for(chiplet, address)
                if (chiplet, port) not in self._broken and self._leads(chiplet, port, address)
            ]
            self._ports[chiplet, address] = found
        return found

    def _leads(self, chiplet: int, port: int, address: int) -> bool:
        end = self.units[chiplet].ends[port]
        return end.kind != "unit" or bool(self.ports_for(end.number, address))

    def port_for(self, chiplet: int, address: int) -> int:
        """Return the default port of the plane without faults, or another that reaches.

        Where no port reaches the address, the entry of the routing table does not matter.
        """
        default, ports = self.whole.port_for(chiplet, address), self.ports_for(chiplet, address)
        return default if default in ports or not ports else self._chosen(ports, address)


def _ends(plane: Plane, fault: Fault) -> Iterator[tuple[int, int]]:
    """Yield chiplet and port at each end of all links that a fault breaks."""
    ends = plane.units[fault.chiplet].ends
    for port in range(len(ends)) if fault.port is None else (fault.port,):
        yield fault.chiplet, port
        if ends[port].kind == "unit":
            yield ends[port].number, ends[port].port


def single_faults(plane: Plane) -> Iterator[Fault]:
    """Yield each link and each chiplet of a plane as a fault."""
    for number, one in enumerate(plane.units):
        own = f"L{plane.wafer.level(one.switch)}"
        for port, end in enumerate(one.ends):
            if end.kind in ("npu", "controller"):
                peer = "NPU" if end.kind == "npu" else "I/O"
                yield Fault(f"{peer} to {own}", number, port)
            elif end.kind == "unit":
                above = plane.units[end.number].switch
                if plane.wafer.above(one.switch) == above:
                    yield Fault(f"{own} to L{plane.wafer.level(above)}", number, port)
        yield Fault(f"{own} chiplet", number)


def outcomes(
    wafer: WaferSpec, strategy: Strategy, *, collectives: str = COLLECTIVES[0]
) -> Iterator[Outcome]:
    """Yield what becomes of a plane with each single fault, in the order of ``single_faults``.

    Parameters
    ----------
    wafer, strategy, collectives
        As for ``compile_strategy``.

    Raises
    ------
    FieldError, ValueError
        The strategy does not compile for a plane without faults.
    """
    size = wafer.link.data_width // 8
    before = _loads(compile_strategy(wafer, strategy, size, collectives=collectives))
    for fault in single_faults(Plane(wafer)):
        plane = FaultyPlane(wafer, [fault])
        if not plane.connected:
            lost = plane.lost
            why = "" if lost else "no route between two endpoints"
            yield Outcome(fault, survives=False, lost=lost, reason=why)
            continue
        try:
            made = compile_strategy(wafer, strategy, size, collectives=collectives, plane=plane)
        except ValueError as error:
            yield Outcome(fault, survives=False, reason=str(error))
            continue
        after = _loads(made)
        ratio = max((after[name] / count for name, count in before.items()), default=1.0)
        yield Outcome(fault, survives=True, slowdown=ratio)


def _loads(made: WaferProgram) -> dict[str, int]:
    """Return the rounds of each phase, or the concurrent unicasts on its busiest link."""
    if made.collectives == COLLECTIVES[0]:
        return {one.name: len(one.rounds) for one in made.phases}
    return {one.name: _busiest(made.alone(one.name)) for one in made.phases}


def _busiest(made: WaferProgram) -> int:
    """Return the most unicasts on a link at the same time; NPUs have one each on their links."""
    moments = (
        Counter(link for pair in pairs for link in _links(made, *pair)) for pairs in made.unicasts()
    )
    return max((count for loads in moments for count in loads.values()), default=1)


def _links(made: WaferProgram, source: int, address: int) -> Iterator[tuple[int, int]]:
    """Yield chiplet and port of each link between switches on the route of a unicast."""
    homes, units = made.plane.homes, made.plane.units
    chiplet = homes[source][0]
    while chiplet != homes[address][0]:
        port = made.route(chiplet, address)
        yield chiplet, port
        chiplet = units[chiplet].ends[port].number
