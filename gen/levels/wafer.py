"""Level: a plane of a wafer."""

from typing import Any

from fred_hw.ace.npu_endpoint import BEGIN_CYCLES
from fred_hw.fabric_plan import End
from fred_hw.switch.switch import Switch
from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.plane import Chiplet, Plane
from fred_hw.wafer.spec import WaferSpec
from gen.emitter import VerilogEmitter
from gen.level import LEVELS, Built, Level, check_inputs
from gen.manifest_parts import streams
from gen.replay import longest_in_plane, replay_on_path
from gen.wafer_top import modules_of, units_of, wafer_ports, wafer_top

__all__ = ["WaferLevel"]


class WaferLevel(Level[WaferSpec]):
    """Connected endpoints and switches in a tree; its latency is that of an endpoint."""

    model = WaferSpec
    load = staticmethod(load_wafer)
    text = "a plane of a wafer file"
    description = "Plane of a FRED wafer: endpoints and switches in a tree, wired"

    def name(self, spec: WaferSpec) -> str:
        return spec.name

    def check(self, spec: WaferSpec, source: str) -> None:
        for chiplet in Plane(spec).units:
            check_inputs(Switch(spec=chiplet.spec), source)

    def build(self, spec: WaferSpec, emitter: VerilogEmitter) -> Built:
        plane, modules = Plane(spec), modules_of(spec)
        for unit in units_of(spec).values():
            emitter.add(unit)
        totals = dict.fromkeys(emitter.modules, 0)
        for name, (module, _) in modules.items():
            times = spec.endpoints if name == "npu" else 1
            for part, count in emitter.count(module).items():
                totals[part] += times * count
        text = f"{emitter.verilog()}\n{wafer_top(plane, modules)}"
        return Built(text, wafer_ports(plane, modules), {**totals, spec.name: 1})

    def latency_cycles(self, spec: WaferSpec) -> int:
        return BEGIN_CYCLES

    def manifest(self, spec: WaferSpec) -> dict[str, Any]:
        plane = Plane(spec)
        return {
            "planes": spec.planes,
            "chiplets": {one.name: _chiplet(plane, one) for one in plane.units},
            **streams("io<address>_s_axis", "io<address>_m_axis"),
            "replay": replay_on_path(spec.link, longest_in_plane(spec)),
            "link_digest": spec.link.digest,
        }


def _chiplet(plane: Plane, one: Chiplet) -> dict[str, Any]:
    """Return the manifest entry of a chiplet and its links."""
    return {
        "switch": plane.wafer.switches[one.switch].name,
        "module": Switch(spec=one.spec).unit_name,
        "links": [_link(plane, end) for end in one.ends],
    }


def _link(plane: Plane, end: End) -> list[Any] | None:
    """Return name and port of the peer at a port; None if there is no peer."""
    if end.kind == "nothing":
        return None
    chiplet = end.kind == "unit"
    return [plane.units[end.number].name if chiplet else plane.end_name(end.number), end.port]


LEVELS.add("wafer", WaferLevel(), rank=6)
