"""Output port: a queue behind the interconnect, which never has to stall."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib.wiring import In, Out

from fred_hw.datapath.interconnect import place
from fred_hw.unit import Unit

from .fifo import Fifo
from .packets import PortStream, port_signature
from .spec import CoreSpec

__all__ = ["OutputPort"]


class OutputPort(Unit):
    """Take flits as they come out of the interconnect, and promise room before they go in.

    Parameters
    ----------
    spec : CoreSpec
        Sizes.
    data_width, latency : int
        Bits of a flit; cycles that the interconnect takes.

    Members
    -------
    room : Out(1)
        Whether there is room for a largest packet beside all that was promised.
    start : In(1)
        Promise that room to a packet, only while there is; high for one cycle.
    fire, last, phase, circuit : In
        A flit for this port enters the interconnect; ``last`` ends its packet.
    valid, data : In
        What the interconnect gives this port.
    o : Out(port stream)
        Packets to outside.

    Timing
    ------
    Latency : 2 cycles from a flit given to the same flit offered.
    Throughput : one flit per cycle; packet follows packet without a gap while ``o.ready`` is high.
    Paths : none.
    Reset : forgets all packets and promises.
    """

    room: Signal
    start: Signal
    fire: Signal
    last: Signal
    phase: Signal
    circuit: Signal
    valid: Signal
    data: Signal
    o: PortStream

    def __init__(self, *, spec: CoreSpec, data_width: int, latency: int) -> None:
        self.spec, self.data_width, self.latency = spec, data_width, latency
        self.unit_name = f"output_port_w{data_width}_l{latency}_{spec.suffix}"
        super().__init__(
            {
                "room": Out(1),
                "start": In(1),
                "fire": In(1),
                "last": In(1),
                "phase": In(spec.phase_bits),
                "circuit": In(2),
                "valid": In(1),
                "data": In(data_width),
                "o": Out(port_signature(spec, data_width)),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        spec = self.spec
        # What is inside the interconnect and the queue's own two cycles, and two packets.
        depth = self.latency + 2 + 2 * spec.packet_flits
        promised = Signal(range(depth + 1))  # flits that have room, come or not
        length = Signal(range(spec.packet_flits + 1))  # of the packet that goes in, so far
        gone = Signal()
        spare = Signal.like(length)
        m.d.comb += [
            self.room.eq(promised <= depth - spec.packet_flits),
            gone.eq(self.o.valid & self.o.ready),
        ]
        with m.If(self.fire):
            m.d.sync += length.eq(length + 1)
            with m.If(self.last):
                # A short packet gives back the room that it did not take.
                m.d.sync += length.eq(0)
                m.d.comb += spare.eq(spec.packet_flits - 1 - length)
        taken = self.start.replicate(len(promised)) & spec.packet_flits
        m.d.sync += promised.eq(promised + taken - spare - gone)
        about = self._carried(m)
        width = self.data_width + 1 + spec.phase_bits + 2
        queue = place(m, "queue", Fifo(width=width, depth=depth))
        m.d.comb += [
            queue.i_valid.eq(self.valid),
            queue.i_data.eq(Cat(self.data, about)),
            queue.o_ready.eq(self.o.ready),
            self.o.valid.eq(queue.o_valid),
            Cat(self.o.data, self.o.last, self.o.phase, self.o.circuit).eq(queue.o_data),
        ]
        return m

    def _carried(self, m: Module) -> Signal:
        """Return what is known of a flit when it enters, as it leaves the interconnect."""
        about = Cat(self.last, self.phase, self.circuit)
        for cycle in range(self.latency):
            register = Signal(len(about), name=f"about_q{cycle + 1}", reset_less=True)
            m.d.sync += register.eq(about)
            about = register
        return about
