"""Synthesis of the units of both fabrics, for the record of areas."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fred_hw.files import FileModel
from fred_hw.load import load_spec
from fred_hw.mesh.load import load_mesh
from synth.installed import library_path
from synth.liberty import Libraries, read_libraries
from synth.mapping import find_yosys
from synth.synthesis import from_spec, synthesize
from synth.timing import find_opensta
from testbench.designs import MeasuredDesign, endpoint_design, router_design, switch_design
from testbench.measurement import Measurement, Say, git_commit, today
from testbench.sim.cache import cpu_s

__all__ = ["AreasMeasurement"]

_LONE = {"format": "int8", "lanes": 1}
_LIBRARY, _CLOCK_NS, _EFFORT = "nangate45", 0.853, "speed"
_DESIGNS = {"router": router_design, "endpoint": endpoint_design, "switch": switch_design}


@dataclass(frozen=True, kw_only=True)
class AreasMeasurement(Measurement):
    """Area and clock of switches, router and endpoint with a lane of INT8, by synthesis.

    Parameters
    ----------
    root : Path
        Folder of the mesh, ``examples/mesh-5x4.yaml``.
    """

    SCHEMA = "fred-areas/1"

    simulators: tuple[str, ...] = ()
    root: Path

    @cached_property
    def _units(self) -> dict[str, tuple[str, FileModel, str]]:
        """Level, specification and label of each unit, the smallest first."""
        mesh = load_mesh(str(self.root / "examples/mesh-5x4.yaml"), _LONE)
        found: dict[str, tuple[str, FileModel, str]] = {
            "router": ("router", mesh, "mesh-5x4"),
            "endpoint": ("endpoint", load_spec("l1-12", _LONE), "l1-12"),
        }
        for name in ("l2-10", "l1-12"):  # 11 ports take a little less than 12
            spec = load_spec(name, _LONE)
            found[f"switch of {spec.ports} ports"] = ("switch", spec, name)
        return found

    @cached_property
    def _cells(self) -> Libraries:
        return read_libraries([library_path(_LIBRARY)])

    @property
    def designs(self) -> Mapping[str, MeasuredDesign]:
        return {unit: _DESIGNS[level](spec) for unit, (level, spec, _) in self._units.items()}  # pyright: ignore[reportArgumentType]

    def recorded_hashes(self, record: Any) -> dict[str, str | None]:
        known = {one.unit: one.verilog_sha256 for one in record.units}
        return {unit: known.get(unit) for unit in self._units}

    def tools(self) -> dict[str, str]:
        opensta = find_opensta()
        return {"Yosys": find_yosys()} | ({"OpenSTA": opensta} if opensta else {})

    def recorded_tools(self, record: Any) -> dict[str, str]:
        return record.tools

    def head(self) -> dict[str, Any]:
        return {
            **_LONE,
            "library": _LIBRARY,
            "libraries": {one.path.name: one.sha256 for one in self._cells.files},
            "tools": self.tools(),
            "effort": _EFFORT,
            "target_clock_ns": _CLOCK_NS,
        }

    def figures(self, work: Path, say: Say) -> dict[str, Any]:
        hashes, rows = self.hashes(), list[dict[str, Any]]()
        for unit, (level, spec, label) in self._units.items():
            source = from_spec(spec, level, label)
            found = synthesize(source, self._cells, clock_ns=_CLOCK_NS, effort=_EFFORT).to_dict()
            keys = ("name", "area_um2", "clock_ns", "flip_flops", "memory_bits")
            row = {"unit": unit, **{key: found[key] for key in keys}}
            rows.append({**row, "verilog_sha256": hashes[unit]})
            say(f"{unit}: {row['area_um2']:,.0f} um2, {row['clock_ns']:.3f} ns")
        return {"units": rows}

    def other_inputs(self, record: Any) -> Iterator[str]:
        wanted = {key: value for key, value in self.head().items() if key != "tools"}
        yield from (key for key, value in wanted.items() if getattr(record, key) != value)

    def record(self, work: Path, say: Say = lambda _: None) -> dict[str, Any]:
        begun_s = cpu_s()
        figures = self.figures(work, say)
        return {
            "schema": self.SCHEMA,
            **self.head(),
            "git_commit": git_commit(),
            "date": today(),
            "minutes": round((cpu_s() - begun_s) / 60, 1),
            **figures,
        }
