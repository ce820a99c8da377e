"""Demultiplexer and multiplexer: how the odd port reaches the middle subswitches."""

from amaranth.hdl import Const, Module, Signal
from amaranth.lib.wiring import In, Out

from fred_hw.compiler.shape import code_width
from fred_hw.gates.select import gated
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit

from .flit import Flit, delayed, flit_signature
from .microswitch import drive, select

__all__ = ["Demultiplexer", "Multiplexer"]


class Demultiplexer(Unit):
    """Route one input to one of m outputs, in the time of an R micro-switch.

    Parameters
    ----------
    spec : SwitchSpec
        Gives m (``middle_switches``), lanes and pipeline registers.

    Members
    -------
    i : In(flit_signature(data_width))
        Flits of the last input port.
    o : Out(flit_signature(data_width)).array(m)
        Flits to the middle subswitches; ``data`` is 0 where the input is not routed.
    configuration : In(code_width(m))
        Destination for the flit of the same cycle: 0 is nowhere, c + 1 is output c.

    Timing
    ------
    Latency : ``adder_registers + stage_registers`` cycles, so that no path is shorter.
    Throughput : one flit per cycle.
    Paths : none.
    Reset : clears ``valid`` of the flits inside; they are lost.
    """

    i: Flit
    o: list[Flit]
    configuration: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("Demultiplexer", spec)
        self.unit_name = f"demultiplexer_m{spec.middle_switches}_{spec.suffix()}"
        flit = flit_signature(spec.data_width)
        members = {
            "i": In(flit),
            "o": Out(flit).array(spec.middle_switches),
            "configuration": In(code_width(spec.middle_switches)),
        }
        super().__init__(members)

    def build(self, m: Module) -> None:
        spec = self.spec
        depth, behind = spec.adder_registers, spec.stage_registers
        # Registers before the fork are fewer than behind it.
        data = delayed(m, self.i.data, depth + behind, "i_data")
        valid = delayed(m, self.i.valid, depth, "i_valid", reset=True)
        destination = delayed(m, self.configuration, depth, "configuration")
        for index, o in enumerate(self.o):
            take = valid & (destination == Const(index + 1, len(destination)))
            take = delayed(m, take, behind, f"o{index}_take", reset=True)
            m.d.comb += [o.valid.eq(take), o.data.eq(gated(data, take))]


class Multiplexer(Unit):
    """Route one of m inputs to one output, in the time of a D micro-switch.

    Parameters
    ----------
    spec : SwitchSpec
        Gives m (``middle_switches``), lanes and pipeline registers.

    Members
    -------
    i : In(flit_signature(data_width)).array(m)
        Flits from the middle subswitches.
    o : Out(flit_signature(data_width))
        Flits to the last output port; ``data`` is 0 where no input is selected.
    configuration : In(code_width(m))
        Source for the flit of the same cycle: 0 is none, c + 1 is input c.

    Timing
    ------
    Latency : ``stage_registers`` cycles.
    Throughput : one flit per cycle.
    Paths : none.
    Reset : clears ``valid`` of the flits inside; they are lost.
    """

    i: list[Flit]
    o: Flit
    configuration: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("Multiplexer", spec)
        self.unit_name = f"multiplexer_m{spec.middle_switches}_{spec.suffix(reduces=False)}"
        flit = flit_signature(spec.data_width)
        members = {
            "i": In(flit).array(spec.middle_switches),
            "o": Out(flit),
            "configuration": In(code_width(spec.middle_switches)),
        }
        super().__init__(members)

    def build(self, m: Module) -> None:
        valid, data = select(self.configuration, self.i)
        drive(m, self.o, valid, data, self.spec.stage_registers, "o")
