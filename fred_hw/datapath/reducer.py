"""Reduction of two flits, lane by lane."""

from amaranth.hdl import Module

from fred_hw.spec import SwitchSpec

from .lane_group import LaneGroup, Lanes

__all__ = ["Reducer"]

GROUP = 8
"""Lanes of a group, about as many as one gate can drive."""


class Reducer(Lanes):
    """Reduce the data of two flits, each lane with its own unit, or let both pass.

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
        super().__init__("reducer", spec)

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
        self.give(m, groups)
