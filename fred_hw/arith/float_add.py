"""Addition of two floating-point numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.utils import ceil_log2

from fred_hw.formats.number_format import FloatFormat
from fred_hw.gates.wire import wire

from .lane_unit import LaneUnit, Step
from .shifts import leading_zeros, shifted_left, shifted_right

__all__ = ["FloatAdd"]


@dataclass(frozen=True)
class Verdict:
    """What is known of the sum before it is computed; NaNs count as infinite too."""

    sign: Value
    nan: Value
    infinite: Value


@dataclass(frozen=True)
class Ordered:
    """The operands without their signs, the larger one first."""

    larger: Value
    smaller: Value
    subtract: Value
    verdict: Verdict


@dataclass(frozen=True)
class Aligned:
    """Two significands on one exponent; the addend goes on with guard, round and sticky bit."""

    exponent: Value
    significand: Value
    addend: Value
    subtract: Value
    verdict: Verdict


@dataclass(frozen=True)
class Summed:
    """The exact total but for the sticky bit; its top bit weighs two to ``exponent`` plus one."""

    exponent: Value
    total: Value
    verdict: Verdict


@dataclass(frozen=True)
class Counted:
    """The total and how far left it has to go; its top bit weighs two to ``exponent``."""

    exponent: Value
    total: Value
    shift: Value
    verdict: Verdict


@dataclass(frozen=True)
class Normalized:
    """The sum cut to the format, and what rounding needs of the bits below."""

    magnitude: Value
    half: Value
    sticky: Value
    verdict: Verdict


class FloatAdd(LaneUnit):
    """Add two floating-point numbers as IEEE 754-2019 does, rounding to nearest, ties to even.

    Subnormals are kept (clause 3.4), signed zeros follow clause 6.3, infinities clause 6.1, and a
    sum beyond the range becomes an infinity (clause 7.4), or a NaN if the format has none. Each NaN
    result, infinity minus infinity too (clause 7.2), is ``number_format.canonical_nan``; payloads
    are not passed on. No flags.

    Parameters
    ----------
    number_format : FloatFormat
        Format of operands and result.
    registers : int
        Pipeline registers, 0 to 8, put behind the steps order, align, add, count, normalize and
        round as ``FloatAdd.cuts`` says. From the 7th on they stand behind the output.

    Members
    -------
    i0, i1 : In(width)
        Bits of the operands.
    into, held : Out(sum(inside)), In(sum(inside))
        What the registers inside take and hold, as of ``LaneUnit``.
    o : Out(width)
        Bits of their sum.

    Timing
    ------
    Latency : none; with its registers, which are the reducer's, ``registers`` cycles.
    Throughput : one sum per cycle.
    Paths : from the operands or a register to the next register or ``o``.
    Reset : none.
    """

    form = FloatFormat
    number_format: FloatFormat

    cuts: ClassVar[Sequence[Sequence[str]]] = (
        (),
        ("add",),
        ("align", "count"),
        ("order", "align", "count"),
        ("order", "align", "add", "normalize"),
        ("order", "align", "add", "count", "normalize"),
        ("order", "align", "add", "count", "normalize", "round"),
    )

    def __init__(self, *, number_format: FloatFormat, registers: int) -> None:
        super().__init__(number_format=number_format, operation="add", registers=registers)

    def steps(self) -> Sequence[tuple[str, Step]]:
        return (
            ("order", self._order),
            ("align", self._align),
            ("add", self._add),
            ("count", self._count),
            ("normalize", self._normalize),
            ("round", self._round),
        )

    def _order(self, m: Module, operands: tuple[Value, Value]) -> Ordered:
        """Put the larger magnitude first, so that the difference is never negative.

        Encodings are ordered like magnitudes, and a NaN comes above all numbers: all special
        cases show on the larger operand.
        """
        form = self.number_format
        (magnitude0, sign0), (magnitude1, sign1) = ((i[:-1], i[-1]) for i in operands)
        swap = wire(m, "swap", magnitude0 < magnitude1)
        larger = wire(m, "larger", Mux(swap, magnitude1, magnitude0))
        smaller = wire(m, "smaller", Mux(swap, magnitude0, magnitude1))
        subtract = wire(m, "subtract", sign0 ^ sign1)
        # Equal magnitudes of unlike sign: +0 (clause 6.3), or NaN if infinite (clause 7.2 d).
        cancels = wire(m, "cancels", subtract & (magnitude0 == magnitude1))
        if form.has_infinity:
            special = wire(m, "special", larger[form.fraction_bits :].all())
            nan = wire(m, "nan", special & (larger[: form.fraction_bits].any() | cancels))
        else:
            nan = special = wire(m, "nan", larger.all())
        sign = wire(m, "sign", Mux(swap, sign1, sign0) & ~cancels)
        return Ordered(larger, smaller, subtract, Verdict(sign=sign, nan=nan, infinite=special))

    def _align(self, m: Module, ordered: Ordered) -> Aligned:
        """Shift the smaller significand right until both have the exponent of the larger."""
        exponent, significand = self._unpacked(ordered.larger)
        exponent = wire(m, "exponent", exponent)
        smaller_exponent, smaller_significand = self._unpacked(ordered.smaller)
        distance = wire(m, "distance", exponent - smaller_exponent, width=len(exponent))
        extended = Cat(Const(0, 2), smaller_significand)  # guard and round bit
        near = self._near_distance_bits(len(extended))
        shifted, lost = shifted_right(m, "aligned", extended, distance[:near])
        addend = Cat(lost, shifted)
        if near < len(distance):  # too far for the shifter: all of it is lost
            far = wire(m, "far", distance[near:].any())
            lost_far = wire(m, "lost_far", far & smaller_significand.any())
            addend = Cat(lost | lost_far, shifted & ~far.replicate(len(shifted)))
        addend = wire(m, "addend", addend)
        return Aligned(exponent, significand, addend, ordered.subtract, ordered.verdict)

    @property
    def _field_bits(self) -> int:
        """Bits of the sum's exponent field; without an infinity its top value is no overflow."""
        return self.number_format.exponent_bits + (not self.number_format.has_infinity)

    def _near_distance_bits(self, width: int) -> int:
        """Bits of the distance that drive the shifter: enough to shift out all ``width`` bits."""
        return min(ceil_log2(width), self.number_format.exponent_bits)

    def _unpacked(self, magnitude: Value) -> tuple[Value, Value]:
        """Split into exponent and significand; a subnormal has the exponent 1 (clause 3.4)."""
        fraction, exponent = (
            magnitude[: self.number_format.fraction_bits],
            magnitude[self.number_format.fraction_bits :],
        )
        normal = exponent.any()
        return Cat(exponent[0] | ~normal, exponent[1:]), Cat(fraction, normal)

    def _add(self, m: Module, aligned: Aligned) -> Summed:
        """Add or subtract in one adder.

        Below the larger significand are zeros, so its lowest bit is free for the carry that makes
        a complement of the inverted addend.
        """
        subtract = aligned.subtract
        width = len(aligned.addend) + 1
        augend = Cat(subtract, Const(0, 2), aligned.significand, Const(0, 1))
        addend = wire(m, "signed_addend", Cat(aligned.addend, 0) ^ subtract.replicate(width))
        total = wire(m, "total", augend + addend, width=width)
        return Summed(aligned.exponent, total, aligned.verdict)

    def _count(self, m: Module, summed: Summed) -> Counted:
        """Find how far left the total may go: to its leading one, but no further than exponent 1.

        A one is put where a total of exponent 1 would have its leading one, which ends the count
        there and so leaves a subnormal where it belongs.
        """
        total, exponent = summed.total, summed.exponent
        width = len(total)
        limit = Cat(exponent == Const(width - 1 - index, len(exponent)) for index in range(width))
        shift = wire(m, "shift", leading_zeros(wire(m, "stops", total | limit)))
        above = wire(m, "exponent_above", exponent + 1, width=self._field_bits)
        return Counted(above, total, shift, summed.verdict)

    def _normalize(self, m: Module, counted: Counted) -> Normalized:
        """Shift the total left and take the count off the exponent.

        Without a leading one the sum is subnormal or zero and has the exponent field 0.
        """
        shifted = shifted_left(m, "normalized", counted.total, counted.shift)
        below = len(shifted) - self.number_format.fraction_bits - 1
        field = wire(m, "field", counted.exponent - counted.shift, width=self._field_bits)
        leading = shifted[-1].replicate(len(field))
        magnitude = wire(m, "truncated", Cat(shifted[below:-1], field & leading))
        sticky = wire(m, "sticky", shifted[: below - 1].any())
        half = wire(m, "half", shifted[below - 1])
        return Normalized(magnitude, half, sticky, counted.verdict)

    def _round(self, m: Module, normalized: Normalized) -> Value:
        """Round exponent and fraction as one integer: a carry out of the fraction is right.

        It makes the smallest normal number of the largest subnormal and an infinity, or the NaN of
        a format without, of the largest number (clause 7.4 a).
        """
        form = self.number_format
        magnitude, verdict = normalized.magnitude, normalized.verdict
        up = wire(m, "up", normalized.half & (normalized.sticky | magnitude[0]))
        rounded = wire(m, "rounded", magnitude + up, width=len(magnitude))
        if not form.has_infinity:
            nan = wire(m, "no_number", verdict.infinite | (rounded > form.largest))
            return Mux(nan, form.canonical_nan, Cat(rounded[:-1], verdict.sign))
        overflow = magnitude[form.fraction_bits :].all()
        special = wire(m, "no_number", verdict.infinite | overflow)
        fraction = Mux(special, 0, rounded[: form.fraction_bits])
        quiet = fraction[-1] | verdict.nan
        exponent = rounded[form.fraction_bits :] | special.replicate(form.exponent_bits)
        return Cat(fraction[:-1], quiet, exponent, verdict.sign & ~verdict.nan)
