"""Synthesis of the units of both fabrics, for the record of areas."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fred_hw.adder_delays import REFERENCE_NS
from fred_hw.files import FileModel
from fred_hw.load import load_spec
from fred_hw.mesh.load import load_mesh
from synth.synthesis import from_spec, synthesize
from testbench.designs import MeasuredDesign, endpoint_design, router_design, switch_design
from testbench.measurement import Say

from .synthesis import EFFORT, SynthesisMeasurement

__all__ = ["AreasMeasurement"]

_LONE = {"format": "int8", "lanes": 1}
_DESIGNS = {"router": router_design, "endpoint": endpoint_design, "switch": switch_design}


@dataclass(frozen=True, kw_only=True)
class AreasMeasurement(SynthesisMeasurement):
    """Area and clock of switches, router and endpoint with one INT8 lane, by synthesis.

    Parameters
    ----------
    root : Path
        Folder of the mesh, ``examples/mesh-5x4.yaml``.
    """

    SCHEMA = "fred-areas/1"

    root: Path

    @cached_property
    def _units(self) -> dict[str, tuple[str, FileModel, str]]:
        """Level, specification and label of each unit, in ascending order of size."""
        mesh = load_mesh(str(self.root / "examples/mesh-5x4.yaml"), _LONE)
        found: dict[str, tuple[str, FileModel, str]] = {
            "router": ("router", mesh, "mesh-5x4"),
            "endpoint": ("endpoint", load_spec("l1-12", _LONE), "l1-12"),
        }
        for name in ("l2-10", "l1-12"):  # 11 ports take slightly less area than 12
            spec = load_spec(name, _LONE)
            found[f"switch of {spec.ports} ports"] = ("switch", spec, name)
        return found

    @property
    def designs(self) -> Mapping[str, MeasuredDesign]:
        return {unit: _DESIGNS[level](spec) for unit, (level, spec, _) in self._units.items()}  # pyright: ignore[reportArgumentType]

    def recorded_hashes(self, record: Any) -> dict[str, str | None]:
        known = {one.unit: one.verilog_sha256 for one in record.units}
        return {unit: known.get(unit) for unit in self._units}

    def head(self) -> dict[str, Any]:
        return {**_LONE, **super().head(), "target_clock_ns": REFERENCE_NS}

    def figures(self, work: Path, say: Say) -> dict[str, Any]:
        hashes, rows = self.hashes(), list[dict[str, Any]]()
        for unit, (level, spec, label) in self._units.items():
            source = from_spec(spec, level, label)
            found = synthesize(source, self.cells, clock_ns=REFERENCE_NS, effort=EFFORT).to_dict()
            keys = ("name", "area_um2", "clock_ns", "flip_flops", "memory_bits")
            row = {"unit": unit, **{key: found[key] for key in keys}}
            rows.append({**row, "verilog_sha256": hashes[unit]})
            say(f"{unit}: {row['area_um2']:,.0f} um2, {row['clock_ns']:.3f} ns")
        return {"units": rows}
