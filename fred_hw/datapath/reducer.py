"""Reduction of two flits, lane by lane."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib.wiring import In, Out

from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit

from .lane_group import LaneGroup

__all__ = ["Reducer"]

GROUP = 8
"""Lanes in a group: about as many as one gate drives."""


class Reducer(Unit):
    """Reduce the data of two flits, each lane with its own unit, or let both pass.

    Parameters
    ----------
    spec : SwitchSpec
        Gives number format, operation, lanes and registers.

    Members
    -------
    i0, i1 : In(data_width)
        Operands, lane 0 in the low bits.
    apart : In(2)
        Both low if they are reduced, else they pass.
    o : Out(data_width)
        Lane-wise results of operands that are reduced, else ``i0``.
    second : Out(data_width)
        ``i1`` of operands that are not reduced.

    Timing
    ------
    Latency : ``spec.adder_registers`` cycles.
    Throughput : one pair per cycle.
    Paths : without registers from all inputs to all outputs, else none.
    Reset : nothing is cleared; results of operands from before a reset still come out.
    """

    i0: Signal
    i1: Signal
    apart: Signal
    o: Signal
    second: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("Reducer", spec)
        self.unit_name = f"reducer_{spec.suffix(crosses=False)}"
        self.clocked, self.resettable = spec.adder_registers > 0, False
        width = spec.data_width
        operands = {"i0": In(width), "i1": In(width), "apart": In(2)}
        super().__init__({**operands, "o": Out(width), "second": Out(width)})

    def build(self, m: Module) -> None:
        spec = self.spec
        groups = [
            LaneGroup(spec=spec.with_changes(lanes=min(GROUP, spec.lanes - start)))
            for start in range(0, spec.lanes, GROUP)
        ]
        start = 0
        for index, group in enumerate(groups):
            m.submodules[f"group_{index}"] = group
            width = len(group.i0)
            m.d.comb += [
                group.i0.eq(self.i0[start : start + width]),
                group.i1.eq(self.i1[start : start + width]),
                group.apart.eq(self.apart),
            ]
            start += width
        m.d.comb += [
            self.o.eq(Cat(group.o for group in groups)),
            self.second.eq(Cat(group.second for group in groups)),
        ]
