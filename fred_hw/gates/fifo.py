"""Queue of words in a memory that synthesis maps to SRAM."""

from amaranth.hdl import Module, Signal
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fred_hw.unit import Unit

__all__ = ["Fifo"]


class Fifo(Unit):
    """Queue words, first in, first out.

    Parameters
    ----------
    width, depth : int
        Bits of a word; words that fit, 2 or more.

    Members
    -------
    i_valid, i_ready, i_data : In(1), Out(1), In(width)
        A word is taken in a cycle with both high.
    o_valid, o_ready, o_data : Out(1), In(1), Out(width)
        A word is given in a cycle with both high; one that is offered stays until then.
    used : Out(bits of depth + 1)
        Words inside.

    Timing
    ------
    Latency : 1 cycle from a word taken to the same word offered.
    Throughput : one word per cycle.
    Paths : none.
    Reset : forgets all words.
    """

    i_valid: Signal
    i_ready: Signal
    i_data: Signal
    o_valid: Signal
    o_ready: Signal
    o_data: Signal
    used: Signal

    def __init__(self, *, width: int, depth: int) -> None:
        self.width, self.depth = width, depth
        self.unit_name = f"fifo_w{width}_d{depth}"
        super().__init__(
            {
                "i_valid": In(1),
                "i_ready": Out(1),
                "i_data": In(width),
                "o_valid": Out(1),
                "o_ready": In(1),
                "o_data": Out(width),
                "used": Out(range(depth + 1)),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        memory = m.submodules.memory = Memory(shape=self.width, depth=self.depth, init=[])
        write = memory.write_port()
        read = memory.read_port()
        tail, head, following = (Signal(range(self.depth)) for _ in range(3))
        used, offered = Signal(range(self.depth + 1)), Signal()
        came, gone = Signal(), Signal()
        # A word that goes into an empty queue passes by the memory, which still reads the old one.
        passed, passing = Signal(self.width, reset_less=True), Signal()
        m.d.comb += [
            self.used.eq(used),
            self.i_ready.eq(used != self.depth),
            came.eq(self.i_valid & self.i_ready),
            gone.eq(self.o_valid & self.o_ready),
            write.addr.eq(tail),
            write.data.eq(self.i_data),
            write.en.eq(came),
            self.o_valid.eq(offered),
            self.o_data.eq(read.data),
            read.en.eq(1),
            # The address runs a cycle ahead of the word that is offered.
            following.eq(head),
            read.addr.eq(following),
        ]
        with m.If(passing):
            m.d.comb += self.o_data.eq(passed)
        with m.If(gone):
            m.d.comb += following.eq(head + 1)
            with m.If(head == self.depth - 1):
                m.d.comb += following.eq(0)
        with m.If(came):
            m.d.sync += tail.eq(tail + 1)
            with m.If(tail == self.depth - 1):
                m.d.sync += tail.eq(0)
        m.d.sync += [
            head.eq(following),
            used.eq(used + came - gone),
            offered.eq(used + came - gone != 0),
            passing.eq(came & (tail == following)),
        ]
        with m.If(came):
            m.d.sync += passed.eq(self.i_data)
        return m
