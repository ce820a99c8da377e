"""Properties of micro-switches and of whole interconnects."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module
from amaranth.lib.wiring import In, Out

from fred_hw.compiler.shape import configuration_width
from fred_hw.datapath.flit import Flit, delayed
from fred_hw.datapath.interconnect import Interconnect, latency_cycles
from fred_hw.datapath.microswitch import DMicroswitch, RDMicroswitch, RMicroswitch
from fred_hw.datapath.steering import Demultiplexer, Multiplexer
from fred_hw.member import member
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, place
from testbench.faults.datapath import bits_swapped
from testbench.faults.fault import broken
from testbench.formal.configured import Word, configured, crossed, distributed, routed
from testbench.formal.harness import Harness
from testbench.formal.property import Bound, prove

__all__ = ["Twin"]

SPEC = SwitchSpec(ports=4, middle_switches=3, lanes=1, format="int8")
ODD = SPEC.with_changes(ports=3)
REDUCING = SPEC.adder_registers + SPEC.stage_registers


def _words(flits: Sequence[Any]) -> list[Word]:
    return [Word(flit.valid, flit.data, Const(1 << k, len(flits))) for k, flit in enumerate(flits)]


def _delivers(
    c: Harness, outputs: Sequence[Any], wanted: Sequence[Word], latency: int, most: int
) -> None:
    """Check that outputs are what is wanted some cycles before; ``most`` can be valid at once."""
    for k, (o, word) in enumerate(zip(outputs, wanted, strict=True)):
        valid = c.delayed(word.valid, latency, reset=True)
        idle = c.delayed(word.sources == 0, latency, reset=True)
        data = c.delayed(word.data, latency)
        c.show(valid, f"wanted_{k}_valid")
        c.show(data, f"wanted_{k}_data")
        c.check(f"valid_{k}", o.valid == valid)
        c.check(f"data_{k}", ~valid | (o.data == data))
        c.check(f"idle_{k}", ~idle | (o.data == 0))
    c.cover("outputs_valid", sum(o.valid for o in outputs) == most)


def _bound(latency: int) -> Bound:
    why = f"the pipeline has latency {latency} and no feedback; 2 more cycles allow for a reset"
    return Bound(latency + 2, why)


_SHOWS = "In every configuration, each output delivers what the configuration selects: "
_OMITS = "other formats, lanes and registers"


@broken(RMicroswitch, {})
def _partial_sum(m: Module, sound: Any, ports: Any) -> None:
    """A reduction with the second operand missing delivers a sum."""
    m.d.comb += sound.i[1].valid.eq(1)


@broken(DMicroswitch, {})
def _first_for_idle(m: Module, sound: Any, ports: Any) -> None:
    """A configuration of zeros selects the first port."""
    m.d.comb += sound.configuration.eq(ports.configuration | (ports.configuration == 0))


@broken(Interconnect, {})
def _flit_from_nowhere(m: Module, sound: Any, ports: Any) -> None:
    """The last input appears valid while a flit is valid at the first one."""
    m.d.comb += sound.i[-1].valid.eq(ports.i[-1].valid | ports.i[0].valid)


@prove(
    lambda: RMicroswitch(spec=SPEC),
    shows=f"{_SHOWS}an input, a complete sum, or nothing.",
    omits=_OMITS,
    mutant=_partial_sum,
    bound=_bound(REDUCING),
)
def r_microswitch_function(c: Harness, u: Any) -> None:
    _delivers(c, u.o, routed(u.configuration, _words(u.i), 3), REDUCING, 2)


@prove(
    lambda: RDMicroswitch(spec=SPEC),
    shows=f"{_SHOWS}an input, also at both outputs, a complete sum, or nothing.",
    omits=_OMITS,
    mutant=bits_swapped,
    bound=_bound(REDUCING),
)
def rd_microswitch_function(c: Harness, u: Any) -> None:
    _delivers(c, u.o, crossed(u.configuration, _words(u.i)), REDUCING, 2)


@prove(
    lambda: DMicroswitch(spec=SPEC),
    shows=f"{_SHOWS}one of three inputs, or nothing.",
    omits=_OMITS,
    mutant=_first_for_idle,
    bound=_bound(SPEC.stage_registers),
)
def d_microswitch_function(c: Harness, u: Any) -> None:
    _delivers(c, u.o, distributed(u.configuration, _words(u.i), 2), SPEC.stage_registers, 2)


@prove(
    lambda: Multiplexer(spec=SPEC),
    shows=f"{_SHOWS}one of three inputs, or nothing.",
    omits=_OMITS,
    mutant=_first_for_idle,
    bound=_bound(SPEC.stage_registers),
)
def multiplexer_function(c: Harness, u: Any) -> None:
    _delivers(c, [u.o], distributed(u.configuration, _words(u.i), 1), SPEC.stage_registers, 1)


@prove(
    lambda: Demultiplexer(spec=SPEC),
    shows=f"{_SHOWS}the input at one of three outputs, or at none.",
    omits=_OMITS,
    mutant=_first_for_idle,
    bound=_bound(REDUCING),
)
def demultiplexer_function(c: Harness, u: Any) -> None:
    _delivers(c, u.o, routed(u.configuration, _words([u.i]), 3), REDUCING, 1)


def _interconnect_delivers(c: Harness, u: Any, spec: SwitchSpec) -> None:
    wanted = configured(u.configuration, _words(u.i), spec.middle_switches)
    _delivers(c, u.o, wanted, latency_cycles(spec), spec.ports)
    c.cover("all_reduced", Cat(word.sources.all() for word in wanted).all())


@prove(
    lambda: Interconnect(spec=SPEC),
    shows=f"{_SHOWS}four ports, three middle subswitches.",
    omits="other sizes and formats; that the compiler makes correct configurations",
    mutant=_flit_from_nowhere,
    bound=_bound(latency_cycles(SPEC)),
    fast=False,
)
def interconnect_function(c: Harness, u: Any) -> None:
    _interconnect_delivers(c, u, SPEC)


@prove(
    lambda: Interconnect(spec=ODD),
    shows=f"{_SHOWS}three ports with demultiplexer and multiplexer, three middle subswitches.",
    omits="other sizes and formats; that the compiler makes correct configurations",
    mutant=_flit_from_nowhere,
    bound=_bound(latency_cycles(ODD)),
    fast=False,
)
def interconnect_odd_function(c: Harness, u: Any) -> None:
    _interconnect_delivers(c, u, ODD)


class Twin(Unit):
    """Two equal interconnects with one configuration, but inputs of their own.

    Parameters
    ----------
    spec : SwitchSpec
        Specification of both.
    """

    i: list[Flit] = member(
        In, lambda u: Flit.signature(u.spec.data_width), array=lambda u: u.spec.ports
    )
    """Inputs of the first."""
    other: list[Flit] = member(
        In, lambda u: Flit.signature(u.spec.data_width), array=lambda u: u.spec.ports
    )
    """Inputs of the second."""
    o: list[Flit] = member(
        Out, lambda u: Flit.signature(u.spec.data_width), array=lambda u: u.spec.ports
    )
    """Outputs of the first."""
    other_o: list[Flit] = member(
        Out, lambda u: Flit.signature(u.spec.data_width), array=lambda u: u.spec.ports
    )
    """Outputs of the second."""
    configuration = member(In, lambda u: configuration_width(u.spec.ports, u.spec.middle_switches))
    """Configuration of both."""

    def __init__(self, spec: SwitchSpec) -> None:
        self.spec, self.unit_name = spec, spec.name
        super().__init__()

    def build(self, m: Module) -> None:
        for name, i, o in (("one", self.i, self.o), ("two", self.other, self.other_o)):
            part = place(m, name, Interconnect(spec=self.spec))
            m.d.comb += part.configuration.eq(self.configuration)
            for mine, theirs in zip((*part.i, *o), (*i, *part.o), strict=True):
                m.d.comb += [mine.valid.eq(theirs.valid), mine.data.eq(theirs.data)]


@broken(Twin, {})
def _leak(m: Module, sound: Any, ports: Any) -> None:
    """The lowest bit of the first input is added to the data of the last output."""
    late = delayed(m, ports.i[0].data[0], latency_cycles(SPEC), "leak")
    m.d.comb += ports.o[-1].data.eq(sound.o[-1].data ^ late)


@prove(
    lambda: Twin(SPEC),
    shows="Flows never mix: an output that the configuration connects only to inputs of a flow "
    "does not depend on any other input.",
    omits="other sizes; configurations that connect several flows to one output",
    mutant=_leak,
    bound=_bound(latency_cycles(SPEC)),
    fast=False,
)
def interconnect_non_interference(c: Harness, u: Any) -> None:
    latency = latency_cycles(SPEC)
    flow = c.free(SPEC.ports, "flow")
    for k, (one, two) in enumerate(zip(u.i, u.other, strict=True)):
        same = (one.valid == two.valid) & (one.data == two.data)
        c.assume(~flow[k] | same)
    wanted = configured(u.configuration, _words(u.i), SPEC.middle_switches)
    for k, (word, one, two) in enumerate(zip(wanted, u.o, u.other_o, strict=True)):
        inside = c.delayed((word.sources & ~flow) == 0, latency, reset=True)
        c.check(f"valid_{k}", ~inside | (one.valid == two.valid))
        c.check(f"data_{k}", ~inside | (one.data == two.data))
        mixed = inside & one.valid & (u.o[k - 1].data != u.other_o[k - 1].data)
        c.cover(f"other_flow_differs_{k}", mixed & u.other_o[k - 1].valid)
