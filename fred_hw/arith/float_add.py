"""Addition of two floating-point numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.utils import ceil_log2

from fred_hw.formats.number_format import FloatFormat
from fred_hw.gates.wire import wire

from .lane_unit import LaneUnit, Step
from .passing import Places
from .shifts import leading_zeros, shifted_left, shifted_right

__all__ = ["FloatAdd"]


@dataclass(frozen=True)
class Verdict:
    """Properties of the sum that are known before it is computed; ``special`` covers all NaNs."""

    sign: Value
    nan: Value


@dataclass(frozen=True)
class Ordered:
    """The operand of larger magnitude, the other significand, and the exponent distance."""

    larger: Value
    significand: Value
    distance: Value
    subtract: Value
    verdict: Verdict


@dataclass(frozen=True)
class Aligned:
    """The larger operand, with the aligned significand to add.

    The addend has the same exponent, is extended by guard, round and sticky bit, and is inverted,
    except for the sticky bit, if it is subtracted.
    """

    larger: Value
    addend: Value
    subtract: Value
    verdict: Verdict


@dataclass(frozen=True)
class Summed:
    """The exact total except the sticky bit; its top bit has weight 2 ** (``exponent`` + 1).

    The exponent is that of the larger operand as it is encoded.
    """

    exponent: Value
    total: Value
    verdict: Verdict


@dataclass(frozen=True)
class Counted:
    """The total with its remaining left shift; the longest shift is already done."""

    exponent: Value
    total: Value
    shift: Value
    verdict: Verdict


@dataclass(frozen=True)
class Normalized:
    """The sum cut to the format, the bits needed for rounding, and whether it is special.

    Special are infinities and NaNs, those of sums beyond the range too.
    """

    magnitude: Value
    half: Value
    sticky: Value
    special: Value
    verdict: Verdict


class FloatAdd(LaneUnit):
    """Add two floating-point numbers as IEEE 754-2019 does, rounding to nearest, ties to even.

    Subnormals are kept (clause 3.4), signed zeros follow clause 6.3, infinities clause 6.1, and a
    sum beyond the range becomes ``number_format.beyond``, an infinity in IEEE 754 (clause 7.4).
    Each NaN result, infinity minus infinity too (clause 7.2), is ``number_format.canonical_nan``;
    payloads are not passed on. No flags.

    Parameters
    ----------
    number_format : FloatFormat
        Format of operands and result.
    registers : int
        Pipeline registers, 0 to 8, put behind the steps order, align, add, count, normalize and
        round as ``FloatAdd.cuts`` says. From the 7th on they stand behind the output.

    Timing
    ------
    Latency : ``registers`` cycles.
    Throughput : one sum per cycle.
    Paths : as of ``LaneUnit``.
    Reset : nothing is cleared.
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

    def carried(self, step: str, before: Places) -> Places:
        """Return operands that are neither ordered nor shifted, and added to nothing."""
        bits = self.number_format.fraction_bits
        if step == "order":
            first, second = before["i0"], before["i1"]
            return {
                "larger": first[:-1],
                "significand": [*second[:bits], None],
                "subtract": second[-1:],
                "verdict_sign": first[-1:],
            }
        kept = {path: where for path, where in before.items() if path.startswith("verdict")}
        if step == "align":
            kept |= {path: before[path] for path in ("larger", "subtract")}
            kept["addend"] = [None, None, None, *before["significand"]]
        elif step == "add":
            kept |= {"exponent": before["larger"][bits:], "total": [*before["addend"], None]}
        elif step == "count":
            kept |= {path: before[path] for path in ("exponent", "total")}
        return kept

    def _order(self, m: Module, operands: tuple[Value, Value], reduce: Value) -> Ordered:
        """Put the operand of larger magnitude first, so that the difference is never negative.

        Encodings are ordered like magnitudes, and a NaN comes above all numbers: all special
        cases show on the larger operand. What passes is neither swapped nor shifted, and has the
        sign of the second operand where ``subtract`` is.
        """
        form = self.number_format
        (magnitude0, sign0), (magnitude1, sign1) = ((i[:-1], i[-1]) for i in operands)
        exponent0, significand0 = self._unpacked(magnitude0)
        exponent1, significand1 = self._unpacked(magnitude1)
        bits = len(exponent0)
        difference = wire(m, "difference", exponent0 - exponent1, width=bits + 1)
        below = difference[-1]
        level = wire(m, "level", exponent0 == exponent1)
        swap = below | (level & (significand0 < significand1))
        swap = wire(m, "swap", swap & reduce)
        distance = (difference[:-1] ^ below.replicate(bits)) + below
        distance = wire(m, "distance", distance, width=bits)
        larger = wire(m, "larger", Mux(swap, magnitude1, magnitude0))
        significand = wire(m, "smaller", Mux(swap, significand0, significand1))
        subtract = wire(m, "subtract", (sign0 & reduce) ^ sign1)
        # Equal magnitudes of unlike sign: +0 (clause 6.3), or NaN if infinite (clause 7.2 d).
        cancels = wire(m, "cancels", subtract & (magnitude0 == magnitude1) & reduce)
        if form.has_infinity:
            special = larger[form.fraction_bits :].all()
            nan = special & (larger[: form.fraction_bits].any() | cancels)
        else:
            nan = larger.all() if form.has_nan else Const(0, 1)
        sign = wire(m, "sign", Mux(swap, sign1, sign0) & ~cancels)
        verdict = Verdict(sign=sign, nan=wire(m, "nan", nan))
        return Ordered(larger, significand, distance, subtract, verdict)

    def _align(self, m: Module, ordered: Ordered, reduce: Value) -> Aligned:
        """Shift the smaller significand right to the exponent of the larger."""
        distance = ordered.distance & reduce.replicate(len(ordered.distance))
        extended = Cat(Const(0, 2), ordered.significand)  # guard and round bit
        near = self._near_distance_bits(len(extended))
        far = distance[near:].any() if near < len(distance) else Const(0, 1)
        # Distances beyond the shifter: its last stages together shift out all but the lowest bit.
        last, reach = near, 0
        while near < len(distance) and reach < len(extended) - 1:
            last -= 1
            reach += 1 << last
        steps = Cat(distance[:last], distance[last:near] | far.replicate(near - last))
        shifted, lost = shifted_right(m, "aligned", extended, steps)
        lowest = shifted[0]
        lost = wire(m, "lost", lost | (lowest & far))
        shifted = wire(m, "shifted", Cat(lowest & ~far, shifted[1:]))
        subtract = wire(m, "inverted", ordered.subtract & reduce)
        addend = wire(m, "addend", Cat(lost, shifted ^ subtract.replicate(len(shifted))))
        return Aligned(ordered.larger, addend, ordered.subtract, ordered.verdict)

    @property
    def _field_bits(self) -> int:
        """Bits of the sum's exponent field; without infinity, its top value is no overflow."""
        return self.number_format.exponent_bits + (not self.number_format.has_infinity)

    def _near_distance_bits(self, width: int) -> int:
        """Bits of the distance that drive the shifter, enough to shift out ``width`` bits."""
        return min(ceil_log2(width), self.number_format.exponent_bits)

    def _unpacked(self, magnitude: Value) -> tuple[Value, Value]:
        """Split into exponent and significand; a subnormal has exponent 1 (clause 3.4)."""
        fraction, exponent = (
            magnitude[: self.number_format.fraction_bits],
            magnitude[self.number_format.fraction_bits :],
        )
        normal = exponent.any()
        return Cat(exponent[0] | ~normal, exponent[1:]), Cat(fraction, normal)

    def _add(self, m: Module, aligned: Aligned, reduce: Value) -> Summed:
        """Add or subtract in one adder; passing operands are added to nothing.

        An inverted addend needs a carry to be a complement, unless the sticky bit took it. The
        difference has no carry, for it is never negative.
        """
        _, significand = self._unpacked(aligned.larger)
        sticky, addend = aligned.addend[0], aligned.addend[1:]
        significand = wire(m, "augend", significand & reduce.replicate(len(significand)))
        carry = wire(m, "complement", aligned.subtract & ~sticky & reduce)
        augend = Cat(Const(1, 1), Const(0, 2), significand)
        total = wire(m, "sum", augend + Cat(carry, addend), width=len(augend) + 1)
        over = total[-1] & ~aligned.subtract
        total = wire(m, "total", Cat(sticky, total[1:-1], over))
        exponent = aligned.larger[self.number_format.fraction_bits :]
        return Summed(exponent, total, aligned.verdict)

    def _count(self, m: Module, summed: Summed, reduce: Value) -> Counted:
        """Find the left shift of the total: to its leading one, but at most to exponent 1.

        A one is put where a total of exponent 1 would have its leading one, which ends the count
        there and so leaves a subnormal where it belongs.

        Round and sticky bit are not looked at: they are not zero only where the larger operand
        is far above the other one, and the leading one is among the first three bits then.
        """
        total, exponent = summed.total, summed.exponent
        last = len(total) - 2
        largest = (1 << len(exponent)) - 1
        limit = [
            exponent == Const(field, len(exponent)) if field <= largest else Const(0, 1)
            for field in range(last - 1, 1, -1)
        ]
        limit = Cat(*limit, exponent[1:] == 0, 0)
        shift = wire(m, "shift", leading_zeros(wire(m, "stops", total[2:] | limit)))
        most = len(shift) - 1
        far = wire(m, "shifts_far", shift[most] & reduce)
        shifted = shifted_left(m, "nearer", total[1:], Cat(Const(0, most), far))
        return Counted(exponent, Cat(total[0], shifted), shift, summed.verdict)

    def _normalize(self, m: Module, counted: Counted, reduce: Value) -> Normalized:
        """Shift the total left, and subtract the shift from the exponent.

        Without a leading one the sum is subnormal or zero and has the exponent field 0. A sticky
        bit is not shifted: it stays below what is half of the last place.
        """
        encoded = counted.exponent
        exponent = Cat(encoded[0] | ~encoded.any(), encoded[1:])
        above = wire(m, "exponent_above", exponent + 1, width=self._field_bits)
        shifted = shifted_left(m, "normalized", counted.total[1:], counted.shift[:-1])
        below = len(shifted) - self.number_format.fraction_bits - 1
        field = wire(m, "field", above - counted.shift, width=self._field_bits)
        # The top field value, without a carry of rounding, occurs only with a leading one.
        special = wire(m, "special", encoded.all() | field.all())
        leading = shifted[-1].replicate(len(field))
        magnitude = wire(m, "truncated", Cat(shifted[below:-1], field & leading))
        sticky = wire(m, "sticky", shifted[: below - 1].any() | counted.total[0])
        half = wire(m, "half", shifted[below - 1])
        return Normalized(magnitude, half, sticky, special, counted.verdict)

    def _round(self, m: Module, normalized: Normalized, reduce: Value) -> Value:
        """Round exponent and fraction as one integer, as a carry out of the fraction requires.

        The carry turns the largest subnormal into the smallest normal number. Beyond the largest
        number comes ``number_format.beyond``, as clause 7.4 a requires of infinities.
        """
        form = self.number_format
        magnitude, verdict = normalized.magnitude, normalized.verdict
        up = wire(m, "up", normalized.half & (normalized.sticky | magnitude[0]))
        rounded = wire(m, "rounded", magnitude + up, width=len(magnitude))
        if not form.has_infinity:
            beyond = wire(m, "out_of_range", verdict.nan | (rounded > form.largest))
            if form.has_nan:
                return Mux(beyond, form.beyond, Cat(rounded[:-1], verdict.sign))
            return Cat(rounded[:-1] | beyond.replicate(form.bits - 1), verdict.sign)
        special = normalized.special
        fraction = Mux(special, 0, rounded[: form.fraction_bits])
        quiet = fraction[-1] | verdict.nan
        exponent = rounded[form.fraction_bits :] | special.replicate(form.exponent_bits)
        return Cat(fraction[:-1], quiet, exponent, verdict.sign & ~verdict.nan)
