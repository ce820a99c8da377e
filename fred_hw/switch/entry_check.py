"""Check of a phase entry: each output must receive exactly the inputs of its flow."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.control.entry_port import entry_layout
from fred_hw.gates.select import may_pass, one_hot_mux
from fred_hw.member import member
from fred_hw.per_class import per_class
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place

from .network_paths import tracer

__all__ = ["EntryCheck"]


class EntryCheck(Unit):
    """Trace one input after the other to all outputs, along the paths of the configuration.

    It must come to the outputs of its flow and to no others, and they must get what they wait for;
    an entry that joins two flows, or leaves an input out, is refused.

    Parameters
    ----------
    spec : SwitchSpec
        The switch.

    Timing
    ------
    Latency : 2 cycles and one for each port.
    Throughput : one entry in that time.
    Paths : none.
    Reset : forgets the entry.

    Raises
    ------
    TypeError
        ``spec`` is no specification.
    """

    entry: data.View = member(In, lambda u: entry_layout(u.spec))
    """It stays from ``start`` to ``done``."""
    start = member(In, 1)
    """Check the entry."""
    done = member(Out, 1)
    """The check is over."""
    right = member(Out, 1)
    """Whether the entry can be used, in the cycle of ``done``."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("EntryCheck", spec)
        channels = spec.protocol.channels
        self.unit_name = f"entry_check_{spec.shape}{channels.suffix}"
        super().__init__()

    def build(self, m: Module) -> None:
        ports, inputs, outputs = self.spec.ports, self.entry.inputs, self.entry.outputs
        paths = place(m, "tracer", tracer(self.spec))
        mark = Signal(ports)
        looks = Signal()
        last = Signal()
        good = Signal()
        flow = Signal(ports.bit_length())
        gets = Signal(ports)
        reached = Signal(ports)
        m.d.comb += [
            paths.configuration.eq(self.entry.configuration),
            paths.sends.eq(Cat(one != 0 for one in inputs)),
            paths.marks.eq(mark),
        ]
        m.d.sync += [
            mark.eq(Mux(self.start, 1, mark << 1)),
            looks.eq(mark.any()),
            last.eq(mark[-1]),
            flow.eq(one_hot_mux(mark, list(inputs))),
            gets.eq(paths.gets),
            reached.eq(paths.reached),
            self.done.eq(last),
        ]
        mine, used = Cat(one == flow for one in outputs), Cat(one != 0 for one in outputs)
        fits = (gets == used) & ~(gets & (reached ^ mine)).any() & ((flow == 0) | mine.any())
        if may_pass(flow, ports):
            fits = fits & (flow <= ports)
        so_far = good & fits & (self.entry.circuit < per_class(self))
        m.d.sync += self.right.eq(~self.entry.used | so_far)
        with m.If(self.start):
            m.d.sync += good.eq(1)
        with m.Elif(looks):
            m.d.sync += good.eq(so_far)
