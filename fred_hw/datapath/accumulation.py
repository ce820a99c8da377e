"""A network whose lanes are wider inside than at its ports."""

from amaranth.hdl import Module, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from fred_hw.arith.narrow import Narrow, narrowing_cycles
from fred_hw.arith.widen import Widen, check_float, widening_cycles
from fred_hw.checks import check_int
from fred_hw.formats.number_format import FloatFormat
from fred_hw.member import member
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, place

from .flit import Flit, FlitNetwork, delayed

__all__ = ["Accumulating", "Conversion", "conversion_cycles"]


def conversion_cycles(spec: SwitchSpec) -> int:
    """Return the latency of both conversions of a specification; 0 without any [cycles]."""
    if spec.accumulation is None:
        return 0
    narrow, wide = (check_float("format", one.number_format) for one in (spec, spec.inside))
    return widening_cycles(narrow, wide) + narrowing_cycles(wide, narrow)


class Conversion(Unit):
    """Convert all lanes of a flit to a wider or to a narrower format.

    Parameters
    ----------
    given, wanted : FloatFormat
        Formats of the two flits, of which one contains the other.
    lanes : int
        Numbers in a flit.

    Attributes
    ----------
    widens : bool
        Whether the wanted format is the wider one.
    latency : int
        Cycles from ``i`` to ``o``: those of ``Widen`` or ``Narrow``.

    Timing
    ------
    Latency : ``latency`` cycles.
    Throughput : one flit per cycle.
    Paths : from ``i`` to ``o`` if the latency is 0, else none.
    Reset : clears ``valid`` of the flits inside; they are lost.

    Raises
    ------
    TypeError, ValueError
        A format is no float, or neither contains the other; ``lanes`` is less than 1.
    """

    i: Flit = member(In, lambda u: Flit.signature(u.lanes * u.given.storage_bits))
    """Flits."""
    o: Flit = member(Out, lambda u: Flit.signature(u.lanes * u.wanted.storage_bits))
    """The same flits in the other format; ``data`` is 0 where it was."""

    def __init__(self, *, given: FloatFormat, wanted: FloatFormat, lanes: int) -> None:
        for name, one in (("given", given), ("wanted", wanted)):
            check_float(f"Conversion {name}", one)
        self.widens = wanted.contains(given)
        if not self.widens and not given.contains(wanted):
            raise ValueError(
                f"Conversion wanted must contain {given.name} or be in it, not {wanted.name}"
            )
        self.given, self.wanted = given, wanted
        self.lanes = check_int("Conversion lanes", lanes, minimum=1)
        cycles = widening_cycles if self.widens else narrowing_cycles
        self.latency = cycles(given, wanted)
        self.unit_name = f"{given.name}_to_{wanted.name}x{lanes}"
        self.clocked = self.resettable = self.latency > 0
        super().__init__()

    def build(self, m: Module) -> None:
        kind = Widen if self.widens else Narrow
        into, out_of = self.given.storage_bits, self.wanted.storage_bits
        for index in range(self.lanes):
            lane = place(m, f"lane_{index}", kind(self.given, self.wanted))
            m.d.comb += [
                lane.i.eq(self.i.data.word_select(index, into)),
                self.o.data.word_select(index, out_of).eq(lane.o),
            ]
        m.d.comb += self.o.valid.eq(delayed(m, self.i.valid, self.latency, "i_valid", reset=True))


class Accumulating(FlitNetwork):
    """Widen the numbers at each input of a network, and round them at each output.

    Sums inside the network are rounded to the wide format; each result is rounded once more at its
    output. Flits that are not reduced come out unchanged, but for padding, which is zero.

    Parameters
    ----------
    narrow : FloatFormat
        Format at the ports.
    network : FlitNetwork
        A network whose format contains it.

    Attributes
    ----------
    spec : SwitchSpec
        The specification of the network, with narrow lanes at its ports.
    latency : int
        Cycles on every path: those of the network and of both conversions.

    Timing
    ------
    Latency : ``latency`` cycles on every path.
    Throughput : one flit per port and cycle in every configuration.
    Paths : none.
    Reset : clears ``valid`` of the flits inside; they are lost.

    Raises
    ------
    TypeError, ValueError
        ``narrow`` is no float, or the format of the network does not contain it.
    """

    configuration: Signal = member(In, lambda u: len(u.network.configuration))
    """State of the network, for the flits of the same cycle."""

    def __init__(self, *, narrow: FloatFormat, network: FlitNetwork) -> None:
        check_float("Accumulating narrow", narrow)
        if not isinstance(network, FlitNetwork):
            raise TypeError(f"Accumulating network must be a FlitNetwork, not {network!r}")
        spec = network.spec.with_changes(format=narrow.name, accumulation=network.spec.format)
        self.spec, self.narrow, self.network = spec, narrow, network
        self.unit_name = network.unit_name.replace(spec.inside.suffix(), spec.suffix(), 1)
        self.latency = network.latency + conversion_cycles(spec)
        super().__init__()

    def build(self, m: Module) -> None:
        spec, network, narrow = self.spec, self.network, self.narrow
        wide = check_float("format", network.spec.number_format)
        place(m, "network", network)
        before = widening_cycles(narrow, wide)
        m.d.comb += network.configuration.eq(
            delayed(m, self.configuration, before, "configuration")
        )
        for k, (i, o) in enumerate(zip(self.i, self.o, strict=True)):
            into = Conversion(given=narrow, wanted=wide, lanes=spec.lanes)
            out_of = Conversion(given=wide, wanted=narrow, lanes=spec.lanes)
            place(m, f"widen_{k}", into)
            place(m, f"narrow_{k}", out_of)
            connect(m, into.i, flipped(i))
            connect(m, network.i[k], into.o)
            connect(m, out_of.i, network.o[k])
            connect(m, flipped(o), out_of.o)
