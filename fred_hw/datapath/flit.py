"""Flit wires of the rigid pipeline, and their registers."""

from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib.wiring import In, Out

from fred_hw.member import Bundle, member
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit

__all__ = ["Flit", "FlitNetwork", "delayed", "idle"]


class Flit(Bundle):
    """A pipeline flit, as seen by its source; nothing holds it back."""

    valid = member(Out, 1)
    """High for one cycle per flit."""
    data = member(Out, lambda data_width: data_width)
    """Lanes, lane 0 in the low bits."""


class FlitNetwork(Unit):
    """Common base of networks: a rigid pipeline from P input ports to P output ports.

    Attributes
    ----------
    latency : int
        Cycles from input to output, the same for all paths.
    """

    spec: SwitchSpec
    latency: int
    configuration: Signal
    i: list[Flit] = member(
        In, lambda u: Flit.signature(u.spec.data_width), array=lambda u: u.spec.ports
    )
    """Flits. All inputs of a flow must be valid in the same cycle: a reduction with an input
    missing delivers nothing."""
    o: list[Flit] = member(
        Out, lambda u: Flit.signature(u.spec.data_width), array=lambda u: u.spec.ports
    )
    """Flits of the flow that each port is an output of; ``data`` is 0 where no flow ends."""


def idle(m: Module, o: Any) -> None:
    """Output nothing, forever."""
    m.d.comb += [o.valid.eq(0), o.data.eq(0)]


def delayed(m: Module, value: Value, cycles: int, name: str, *, reset: bool = False) -> Value:
    """Return ``value`` delayed by ``cycles`` registers named after ``name``.

    Registers of wide data need no reset, since nothing reads them while ``valid`` is low.
    """
    for cycle in range(cycles):
        register = Signal(len(value), name=f"{name}_q{cycle + 1}", reset_less=not reset)
        m.d.sync += register.eq(value)
        value = register
    return value
