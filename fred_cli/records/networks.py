"""Synthesis and co-simulation of FRED and its baselines, for the record of networks."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fred_cli.power_report import power_report
from fred_hw.adder_delays import REFERENCE_NS
from fred_hw.mesh.spec import MeshSpec
from fred_hw.spec import SwitchSpec
from synth.synthesis import Synthesis, from_spec, synthesize
from testbench.cosimulation.cosimulate_interconnect import cosimulate
from testbench.cosimulation.cosimulate_mesh import cosimulate_mesh
from testbench.designs import (
    MeasuredDesign,
    benes_design,
    crossbar_design,
    interconnect_design,
    mesh_design,
)
from testbench.measurement import Measurement, Say
from testbench.sim.tools import SimulatorError
from testbench.stimulus.traffic import ROUTERS, random_flows, strategy_phases

from .synthesis import SynthesisMeasurement

__all__ = ["NetworksMeasurement"]

_LANES: dict[str, Any] = {"format": "fp16", "lanes": 1}
_MESHES = {4: (2, 2), 8: (4, 2), 16: (4, 4), 32: (8, 4), 64: (8, 8)}
"""Width and height of the mesh of each number of ports."""
_SIMULATED = {"crossbar": 32}
"""Most ports whose latency is simulated: Icarus takes 1.1 GB for that, four times as much for
twice as many ports."""
_REPLAYED = {"FRED_3": 16, "FRED_2": 32, "crossbar": 16, "benes": 32}
"""Most ports whose cells are simulated for power: about 100,000 cells."""
_ROUTED = {"FRED_2": 32, "benes": 16}
"""Most ports for which all searches for a configuration end within a minute."""
_FLOW_SETS = 200
_CYCLES = 64
"""Cycles in which activity is counted."""
_DESIGNS: dict[str, Callable[[Any], MeasuredDesign]] = {
    "interconnect": interconnect_design,
    "crossbar": crossbar_design,
    "benes": benes_design,
    "mesh": mesh_design,
}
_MAIN = ("adders", "multiplexers", "pipeline")
_SHOWN = ("name", "area_um2", "clock_ns", "flip_flops", "memory_bits")
_UNROUTED: dict[str, Any] = dict.fromkeys(("random_share", "phase_share"))
_OF_MESH = (
    "flow sets and phases: routers have no configurations, and flows share links in time; power: "
    "an all-reduce is another kind of work; fred power --mesh compares the energy of a reduced byte"
)


@dataclass(frozen=True, kw_only=True)
class NetworksMeasurement(SynthesisMeasurement):
    """Area, clock, power, latency and routed flow sets of FRED_3, FRED_2 and its baselines.

    A mesh of as many NPUs has no configurations and a power of another kind of work.
    """

    SCHEMA = "fred-networks/1"

    simulators: tuple[str, ...] = ("icarus",)
    effort: str = "area"

    def tools(self) -> dict[str, str]:
        return {**super().tools(), **Measurement.tools(self)}

    @cached_property
    def _networks(self) -> dict[str, tuple[str, str, SwitchSpec | MeshSpec]]:
        """Network, level and specification of each row, by label."""
        found: dict[str, tuple[str, str, SwitchSpec | MeshSpec]] = {}
        for ports, (width, height) in _MESHES.items():
            rows = [(f"FRED_{m}", "interconnect", m) for m in (3, 2)]
            rows += [("crossbar", "crossbar", 3), ("benes", "benes", 3)]
            for network, level, m in rows:
                spec = SwitchSpec(ports=ports, middle_switches=m, **_LANES)
                found[f"{network} of {ports} ports"] = (network, level, spec)
            mesh = MeshSpec(width=width, height=height, controllers=False, **_LANES)
            found[f"mesh of {ports} ports"] = ("mesh", "mesh", mesh)
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
        adder = self._synthesized(SwitchSpec(ports=2, **_LANES), "interconnect")
        for label, (network, level, spec) in self._networks.items():
            if isinstance(spec, MeshSpec):
                measured = self._mesh(spec, adder, work / label.replace(" ", "-"))
            else:
                measured = self._measured(network, level, spec, work / label.replace(" ", "-"))
            rows.append({"network": network, **measured, "verilog_sha256": hashes[label]})
            say(f"{label}: {measured['area_um2']:,.0f} um2, {measured['clock_ns']:.3f} ns")
        return {"networks": rows}

    def _synthesized(self, spec: SwitchSpec | MeshSpec, level: str) -> Synthesis:
        source = from_spec(spec, level, spec.name)
        return synthesize(source, self.cells, clock_ns=REFERENCE_NS, effort=self.effort)

    def _mesh(self, mesh: MeshSpec, adder: Synthesis, work: Path) -> dict[str, Any]:
        """Return the figures of a mesh, with an adder of a network of two ports for each NPU.

        The latency is that of the longest route, by the latency of a router of four.
        """
        found = self._synthesized(mesh, "mesh")
        adder_um2 = sum(one.area_um2 for one in adder.area.classes if one.name == "adders")
        area_um2 = found.area.area_um2 + mesh.routers * adder_um2
        small = mesh.with_changes(width=2, height=2)
        test = "lone_flit_takes_as_long_at_every_router"
        run = cosimulate_mesh(small, work, tests=[test], seed=self.seed)
        if run.failures:
            raise SimulatorError(f"test {test}: {run.failures[0].message}")
        main_um2 = sum(one.area_um2 for one in found.area.classes if one.name in _MAIN)
        routers = mesh.width + mesh.height - 1
        return {
            "ports": mesh.routers,
            "name": found.name,
            "area_um2": area_um2,
            "clock_ns": max(found.timing.clock_ns, adder.timing.clock_ns),
            "flip_flops": found.area.flip_flops,
            "memory_bits": found.area.memory_bits,
            "other_share": 1 - (main_um2 + mesh.routers * adder_um2) / area_um2,
            "latency_cycles": run.measurements["router_latency_cycles"] * routers,
            **dict.fromkeys(("all_reduce_w", "random_share", "phase_share")),
            "not_measured": _OF_MESH,
        }

    def _measured(self, network: str, level: str, spec: SwitchSpec, work: Path) -> dict[str, Any]:
        """Return the figures of a switch network."""
        found, ports = self._synthesized(spec, level), spec.ports
        simulated = ports <= _SIMULATED.get(network, ports)
        replayed, routed = ports <= _REPLAYED[network], ports <= _ROUTED.get(network, ports)
        shown = found.to_dict()
        reasons = {
            "latency: half as many ports take 1.1 GB in Icarus": simulated,
            "power: too many cells to simulate": replayed,
            "flow sets and phases: the search for a configuration takes over a minute": routed,
        }
        return {
            "ports": ports,
            **{key: shown[key] for key in _SHOWN},
            "other_share": sum(one.share for one in found.area.classes if one.name not in _MAIN),
            "latency_cycles": self._latency_cycles(level, spec, work) if simulated else None,
            "all_reduce_w": self._all_reduce_w(level, spec, found, work) if replayed else None,
            **(_shares(level, spec, self.seed) if routed else _UNROUTED),
            "not_measured": "; ".join(why for why, measured in reasons.items() if not measured),
        }

    def _latency_cycles(self, level: str, spec: SwitchSpec, work: Path) -> int:
        """Return the latency of the RTL, the same on every path."""
        test = "every_path_has_the_same_latency"
        run = cosimulate(spec, work / "latency", level=level, tests=[test], seed=self.seed)
        if run.failures:
            raise SimulatorError(f"test {test}: {run.failures[0].message}")
        return run.measurements["latency_cycles"]

    def _all_reduce_w(self, level: str, spec: SwitchSpec, found: Synthesis, work: Path) -> float:
        """Return the power of the cells in an all-reduce."""
        power = power_report(
            spec,
            level,
            from_spec(spec, level, spec.name),
            found,
            work,
            cycles=_CYCLES,
            seed=self.seed,
            progress=lambda _: None,
            workloads=("idle", "all_reduce"),
        )
        [total_w] = (
            row["total"]["total_w"] for row in power["workloads"] if row["workload"] == "all_reduce"
        )
        return total_w


def _shares(level: str, spec: SwitchSpec, seed: int) -> dict[str, float]:
    """Return the shares of flow sets that route at once."""
    rng, route = random.Random(seed), ROUTERS[level]
    sets = [random_flows(rng, spec.ports) for _ in range(_FLOW_SETS)]
    phases = [flows for _, flows in strategy_phases(spec.ports)]
    return {
        name: sum(route(flows, spec) is not None for flows in found) / len(found)
        for name, found in (("random_share", sets), ("phase_share", phases))
    }
