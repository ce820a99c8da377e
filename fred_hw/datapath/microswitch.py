"""Micro-switches: the R, D and RD parts that a FRED interconnect is made of.

The settings are those of :mod:`fred_hw.compiler.configuration`. They leave no illegal state: any
setting below the number of codes does what it says, any other is idle.
"""

from collections.abc import Iterable

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib.wiring import In, Out

from fred_hw.compiler.connections import BOTH, Connection, kept_connections
from fred_hw.compiler.shape import code_width
from fred_hw.gates.select import any_of, gated
from fred_hw.gates.wire import wire
from fred_hw.member import member
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit

from .flit import Flit, delayed, idle
from .reducer import Reducer

__all__ = ["DMicroswitch", "RDMicroswitch", "RMicroswitch", "Reducing", "drive", "select"]


def drive(m: Module, o: Flit, valid: Value, data: Value, registers: int, name: str) -> None:
    """Output a flit on ``o`` through ``registers`` pipeline registers."""
    m.d.comb += [
        o.valid.eq(delayed(m, valid, registers, f"{name}_valid", reset=True)),
        o.data.eq(delayed(m, data, registers, f"{name}_data")),
    ]


class Reducing(Unit):
    """Common base of R and RD: a reducer that can also pass its inputs, and a crossing.

    The first registers of the crossing are in front of it, where an R micro-switch needs two of
    them for a flit instead of one for each output.
    """

    spec: SwitchSpec
    connections: frozenset[Connection]
    i: list[Flit] = member(In, lambda u: Flit.signature(u.spec.data_width), array=2)
    """Flits; a reduction takes both in the same cycle and yields nothing if one is missing."""
    o: list[Flit]
    configuration: Signal

    def _apart(self, configuration: Value) -> tuple[Value, Value]:
        """Return two bits, one of which is set unless the inputs are reduced."""
        raise NotImplementedError

    def _takes(self, configuration: Value, index: int) -> tuple[Value, Value]:
        """Return which inputs an output takes; both means their reduction."""
        raise NotImplementedError

    def build(self, m: Module) -> None:
        spec = self.spec
        depth = spec.adder_registers
        reduces = any(source == BOTH for source, _ in self.connections)
        if reduces:
            m.submodules.reducer = reducer = Reducer(spec=spec)
            m.d.comb += [reducer.i0.eq(self.i[0].data), reducer.i1.eq(self.i[1].data)]
            m.d.comb += reducer.apart.eq(Cat(self._apart(self.configuration)))
            arrived = reducer.o, reducer.second
        else:
            arrived = [
                delayed(m, i.data, depth, f"i{index}_data") for index, i in enumerate(self.i)
            ]
        configuration = delayed(m, self.configuration, depth, "configuration")
        valid0, valid1 = (
            delayed(m, i.valid, depth, f"i{index}_valid", reset=True)
            for index, i in enumerate(self.i)
        )
        both_valid: Value = Const(0)
        if reduces:
            reduce = wire(m, "reduce", ~Cat(self._apart(configuration)).any())
            # A reduction waits for both inputs: no partial sum is forwarded.
            both_valid = wire(m, "both_valid", reduce & valid0 & valid1)
            valid0, valid1 = ~reduce & valid0, ~reduce & valid1
        sources = [
            delayed(m, source, 1, name)
            for source, name in zip(arrived, ("first", "second"), strict=True)
        ]
        for index, o in enumerate(self.o):
            take0, take1 = self._takes(configuration, index)
            made = {BOTH: both_valid & take0 & take1, 1: valid0 & take0, 2: valid1 & take1}
            own = {source for source, output in self.connections if output == index}
            # What is reduced leaves in place of the first input.
            choices = [(sources[0], own & {BOTH, 1}, "first"), (sources[1], own & {2}, "second")]
            taken = [
                (
                    data,
                    delayed(
                        m,
                        any_of([made[n] for n in sorted(some, reverse=True)]),
                        1,
                        f"o{index}_takes_{name}",
                        reset=True,
                    ),
                )
                for data, some, name in choices
                if some
            ]
            if taken:
                # Idle outputs do not toggle.
                data = any_of([gated(one, take) for one, take in taken])
                valid = any_of([take for _, take in taken])
                drive(m, o, valid, data, spec.stage_registers - 1, f"o{index}")
            else:
                idle(m, o)


class RMicroswitch(Reducing):
    """Route each of two inputs to one of m outputs; reduce them if both go to the same.

    Parameters
    ----------
    spec : SwitchSpec
        Gives m (``middle_switches``), lanes, operation and pipeline registers.
    connections : iterable of Connection, optional
        The only connections that it must make, see ``fred_hw.compiler.connections``; by default
        all. It has no reduction unit, register or gate that they do not use.

    Timing
    ------
    Latency : ``adder_registers + stage_registers`` cycles, reducing or not.
    Throughput : one flit per port and cycle.
    Paths : none.
    Reset : clears ``valid`` of the flits inside; they are lost.
    """

    o: list[Flit] = member(
        Out, lambda u: Flit.signature(u.spec.data_width), array=lambda u: u.spec.middle_switches
    )
    """Flits to the middle subswitches; ``data`` is 0 where no input is routed."""
    configuration = member(In, lambda u: 2 * code_width(u.spec.middle_switches))
    """Destination of input 0 (low half) and of input 1, for the flits of the same cycle: 0 is
    nowhere, c + 1 is output c; equal destinations reduce."""

    def __init__(
        self, *, spec: SwitchSpec, connections: Iterable[Connection] | None = None
    ) -> None:
        self.spec = check_spec("RMicroswitch", spec)
        self.connections, kept = kept_connections(
            "RMicroswitch", "R", spec.middle_switches, connections
        )
        self.unit_name = f"r_microswitch_m{spec.middle_switches}_{spec.suffix()}" + kept
        super().__init__()

    def _apart(self, configuration: Value) -> tuple[Value, Value]:
        width = code_width(self.spec.middle_switches)
        differ = configuration[:width] ^ configuration[width:]
        return differ[0], differ[1:].any()

    def _takes(self, configuration: Value, index: int) -> tuple[Value, Value]:
        width = code_width(self.spec.middle_switches)
        code = Const(index + 1, width)
        return configuration[:width] == code, configuration[width:] == code


class RDMicroswitch(Reducing):
    """Route two inputs to two outputs, reducing, distributing or both.

    Parameters
    ----------
    spec : SwitchSpec
        Specification, which determines lanes, operation and pipeline registers.
    connections : iterable of Connection, optional
        The only connections that it must make, see ``fred_hw.compiler.connections``; by default
        all. It has no reduction unit, register or gate that they do not use.

    Timing
    ------
    Latency : ``adder_registers + stage_registers`` cycles, reducing or not.
    Throughput : one flit per port and cycle.
    Paths : none.
    Reset : clears ``valid`` of the flits inside; they are lost.
    """

    o: list[Flit] = member(Out, lambda u: Flit.signature(u.spec.data_width), array=2)
    """Flits; ``data`` is 0 where no input is selected."""
    configuration = member(In, 4)
    """Selection of output 0 (low half) and of output 1, for the flits of the same cycle: bit 0
    takes input 0, bit 1 takes input 1, both bits reduce. If one output reduces, the other does too
    or gets nothing."""

    def __init__(
        self, *, spec: SwitchSpec, connections: Iterable[Connection] | None = None
    ) -> None:
        self.spec = check_spec("RDMicroswitch", spec)
        self.connections, kept = kept_connections(
            "RDMicroswitch", "RD", spec.middle_switches, connections
        )
        self.unit_name = f"rd_microswitch_{spec.suffix()}" + kept
        super().__init__()

    def _apart(self, configuration: Value) -> tuple[Value, Value]:
        second = configuration[2:].all()
        return ~(configuration[0] | second), ~(configuration[1] | second)

    def _takes(self, configuration: Value, index: int) -> tuple[Value, Value]:
        selection = configuration.word_select(index, 2)
        return selection[0], selection[1]


class DMicroswitch(Unit):
    """Route one of m inputs to each of two outputs; the same to both distributes it.

    Parameters
    ----------
    spec : SwitchSpec
        Gives m (``middle_switches``), lanes and pipeline registers.
    connections : iterable of Connection, optional
        The only connections that it must make, see ``fred_hw.compiler.connections``; by default
        all. It has no reduction unit, register or gate that they do not use.

    Timing
    ------
    Latency : ``stage_registers`` cycles.
    Throughput : one flit per port and cycle.
    Paths : none.
    Reset : clears ``valid`` of the flits inside; they are lost.
    """

    i: list[Flit] = member(
        In, lambda u: Flit.signature(u.spec.data_width), array=lambda u: u.spec.middle_switches
    )
    """Flits from the middle subswitches."""
    o: list[Flit] = member(Out, lambda u: Flit.signature(u.spec.data_width), array=2)
    """Flits; ``data`` is 0 where no input is selected."""
    configuration = member(In, lambda u: 2 * code_width(u.spec.middle_switches))
    """Source of output 0 (low half) and of output 1, for the flits of the same cycle: 0 for none,
    or c + 1 for input c."""

    def __init__(
        self, *, spec: SwitchSpec, connections: Iterable[Connection] | None = None
    ) -> None:
        self.spec = check_spec("DMicroswitch", spec)
        self.connections, kept = kept_connections(
            "DMicroswitch", "D", spec.middle_switches, connections
        )
        self.unit_name = (
            f"d_microswitch_m{spec.middle_switches}_{spec.suffix(reduces=False)}" + kept
        )
        super().__init__()

    def build(self, m: Module) -> None:
        width = code_width(self.spec.middle_switches)
        for index in range(2):
            source = self.configuration.word_select(index, width)
            kept = [c for c, output in sorted(self.connections) if output == index]
            if kept:
                valid, data = select(source, self.i, kept)
                drive(m, self.o[index], valid, data, self.spec.stage_registers, f"o{index}")
            else:
                idle(m, self.o[index])


def select(source: Value, flits: list[Flit], codes: Iterable[int]) -> tuple[Value, Value]:
    """Return valid and data of the flit that ``source`` selects: c + 1 for flit c, 0 for none.

    Parameters
    ----------
    source : Value
        The selection.
    flits : list of Flit
        Flits to select from.
    codes : iterable of int
        Selections that occur, besides 0.
    """
    takes = [(source == Const(code, len(source)), flits[code - 1]) for code in codes]
    valid = Cat(take & flit.valid for take, flit in takes).any()
    return valid, any_of([gated(flit.data, take) for take, flit in takes])
