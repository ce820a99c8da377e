"""A router of a mesh with five links."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.gates.select import one_hot_mux, selected, sum_of
from fred_hw.gates.wire import wire
from fred_hw.link.axis import axis_members, join_axis
from fred_hw.link.crowding import CROWDING_BITS, CROWDING_PLACES, crowding_layout
from fred_hw.link.session import LinkSession, join_session
from fred_hw.member import member, members
from fred_hw.per_class import buffer_number, per_class
from fred_hw.protocol import HEADER_FIELDS
from fred_hw.switch.ports.output_port import OutputPort
from fred_hw.switch.unicast_sequencer import UnicastSequencer
from fred_hw.unit import Unit, place

from .allocator import Allocator
from .crossbar import Crossbar
from .message_crossing import MessageCrossing
from .packet_queue import packet_layout
from .plan import DIRECTIONS, OPPOSITE
from .route_computation import check_directions, position_layout, router_shape_name
from .router_input import RouterInput
from .routing import ROUTINGS
from .spec import MeshSpec, check_mesh

__all__ = ["ERRORS", "HOP_CYCLES", "MESSAGE_CYCLES", "MeshRouter"]

ERRORS = ("length", "kind", "overflow", "stuck", "route", "partner")
"""Errors of a port, by bit; see docs/explanation/mesh.md."""

HOP_CYCLES = 8
"""Cycles from a flit of a lone packet at a port to the same flit offered at another."""

MESSAGE_CYCLES = 4
"""Cycles of a control message through the router."""

_CROSSING = 2  # cycles from an accepted flit to the output: memory and crossbar


class MeshRouter(Unit):
    """Forward each unicast packet toward its destination address (docs/explanation/mesh.md).

    Parameters
    ----------
    mesh : MeshSpec
        The mesh.
    directions : sequence of str
        Ports that the router has, 2 or more of ``DIRECTIONS`` in their order.

    Timing
    ------
    Latency : 8 cycles, from the first flit of a lone packet on a port to the same flit offered; 4
        for a message.
    Throughput : one flit per port and cycle, without a gap between packets but for those of one
        flit from a port to different ones, which go in every other cycle.
    Paths : none.
    Reset : forgets all packets, and begins all links anew.

    Raises
    ------
    TypeError, ValueError
        A parameter has a wrong type, or is out of range.
    """

    link_axes = members(lambda u: axis_members(u.spec.data_width, u.numbers))
    """Flits from (``s<k>_axis``) and to (``m<k>_axis``) port k, its number among
    ``DIRECTIONS``; see docs/reference/protocol.md. ``s<k>_axis_tready`` is always high.
    ``s<k>_axis_tlast`` is ignored, since the header has the same information."""
    position: data.View = member(In, lambda u: position_layout(u.mesh))
    """Column of the router in the low bits, row above; constant."""
    session_id = member(In, HEADER_FIELDS["session_id"].bits)
    """Session ID: another number after each reset, constant between resets."""
    up = member(Out, lambda u: len(u.directions))
    """Links that are up, a bit for each port of the router."""
    errors = member(Out, len(ERRORS))
    """High for a cycle when a port detects an error: ``length``, ``kind``, ``overflow``, ``stuck``,
    ``route``, ``partner``, from bit 0 on."""
    dropped = member(Out, 1)
    """High for a cycle when a port drops a flit or a message. A packet that waited too long at the
    head of a queue is reported by ``errors`` alone."""

    def __init__(self, *, mesh: MeshSpec, directions: Sequence[str]) -> None:
        self.mesh = check_mesh("MeshRouter", mesh)
        self.directions = check_directions("MeshRouter", directions)
        self.spec = mesh.router(self.directions)
        sizes = f"{mesh.link.suffix(crosses=False)}_{mesh.protocol.suffix}"
        self.unit_name = f"mesh_router_{router_shape_name(mesh, self.directions)}_{sizes}"
        self.numbers = [DIRECTIONS.index(one) for one in self.directions]
        super().__init__()

    def build(self, m: Module) -> None:
        spec, ports = self.spec, range(self.spec.ports)
        own = {
            name: self.mesh.router(self.directions, outside=name == "local")
            for name in self.directions
        }
        ins = [
            place(
                m,
                f"in_{name}",
                RouterInput(mesh=self.mesh, directions=self.directions, outside=name == "local"),
            )
            for name in self.directions
        ]
        outs = [
            place(m, f"out_{name}", OutputPort(spec=sizes, latency=_CROSSING))
            for name, sizes in own.items()
        ]
        sessions = [
            place(m, f"link_{name}", LinkSession(spec=sizes)) for name, sizes in own.items()
        ]
        messages = place(m, "messages", MessageCrossing(spec=spec))
        tick = self._tick(m)
        for k in ports:
            join_axis(m, self, self.numbers[k], ins[k].i, outs[k].o)
            wiring.connect(m, ins[k].credit, outs[k].credit)
            wiring.connect(m, ins[k].message, messages.i[k])
            wiring.connect(m, messages.o[k], outs[k].message)
            join_session(m, sessions[k].link, ins[k], outs[k])
            m.d.comb += [
                messages.exits[k].eq(ins[k].exit),
                ins[k].position.eq(self.position),
                ins[k].tick.eq(tick),
                sessions[k].session_id.eq(self.session_id),
                self.up[k].eq(sessions[k].up),
            ]
        self._move(m, ins, outs)
        found = [getattr(one, name) for name in ERRORS[:-1] for one in ins]
        by_kind = [
            Cat(found[k * len(ins) : (k + 1) * len(ins)]).any() for k in range(len(ERRORS) - 1)
        ]
        refused = Cat(session.link.refused for session in sessions).any()
        m.d.sync += [
            self.errors.eq(Cat(*by_kind, refused)),
            self.dropped.eq(Cat(one.dropped for one in ins).any() | messages.lost.any()),
        ]

    def _tick(self, m: Module) -> Signal:
        """Return a strobe every ``head_of_line_timeout_cycles``; one counter serves all queues."""
        period = self.spec.protocol.head_of_line_timeout_cycles
        clock = Signal(range(period))
        tick = Signal()
        m.d.sync += [clock.eq(clock + 1), tick.eq(clock == period - 1)]
        with m.If(clock == period - 1):
            m.d.sync += clock.eq(0)
        return tick

    def _move(self, m: Module, ins: list[RouterInput], outs: list[OutputPort]) -> None:
        """Start packets that have a path, and move a flit of each in every possible cycle."""
        spec, count, channels = self.spec, len(ins), self.spec.protocol.channels
        allocator = place(m, "allocator", Allocator(ports=count, channels=channels))
        crossbar = place(m, "crossbar", Crossbar(ports=count, width=spec.data_width))
        sources = [
            place(m, f"source_{name}", UnicastSequencer(spec=spec)) for name in self.directions
        ]
        spaces = Signal(count)
        m.d.comb += [
            spaces[k].eq(selected(_own(out, allocator.circuit_to[k]), list(out.injection.space)))
            for k, out in enumerate(outs)
        ]
        if channels.each > 1:
            self._choose_channels(m, allocator)
        for k, (port, source) in enumerate(zip(ins, sources, strict=True)):
            circuit, path = _own(port, allocator.circuit_of[k]), allocator.destination_of[k]
            self._look(m, port, source, circuit, path, spaces)
            coming = [port.head.coming[c] for c in range(len(port.spec.protocol.buffers))]
            m.d.comb += [
                allocator.coming[k].as_value().eq(self._among_all(coming)),
                allocator.space[k].eq(self._among_all(list(outs[k].injection.space))),
                allocator.starts[k].eq(source.start),
                allocator.holds[k].eq(source.lasts),
                allocator.closing[k].eq(source.closing),
            ]
            wiring.connect(m, port.flit, crossbar.i[k])
        moves = {
            name: wire(m, name, Cat(getattr(source, what) for source in sources))
            for name, what in (
                ("start", "start"),
                ("fire", "fire"),
                ("last", "ending"),
                ("bad", "bad"),
            )
        }
        known = [port.head.descriptor for port in ins]
        for j, out in enumerate(outs):
            mine = wire(m, f"paths_to_{j}", Cat(path[j] for path in allocator.destination_of))
            injection, descriptor = out.injection, out.injection.descriptor
            m.d.comb += [
                injection.circuit.eq(_own(out, allocator.circuit_to[j])),
                *(getattr(injection, name).eq((mine & own).any()) for name, own in moves.items()),
                descriptor.phase.eq(spec.protocol.online),
                *(
                    descriptor[name].eq(one_hot_mux(mine, [one[name] for one in known]))
                    for name, _ in packet_layout(spec)
                ),
                crossbar.paths[j].eq(mine),
            ]
            wiring.connect(m, crossbar.o[j], out.i)
        if spec.protocol.routes is not None:
            self._report(m, ins, outs)

    def _among_all(self, values: Sequence[Value]) -> Value:
        """Return values of a port's buffers as those of all buffers of a link between routers.

        A link to an NPU has one virtual channel per class, as if only channel 0 were used.
        """
        missing = len(self.spec.protocol.buffers) // len(values) - 1
        return Cat(Cat(value, Const(0, missing * len(value))) for value in values)

    def _choose_channels(self, m: Module, allocator: Allocator) -> None:
        """Report, for each input and virtual channel, the outputs that lead to channel 1."""
        routing, here = ROUTINGS[self.mesh.routing], self.position
        last_x, last_y = self.mesh.width - 1, self.mesh.height - 1
        edges = {
            "north": here.y == 0,
            "east": here.x == last_x,
            "south": here.y == last_y,
            "west": here.x == 0,
        }
        for k, before in enumerate(self.directions):
            for channel in range(self.spec.protocol.channels.each):
                onto: list[Value] = []
                for out in self.directions:
                    straight = OPPOSITE.get(before) == out
                    inner, around = (
                        Const(routing.channel(channel, straight=straight, wraps=wraps), 1)
                        for wraps in (False, True)
                    )
                    onto.append(Mux(edges[out], around, inner) if out in edges else inner)
                m.d.comb += allocator.onto[k][channel].eq(Cat(onto))

    def _report(self, m: Module, ins: list[RouterInput], outs: list[OutputPort]) -> None:
        """Report each output's load to all neighbours: packets that have not started."""
        crowding = Signal(crowding_layout())
        for port, name in enumerate(self.directions):
            if name not in CROWDING_PLACES:
                continue
            waiting = [Cat(one.head.coming[c][port] for one in ins) for c in range(per_class(self))]
            wanted = Cat(one.any() for one in waiting)
            count = wire(m, f"waiting_for_{name}", sum_of(Cat(*waiting)), width=CROWDING_BITS)
            m.d.sync += crowding[name].eq(
                Cat(
                    count[:-1] | count[-1].replicate(CROWDING_BITS - 1),
                    (wanted & ~outs[port].injection.space).any(),
                )
            )
        m.d.comb += [out.crowding.eq(crowding) for out in outs]

    def _look(
        self,
        m: Module,
        port: RouterInput,
        source: UnicastSequencer,
        circuit: Value,
        path: Value,
        spaces: Value,
    ) -> None:
        """Give a sequencer the packet that has a path, and its input."""
        head = port.head
        states = [
            Cat(
                head.valid[c],
                head.last[c],
                head.broken[c],
                head.here[c] & (head.coming[c] & path).any(),
            )
            for c in range(len(port.spec.protocol.buffers))
        ]
        m.d.comb += [
            Cat(source.valid, source.last, source.broken, source.here).eq(
                selected(circuit, states)
            ),
            source.may.eq(1),
            source.space.eq((path & spaces).any()),
            source.length.eq(head.descriptor.length),
            head.circuit.eq(circuit),
            head.start.eq(source.start),
            head.take.eq(source.fire),
            head.finish.eq(source.ending),
        ]


def _own(port: RouterInput | OutputPort, buffer: Value) -> Value:
    """Return the number of a buffer among those of a port, which may have fewer."""
    return buffer[len(buffer) - buffer_number(port) :]
