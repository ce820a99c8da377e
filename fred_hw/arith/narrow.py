"""Rounding of a floating-point number to a narrower format."""

from dataclasses import dataclass, fields

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from fred_hw.formats.number_format import FloatFormat
from fred_hw.gates.wire import wire
from fred_hw.member import member
from fred_hw.unit import Unit

from .shifts import shifted_right
from .widen import check_wider

__all__ = ["Narrow", "narrowing_cycles"]


def narrowing_cycles(wide: FloatFormat, narrow: FloatFormat) -> int:
    """Return the latency of a conversion: 1 cycle with equal exponents, else 2."""
    return 1 + (narrow.exponent_bits != wide.exponent_bits)


@dataclass(frozen=True)
class Cut:
    """A number cut to the format, the bits needed for rounding, and what is special about it."""

    magnitude: Value
    half: Value
    sticky: Value
    over: Value
    payload: Value
    nan: Value
    sign: Value


class Narrow(Unit):
    """Round a floating-point number to a narrower format: to nearest, ties to even.

    Numbers beyond the range become ``narrow.beyond``: an infinity with the sign of the number, the
    one NaN of E4M3 without it, or the largest number. Subnormals are kept. A NaN keeps its sign and
    the upper bits of its payload, and becomes a quiet one if none of these are set; in a format
    without NaNs it becomes the largest number. A number that ``Widen`` converted comes back as it
    was, NaNs too. Padding is zero in the result.

    Parameters
    ----------
    wide, narrow : FloatFormat
        Format of the number, and of the result; the first contains the second.

    Attributes
    ----------
    latency : int
        Cycles from ``i`` to ``o``, ``narrowing_cycles``.

    Timing
    ------
    Latency : ``latency`` cycles.
    Throughput : one number per cycle.
    Paths : none.
    Reset : nothing is cleared.

    Raises
    ------
    TypeError, ValueError
        A format is no float; ``wide`` does not contain ``narrow``.
    """

    i = member(In, lambda u: u.wide.storage_bits)
    """Storage word of the number."""
    o = member(Out, lambda u: u.narrow.storage_bits)
    """Storage word of the rounded number."""

    def __init__(self, wide: FloatFormat, narrow: FloatFormat) -> None:
        self.narrow, self.wide = check_wider("Narrow", narrow, wide)
        self.unit_name, self.resettable = f"{wide.name}_to_{narrow.name}", False
        self.latency = narrowing_cycles(wide, narrow)
        super().__init__()

    def build(self, m: Module) -> None:
        cut = self._cut(m)
        if self.latency > 1:
            cut = Cut(
                **{
                    one.name: _registered(m, f"{one.name}_q", getattr(cut, one.name))
                    for one in fields(cut)
                }
            )
        o = _registered(m, "o_q", self._rounded(m, cut))
        m.d.comb += self.o[self.narrow.place].eq(o)

    def _cut(self, m: Module) -> Cut:
        """Shift a number that becomes subnormal, and cut what does not fit."""
        wide, narrow = self.wide, self.narrow
        number = self.i[wide.place]
        fraction, exponent, sign = (
            number[: wide.fraction_bits],
            number[wide.fraction_bits : -1],
            number[-1],
        )
        beyond = ((1 << narrow.exponent_bits) - narrow.has_infinity) + wide.bias - narrow.bias
        below = wide.fraction_bits - narrow.fraction_bits
        kept = Cat(Const(0, 1), fraction, exponent.any())[below:]
        lost: Value = Const(0, 1)
        if wide.exponent_bits != narrow.exponent_bits:
            exponent, kept, lost = self._denormalized(m, exponent, kept)
        payload = fraction[below:]
        return Cut(
            magnitude=wire(m, "truncated", Cat(kept[1:-1], exponent)),
            half=wire(m, "half", kept[0]),
            sticky=wire(m, "sticky", lost | Cat(Const(0, 1), fraction)[:below].any()),
            over=wire(m, "over", number[wide.fraction_bits : -1] >= beyond),
            payload=wire(m, "payload", Cat(payload[:-1], payload[-1] | ~payload.any())),
            nan=wire(m, "nan", number[wide.fraction_bits : -1].all() & fraction.any()),
            sign=wire(m, "sign", sign),
        )

    def _denormalized(self, m: Module, exponent: Value, kept: Value) -> tuple[Value, Value, Value]:
        """Return the narrow exponent, the shifted significand, and whether ones were shifted out.

        Numbers within the range have the same top bit in both exponents, and below it the wide one
        has inverted copies of it. Where all kept bits are shifted out, the result is zero.
        """
        wide, narrow = self.wide, self.narrow
        own = Cat(exponent[0] | ~exponent.any(), exponent[1:])
        least = Const(wide.bias - narrow.bias + 1, wide.exponent_bits)
        distance = wire(m, "distance", least - own, width=wide.exponent_bits + 1)
        small = wire(m, "small", ~distance[-1] & distance.any())
        near = ceil_log2(len(kept) + 1)
        far = wire(m, "far", distance[near:-1].any() & small)
        steps = distance[:near] & small.replicate(near)
        shifted, lost = shifted_right(m, "shifted", kept, steps)
        moved = Cat(exponent[: narrow.exponent_bits - 1], exponent[-1])
        return (
            moved & (~small).replicate(len(moved)),
            shifted & (~far).replicate(len(shifted)),
            lost,
        )

    def _rounded(self, m: Module, cut: Cut) -> Value:
        """Round exponent and fraction as one integer, as a carry out of the fraction requires."""
        narrow = self.narrow
        up = wire(m, "up", cut.half & (cut.sticky | cut.magnitude[0]))
        rounded = wire(m, "rounded", cut.magnitude + up, width=len(cut.magnitude) + 1)
        if narrow.has_infinity:
            special = Cat(cut.payload & cut.nan.replicate(len(cut.payload)), self._ones)
            return Cat(Mux(cut.over, special, rounded[:-1]), cut.sign)
        beyond = wire(m, "beyond", cut.over | (rounded > narrow.largest))
        magnitude = Mux(beyond, Const(narrow.beyond, narrow.bits - 1), rounded[:-1])
        unsigned = beyond & ~cut.nan if narrow.has_nan else Const(0, 1)
        return Cat(magnitude, cut.sign & ~unsigned)

    @property
    def _ones(self) -> Const:
        """Exponent of infinities and NaNs."""
        return Const((1 << self.narrow.exponent_bits) - 1, self.narrow.exponent_bits)


def _registered(m: Module, name: str, value: Value) -> Value:
    register = Signal(len(value), name=name, reset_less=True)
    m.d.sync += register.eq(value)
    return register
