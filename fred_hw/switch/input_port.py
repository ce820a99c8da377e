"""Input port: a queue of flits for each virtual circuit, and the phases of the packets in it."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.datapath.interconnect import place
from fred_hw.unit import Unit

from .fifo import Fifo
from .packets import PortStream, port_signature
from .select import selected
from .spec import DATA_CIRCUITS, CoreSpec

__all__ = ["InputPort"]


class InputPort(Unit):
    """Keep packets apart by their virtual circuits until the scheduler takes them.

    Parameters
    ----------
    spec : CoreSpec
        Sizes.
    data_width : int
        Bits of a flit.

    Members
    -------
    i : In(port stream)
        Packets from outside. Flits with ``circuit`` 3 are dropped and seen in ``refused``.
    waiting, phase : Out(3), Out(3 phases)
        Per circuit, whether there is a packet that was not started, and the phase of the first.
    start : In(3)
        Start that packet: high for one cycle, only while it waits.
    circuit : In(2)
        Circuit that flits are read from.
    valid, take, word, last : Out(1), In(1), Out(data_width), Out(1)
        Its first flit; taken in a cycle with ``take`` high, only while it is valid.
    refused : Out(1)
        High for one cycle per flit dropped.

    Timing
    ------
    Latency : 2 cycles from a flit taken to the same flit at ``word``, 1 cycle to ``waiting``.
    Throughput : one flit per cycle.
    Paths : ``i.circuit`` to ``i.ready``; ``circuit`` to ``valid``, ``word`` and ``last``.
    Reset : forgets all packets.
    """

    i: PortStream
    waiting: Signal
    phase: data.View
    start: Signal
    circuit: Signal
    valid: Signal
    take: Signal
    word: Signal
    last: Signal
    refused: Signal

    def __init__(self, *, spec: CoreSpec, data_width: int) -> None:
        self.spec, self.data_width = spec, data_width
        self.unit_name = f"input_port_w{data_width}_{spec.suffix}"
        count = len(DATA_CIRCUITS)
        super().__init__(
            {
                "i": In(port_signature(spec, data_width)),
                "waiting": Out(count),
                "phase": Out(data.ArrayLayout(spec.phase_bits, count)),
                "start": In(count),
                "circuit": In(2),
                "valid": Out(1),
                "take": In(1),
                "word": Out(data_width),
                "last": Out(1),
                "refused": Out(1),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        spec, count = self.spec, len(DATA_CIRCUITS)
        inside = Signal()  # between the first and the last flit of a packet that comes in
        ready = Signal(1 << 2)
        flits: list[Fifo] = []
        for circuit, name in enumerate(DATA_CIRCUITS):
            fifo = place(
                m, f"flits_{name}", Fifo(width=self.data_width + 1, depth=spec.buffer_flits)
            )
            packets = place(
                m, f"packets_{name}", Fifo(width=spec.phase_bits, depth=spec.buffer_packets)
            )
            chosen = Signal(name=f"chosen_{name}")
            first = Signal(name=f"first_{name}")
            m.d.comb += [
                chosen.eq(self.i.valid & (self.i.circuit == circuit)),
                first.eq(chosen & ~inside),
                # A first flit needs room in both queues.
                ready[circuit].eq(fifo.i_ready & (inside | packets.i_ready)),
                fifo.i_valid.eq(chosen & ready[circuit]),
                fifo.i_data.eq(Cat(self.i.data, self.i.last)),
                packets.i_valid.eq(first & ready[circuit]),
                packets.i_data.eq(self.i.phase),
                self.waiting[circuit].eq(packets.o_valid),
                self.phase[circuit].eq(packets.o_data),
                packets.o_ready.eq(self.start[circuit]),
                fifo.o_ready.eq(self.take & (self.circuit == circuit)),
            ]
            flits.append(fifo)
        m.d.comb += [
            ready[count].eq(1),
            self.i.ready.eq(ready.bit_select(self.i.circuit, 1)),
            self.refused.eq(self.i.valid & (self.i.circuit == count)),
        ]
        with m.If(self.i.valid & self.i.ready & ~self.refused):
            m.d.sync += inside.eq(~self.i.last)
        heads = [Cat(fifo.o_data, fifo.o_valid) for fifo in flits]
        m.d.comb += Cat(self.word, self.last, self.valid).eq(selected(self.circuit, heads))
        return m
