"""Flit wires of the rigid pipeline, and their registers."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

__all__ = ["Flit", "delayed", "flit_signature"]


class Flit(wiring.PureInterface):
    """A pipeline flit; ``data`` is valid while ``valid`` is high."""

    valid: Signal
    data: Signal


def flit_signature(data_width: int) -> wiring.Signature:
    """Return the signature of a flit without a ready wire, as seen by its source.

    Members
    -------
    valid : Out(1)
        High for one cycle per flit.
    data : Out(data_width)
        Lanes, lane 0 in the low bits.
    """
    return wiring.Signature({"valid": Out(1), "data": Out(data_width)})


def delayed(m: Module, value: Value, cycles: int, name: str, *, reset: bool = False) -> Value:
    """Return ``value`` delayed by ``cycles`` registers named after ``name``.

    Registers of wide data need no reset, since nothing reads them while ``valid`` is low.
    """
    for cycle in range(cycles):
        register = Signal(len(value), name=f"{name}_q{cycle + 1}", reset_less=not reset)
        m.d.sync += register.eq(value)
        value = register
    return value
