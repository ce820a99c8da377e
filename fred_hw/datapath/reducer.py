"""Reduction of two flits, lane by lane."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from fred_hw.arith.lane_unit import LaneUnit
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, check_spec

from .flit import delayed
from .reduction import reduction_unit

__all__ = ["Reducer"]


class Reducer(Unit):
    """Reduce the data of two flits, each lane with its own unit, or let both pass.

    Flits that pass wait in the registers of the reduction, which has no use for them then.

    Parameters
    ----------
    spec : SwitchSpec
        Gives number format, operation, lanes and registers.

    Members
    -------
    i0, i1 : In(data_width)
        Operands, lane 0 in the low bits.
    reduce : In(adder_registers + 1)
        Whether they are reduced: bit n of the operands of n cycles ago.
    o : Out(data_width)
        Lane-wise results, of operands that are reduced.
    first, second : Out(data_width)
        ``i0`` and ``i1``, if they are not.

    Timing
    ------
    Latency : ``spec.adder_registers`` cycles.
    Throughput : one pair per cycle.
    Paths : without registers ``i0`` and ``i1`` to all outputs, else none.
    Reset : nothing is cleared; results of operands from before a reset still come out.
    """

    i0: Signal
    i1: Signal
    reduce: Signal
    o: Signal
    first: Signal
    second: Signal

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("Reducer", spec)
        self.unit_name = f"reducer_{spec.suffix(crosses=False)}"
        self.clocked, self.resettable = spec.adder_registers > 0, False
        width = spec.data_width
        super().__init__(
            {
                "i0": In(width),
                "i1": In(width),
                "reduce": In(spec.adder_registers + 1),
                "o": Out(width),
                "first": Out(width),
                "second": Out(width),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        spec = self.spec
        width = spec.number_format.width
        lanes = [
            reduction_unit(spec.number_format, spec.operation, spec.overflow, spec.adder_registers)
            for _ in range(spec.lanes)
        ]
        passing: list[Value] = []
        for index, lane in enumerate(lanes):
            m.submodules[f"lane_{index}"] = lane
            operands = [i.word_select(index, width) for i in (self.i0, self.i1)]
            m.d.comb += [lane.i0.eq(operands[0]), lane.i1.eq(operands[1])]
            passing.append(Cat(operands))
        inside = lanes[0].inside
        for cycle in range(len(inside)):
            passing = self._stage(m, cycle, lanes, passing)
        result = Cat(lane.o for lane in lanes)
        first, second = (Cat(one[start : start + width] for one in passing) for start in (0, width))
        if lanes[0].behind:
            mixed = Mux(self.reduce[len(inside)], result, first)
            result = first = delayed(m, mixed, lanes[0].behind, "first")
            second = delayed(m, second, lanes[0].behind, "second")
        m.d.comb += [self.o.eq(result), self.first.eq(first), self.second.eq(second)]
        return m

    def _stage(
        self, m: Module, cycle: int, lanes: list[LaneUnit], passing: list[Value]
    ) -> list[Value]:
        """Put the registers of a cycle into all lanes; return what passes in each behind them."""
        start, size = sum(lanes[0].inside[:cycle]), lanes[0].inside[cycle]
        shared = min(size, len(passing[0]))
        reduced = [lane.into[start : start + size] for lane in lanes]
        # Of a lane first what is shared, then what only one of the two needs.
        both = Mux(
            self.reduce[cycle],
            Cat(one[:shared] for one in reduced),
            Cat(one[:shared] for one in passing),
        )
        rests = [Cat(a[shared:], b[shared:]) for a, b in zip(reduced, passing, strict=True)]
        held = delayed(m, both, 1, f"shared_{cycle}")
        rest = delayed(m, Cat(rests), 1, f"own_{cycle}") if len(rests[0]) else Cat()
        found: list[Value] = []
        for index, lane in enumerate(lanes):
            own = rest.word_select(index, len(rests[0])) if len(rests[0]) else Cat()
            word = Cat(held.word_select(index, shared), own)
            m.d.comb += lane.held[start : start + size].eq(word)
            found.append(word[: len(passing[0])])
        return found
