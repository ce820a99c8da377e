"""The interconnect FRED_m(P): micro-switches in the recursive arrangement of the paper."""

from typing import Any

from amaranth.hdl import Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fred_hw.compiler.shape import code_width, configuration_width
from fred_hw.member import member
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import Unit, place

from .flit import Flit, delayed
from .microswitch import DMicroswitch, RDMicroswitch, RMicroswitch
from .steering import Demultiplexer, Multiplexer

__all__ = ["Interconnect", "latency_cycles"]


def latency_cycles(spec: SwitchSpec) -> int:
    """Return the latency from input to output, the same for all paths [cycles]."""
    reducing = spec.adder_registers + spec.stage_registers
    if spec.ports == 2:
        return reducing
    middle = spec.with_changes(ports=(spec.ports + 1) // 2)
    return reducing + latency_cycles(middle) + spec.stage_registers


class Interconnect(Unit):
    """Reduce, multicast and route flits between P ports according to a configuration word.

    FRED, arXiv 2406.19580, section on the switch micro-architecture: a Clos-like network with two
    ports per outer micro-switch, m middle subswitches and an RD micro-switch at the end of the
    recursion. It is a rigid pipeline: no ready wires, no arbitration, no buffers.

    Parameters
    ----------
    spec : SwitchSpec
        Ports, middle subswitches, lanes, number format, operation, registers.

    Timing
    ------
    Latency : ``latency_cycles(spec)`` cycles on every path.
    Throughput : one flit per port and cycle in every configuration.
    Paths : none.
    Reset : clears ``valid`` of the flits inside; they are lost.
    """

    i: list[Flit] = member(
        In, lambda u: Flit.signature(u.spec.data_width), array=lambda u: u.spec.ports
    )
    """Flits. All inputs of a flow must be valid in the same cycle: a reduction with an input
    missing delivers nothing."""
    o: list[Flit] = member(
        Out, lambda u: Flit.signature(u.spec.data_width), array=lambda u: u.spec.ports
    )
    """Flits of the flow that each port is an output of; ``data`` is 0 where no flow ends."""
    configuration = member(In, lambda u: configuration_width(u.spec.ports, u.spec.middle_switches))
    """State of every micro-switch, for the flits of the same cycle. It may change each cycle: it
    moves on stage by stage with the flits it belongs to."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("Interconnect", spec)
        self.unit_name = spec.name
        self.latency = latency_cycles(spec)
        super().__init__()

    def build(self, m: Module) -> None:
        if self.spec.ports == 2:
            rd = place(m, "rd", RDMicroswitch(spec=self.spec))
            m.d.comb += rd.configuration.eq(self.configuration)
            for port in range(2):
                wiring.connect(m, rd.i[port], wiring.flipped(self.i[port]))
                wiring.connect(m, rd.o[port], wiring.flipped(self.o[port]))
            return
        into, within, out_of = self._configurations(m)
        subswitches = self._middle_stage(m, within)
        self._input_stage(m, into, subswitches)
        self._output_stage(m, out_of, subswitches)

    def _configurations(self, m: Module) -> tuple[Value, Value, Value]:
        """Split the configuration into stages, each delayed until its flits arrive there."""
        spec = self.spec
        reducing = spec.adder_registers + spec.stage_registers
        outer = spec.ports * code_width(spec.middle_switches)
        into, within, out_of = (
            self.configuration[:outer],
            self.configuration[outer : len(self.configuration) - outer],
            self.configuration[len(self.configuration) - outer :],
        )
        within = delayed(m, within, reducing, "middle_configuration")
        out_of = delayed(m, out_of, self.latency - spec.stage_registers, "output_configuration")
        return into, within, out_of

    def _middle_stage(self, m: Module, configuration: Value) -> list[Unit]:
        """Place the m subswitches, each a FRED_m with half of the ports."""
        spec = self.spec
        half = spec.with_changes(ports=(spec.ports + 1) // 2)
        kind = RDMicroswitch if half.ports == 2 else Interconnect
        subswitches = [kind(spec=half) for _ in range(spec.middle_switches)]
        for index, subswitch in enumerate(subswitches):
            place(m, f"middle_{index}", subswitch)
            word = configuration.word_select(index, len(subswitch.configuration))
            m.d.comb += subswitch.configuration.eq(word)
        return subswitches

    def _input_stage(self, m: Module, configuration: Value, subswitches: list[Unit]) -> None:
        """Place an R micro-switch per pair of inputs, a demultiplexer for an unpaired last one."""
        for k, part in enumerate(self._parts(m, "r", configuration, RMicroswitch, Demultiplexer)):
            inputs = part.i if isinstance(part.i, list) else [part.i]
            for i, flit in zip(inputs, self.i[2 * k : 2 * k + 2], strict=True):
                wiring.connect(m, i, wiring.flipped(flit))
            for subswitch, o in zip(subswitches, part.o, strict=True):
                wiring.connect(m, subswitch.i[k], o)

    def _output_stage(self, m: Module, configuration: Value, subswitches: list[Unit]) -> None:
        """Place a D micro-switch per pair of outputs, a multiplexer for an unpaired last one."""
        for k, part in enumerate(self._parts(m, "d", configuration, DMicroswitch, Multiplexer)):
            for i, subswitch in zip(part.i, subswitches, strict=True):
                wiring.connect(m, i, subswitch.o[k])
            outputs = part.o if isinstance(part.o, list) else [part.o]
            for o, flit in zip(outputs, self.o[2 * k : 2 * k + 2], strict=True):
                wiring.connect(m, o, wiring.flipped(flit))

    def _parts(
        self,
        m: Module,
        name: str,
        configuration: Value,
        pair: type[RMicroswitch | DMicroswitch],
        single: type[Demultiplexer | Multiplexer],
    ) -> list[Any]:
        """Place the parts for each pair of ports, and for an unpaired last one."""
        ports, width = self.spec.ports, 2 * code_width(self.spec.middle_switches)
        parts = [place(m, f"{name}_{k}", pair(spec=self.spec)) for k in range(ports // 2)]
        if ports % 2:
            parts.append(place(m, single.__name__.lower(), single(spec=self.spec)))
        for k, part in enumerate(parts):
            m.d.comb += part.configuration.eq(configuration[width * k : width * (k + 1)])
        return parts
