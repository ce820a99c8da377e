# amaranth: UnusedElaboratable=no
# Equal units are made for each place, to tell of names and ports, and generated once.
"""Everything generated from the specification of a wafer, as text in memory."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fred_hw.ace.npu_endpoint import BEGIN_CYCLES, NpuEndpoint
from fred_hw.switch.switch import Switch
from fred_hw.unit import Unit
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.spec import WaferSpec

from .any_design import AnyDesign, companion_names
from .companions.manifest import any_manifest, streams
from .emitter import VerilogEmitter
from .ports import module_ports
from .wafer_top import Module, wafer_ports, wafer_top

__all__ = ["WaferDesign", "generate_wafer", "modules_of", "wafer_file_names"]

_LEVEL = "wafer"


@dataclass(frozen=True, kw_only=True)
class WaferDesign(AnyDesign):
    """Generated Verilog of a plane of a wafer and what lies beside it, at the level "wafer".

    ``latency_cycles`` are those from a descriptor's COMMAND to the first read of memory, as of an
    endpoint.

    Parameters
    ----------
    spec : WaferSpec
        What it was generated from.
    others
        As of any design.
    """

    spec: WaferSpec

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What a person or tool needs to use the Verilog, JSON-friendly."""
        plane = Plane(self.spec)
        own = {
            "planes": self.spec.planes,
            "chiplets": {
                one.name: {
                    "switch": self.spec.switches[one.switch].name,
                    "module": Switch(spec=one.spec).unit_name,
                    "links": [
                        [plane.chiplets[end.number].name, end.port]
                        if end.kind == "chiplet"
                        else [f"{'npu' if end.kind == 'npu' else 'io'}{end.number}", 0]
                        for end in one.ends
                    ],
                }
                for one in plane.chiplets
            },
            **streams("io<address>_s_axis", "io<address>_m_axis"),
            "link_digest": self.spec.link.digest,
        }
        return any_manifest(self, self.spec.model_dump(), own)


def generate_wafer(wafer: WaferSpec, emitter: VerilogEmitter | None = None) -> WaferDesign:
    """Generate a plane of a wafer.

    Parameters
    ----------
    wafer : WaferSpec
        What to generate.
    emitter : VerilogEmitter, optional
        The writer; one with replacements puts faults into the hardware.
    """
    emitter, plane = emitter or VerilogEmitter(), Plane(wafer)
    modules = modules_of(wafer)
    for unit in _units(wafer).values():
        emitter.add(unit)
    totals = dict.fromkeys(emitter.modules, 0)
    for name, (module, _) in modules.items():
        times = wafer.endpoints if name == "npu" else 1
        for part, count in emitter.count(module).items():
            totals[part] += times * count
    return WaferDesign(
        spec=wafer,
        level=_LEVEL,
        name=wafer.name,
        verilog=f"{emitter.verilog()}\n{wafer_top(plane, modules)}",
        ports=tuple(wafer_ports(plane, modules)),
        modules={**totals, wafer.name: 1},
        units=emitter.units,
        latency_cycles=BEGIN_CYCLES,
    )


def modules_of(wafer: WaferSpec) -> dict[str, Module]:
    """Return the modules that a plane has instances of: that of endpoints, "npu", and chiplets'."""
    return {name: Module(one.unit_name, module_ports(one)) for name, one in _units(wafer).items()}


def _units(wafer: WaferSpec) -> dict[str, Unit]:
    chiplets = {one.name: Switch(spec=one.spec) for one in Plane(wafer).chiplets}
    return {"npu": NpuEndpoint(spec=wafer.link), **chiplets}


def wafer_file_names(wafer: WaferSpec) -> list[str]:
    """Return the names of the files of a design, which are known before it is generated."""
    return companion_names(wafer.name, _LEVEL)
