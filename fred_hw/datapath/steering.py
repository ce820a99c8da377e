"""Demultiplexer and multiplexer, which connect the unpaired port to the middle subswitches."""

from collections.abc import Iterable

from amaranth.hdl import Const, Module
from amaranth.lib.wiring import In, Out

from fred_hw.compiler.connections import Connection, kept_connections
from fred_hw.compiler.shape import code_width
from fred_hw.gates.select import gated
from fred_hw.member import member
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit

from .flit import Flit, delayed, idle
from .microswitch import drive, select

__all__ = ["Demultiplexer", "Multiplexer"]


class Demultiplexer(Unit):
    """Route one input to one of m outputs, with the latency of an R micro-switch.

    Parameters
    ----------
    spec : SwitchSpec
        Gives m (``middle_switches``), lanes and pipeline registers.
    connections : iterable of Connection, optional
        The only connections that it must make, see ``fred_hw.compiler.connections``; by default
        all.

    Timing
    ------
    Latency : ``adder_registers + stage_registers`` cycles, so that no path is shorter.
    Throughput : one flit per cycle.
    Paths : none.
    Reset : clears ``valid`` of the flits inside; they are lost.
    """

    i: Flit = member(In, lambda u: Flit.signature(u.spec.data_width))
    """Flits of the last input port."""
    o: list[Flit] = member(
        Out, lambda u: Flit.signature(u.spec.data_width), array=lambda u: u.spec.middle_switches
    )
    """Flits to the middle subswitches; ``data`` is 0 where the input is not routed."""
    configuration = member(In, lambda u: code_width(u.spec.middle_switches))
    """Destination for the flit of the same cycle: 0 is nowhere, c + 1 is output c."""

    def __init__(
        self, *, spec: SwitchSpec, connections: Iterable[Connection] | None = None
    ) -> None:
        self.spec = check_spec("Demultiplexer", spec)
        self.connections, kept = kept_connections(
            "Demultiplexer", "demux", spec.middle_switches, connections
        )
        self.unit_name = f"demultiplexer_m{spec.middle_switches}_{spec.suffix()}" + kept
        super().__init__()

    def build(self, m: Module) -> None:
        spec = self.spec
        depth, behind = spec.adder_registers, spec.stage_registers
        # Registers before the fork cost fewer flip-flops than behind it.
        data = delayed(m, self.i.data, depth + behind, "i_data")
        valid = delayed(m, self.i.valid, depth, "i_valid", reset=True)
        destination = delayed(m, self.configuration, depth, "configuration")
        for index, o in enumerate(self.o):
            if (1, index) not in self.connections:
                idle(m, o)
                continue
            take = valid & (destination == Const(index + 1, len(destination)))
            take = delayed(m, take, behind, f"o{index}_take", reset=True)
            m.d.comb += [o.valid.eq(take), o.data.eq(gated(data, take))]


class Multiplexer(Unit):
    """Route one of m inputs to one output, with the latency of a D micro-switch.

    Parameters
    ----------
    spec : SwitchSpec
        Gives m (``middle_switches``), lanes and pipeline registers.
    connections : iterable of Connection, optional
        The only connections that it must make, see ``fred_hw.compiler.connections``; by default
        all.

    Timing
    ------
    Latency : ``stage_registers`` cycles.
    Throughput : one flit per cycle.
    Paths : none.
    Reset : clears ``valid`` of the flits inside; they are lost.
    """

    i: list[Flit] = member(
        In, lambda u: Flit.signature(u.spec.data_width), array=lambda u: u.spec.middle_switches
    )
    """Flits from the middle subswitches."""
    o: Flit = member(Out, lambda u: Flit.signature(u.spec.data_width))
    """Flits to the last output port; ``data`` is 0 where no input is selected."""
    configuration = member(In, lambda u: code_width(u.spec.middle_switches))
    """Source for the flit of the same cycle: 0 for none, or c + 1 for input c."""

    def __init__(
        self, *, spec: SwitchSpec, connections: Iterable[Connection] | None = None
    ) -> None:
        self.spec = check_spec("Multiplexer", spec)
        self.connections, kept = kept_connections(
            "Multiplexer", "mux", spec.middle_switches, connections
        )
        self.unit_name = f"multiplexer_m{spec.middle_switches}_{spec.suffix(reduces=False)}" + kept
        super().__init__()

    def build(self, m: Module) -> None:
        kept = sorted(source for source, _ in self.connections)
        valid, data = select(self.configuration, self.i, kept)
        drive(m, self.o, valid, data, self.spec.stage_registers, "o")
