"""A full crossbar with a reduction tree at each output, to compare FRED with."""

from amaranth.hdl import Cat, Module, Value
from amaranth.lib.wiring import In, Out, connect, flipped

from fred_hw.compiler.connections import BOTH
from fred_hw.member import member
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place

from .flit import Flit, FlitNetwork, delayed
from .microswitch import Reducing

__all__ = ["Join", "ReductionCrossbar", "ReductionTree", "tree_latency_cycles"]


def tree_latency_cycles(spec: SwitchSpec) -> int:
    """Return the latency of a reduction tree over all ports [cycles]."""
    return (spec.ports - 1).bit_length() * (spec.adder_registers + spec.stage_registers)


class Join(Reducing):
    """Pass one of two inputs to the output, or reduce both: a node of a reduction tree.

    Parameters
    ----------
    spec : SwitchSpec
        Gives lanes, format, operation and pipeline registers.

    Timing
    ------
    Latency : ``adder_registers + stage_registers`` cycles, reducing or not.
    Throughput : one flit per cycle.
    Paths : none.
    Reset : clears ``valid`` of the flits inside; they are lost.
    """

    o: list[Flit] = member(Out, lambda u: Flit.signature(u.spec.data_width), array=1)
    """Flits; ``data`` is 0 where no input is taken."""
    configuration = member(In, 2)
    """Taken inputs, for the flits of the same cycle: bit k takes input k, both bits reduce."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("Join", spec)
        self.connections = frozenset((source, 0) for source in (1, 2, BOTH))
        self.unit_name = f"join_{spec.suffix()}"
        super().__init__()

    def _apart(self, configuration: Value) -> tuple[Value, Value]:
        return ~configuration[0], ~configuration[1]

    def _takes(self, configuration: Value, index: int) -> tuple[Value, Value]:
        return configuration[0], configuration[1]


class ReductionTree(Unit):
    """Reduce any subset of all inputs to one output, in a balanced tree of joins.

    Neighbours are joined first. An input or result without a neighbour waits for the next level.

    Parameters
    ----------
    spec : SwitchSpec
        Gives ports, lanes, format, operation and pipeline registers.

    Timing
    ------
    Latency : ``tree_latency_cycles(spec)`` cycles on every path.
    Throughput : one flit per cycle.
    Paths : none.
    Reset : clears ``valid`` of the flits inside; they are lost.
    """

    i: list[Flit] = member(
        In, lambda u: Flit.signature(u.spec.data_width), array=lambda u: u.spec.ports
    )
    """Flits. All taken inputs must be valid in the same cycle: a reduction with an input missing
    delivers nothing."""
    o: Flit = member(Out, lambda u: Flit.signature(u.spec.data_width))
    """Flits; ``data`` is 0 where no input is taken."""
    configuration = member(In, lambda u: u.spec.ports)
    """Taken inputs, for the flits of the same cycle: bit k takes input k."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("ReductionTree", spec)
        self.unit_name = f"reduction_tree_p{spec.ports}_{spec.suffix()}"
        super().__init__()

    def build(self, m: Module) -> None:
        spec = self.spec
        cycles = spec.adder_registers + spec.stage_registers
        flits = [(one.valid, one.data) for one in self.i]
        taken, level = self.configuration, 0
        while len(flits) > 1:
            found: list[tuple[Value, Value]] = []
            for k in range(len(flits) // 2):
                join = place(m, f"join_{level}_{k}", Join(spec=spec))
                for i, (valid, data) in zip(join.i, flits[2 * k : 2 * k + 2], strict=True):
                    m.d.comb += [i.valid.eq(valid), i.data.eq(data)]
                m.d.comb += join.configuration.eq(taken[2 * k : 2 * k + 2])
                found.append((join.o[0].valid, join.o[0].data))
            if len(flits) % 2:
                valid, data = flits[-1]
                found.append(
                    (
                        delayed(m, valid, cycles, f"alone_{level}_valid", reset=True),
                        delayed(m, data, cycles, f"alone_{level}_data"),
                    )
                )
            some = Cat(taken[2 * k : 2 * k + 2].any() for k in range(len(found)))
            taken = delayed(m, some, cycles, f"configuration_{level}")
            flits, level = found, level + 1
        ((valid, data),) = flits
        m.d.comb += [self.o.valid.eq(valid), self.o.data.eq(data)]


class ReductionCrossbar(FlitNetwork):
    """Give each output its own reduction tree over all inputs.

    Every set of flows with disjoint outputs can be active, at the cost of P - 1 reducers per
    output: P(P - 1) in all.

    Parameters
    ----------
    spec : SwitchSpec
        Ports, lanes, number format, operation and registers; ``middle_switches`` has no effect.

    Timing
    ------
    Latency : ``tree_latency_cycles(spec)`` cycles on every path.
    Throughput : one flit per port and cycle in every configuration.
    Paths : none.
    Reset : clears ``valid`` of the flits inside; they are lost.
    """

    configuration = member(In, lambda u: u.spec.ports**2)
    """Inputs of each output, for the flits of the same cycle: bit k of word n takes input k for
    output n. Words have a bit per port."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("ReductionCrossbar", spec)
        self.unit_name = f"reduction_crossbar_p{spec.ports}_{spec.suffix()}"
        self.latency = tree_latency_cycles(spec)
        super().__init__()

    def build(self, m: Module) -> None:
        ports = self.spec.ports
        for n, o in enumerate(self.o):
            tree = place(m, f"tree_{n}", ReductionTree(spec=self.spec))
            for i, flit in zip(tree.i, self.i, strict=True):
                connect(m, i, flipped(flit))
            m.d.comb += tree.configuration.eq(self.configuration.word_select(n, ports))
            connect(m, flipped(o), tree.o)
