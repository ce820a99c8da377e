"""Broken parts of a router."""

from typing import Any

from amaranth.hdl import Const, Module

from fred_hw.gates.select import any_of, selected
from fred_hw.mesh.allocator import Allocator
from fred_hw.mesh.crossbar import Crossbar
from fred_hw.mesh.packet_queue import PacketQueue
from fred_hw.mesh.route_computation import RouteComputation
from fred_hw.switch.ports.output_port import OutputPort

from .fault import broken

__all__ = [
    "allows_all_turns",
    "held_by_the_dead",
    "never_stuck",
    "never_urgent",
    "swapped_outputs",
]


@broken(Crossbar, {"mesh": "every_end_sends_to_every_end"})
def swapped_outputs(m: Module, sound: Any, ports: Any) -> None:
    """Two outputs of a crossbar are swapped."""
    m.d.comb += [
        ports.o[-1].data.eq(sound.o[0].data),
        ports.o[0].data.eq(sound.o[-1].data),
    ]


@broken(Allocator, {"mesh": "urgent_packet_overtakes_others_at_every_router"})
def never_urgent(m: Module, sound: Any, ports: Any) -> None:
    """The most urgent packets get no path while any others wait."""
    with m.If(any_of([own[circuit] for own in ports.coming for circuit in (1, 2)]).any()):
        m.d.comb += [own[0].eq(0) for own in sound.coming]


@broken(PacketQueue, {"mesh": "end_that_has_no_space_holds_up_others_of_its_circuit_for_a_while"})
def never_stuck(m: Module, sound: Any, ports: Any) -> None:
    """A packet waits forever if no receiver has buffer space for it."""
    m.d.comb += sound.tick.eq(0)


@broken(OutputPort, {"mesh": "dead_ends_hold_up_nobody"})
def held_by_the_dead(m: Module, sound: Any, ports: Any) -> None:
    """Packets for a link that is down wait until it is up."""
    with m.If(ports.down):
        m.d.comb += ports.injection.space.eq(0)


@broken(RouteComputation, {"saturated mesh": "wedged"})
def allows_all_turns(m: Module, sound: Any, ports: Any) -> None:
    """Packets of odd sources take the column first, so that cyclic waits are possible."""
    places = [(one.x, one.y) for one in sound.mesh.plan.places]
    x, y = (
        selected(ports.destination, [Const(place[axis], len(ports.here[name])) for place in places])
        for axis, name in enumerate("xy")
    )
    with m.If(ports.source[0] & (y != ports.here.y)):
        m.d.comb += sound.here.x.eq(x)
