"""A Benes network whose micro-switches reduce and distribute, to compare FRED with."""

from amaranth.hdl import Module, Value
from amaranth.lib.wiring import In, connect, flipped

from fred_hw.compiler.benes import check_ports, stage_count, switch_count
from fred_hw.member import member
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import place

from .flit import Flit, FlitNetwork, delayed
from .microswitch import RDMicroswitch

__all__ = ["Benes", "benes_latency_cycles"]


def benes_latency_cycles(spec: SwitchSpec) -> int:
    """Return the latency from input to output, the same for all paths [cycles]."""
    return stage_count(spec.ports) * (spec.adder_registers + spec.stage_registers)


class Benes(FlitNetwork):
    """Reduce, multicast and route flits in a Benes network of RD micro-switches.

    FRED_2(P) has the same wires. Its input stages only reduce and its output stages only
    distribute, while every micro-switch of this network does both.

    Parameters
    ----------
    spec : SwitchSpec
        Ports, a power of two; lanes, number format, operation and registers. ``middle_switches``
        has no effect.

    Timing
    ------
    Latency : ``benes_latency_cycles(spec)`` cycles on every path.
    Throughput : one flit per port and cycle in every configuration.
    Paths : none.
    Reset : clears ``valid`` of the flits inside; they are lost.
    """

    configuration = member(In, lambda u: 4 * switch_count(u.spec.ports))
    """State of every micro-switch, for the flits of the same cycle: input stage, both inner
    networks, output stage."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        check_ports("Benes", check_spec("Benes", spec).ports)
        self.spec = spec
        self.unit_name = f"benes_p{spec.ports}_{spec.suffix()}"
        self.latency = benes_latency_cycles(spec)
        super().__init__()

    def build(self, m: Module) -> None:
        spec, word = self.spec, self.configuration
        ends = [flipped(flit) for flit in self.o]
        if spec.ports == 2:
            self._stage(m, "rd", word, [flipped(flit) for flit in self.i], ends)
            return
        half = spec.with_changes(ports=spec.ports // 2)
        kind = RDMicroswitch if half.ports == 2 else Benes
        inner = [place(m, f"inner_{k}", kind(spec=half)) for k in range(2)]
        cycles, outer = spec.adder_registers + spec.stage_registers, 2 * spec.ports
        within, last = word[outer : len(word) - outer], word[len(word) - outer :]
        within = delayed(m, within, cycles, "inner_configuration")
        last = delayed(m, last, self.latency - cycles, "output_configuration")
        for k, one in enumerate(inner):
            m.d.comb += one.configuration.eq(within.word_select(k, len(one.configuration)))
        into = [one.i[k] for k in range(half.ports) for one in inner]
        out_of = [one.o[k] for k in range(half.ports) for one in inner]
        self._stage(m, "input", word[:outer], [flipped(flit) for flit in self.i], into)
        self._stage(m, "output", last, out_of, ends)

    def _stage(
        self, m: Module, name: str, word: Value, flits: list[Flit], ends: list[Flit]
    ) -> None:
        """Place a stage of micro-switches between flits and the ends that take them."""
        for k in range(len(flits) // 2):
            rd = place(m, f"{name}_{k}", RDMicroswitch(spec=self.spec))
            m.d.comb += rd.configuration.eq(word.word_select(k, 4))
            for port in range(2):
                connect(m, rd.i[port], flits[2 * k + port])
                connect(m, ends[2 * k + port], rd.o[port])
