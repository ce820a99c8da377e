"""Everything generated from one specification, as text in memory."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fred_hw.ace.npu_endpoint import BEGIN_CYCLES, NpuEndpoint
from fred_hw.ace.work import flit_bytes
from fred_hw.checks import check_choice
from fred_hw.compiler.shape import microswitch_counts
from fred_hw.datapath.interconnect import Interconnect, latency_cycles
from fred_hw.errors import InputError
from fred_hw.spec import SwitchSpec
from fred_hw.switch.switch import ADDED_CYCLES, Switch
from fred_hw.unit import Unit

from .any_design import AnyDesign, companion_names
from .companions.manifest import manifest
from .emitter import VerilogEmitter
from .ports import module_ports

__all__ = ["LEVELS", "Design", "check_level", "design_name", "file_names", "generate"]

LEVELS = ("interconnect", "switch", "endpoint")
"""What can be generated: the interconnect alone, the whole switch around it, or an NPU's end of a
link."""


@dataclass(frozen=True, kw_only=True)
class Design(AnyDesign):
    """Generated Verilog of one interconnect, switch or endpoint, at one of ``LEVELS``.

    ``latency_cycles`` are those of a lone flit from port to port; of an endpoint from a
    descriptor's COMMAND to the first read of memory.

    Parameters
    ----------
    spec : SwitchSpec
        What it was generated from.
    others
        As of any design.
    """

    spec: SwitchSpec

    @cached_property
    def microswitches(self) -> dict[str, int]:
        """Number of micro-switches of each kind, (de)multiplexers too."""
        if self.level == "endpoint":
            return {}
        return microswitch_counts(self.spec.ports, self.spec.middle)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What a person or tool needs to use the Verilog, JSON-friendly."""
        return manifest(self)


def generate(
    spec: SwitchSpec, emitter: VerilogEmitter | None = None, level: str = "interconnect"
) -> Design:
    """Generate the interconnect of ``spec``, the whole switch, or an NPU's end of a link.

    Parameters
    ----------
    spec : SwitchSpec
        What to generate.
    emitter : VerilogEmitter, optional
        The writer; one with replacements puts faults into the hardware.
    level : str
        One of ``LEVELS``.

    Raises
    ------
    ValueError
        There is no such level.
    """
    top = _top(spec, level)
    emitter = emitter or VerilogEmitter()
    emitter.add(top)
    return Design(
        spec=spec,
        level=level,
        name=top.unit_name,
        verilog=emitter.verilog(),
        ports=tuple(module_ports(top)),
        modules=emitter.count(top.unit_name),
        units=emitter.units,
        latency_cycles=_latency(spec, level),
    )


def design_name(spec: SwitchSpec, level: str = "interconnect") -> str:
    """Return the name of a design, which is known before it is generated."""
    return _top(spec, level).unit_name


def file_names(spec: SwitchSpec, level: str = "interconnect") -> list[str]:
    """Return the names of the files of a design, which are known before it is generated."""
    return companion_names(design_name(spec, level), level)


def check_level(spec: SwitchSpec, level: str, source: str) -> None:
    """Refuse a specification of which there is no such level.

    Raises
    ------
    InputError
        Flits have no power of two of bytes, which an endpoint needs; names ``source`` and field.
    """
    if level == "endpoint":
        try:
            flit_bytes(spec)
        except ValueError as error:
            raise InputError(source, "lanes", str(error).removeprefix("lanes ")) from None


def _latency(spec: SwitchSpec, level: str) -> int:
    if level == "endpoint":
        return BEGIN_CYCLES
    return latency_cycles(spec) + (ADDED_CYCLES if level == "switch" else 0)


def _top(spec: SwitchSpec, level: str) -> Unit:
    check_choice("level", level, LEVELS)
    if level == "endpoint":
        return NpuEndpoint(spec=spec)
    return Switch(spec=spec) if level == "switch" else Interconnect(spec=spec)
