"""Queue of one virtual channel of a router's port."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In

from fred_hw.link.descriptor import FLOW, route_fields
from fred_hw.member import member
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.switch.ports.flit_queue import FlitQueue
from fred_hw.switch.ports.signatures import port_bits

__all__ = ["PacketQueue", "packet_layout", "stamp_layout"]


def packet_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the layout of a packet in a router: the descriptor fields of a unicast."""
    fields = spec.protocol.fields
    own = {name: fields[name] for name in (*FLOW[2:], "sequence")}
    return data.StructLayout({**own, "length": fields["last"], **route_fields(spec)})


def stamp_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return the layout of a flit without payload: ``first``, ``last`` and ``descriptor``.

    It leaves by the port ``exit``.
    """
    return data.StructLayout(
        {"first": 1, "last": 1, "descriptor": packet_layout(spec), "exit": port_bits(spec)}
    )


class PacketQueue(FlitQueue):
    """Queue packets without payload, and offer the one at the head.

    A packet that waits at the head between two ``tick`` is dropped: for all that time the next
    router or NPU has had no space for it.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : 1 cycle from a flit to the head; likewise from the second ``tick`` to ``stuck``.
    Throughput : one flit per cycle.
    Paths : ``arrives`` and ``mark`` to ``enters``, ``take`` to ``leaves``, ``incoming`` to
        ``broken``.
    Reset : forgets all packets.

    Raises
    ------
    TypeError
        ``spec`` is no specification.
    """

    tick = member(In, 1)
    """Periodic pulse of one cycle."""
    # Placed here, since the order of ports is part of the hash of a measured design.
    start, take, finish, mark = FlitQueue.start, FlitQueue.take, FlitQueue.finish, FlitQueue.mark

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("PacketQueue", spec)
        self.unit_name = f"packet_queue_p{spec.ports}_{spec.protocol.suffix}"
        self.layout = stamp_layout(spec)
        super().__init__()

    def build(self, m: Module) -> None:
        head = self.advance(m)
        under_way = Signal()
        old = Signal()
        thrown = Signal()
        m.d.comb += [
            self.waiting.eq(head.here & head.mark.first & ~under_way & ~thrown),
            self.valid.eq(self.waiting | (head.here & under_way & ~head.mark.first)),
            self.stuck.eq(thrown),
        ]
        # The start settles late: a starting packet is not dropped, and the wait restarts.
        m.d.sync += thrown.eq(self.waiting & old & self.tick & ~self.start)
        with m.If(self.start | ~self.waiting):
            m.d.sync += old.eq(0)
        with m.Elif(self.tick):
            m.d.sync += old.eq(1)
        self.give(m, head, under_way, thrown)
