"""Deliberately broken hardware, to show that the benches notice."""

# Amaranth has no types.
# pyright: reportAttributeAccessIssue=false, reportReturnType=false, reportArgumentType=false

from collections.abc import Callable

from amaranth.hdl import Cat, Module, Value

from fred_hw.datapath.flit import Flit, delayed
from fred_hw.datapath.interconnect import Interconnect
from fred_hw.datapath.microswitch import DMicroswitch, RDMicroswitch, drive, select
from fred_hw.datapath.reducer import Reducer
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit
from gen.design import Design, generate
from gen.emitter import VerilogEmitter

__all__ = ["FAULTS", "broken_design"]


class OperandDropped(Reducer):
    """A reducer that passes its first operand on and drops the second."""

    def build(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(delayed(m, self.i0, self.spec.adder_registers, "i0"))
        return m


class BitsSwapped(RDMicroswitch):
    """An RD micro-switch in which two configuration bits have changed places."""

    def _operands(self, m: Module) -> tuple[Flit, Flit, Value, Value]:
        i0, i1, reduced, bits = super()._operands(m)
        return i0, i1, reduced, Cat(bits[1], bits[0], bits[2:])


class RegisterMissing(DMicroswitch):
    """A D micro-switch that lacks a register behind its first output."""

    def build(self, platform: object) -> Module:
        m = Module()
        for index, o in enumerate(self.o):
            width = len(self.configuration) // 2
            valid, data = select(self.configuration.word_select(index, width), self.i)
            drive(m, o, valid, data, self.spec.stage_registers - (index == 0), f"o{index}")
        return m


class ConfigurationEarly(Interconnect):
    """An interconnect whose configuration reaches the middle stage before its flits."""

    def _configurations(self, m: Module) -> tuple[Value, Value, Value]:
        into, _, out_of = super()._configurations(m)
        outer = len(into)
        return into, self.configuration[outer : len(self.configuration) - outer], out_of


FAULTS: dict[str, Callable[[SwitchSpec], Unit]] = {
    "adder_operand_dropped": lambda spec: OperandDropped(spec=spec),
    "configuration_bits_swapped": lambda spec: BitsSwapped(spec=spec),
    "pipeline_register_missing": lambda spec: RegisterMissing(spec=spec),
    "configuration_early": lambda spec: ConfigurationEarly(spec=spec),
}
"""Faults by name, each a unit to stand in for the sound one of the same name."""


def broken_design(spec: SwitchSpec, fault: str) -> Design:
    """Return the interconnect of ``spec`` with one kind of unit replaced by a broken one.

    Parameters
    ----------
    spec : SwitchSpec
        Four ports or more, so that every kind of unit is there.
    fault : str
        One of ``FAULTS``.
    """
    unit = FAULTS[fault](spec)
    return generate(spec, VerilogEmitter({unit.unit_name: unit}))
