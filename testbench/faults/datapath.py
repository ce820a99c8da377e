"""Broken parts of the interconnect."""

from typing import Any

from amaranth.hdl import Cat, Module

from fred_hw.compiler.shape import code_width
from fred_hw.datapath.flit import delayed
from fred_hw.datapath.interconnect import Interconnect
from fred_hw.datapath.microswitch import DMicroswitch, RDMicroswitch, drive, select
from fred_hw.datapath.reducer import Reducer
from fred_hw.spec import SwitchSpec
from gen.design import Design, generate

from .fault import Fault, FaultyEmitter, broken

__all__ = ["broken_design", "operand_dropped"]


@broken(Reducer, {"interconnect": ""})
def operand_dropped(m: Module, sound: Any, ports: Any) -> None:
    """A reduction passes on the first operand and drops the second."""
    m.d.comb += ports.o.eq(delayed(m, ports.i0, sound.spec.adder_registers, "i0"))


@broken(RDMicroswitch, {"interconnect": ""})
def bits_swapped(m: Module, sound: Any, ports: Any) -> None:
    """Two configuration bits of an RD micro-switch are swapped."""
    bits = ports.configuration
    m.d.comb += sound.configuration.eq(Cat(bits[1], bits[0], bits[2:]))


@broken(DMicroswitch, {"interconnect": ""})
def register_missing(m: Module, sound: Any, ports: Any) -> None:
    """A D micro-switch lacks a register behind its first output."""
    code = ports.configuration[: len(ports.configuration) // 2]
    valid, data = select(code, ports.i, range(1, len(ports.i) + 1))
    drive(m, ports.o[0], valid, data, sound.spec.stage_registers - 1, "early")


@broken(Interconnect, {"interconnect": ""})
def configuration_late(m: Module, sound: Any, ports: Any) -> None:
    """The configuration of the middle stage arrives a cycle after its flits."""
    outer = sound.spec.ports * code_width(sound.spec.middle_switches)
    within = slice(outer, len(ports.configuration) - outer)
    late = delayed(m, ports.configuration[within], 1, "late")
    m.d.comb += sound.configuration[within].eq(late)


def broken_design(spec: SwitchSpec, fault: Fault) -> Design:
    """Return an interconnect with exactly one fault."""
    return generate(spec, FaultyEmitter([fault], fault))
