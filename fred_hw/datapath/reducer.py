"""Reduction of two flits, lane by lane."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out

from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, check_spec

from .reduction import reduction_unit

__all__ = ["Reducer"]


class Reducer(Unit):
    """Reduce the data of two flits, each lane with its own unit.

    Parameters
    ----------
    spec : SwitchSpec
        Gives number format, operation, lanes and registers.

    Members
    -------
    i0, i1 : In(data_width)
        Operands, lane 0 in the low bits.
    o : Out(data_width)
        Lane-wise results.

    Timing
    ------
    Latency : ``spec.adder_registers`` cycles.
    Throughput : one result per cycle.
    Paths : ``i0`` and ``i1`` to ``o`` if there are no registers, else none.
    Reset : nothing is cleared; results of operands from before a reset still come out.
    """

    i0: Signal
    i1: Signal
    o: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("Reducer", spec)
        self.unit_name = f"reducer_{spec.suffix(crosses=False)}"
        self.clocked, self.resettable = spec.adder_registers > 0, False
        width = spec.data_width
        super().__init__({"i0": In(width), "i1": In(width), "o": Out(width)})

    def build(self, platform: object) -> Module:
        m = Module()
        spec = self.spec
        width = spec.number_format.width
        for index in range(spec.lanes):
            lane = reduction_unit(
                spec.number_format, spec.operation, spec.overflow, spec.adder_registers
            )
            m.submodules[f"lane_{index}"] = lane
            m.d.comb += [
                lane.i0.eq(self.i0.word_select(index, width)),
                lane.i1.eq(self.i1.word_select(index, width)),
                self.o.word_select(index, width).eq(lane.o),
            ]
        return m
