"""Shifters and the leading-zero count, with every width written out."""

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.utils import ceil_log2

from fred_hw.gates.wire import wire

__all__ = ["leading_zeros", "shifted_left", "shifted_right"]


def shifted_right(m: Module, name: str, value: Value, distance: Value) -> tuple[Value, Value]:
    """Return ``value`` shifted right by ``distance``, and whether any one bit was shifted out.

    Short shifts come first, since the low bits of a difference are ready first.
    """
    lost: Value = Const(0, 1)
    for stage, take in enumerate(distance):
        step = 1 << stage
        lost = lost | (take & value[:step].any())
        value = wire(m, f"{name}_{step}", Mux(take, value[step:], value))
    return value, wire(m, f"{name}_lost", lost)


def shifted_left(m: Module, name: str, value: Value, distance: Value) -> Value:
    """Return ``value`` shifted left by ``distance`` within its width.

    Long shifts come first, since the high bits of a leading-zero count are ready first.
    """
    for stage in reversed(range(len(distance))):
        step = 1 << stage
        kept = value[: max(len(value) - step, 0)]
        shifted = Cat(Const(0, len(value) - len(kept)), kept)
        value = wire(m, f"{name}_{step}", Mux(distance[stage], shifted, value))
    return value


def leading_zeros(value: Value) -> Value:
    """Return the number of zeros above the leading one, in ``ceil_log2(len(value))`` bits.

    Without a one the count is some number below ``2**ceil_log2(len(value))``.
    """
    padding = (1 << ceil_log2(len(value))) - len(value)
    return _count_and_empty(Cat(Const((1 << padding) - 1, padding), value))[0]


def _count_and_empty(value: Value) -> tuple[Value, Value]:
    """Return the leading-zero count of a power-of-two width, and whether all bits are zero."""
    if len(value) == 1:
        return Const(0, 0), ~value
    half = len(value) // 2
    low, low_empty = _count_and_empty(value[:half])
    high, high_empty = _count_and_empty(value[half:])
    return Cat(Mux(high_empty, low, high), high_empty), low_empty & high_empty
