"""Exact conversion of a floating-point number to a wider format."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from fred_hw.formats.number_format import FloatFormat
from fred_hw.gates.wire import wire
from fred_hw.member import member
from fred_hw.unit import Unit

from .shifts import leading_zeros, shifted_left

__all__ = ["Widen", "check_float", "check_wider", "widening_cycles"]


def check_float(what: str, number_format: object) -> FloatFormat:
    """Return a floating-point format.

    Raises
    ------
    TypeError
        It is none; names ``what``.
    """
    if not isinstance(number_format, FloatFormat):
        raise TypeError(f"{what} must be a FloatFormat, not {number_format!r}")
    return number_format


def check_wider(unit: str, narrow: object, wide: object) -> tuple[FloatFormat, FloatFormat]:
    """Return two formats of which the second contains the first.

    Raises
    ------
    TypeError, ValueError
        One is no ``FloatFormat``; a number of ``narrow`` is none of ``wide``.
    """
    less, more = check_float(f"{unit} narrow", narrow), check_float(f"{unit} wide", wide)
    if not more.contains(less):
        raise ValueError(f"{unit} wide must contain {less.name}, not be {more.name}")
    return less, more


def widening_cycles(narrow: FloatFormat, wide: FloatFormat) -> int:
    """Return the latency of a conversion: 0 cycles if only zeros are appended, else 1."""
    return int(narrow.exponent_bits != wide.exponent_bits)


class Widen(Unit):
    """Convert a floating-point number to a wider format without a change of its value.

    A NaN keeps its sign, and its payload in the upper bits of the fraction. Padding is ignored, and
    is zero in the result.

    Parameters
    ----------
    narrow, wide : FloatFormat
        Format of the number, and one that contains it (``FloatFormat.contains``).

    Attributes
    ----------
    latency : int
        Cycles from ``i`` to ``o``, ``widening_cycles``.

    Timing
    ------
    Latency : ``latency`` cycles.
    Throughput : one number per cycle.
    Paths : from ``i`` to ``o`` if the latency is 0, else none.
    Reset : nothing is cleared.

    Raises
    ------
    TypeError, ValueError
        A format is no float; ``wide`` does not contain ``narrow``.
    """

    i = member(In, lambda u: u.narrow.storage_bits)
    """Storage word of the number."""
    o = member(Out, lambda u: u.wide.storage_bits)
    """Storage word of the same number in the wide format."""

    def __init__(self, narrow: FloatFormat, wide: FloatFormat) -> None:
        self.narrow, self.wide = check_wider("Widen", narrow, wide)
        self.unit_name = f"{narrow.name}_to_{wide.name}"
        self.latency = widening_cycles(narrow, wide)
        self.clocked, self.resettable = self.latency > 0, False
        super().__init__()

    def build(self, m: Module) -> None:
        narrow, wide = self.narrow, self.wide
        number = self.i[narrow.place]
        appended = Const(0, wide.fraction_bits - narrow.fraction_bits)
        if not self.latency:
            m.d.comb += self.o[wide.place].eq(Cat(appended, number))
            return
        exponent, fraction = self._widened(
            m, number[narrow.fraction_bits : -1], number[: narrow.fraction_bits]
        )
        widened = Cat(fraction, exponent, number[-1])
        o = Signal(len(widened), name="o_q", reset_less=True)
        m.d.sync += o.eq(widened)
        m.d.comb += self.o[wide.place].eq(Cat(appended, o))

    def _widened(self, m: Module, exponent: Value, fraction: Value) -> tuple[Value, Value]:
        """Return exponent and fraction; every subnormal but zero becomes a normal number."""
        narrow, wide = self.narrow, self.wide
        top, more = exponent[-1], wide.exponent_bits - narrow.exponent_bits
        # The difference of the biases has ones from the top bit of the narrow exponent on.
        moved = Cat(exponent[:-1], (~top).replicate(more), top)
        subnormal = wire(m, "subnormal", ~exponent.any())
        zeros = wire(m, "zeros", leading_zeros(fraction))
        without_leading_one = Cat(Const(0, 1), shifted_left(m, "normalized", fraction, zeros)[:-1])
        least = Const(wide.bias - narrow.bias, wide.exponent_bits)
        lowered = wire(m, "lowered", least - zeros, width=wide.exponent_bits)
        lowered = lowered & fraction.any().replicate(wide.exponent_bits)
        special = exponent.all()
        if not narrow.has_infinity:
            special = special & fraction.all() if narrow.has_nan else Const(0, 1)
        wider = Mux(subnormal, lowered, moved | special.replicate(wide.exponent_bits))
        return wider, Mux(subnormal, without_leading_one, fraction)
