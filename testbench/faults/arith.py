"""Broken arithmetic."""

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from fred_hw.arith.float_add import FloatAdd

from .fault import broken

__all__ = ["sticky_dropped"]


@broken(FloatAdd, {"vectors": ""})
def sticky_dropped(m: Module, sound: Any, ports: Any) -> None:
    """Bits shifted out during alignment are not kept as the sticky bit."""
    form = sound.number_format
    fraction, place = form.fraction_bits, form.place
    magnitudes = [ports.i0[place][:-1], ports.i1[place][:-1]]
    for own, other, into, given in zip(
        magnitudes,
        reversed(magnitudes),
        (sound.i0, sound.i1),
        (ports.i0, ports.i1),
        strict=True,
    ):
        distance = Signal(range(-(1 << len(own)), 1 << len(own)))
        m.d.comb += distance.eq(_exponent(other, fraction) - _exponent(own, fraction))
        # Guard and round bit are kept; a number that is too far away contributes nothing.
        kept = [distance <= bit + 2 for bit in range(fraction)]
        near = (distance <= fraction + 2).replicate(len(own) - fraction)
        number = given[place] & Cat(*kept, near, 1)
        m.d.comb += into.eq(Cat(given[: place.start], number, given[place.stop :]))


def _exponent(magnitude: Value, fraction: int) -> Value:
    exponent = magnitude[fraction:]
    return Mux(exponent == 0, 1, exponent)
