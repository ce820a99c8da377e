"""A group of lanes of a reducer, with registers for its select signals."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module
from amaranth.lib.wiring import In, Out

from fred_hw.gates.wire import wire
from fred_hw.member import member
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place

from .flit import delayed
from .reduction import reduction_unit

__all__ = ["LaneGroup", "Lanes"]


class Lanes(Unit):
    """Take two flits and return them, reduced or not; base of full and partial reducers.

    Attributes
    ----------
    spec : SwitchSpec
        Gives number format, operation, lanes and registers.
    """

    i0 = member(In, lambda u: u.spec.data_width)
    """First operand, lane 0 in the low bits."""
    i1 = member(In, lambda u: u.spec.data_width)
    """Second operand, lane 0 in the low bits."""
    apart = member(In, 2)
    """Both low if the operands are reduced, else they pass."""
    o = member(Out, lambda u: u.spec.data_width)
    """Lane-wise results if the operands are reduced, else ``i0``."""
    second = member(Out, lambda u: u.spec.data_width)
    """``i1`` if the operands are not reduced."""

    def __init__(self, name: str, spec: SwitchSpec) -> None:
        self.spec = check_spec(type(self).__name__, spec)
        self.unit_name = f"{name}_{spec.suffix(crosses=False)}"
        self.clocked, self.resettable = spec.adder_registers > 0, False
        super().__init__()

    def give(self, m: Module, parts: Sequence[Any]) -> None:
        """Output the concatenated results of all parts."""
        m.d.comb += [
            self.o.eq(Cat(part.o for part in parts)),
            self.second.eq(Cat(part.second for part in parts)),
        ]


class LaneGroup(Lanes):
    """Reduce some lanes of two flits, or let them pass.

    The choice whether lanes reduce drives many gates in each lane. Here it is buffered, and
    registered for later cycles, for a few lanes: synthesis maps modules one by one, and so inserts
    no buffers in front of lanes.

    Parameters
    ----------
    spec : SwitchSpec
        Gives number format, operation, lanes and registers.

    Timing
    ------
    Latency : ``spec.adder_registers`` cycles.
    Throughput : one pair per cycle.
    Paths : without registers from all inputs to all outputs, else none.
    Reset : nothing is cleared; results of operands from before a reset still come out.
    """

    def __init__(self, *, spec: SwitchSpec) -> None:
        super().__init__("lanes", spec)

    def build(self, m: Module) -> None:
        spec = self.spec
        width = spec.number_format.storage_bits
        lanes = [
            reduction_unit(spec.number_format, spec.operation, spec.overflow, spec.adder_registers)
            for _ in range(spec.lanes)
        ]
        # A separate gate for these lanes, as the wires from outside drive all groups.
        together = wire(m, "together", ~self.apart)
        reduce, stages = together.all(), []
        for stage in range(lanes[0].inside):
            reduce = delayed(m, reduce, 1, f"reduce_{stage}")
            stages.append(reduce)
        for index, lane in enumerate(lanes):
            place(m, f"lane_{index}", lane)
            m.d.comb += [
                lane.i0.eq(self.i0.word_select(index, width)),
                lane.i1.eq(self.i1.word_select(index, width)),
                lane.together.eq(together),
            ]
            if stages:
                m.d.comb += lane.reduce.eq(Cat(stages))
        self.give(m, lanes)
