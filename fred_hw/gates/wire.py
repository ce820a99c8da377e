"""Named intermediate values."""

from amaranth.hdl import Module, Signal, Value

__all__ = ["wire"]


def wire(m: Module, name: str, value: Value, *, width: int | None = None) -> Signal:
    """Return a named signal that always equals ``value``, cut to ``width`` bits if given.

    Amaranth writes a value out again wherever it is used, a signal once.
    """
    signal = Signal(len(value) if width is None else width, name=name)
    m.d.comb += signal.eq(value)
    return signal
