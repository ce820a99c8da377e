"""Queue of words in a memory that synthesis maps to SRAM."""

from amaranth.hdl import Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.member import member
from fred_hw.unit import Unit, check_shape

__all__ = ["Fifo"]


class Fifo(Unit):
    """First-in, first-out queue of words.

    The memory of words is never read and written at one address in the same cycle.

    Parameters
    ----------
    shape : ShapeLike
        Shape of a word, 1 bit or more.
    depth : int
        Words that fit, 2 or more.

    Timing
    ------
    Latency : 1 cycle from a word taken to the same word offered.
    Throughput : one word per cycle.
    Paths : none.
    Reset : forgets all words.

    Raises
    ------
    TypeError, ValueError
        A parameter has a wrong type, or is out of range.
    """

    i: stream.Interface = member(In, lambda u: stream.Signature(u.shape))
    """Words."""
    o: stream.Interface = member(Out, lambda u: stream.Signature(u.shape))
    """The same words, in order."""
    used = member(Out, lambda u: range(u.depth + 1))
    """Words inside."""

    def __init__(self, *, shape: ShapeLike, depth: int) -> None:
        self.shape = shape
        self.width = check_int("Fifo width", check_shape("Fifo", shape).width, minimum=1)
        self.depth = check_int("Fifo depth", depth, minimum=2)
        self.unit_name = f"fifo_w{self.width}_d{depth}"
        super().__init__()

    def build(self, m: Module) -> None:
        memory = m.submodules.memory = Memory(shape=self.width, depth=self.depth, init=[])
        write = memory.write_port()
        read = memory.read_port()
        tail, head, following = (
            Signal(range(self.depth), name=name) for name in ("tail", "head", "following")
        )
        used = Signal(range(self.depth + 1))
        offered = Signal()
        came = Signal()
        gone = Signal()
        more = Signal()
        word, given = Value.cast(self.i.payload), Value.cast(self.o.payload)
        # A word that enters an empty queue bypasses the memory, and is held until it leaves.
        passed = Signal(self.width, reset_less=True)
        passing = Signal()
        m.d.comb += [
            self.used.eq(used),
            self.i.ready.eq(used != self.depth),
            came.eq(self.i.valid & self.i.ready),
            gone.eq(self.o.valid & self.o.ready),
            write.addr.eq(tail),
            write.data.eq(word),
            write.en.eq(came),
            self.o.valid.eq(offered),
            given.eq(read.data),
            # Read the next word while the current one leaves.
            read.en.eq(gone & (used > 1)),
            read.addr.eq(following),
            following.eq(Mux(head == self.depth - 1, 0, head + 1)),
        ]
        with m.If(passing):
            m.d.comb += given.eq(passed)
        with m.If(gone):
            m.d.sync += head.eq(following)
        with m.If(came):
            m.d.sync += tail.eq(tail + 1)
            with m.If(tail == self.depth - 1):
                m.d.sync += tail.eq(0)
        # The handshakes settle late, so they select between counts computed in advance.
        m.d.comb += more.eq(Mux(gone, used > 1, used != 0))
        m.d.sync += offered.eq(came | more)
        with m.If(came & ~gone):
            m.d.sync += used.eq(used + 1)
        with m.Elif(gone & ~came):
            m.d.sync += used.eq(used - 1)
        with m.If(gone | ~offered):
            m.d.sync += passing.eq(used == gone)
            with m.If(came):
                m.d.sync += passed.eq(word)
