"""Outputs that each input of an interconnect reaches in a configuration."""

from collections.abc import Iterable

from amaranth.hdl import Cat, Module, Value
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.compiler.shape import code_width, configuration_width, subswitch_ports
from fred_hw.member import member
from fred_hw.unit import Unit, place

__all__ = ["PathTracer", "Tracer"]


class Tracer(Unit):
    """Base of units that route single bits as a network routes flits.

    Attributes
    ----------
    port_count, word_bits : int
        Ports of the network, and bits of its configuration word.
    """

    clocked = resettable = False
    configuration = member(In, lambda u: u.word_bits)
    """State of the network."""
    sends = member(In, lambda u: u.port_count)
    """Inputs that send a flit."""
    marks = member(In, lambda u: u.port_count)
    """Inputs of ``sends`` that are marked."""
    gets = member(Out, lambda u: u.port_count)
    """Outputs that receive a flit: a reduction with a missing input delivers nothing."""
    reached = member(Out, lambda u: u.port_count)
    """Outputs whose flit includes a marked input; undefined without a flit."""
    port_count: int
    word_bits: int

    def join(
        self, m: Module, sends: Value, marks: Value, takes: Value, ports: Iterable[int]
    ) -> None:
        """Forward the bits taken from some inputs: all of them, or none."""
        here, marked = Cat(self.sends[k] for k in ports), Cat(self.marks[k] for k in ports)
        m.d.comb += [
            sends.eq(takes.any() & (here | ~takes).all()),
            marks.eq((takes & marked).any()),
        ]


class PathTracer(Tracer):
    """Route single bits as FRED_m(P) routes flits.

    Parameters
    ----------
    ports, middle_switches : int
        Ports P and middle subswitches m of the interconnect, each 2 or more.

    Timing
    ------
    Latency : none.
    Throughput : every cycle.
    Paths : all inputs to all outputs.
    Reset : none; it has no state.

    Raises
    ------
    TypeError, ValueError
        A parameter has a wrong type, or is out of range.
    """

    def __init__(self, *, ports: int, middle_switches: int) -> None:
        self.port_count = check_int("PathTracer ports", ports, minimum=2)
        self.middle_switches = check_int("PathTracer middle_switches", middle_switches, minimum=2)
        self.word_bits = configuration_width(ports, middle_switches)
        self.unit_name = f"path_tracer_m{middle_switches}_p{ports}"
        super().__init__()

    def build(self, m: Module) -> None:
        ports, middle_switches, word = self.port_count, self.middle_switches, self.configuration
        if ports == 2:
            reduces = word[:2].all() | word[2:].all()
            for port in range(2):
                takes = word.word_select(port, 2)
                # No input passes unreduced beside a reduction.
                takes = takes & (takes.all() | ~reduces).replicate(2)
                self.join(m, self.gets[port], self.reached[port], takes, range(2))
            return
        half, width = subswitch_ports(ports), code_width(middle_switches)
        outer = ports * width
        within, out_of = word[outer : len(word) - outer], word[len(word) - outer :]
        parts = [
            PathTracer(ports=half, middle_switches=middle_switches) for _ in range(middle_switches)
        ]
        for number, part in enumerate(parts):
            place(m, f"middle_{number}", part)
            inner = len(part.configuration)
            m.d.comb += part.configuration.eq(within.word_select(number, inner))
            for k in range(half):
                pair = range(2 * k, min(2 * k + 2, ports))
                takes = Cat(word.word_select(port, width) == number + 1 for port in pair)
                self.join(m, part.sends[k], part.marks[k], takes, pair)
        for port in range(ports):
            takes = [
                out_of.word_select(port, width) == number + 1 for number in range(middle_switches)
            ]
            for o, name in ((self.gets, "gets"), (self.reached, "reached")):
                reached = [getattr(part, name)[port // 2] for part in parts]
                m.d.comb += o[port].eq((Cat(takes) & Cat(reached)).any())
