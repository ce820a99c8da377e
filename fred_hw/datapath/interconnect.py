"""The interconnect FRED_m(P): micro-switches in the recursive arrangement of the paper."""

from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from fred_hw.compiler.connections import connections
from fred_hw.compiler.shape import code_width, configuration_width, split_count, subswitch_ports
from fred_hw.member import member
from fred_hw.spec import SwitchSpec, check_spec
from fred_hw.unit import place

from .flit import FlitNetwork, delayed, idle
from .microswitch import DMicroswitch, RDMicroswitch, RMicroswitch
from .steering import Demultiplexer, Multiplexer

__all__ = ["Interconnect", "latency_cycles"]


def latency_cycles(spec: SwitchSpec) -> int:
    """Return the latency from input to output, the same for all paths [cycles]."""
    splits = split_count(spec.ports)
    return (splits + 1) * spec.adder_registers + (2 * splits + 1) * spec.stage_registers


class _Field(NamedTuple):
    """Part of the configuration word: its value, and its needed values; None if all are."""

    value: Value
    words: frozenset[int] | None

    def part(self, low: int, high: int) -> "_Field":
        """Return the bits from ``low`` to below ``high``."""
        mask = (1 << (high - low)) - 1
        words = self.words
        if words is not None:
            words = frozenset(word >> low & mask for word in words)
        return _Field(self.value[low:high], words)

    def delayed(self, m: Module, cycles: int, name: str) -> "_Field":
        """Return the part some cycles later; bits that are 0 in all words have no registers."""
        if self.words is None:
            return _Field(delayed(m, self.value, cycles, name), None)
        used = reduce(or_, self.words, 0)
        kept = [bit for bit in range(len(self.value)) if used >> bit & 1]
        if not kept:
            return _Field(Const(0, len(self.value)), self.words)
        late = delayed(m, Cat(self.value[bit] for bit in kept), cycles, name)
        places = {bit: late[place] for place, bit in enumerate(kept)}
        bits = [places.get(bit, Const(0, 1)) for bit in range(len(self.value))]
        return _Field(Cat(bits), self.words)


class Interconnect(FlitNetwork):
    """Reduce, multicast and route flits between P ports according to a configuration word.

    FRED, arXiv 2406.19580, section on the switch micro-architecture: a Clos-like network with two
    ports per outer micro-switch, m middle subswitches and an RD micro-switch at the end of the
    recursion. It is a rigid pipeline: no ready wires, no arbitration, no buffers.

    Parameters
    ----------
    spec : SwitchSpec
        Ports, middle subswitches, lanes, number format, operation, registers. If the key ``only``
        lists configurations, the hardware has no parts but theirs, and other configurations
        have no defined result.

    Timing
    ------
    Latency : ``latency_cycles(spec)`` cycles on every path.
    Throughput : one flit per port and cycle in every configuration.
    Paths : none.
    Reset : clears ``valid`` of the flits inside; they are lost.
    """

    configuration = member(In, lambda u: configuration_width(u.spec.ports, u.spec.middle_switches))
    """State of every micro-switch, for the flits of the same cycle. It may change each cycle: it
    moves on stage by stage with the flits it belongs to."""

    def __init__(self, *, spec: SwitchSpec) -> None:
        self.spec = check_spec("Interconnect", spec)
        self.unit_name = spec.name
        self.latency = latency_cycles(spec)
        super().__init__()

    def build(self, m: Module) -> None:
        spec, words = self.spec, self.spec.needed
        if spec.ports == 2:
            rd = place(m, "rd", self._part("RD", words))
            m.d.comb += rd.configuration.eq(self.configuration)
            for port in range(2):
                wiring.connect(m, rd.i[port], wiring.flipped(self.i[port]))
                wiring.connect(m, rd.o[port], wiring.flipped(self.o[port]))
            return
        outer = spec.ports * code_width(spec.middle_switches)
        ends = 0, outer, len(self.configuration) - outer, len(self.configuration)
        into, within, out_of = (
            _Field(self.configuration, words).part(low, high) for low, high in pairwise(ends)
        )
        reducing = spec.adder_registers + spec.stage_registers
        before_outputs = self.latency - spec.stage_registers
        # Each stage of the configuration waits until its flits arrive there.
        within = within.delayed(m, reducing, "middle_configuration")
        out_of = out_of.delayed(m, before_outputs, "output_configuration")
        subswitches = self._middle_stage(m, within)
        self._input_stage(m, into, subswitches)
        self._output_stage(m, out_of, subswitches)

    def _part(self, kind: str, words: frozenset[int] | None) -> Any:
        """Return a micro-switch or (de)multiplexer for some words; None if all are idle."""
        middle = self.spec.middle_switches
        kept = words and {one for word in words for one in connections(kind, word, middle)}
        if words is not None and not kept:
            return None
        parts: dict[str, Any] = {
            "R": RMicroswitch,
            "D": DMicroswitch,
            "RD": RDMicroswitch,
            "demux": Demultiplexer,
            "mux": Multiplexer,
        }
        return parts[kind](spec=self.spec.with_changes(only=None), connections=kept)

    def _middle_stage(self, m: Module, configuration: _Field) -> list[Any]:
        """Place the m subswitches, each a FRED_m with half of the ports."""
        count, ports = self.spec.middle_switches, subswitch_ports(self.spec.ports)
        width = configuration_width(ports, count)
        half = self.spec.with_changes(ports=ports, only=None)
        subswitches = []
        for index in range(count):
            own = configuration.part(width * index, width * (index + 1))
            words = None if own.words is None else sorted(own.words - {0})
            subswitch = None
            if ports == 2:
                subswitch = self._part("RD", own.words)
            elif words is None:
                subswitch = Interconnect(spec=half)
            elif words:
                only = {f"word_{n}": f"{word:#x}" for n, word in enumerate(words)}
                subswitch = Interconnect(spec=half.with_changes(only=only))
            subswitches.append(subswitch)
            if subswitch:
                place(m, f"middle_{index}", subswitch)
                m.d.comb += subswitch.configuration.eq(own.value)
        return subswitches

    def _input_stage(self, m: Module, configuration: _Field, subswitches: list[Any]) -> None:
        """Place an R micro-switch per pair of inputs, a demultiplexer for an unpaired last one."""
        for k, part in enumerate(self._parts(m, "r", configuration, "R", "demux")):
            if part is None:
                continue
            inputs = part.i if isinstance(part.i, list) else [part.i]
            for i, flit in zip(inputs, self.i[2 * k : 2 * k + 2], strict=True):
                wiring.connect(m, i, wiring.flipped(flit))
            for subswitch, o in zip(subswitches, part.o, strict=True):
                if subswitch:
                    wiring.connect(m, subswitch.i[k], o)

    def _output_stage(self, m: Module, configuration: _Field, subswitches: list[Any]) -> None:
        """Place a D micro-switch per pair of outputs, a multiplexer for an unpaired last one."""
        for k, part in enumerate(self._parts(m, "d", configuration, "D", "mux")):
            if part is None:
                for o in self.o[2 * k : 2 * k + 2]:
                    idle(m, o)
                continue
            for i, subswitch in zip(part.i, subswitches, strict=True):
                if subswitch:
                    wiring.connect(m, i, subswitch.o[k])
            outputs = part.o if isinstance(part.o, list) else [part.o]
            for o, flit in zip(outputs, self.o[2 * k : 2 * k + 2], strict=True):
                wiring.connect(m, o, wiring.flipped(flit))

    def _parts(
        self, m: Module, name: str, configuration: _Field, pair: str, single: str
    ) -> list[Any]:
        """Place the parts for each pair of ports, and for an unpaired last one.

        Returns None in place of a part that is left out.
        """
        ports, width = self.spec.ports, 2 * code_width(self.spec.middle_switches)
        fields = [
            configuration.part(low, min(low + width, len(configuration.value)))
            for low in range(0, len(configuration.value), width)
        ]
        kinds = [pair] * (ports // 2) + [single] * (ports % 2)
        parts = [self._part(kind, one.words) for kind, one in zip(kinds, fields, strict=True)]
        placed = [(k, part) for k, part in enumerate(parts) if part]
        for k, part in placed:
            place(m, f"{name}_{k}" if 2 * k + 1 < ports else type(part).__name__.lower(), part)
        for k, part in placed:
            m.d.comb += part.configuration.eq(fields[k].value)
        return parts
