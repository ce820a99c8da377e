"""Crossbar between the input memories and the outputs of a router."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.datapath.flit import Flit
from fred_hw.gates.select import one_hot_mux
from fred_hw.member import member
from fred_hw.unit import Unit

__all__ = ["Crossbar"]


class Crossbar(Unit):
    """Route the flit of each connected input to its output.

    Parameters
    ----------
    ports : int
        Ports P, 2 or more.
    width : int
        Bits of a flit, 1 or more.

    Timing
    ------
    Latency : 1 cycle.
    Throughput : one flit per port and cycle.
    Paths : none.
    Reset : forgets the flits.

    Raises
    ------
    TypeError, ValueError
        A parameter has a wrong type, or is out of range.
    """

    i: list[Flit] = member(In, lambda u: Flit.signature(u.width), array=lambda u: u.ports)
    """Flits."""
    paths: list[Signal] = member(In, lambda u: u.ports, array=lambda u: u.ports)
    """Input of each output's next flit, one-hot, a cycle before the flit."""
    o: list[Flit] = member(Out, lambda u: Flit.signature(u.width), array=lambda u: u.ports)
    """The same flits, at their outputs."""

    def __init__(self, *, ports: int, width: int) -> None:
        self.ports = check_int("Crossbar ports", ports, minimum=2)
        self.width = check_int("Crossbar width", width, minimum=1)
        self.unit_name = f"crossbar_p{ports}_w{width}"
        super().__init__()

    def build(self, m: Module) -> None:
        there = Cat(one.valid for one in self.i)
        for k, (path, out) in enumerate(zip(self.paths, self.o, strict=True)):
            chosen = Signal(self.ports, name=f"chosen_{k}")
            flit = Signal(self.width, name=f"flit_{k}", reset_less=True)
            m.d.sync += [
                chosen.eq(path),
                flit.eq(one_hot_mux(chosen, [one.data for one in self.i])),
                out.valid.eq((chosen & there).any()),
            ]
            m.d.comb += out.data.eq(flit)
