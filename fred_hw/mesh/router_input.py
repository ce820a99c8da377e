"""Input of a router: one queue per buffer of a virtual channel."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_kind
from fred_hw.gates.select import selected
from fred_hw.member import Bundle, member
from fred_hw.switch.ports.arrivals import Arrivals, join_queues, store_payload
from fred_hw.switch.ports.next_unicast import NextUnicast
from fred_hw.unit import place

from .packet_queue import PacketQueue, packet_layout
from .route_computation import (
    RouteComputation,
    check_directions,
    position_layout,
    router_shape_name,
)
from .spec import MeshSpec, check_mesh

__all__ = ["Heads", "RouterInput"]


class Heads(Bundle):
    """Packets at the heads of an input's queues, and the fate of the chosen one."""

    coming: data.View = member(
        Out, lambda spec: data.ArrayLayout(spec.ports, len(spec.protocol.buffers))
    )
    """Output of the next packet of each of the B buffers; see ``NextUnicast``."""
    here = member(Out, lambda spec: len(spec.protocol.buffers))
    """Whether the packet at the head may start, for each buffer."""
    valid = member(Out, lambda spec: len(spec.protocol.buffers))
    """For each buffer: a flit is at its head."""
    last = member(Out, lambda spec: len(spec.protocol.buffers))
    """For each buffer: that flit ends the packet."""
    broken = member(Out, lambda spec: len(spec.protocol.buffers))
    """For each buffer: the rest of the packet is missing and will not arrive."""
    descriptor: data.View = member(Out, packet_layout)
    """Descriptor of the packet of the buffer ``circuit``."""
    circuit = member(In, lambda spec: spec.protocol.fields["circuit"])
    """Buffer that has a path."""
    start = member(In, 1)
    """Start the buffer's packet; see ``PacketQueue``."""
    take = member(In, 1)
    """Take a flit of the packet."""
    finish = member(In, 1)
    """End the packet."""


class RouterInput(Arrivals):
    """Check received flits, find their output, and queue them by class and virtual channel.

    Parameters
    ----------
    mesh : MeshSpec
        The mesh.
    directions : sequence of str
        Ports of the router, 2 or more of ``DIRECTIONS`` in their order.
    outside : bool, optional
        Whether the link leads to an NPU, and so has one virtual channel per class.

    Timing
    ------
    Latency : 2 cycles from a flit to ``head.here`` if its queue is empty, 3 to ``head.coming``; 1
        from ``head.take`` to ``flit``.
    Throughput : one flit per cycle.
    Paths : all of ``head`` that goes in to all of it that comes out but ``coming``.
    Reset : forgets all packets.

    Raises
    ------
    TypeError, ValueError
        A parameter has a wrong type, or is out of range.
    """

    position: data.View = member(In, lambda u: position_layout(u.mesh))
    """Position of the router."""
    tick = member(In, 1)
    """Periodic pulse of one cycle; see ``PacketQueue``."""
    head: Heads = member(Out, lambda u: Heads.signature(u.spec))
    """Packets that may start, and the control of one."""
    # Placed here, since the order of ports is part of the hash of a measured design.
    flit, credit, message = Arrivals.flit, Arrivals.credit, Arrivals.message
    handshake, down, exit, came = Arrivals.handshake, Arrivals.down, Arrivals.exit, Arrivals.came
    dropped, length, kind = Arrivals.dropped, Arrivals.length, Arrivals.kind
    overflow, stuck, route = Arrivals.overflow, Arrivals.stuck, Arrivals.route

    def __init__(self, *, mesh: MeshSpec, directions: Sequence[str], outside: bool = False) -> None:
        self.mesh = check_mesh("RouterInput", mesh)
        self.directions = check_directions("RouterInput", directions)
        self.outside = check_kind("RouterInput outside", outside, bool)
        self.spec = spec = mesh.router(self.directions, outside=outside)
        shape = router_shape_name(mesh, directions)
        self.unit_name = f"router_input_{shape}_w{spec.data_width}_{spec.protocol.suffix}"
        super().__init__()

    def build(self, m: Module) -> None:
        names = self.spec.protocol.buffers
        queues = [place(m, f"circuit_{name}", PacketQueue(spec=self.spec)) for name in names]
        head = self.head
        for number, queue in enumerate(queues):
            mine = head.circuit == number
            m.d.comb += [
                queue.tick.eq(self.tick),
                queue.start.eq(head.start & mine),
                queue.take.eq(head.take & mine),
                queue.finish.eq(head.finish & mine),
                head.here[number].eq(queue.waiting),
                *(
                    getattr(head, name)[number].eq(getattr(queue, name))
                    for name in ("valid", "last", "broken")
                ),
            ]
            coming = place(m, f"coming_{names[number]}", NextUnicast(spec=self.spec))
            m.d.comb += [
                coming.enters.eq(queue.enters),
                coming.online.eq(1),
                coming.exit.eq(self.exit),
                coming.leaves.eq(queue.leaves),
                head.coming[number].eq(coming.destination),
            ]
        known = [queue.descriptor.as_value() for queue in queues]
        m.d.comb += [
            head.descriptor.as_value().eq(selected(head.circuit, known)),
            self.stuck.eq(Cat(queue.stuck for queue in queues).any()),
        ]
        deframer, more = join_queues(m, self, queues, self._compute_route(m))
        m.d.comb += [queue.incoming.eq(may) for queue, may in zip(queues, more, strict=True)]
        m.d.comb += self.dropped.eq(deframer.dropped | self.route)
        read = store_payload(m, queues, deframer.o[0].word, head)
        m.d.comb += self.flit.data.eq(read.data)
        m.d.sync += self.flit.valid.eq(read.en)

    def _compute_route(self, m: Module) -> Signal:
        """Find the output of a flit; return a signal that is high a cycle later if it has none."""
        computation = place(
            m, "computation", RouteComputation(mesh=self.mesh, directions=self.directions)
        )
        astray = Signal()
        m.d.comb += [
            computation.destination.eq(self.i.header.destination),
            computation.source.eq(self.i.header.source),
            computation.here.eq(self.position),
        ]
        if self.spec.protocol.routes is not None:
            m.d.comb += computation.alternate.eq(self.i.header.alternate)
        m.d.sync += [
            astray.eq(~self.i.header.unicast | computation.astray),
            self.exit.eq(computation.exit),
        ]
        return astray
