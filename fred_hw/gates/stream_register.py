"""Pipeline register of a stream, whose output comes directly from registers."""

from amaranth.hdl import Module, ShapeLike, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.member import member
from fred_hw.unit import Unit, check_shape

__all__ = ["StreamRegister"]


class StreamRegister(Unit):
    """Offer words from a register, which loads the next word while the current one is taken.

    Parameters
    ----------
    shape : ShapeLike
        Shape of a word, 1 bit or more.

    Timing
    ------
    Latency : 1 cycle from a word taken to the same word offered.
    Throughput : one word per cycle.
    Paths : ``o.ready`` to ``i.ready``.
    Reset : forgets the word.

    Raises
    ------
    TypeError, ValueError
        A parameter has a wrong type, or is out of range.
    """

    i: stream.Interface = member(In, lambda u: stream.Signature(u.shape))
    """Words."""
    o: stream.Interface = member(Out, lambda u: stream.Signature(u.shape))
    """The same words, in order."""

    def __init__(self, *, shape: ShapeLike) -> None:
        self.shape = shape
        self.width = check_int(
            "StreamRegister width", check_shape("StreamRegister", shape).width, minimum=1
        )
        self.unit_name = f"stream_register_w{self.width}"
        super().__init__()

    def build(self, m: Module) -> None:
        offered = Signal()
        word = Signal(self.width, reset_less=True)
        m.d.comb += [
            self.i.ready.eq(~offered | self.o.ready),
            self.o.valid.eq(offered),
            Value.cast(self.o.payload).eq(word),
        ]
        with m.If(self.i.ready):
            m.d.sync += offered.eq(self.i.valid)
            # An invalid word does not toggle the register.
            with m.If(self.i.valid):
                m.d.sync += word.eq(self.i.payload)
