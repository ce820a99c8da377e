"""Everything generated from one specification, as text in memory."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from amaranth.lib.wiring import In

from fred_hw.checks import check_choice
from fred_hw.compiler.shape import microswitch_counts
from fred_hw.datapath.interconnect import Interconnect, latency_cycles
from fred_hw.spec import SwitchSpec
from fred_hw.switch.switch import ADDED_CYCLES, Switch
from fred_hw.unit import Unit

from .companions.companion import COMPANIONS, Companion
from .companions.manifest import manifest
from .emitter import VerilogEmitter

__all__ = ["LEVELS", "Design", "file_names", "generate"]

LEVELS = ("interconnect", "switch")
"""What can be generated: the interconnect alone, or the whole switch around it."""


@dataclass(frozen=True)
class Design:
    """Generated Verilog of one interconnect or switch and what lies beside it.

    Parameters
    ----------
    spec : SwitchSpec
        What it was generated from.
    level : str
        One of ``LEVELS``.
    name : str
        Name of the top module and of the files.
    verilog : str
        All modules, the top one last.
    ports : tuple of (name, direction, width)
        Ports of the top module, "input" or "output", width in bits.
    modules : Mapping of str to int
        How often each distinct module stands in the hierarchy.
    units : dict of str to str
        From which class each module was generated, ``fred_hw.<room>.<module>.<class>``.
    latency_cycles : int
        Cycles of a lone flit from port to port.
    """

    spec: SwitchSpec
    level: str
    name: str
    verilog: str
    ports: tuple[tuple[str, str, int], ...]
    modules: dict[str, int]
    units: dict[str, str]
    latency_cycles: int

    @cached_property
    def microswitches(self) -> dict[str, int]:
        """Number of micro-switches of each kind, (de)multiplexers too."""
        return microswitch_counts(self.spec.ports, self.spec.middle)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What a person or tool needs to use the Verilog, JSON-friendly."""
        return manifest(self)

    def files(self) -> dict[str, str]:
        """Return the text of each file by name."""
        return {
            self.name + companion.ending: companion.write(self)
            for companion in _companions(self.level)
        }


def generate(
    spec: SwitchSpec, emitter: VerilogEmitter | None = None, level: str = "interconnect"
) -> Design:
    """Generate the interconnect of ``spec``, or the whole switch.

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
    ports = [("clk", "input", 1), ("rst", "input", 1)]
    for path, member, value in top.signature.flatten(top):
        name = "__".join(str(part) for part in path)
        ports.append((name, "input" if member.flow == In else "output", len(value)))
    return Design(
        spec=spec,
        level=level,
        name=top.unit_name,
        verilog=emitter.verilog(),
        ports=tuple(ports),
        modules=emitter.count(top.unit_name),
        units=emitter.units,
        latency_cycles=latency_cycles(spec) + (ADDED_CYCLES if level == "switch" else 0),
    )


def file_names(spec: SwitchSpec, level: str = "interconnect") -> list[str]:
    """Return the names of the files of a design, which are known before it is generated."""
    name = _top(spec, level).unit_name
    return [name + companion.ending for companion in _companions(level)]


def _companions(level: str) -> list[Companion]:
    whole = level == "switch"
    return [one for one in COMPANIONS.values() if whole or not one.switch_only]


def _top(spec: SwitchSpec, level: str) -> Unit:
    check_choice("level", level, LEVELS)
    return Switch(spec=spec) if level == "switch" else Interconnect(spec=spec)
