"""Synthesis and co-simulation of FRED and its baselines, for the record of networks."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fred_cli.power_report import power_report
from fred_hw.adder_delays import REFERENCE_NS
from fred_hw.spec import SwitchSpec
from synth.synthesis import from_spec, synthesize
from testbench.cosimulation.cosimulate_interconnect import cosimulate
from testbench.designs import (
    MeasuredDesign,
    benes_design,
    crossbar_design,
    interconnect_design,
)
from testbench.measurement import Measurement, Say
from testbench.sim.tools import SimulatorError
from testbench.stimulus.traffic import ROUTERS, random_flows, strategy_phases

from .synthesis import SynthesisMeasurement

__all__ = ["NetworksMeasurement"]

_LANES: dict[str, Any] = {"format": "fp16", "lanes": 1}
_PORTS = (4, 8)
_FLOW_SETS = 200
_CYCLES = 64
"""Cycles in which activity is counted."""
_DESIGNS = {"interconnect": interconnect_design, "crossbar": crossbar_design, "benes": benes_design}
_MAIN = ("adders", "multiplexers", "pipeline")


@dataclass(frozen=True, kw_only=True)
class NetworksMeasurement(SynthesisMeasurement):
    """Area, clock, power, latency and routed flow sets of FRED_3, FRED_2 and its baselines."""

    SCHEMA = "fred-networks/1"

    simulators: tuple[str, ...] = ("icarus",)
    effort: str = "area"

    def tools(self) -> dict[str, str]:
        return {**super().tools(), **Measurement.tools(self)}

    @cached_property
    def _networks(self) -> dict[str, tuple[str, str, SwitchSpec]]:
        """Network, level and specification of each row, by label."""
        found: dict[str, tuple[str, str, SwitchSpec]] = {}
        for ports in _PORTS:
            rows = [(f"FRED_{m}", "interconnect", m) for m in (3, 2)]
            rows += [("crossbar", "crossbar", 3), ("benes", "benes", 3)]
            for network, level, m in rows:
                spec = SwitchSpec(ports=ports, middle_switches=m, **_LANES)
                found[f"{network} of {ports} ports"] = (network, level, spec)
        return found

    @property
    def designs(self) -> Mapping[str, MeasuredDesign]:
        return {name: _DESIGNS[level](spec) for name, (_, level, spec) in self._networks.items()}

    def recorded_hashes(self, record: Any) -> dict[str, str | None]:
        known = {f"{one.network} of {one.ports} ports": one for one in record.networks}
        return {
            name: known[name].verilog_sha256 if name in known else None for name in self.designs
        }

    def head(self) -> dict[str, Any]:
        more = {"target_clock_ns": REFERENCE_NS, "seed": self.seed, "flow_sets": _FLOW_SETS}
        return {**_LANES, **super().head(), **more, "cycles": _CYCLES}

    def figures(self, work: Path, say: Say) -> dict[str, Any]:
        hashes, rows = self.hashes(), list[dict[str, Any]]()
        for label, (network, level, spec) in self._networks.items():
            measured = self._measured(level, spec, work / label.replace(" ", "-"))
            hashed = {"verilog_sha256": hashes[label]}
            rows.append({"network": network, "ports": spec.ports, **measured, **hashed})
            say(f"{label}: {measured['area_um2']:,.0f} um2, {measured['clock_ns']:.3f} ns")
        return {"networks": rows}

    def _measured(self, level: str, spec: SwitchSpec, work: Path) -> dict[str, Any]:
        """Return the figures of a network."""
        source = from_spec(spec, level, spec.name)
        found = synthesize(source, self.cells, clock_ns=REFERENCE_NS, effort=self.effort)
        power = power_report(
            spec,
            level,
            source,
            found,
            work,
            cycles=_CYCLES,
            seed=self.seed,
            progress=lambda _: None,
            workloads=("idle", "all_reduce"),
        )
        test = "every_path_has_the_same_latency"
        latency = cosimulate(spec, work / "latency", level=level, tests=[test], seed=self.seed)
        if latency.failures:
            raise SimulatorError(f"test {test}: {latency.failures[0].message}")
        all_reduce_w, *_ = (
            row["total"]["total_w"] for row in power["workloads"] if row["workload"] == "all_reduce"
        )
        shown = found.to_dict()
        return {
            **{key: shown[key] for key in ("name", "area_um2", "clock_ns", "flip_flops")},
            "other_share": sum(one.share for one in found.area.classes if one.name not in _MAIN),
            "latency_cycles": latency.measurements["latency_cycles"],
            "all_reduce_w": all_reduce_w,
            **_shares(level, spec, self.seed),
        }


def _shares(level: str, spec: SwitchSpec, seed: int) -> dict[str, float]:
    """Return the shares of flow sets that route at once."""
    rng, route = random.Random(seed), ROUTERS[level]
    sets = [random_flows(rng, spec.ports) for _ in range(_FLOW_SETS)]
    phases = [flows for _, flows in strategy_phases(spec.ports)]
    return {
        name: sum(route(flows, spec) is not None for flows in found) / len(found)
        for name, found in (("random_share", sets), ("phase_share", phases))
    }
