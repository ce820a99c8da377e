"""Queue of one virtual channel of a router's port."""

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.link.descriptor import FLOW, way_fields
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.switch.ports.flit_queue import FlitQueue
from fred_hw.switch.ports.signatures import port_bits

__all__ = ["PacketQueue", "packet_layout", "stamp_layout"]


def packet_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return what a router knows of a packet: the fields of its descriptor that unicasts have."""
    fields = spec.protocol.fields
    own = {name: fields[name] for name in (*FLOW[2:], "sequence")}
    return data.StructLayout({**own, "length": fields["last"], **way_fields(spec)})


def stamp_layout(spec: SwitchSpec) -> data.StructLayout:
    """Return a flit without its payload: ``first`` and ``last`` of the packet of ``descriptor``.

    It leaves by the port ``exit``.
    """
    return data.StructLayout(
        {"first": 1, "last": 1, "descriptor": packet_layout(spec), "exit": port_bits(spec)}
    )


class PacketQueue(FlitQueue):
    """Queue packets without their payload, and offer the one at the head.

    A packet that waits at the head between two ``tick`` is thrown away, as the next router or NPU
    has had no space for it for so long.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Members
    -------
    arrives, mark, incoming : In(1), In(stamp_layout(spec)), In(1)
        A flit comes, and what it is; whether more may come of the packet of the last one.
    ready, used : Out(1), Out(range(buffer_flits + 1))
        Whether there is space for a flit, else it is lost; flits inside, one that goes counted for
        a cycle more.
    tail, place : Out(range(buffer_flits)), Out(range(buffer_flits))
        Where the payload of a flit that comes belongs, and where that of the head is.
    tick : In(1)
        High for a cycle from time to time.
    waiting, descriptor : Out(1), Out(packet_layout(spec))
        A packet may start, and what is known of it.
    start, take, finish : In(1)
        Start it, with ``take``; take a flit; the packet ends.
    valid, last : Out(1), Out(1)
        A flit is there; it ends the packet.
    broken : Out(1)
        The rest of the packet is not there and will not come.
    stuck : Out(1)
        High for a cycle when a packet is thrown away.
    enters, leaves : Out(1)
        Likewise, when the first flit of a packet comes, and when it goes.

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

    tick: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("PacketQueue", spec)
        self.unit_name = f"packet_queue_p{spec.ports}_{spec.protocol.suffix}"
        depth = spec.protocol.buffer_flits
        inputs = ("arrives", "incoming", "tick", "start", "take", "finish")
        outputs = ("ready", "waiting", "valid", "last", "broken", "stuck", "enters", "leaves")
        members: dict[str, Any] = {
            **dict.fromkeys(inputs, In(1)),
            **dict.fromkeys(outputs, Out(1)),
            "mark": In(stamp_layout(spec)),
            "used": Out(range(depth + 1)),
            "tail": Out(range(depth)),
            "place": Out(range(depth)),
            "descriptor": Out(packet_layout(spec)),
        }
        super().__init__(members)

    def build(self, m: Module) -> None:
        head = self.advance(m)
        under_way, old, thrown = Signal(), Signal(), Signal()
        m.d.comb += [
            self.waiting.eq(head.here & head.mark.first & ~under_way & ~thrown),
            self.valid.eq(self.waiting | (head.here & under_way & ~head.mark.first)),
            self.stuck.eq(thrown),
        ]
        # What starts is known late in its cycle: it is not thrown away, and begins to wait anew.
        m.d.sync += thrown.eq(self.waiting & old & self.tick & ~self.start)
        with m.If(self.start | ~self.waiting):
            m.d.sync += old.eq(0)
        with m.Elif(self.tick):
            m.d.sync += old.eq(1)
        self.give(m, head, under_way, thrown)
