"""Properties of pruned interconnects: they do what the full one does."""

from typing import Any

from amaranth.hdl import Cat, Module
from amaranth.lib.wiring import In, Out

from fred_hw.compiler.placement import Strategy, phases
from fred_hw.compiler.shape import configuration_width
from fred_hw.datapath.flit import Flit
from fred_hw.datapath.interconnect import Interconnect, latency_cycles
from fred_hw.member import member
from fred_hw.pruning import prune
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, place
from testbench.faults.fault import broken
from testbench.formal.harness import Harness
from testbench.formal.property import Bound, prove

__all__ = ["Pruned"]


class Pruned(Unit):
    """A pruned interconnect and the full one, with the same inputs.

    Parameters
    ----------
    ports : int
        Ports of both.
    strategies : str
        Strategies whose phases the pruned one supports.
    """

    i: list[Flit] = member(
        In, lambda u: Flit.signature(u.spec.data_width), array=lambda u: u.spec.ports
    )
    """Inputs of both."""
    configuration = member(In, lambda u: configuration_width(u.spec.ports, u.spec.middle_switches))
    """Configuration of both."""
    o: list[Flit] = member(
        Out, lambda u: Flit.signature(u.spec.data_width), array=lambda u: u.spec.ports
    )
    """Outputs of the pruned one."""
    full_o: list[Flit] = member(
        Out, lambda u: Flit.signature(u.spec.data_width), array=lambda u: u.spec.ports
    )
    """Outputs of the full one."""

    def __init__(self, ports: int, *strategies: str) -> None:
        full = SwitchSpec(ports=ports, middle_switches=3, lanes=1, format="int8")
        needs = {
            f"{text}:{name}": flows
            for text in strategies
            for name, flows in phases(Strategy.parse(text), ports=ports).items()
        }
        self.spec = prune(full, needs, "strategies")
        self.unit_name = f"pair_of_{self.spec.name}"
        super().__init__()

    def build(self, m: Module) -> None:
        full = self.spec.with_changes(only=None)
        for name, spec, o in (("pruned", self.spec, self.o), ("full", full, self.full_o)):
            part = place(m, name, Interconnect(spec=spec))
            m.d.comb += part.configuration.eq(self.configuration)
            for mine, theirs in zip((*part.i, *o), (*self.i, *part.o), strict=True):
                m.d.comb += [mine.valid.eq(theirs.valid), mine.data.eq(theirs.data)]


@broken(Pruned, {})
def _odd_numbers_lost(m: Module, sound: Any, ports: Any) -> None:
    """The last output of the pruned interconnect delivers only even numbers."""
    m.d.comb += ports.o[-1].valid.eq(sound.o[-1].valid & ~sound.o[-1].data[0])


_SHOWS = "A pruned interconnect has the outputs of the full one in every cycle, in any sequence of "
_OMITS = "other sizes, formats and sets of configurations"


def _bound(ports: int) -> Bound:
    latency = latency_cycles(SwitchSpec(ports=ports, lanes=1, format="int8"))
    why = f"both pipelines have latency {latency} and no feedback; 2 more cycles allow for a reset"
    return Bound(latency + 2, why)


def _equals_full(c: Harness, u: Any) -> None:
    words = sorted(c.unit.spec.needed)
    c.assume(Cat(u.configuration == word for word in words).any())
    # Registers of data begin with any value, which leaves the pipeline after its latency.
    settled = c.delayed(1, latency_cycles(c.unit.spec), reset=True)
    for k, (one, other) in enumerate(zip(u.o, u.full_o, strict=True)):
        c.check(f"valid_{k}", one.valid == other.valid)
        c.check(f"data_{k}", ~settled | (one.data == other.data))
    c.cover("all_valid", Cat(o.valid for o in u.o).all())


@prove(
    lambda: Pruned(4, "MP2-DP2-PP1", "MP1-DP2-PP2"),
    shows=f"{_SHOWS}the configurations of MP2-DP2-PP1 and MP1-DP2-PP2 on four ports.",
    omits=_OMITS,
    mutant=_odd_numbers_lost,
    bound=_bound(4),
)
def pruned_equals_full(c: Harness, u: Any) -> None:
    _equals_full(c, u)


@prove(
    lambda: Pruned(3, "MP3-DP1-PP1", "MP1-DP1-PP3"),
    shows=f"{_SHOWS}the configurations of MP3-DP1-PP1 and MP1-DP1-PP3 on three ports.",
    omits=_OMITS,
    mutant=_odd_numbers_lost,
    bound=_bound(3),
    fast=False,
)
def pruned_odd_equals_full(c: Harness, u: Any) -> None:
    _equals_full(c, u)
