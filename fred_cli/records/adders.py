"""Synthesis of adders of all formats and depths, for the record behind `clock_ns`."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fred_hw.adder_delays import REFERENCE_NS
from fred_hw.formats.number_format import FORMATS
from fred_hw.operations.operation import OPERATIONS
from fred_hw.spec import SwitchSpec
from synth.synthesis import from_spec, synthesize
from testbench.designs import MeasuredDesign, interconnect_design
from testbench.measurement import Say

from .synthesis import EFFORT, SynthesisMeasurement

__all__ = ["AddersMeasurement"]

_SIZE: dict[str, Any] = {"ports": 4, "lanes": 1}


@dataclass(frozen=True, kw_only=True)
class AddersMeasurement(SynthesisMeasurement):
    """Shortest clock period of adders by operation, format and depth.

    The longest path of an interconnect of four ports and one lane is a crossing and a step of an
    adder. It is mapped with 0, 1, 2 and more registers, as many as the unit has places for.
    """

    SCHEMA = "fred-adders/3"

    @cached_property
    def specs(self) -> dict[str, SwitchSpec]:
        """Interconnects with the adders, by name."""
        found = [
            SwitchSpec(**_SIZE, format=name, operation=operation, adder_registers=registers)
            for operation, one in OPERATIONS.items()
            for name, form in FORMATS.items()
            if one.takes(form)
            for registers in range(len(one.unit(form, "saturate", 0).cuts))
        ]
        return {one.name: one for one in found}

    @property
    def designs(self) -> Mapping[str, MeasuredDesign]:
        return {name: interconnect_design(spec) for name, spec in self.specs.items()}

    def recorded_hashes(self, record: Any) -> dict[str, str | None]:
        return {name: record.verilog_sha256.get(name) for name in self.specs}

    def head(self) -> dict[str, Any]:
        return {**_SIZE, **super().head(), "target_clock_ns": REFERENCE_NS}

    def figures(self, work: Path, say: Say) -> dict[str, Any]:
        delays: dict[str, dict[str, list[float]]] = {}
        for name, spec in self.specs.items():
            source = from_spec(spec, "interconnect", name)
            found = synthesize(source, self.cells, clock_ns=REFERENCE_NS, effort=EFFORT)
            clock_ns = round(found.timing.clock_ns, 4)
            delays.setdefault(spec.operation, {}).setdefault(spec.format, []).append(clock_ns)
            say(f"{name}: {clock_ns:.3f} ns")
        return {"delays_ns": delays, "verilog_sha256": self.hashes()}
