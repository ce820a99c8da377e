"""Synthesis and co-simulation of FRED and its baselines, for the record of networks."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import permutations
from pathlib import Path
from typing import Any

from fred_cli.power_report import power_report
from fred_hw.adder_delays import REFERENCE_NS
from fred_hw.compiler.flows import Flow
from fred_hw.mesh.reducing.plan import ReducingMesh
from fred_hw.mesh.reducing.spec import ReducingMeshSpec
from fred_hw.mesh.reducing.trees import find_trees
from fred_hw.mesh.spec import MeshSpec
from fred_hw.spec import SwitchSpec
from perfmodel.switch_timing.networks import REDUCING, NetworkRecord
from synth.synthesis import Synthesis, from_spec, synthesize
from testbench.cosimulation.cosimulate_interconnect import cosimulate
from testbench.cosimulation.cosimulate_mesh import cosimulate_mesh
from testbench.cosimulation.cosimulate_switch import cosimulate_switch
from testbench.designs import (
    MeasuredDesign,
    benes_design,
    crossbar_design,
    interconnect_design,
    mesh_design,
    reducing_mesh_design,
    switch_design,
)
from testbench.measurement import Measurement, Say
from testbench.sim.tools import SimulatorError
from testbench.stimulus.traffic import ROUTERS, random_flows, strategy_phases

from .synthesis import SynthesisMeasurement

__all__ = ["NetworksMeasurement"]

_LANES: dict[str, Any] = {"format": "fp16", "lanes": 1}
_MESHES = {4: (2, 2), 8: (4, 2), 16: (4, 4), 32: (8, 4), 64: (8, 8)}
"""Width and height of the mesh of each number of ports."""
_SWITCHES = 16
"""Most ports of whole switches."""
_FLOW_SETS = 200
_CYCLES = 64
"""Cycles in which activity is counted."""
_FULL_RATE = 0.9
"""Least flits per port and cycle in an all-reduce; links also carry acks."""
_DESIGNS: dict[str, Callable[[Any], MeasuredDesign]] = {
    "interconnect": interconnect_design,
    "crossbar": crossbar_design,
    "benes": benes_design,
    "mesh": mesh_design,
    "reducing_mesh": reducing_mesh_design,
    "switch": switch_design,
}
_MAIN = ("adders", "multiplexers", "pipeline")
_SHOWN = ("name", "area_um2", "clock_ns", "flip_flops", "memory_bits")
_OF_MESH = "flow sets and phases: routers have no configurations, and flows share links in time"


@dataclass(frozen=True, kw_only=True)
class NetworksMeasurement(SynthesisMeasurement):
    """Area, clock, power, latency and routed flow sets of FRED_3, FRED_2 and its baselines.

    A mesh of as many NPUs has no configurations. Its all-reduce is a ring of unicasts.

    Parameters
    ----------
    known : NetworkRecord, optional
        Record whose rows of unchanged hardware and inputs are kept.
    """

    SCHEMA = "fred-networks/1"
    keeps_rows = True
    known: NetworkRecord | None = None

    simulators: tuple[str, ...] = ("icarus", "verilator")
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
            reducing = ReducingMeshSpec(width=width, height=height, controllers=False, **_LANES)
            found[f"mesh+reduction of {ports} ports"] = (REDUCING, "reducing_mesh", reducing)
            if ports <= _SWITCHES:
                whole = SwitchSpec(ports=ports, **_LANES)
                found[f"switch of {ports} ports"] = ("switch", "switch", whole)
        return found

    @property
    def designs(self) -> Mapping[str, MeasuredDesign]:
        return {name: _DESIGNS[level](spec) for name, (_, level, spec) in self._networks.items()}

    def record(self, work: Path, say: Say = lambda _: None) -> dict[str, Any]:
        """Run the measurement, and return the record, with the minutes of kept rows.

        Raises
        ------
        InputError
            As for any synthesis.
        """
        found = super().record(work, say)
        kept_minutes = self.known.minutes if self.known else 0
        return {**found, "minutes": round(found["minutes"] + kept_minutes, 1)}

    def _kept(self, hashes: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        """Return the rows of the known record that describe today's hardware, by label."""
        known = self.known
        if known is None or any(self.other_inputs(known)):
            return {}
        rows = {f"{one.network} of {one.ports} ports": one for one in known.networks}
        return {
            label: {**one.model_dump(), "git_commit": one.git_commit or known.git_commit}
            for label, one in rows.items()
            if hashes.get(label) == one.verilog_sha256
        }

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
        kept = self._kept(hashes)
        for label, (network, level, spec) in self._networks.items():
            if label in kept:
                rows.append(kept[label])
                continue
            folder = work / label.replace(" ", "-")
            if isinstance(spec, ReducingMeshSpec):
                measured = self._reducing_mesh(spec, folder)
            elif isinstance(spec, MeshSpec):
                measured = self._mesh(spec, folder)
            elif level == "switch":
                measured = self._switch(spec, folder)
            else:
                measured = self._measured(network, level, spec, folder)
            rows.append({"network": network, **measured, "verilog_sha256": hashes[label]})
            say(f"{label}: {measured['area_um2']:,.0f} um2, {measured['clock_ns']:.3f} ns")
        return {"networks": rows}

    def _synthesized(self, spec: SwitchSpec | MeshSpec, level: str) -> Synthesis:
        source = from_spec(spec, level, spec.name)
        return synthesize(source, self.cells, clock_ns=REFERENCE_NS, effort=self.effort)

    @cached_property
    def _adder(self) -> Synthesis:
        return self._synthesized(SwitchSpec(ports=2, **_LANES), "interconnect")

    def _mesh(self, mesh: MeshSpec, work: Path) -> dict[str, Any]:
        """Return the figures of a mesh, with an adder of a network of two ports for each NPU.

        The latency is that of the longest route, by the latency of a router of four. The power is
        that of the routers, without the adders.
        """
        found, adder = self._synthesized(mesh, "mesh"), self._adder
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
            "all_reduce_w": self._all_reduce_w("mesh", mesh, found, work / "power"),
            **dict.fromkeys(("random_share", "phase_share")),
            "not_measured": _OF_MESH,
        }

    def _reducing_mesh(self, mesh: ReducingMeshSpec, work: Path) -> dict[str, Any]:
        """Return the figures of a mesh whose routers reduce.

        The latency is that of the longest route, by the latency of each size of router.
        """
        plan = ReducingMesh(mesh)
        specs = dict.fromkeys(one.spec for one in plan.units)
        cycles = {one: self._switch_cycles(one, work / one.shape) for one in specs}
        routes = [plan.route(*pair) for pair in permutations(range(mesh.routers), 2)]
        return {
            "ports": mesh.routers,
            **self._whole(mesh, "reducing_mesh", work),
            "latency_cycles": max(
                sum(cycles[plan.units[link.number].spec] for link in route[1:]) for route in routes
            ),
            **_shares(mesh.routers, lambda flows: find_trees(plan, flows) is not None, self.seed),
        }

    def _switch(self, spec: SwitchSpec, work: Path) -> dict[str, Any]:
        """Return the figures of a whole switch."""
        return {
            "ports": spec.ports,
            **self._whole(spec, "switch", work),
            "latency_cycles": self._switch_cycles(spec, work / "latency"),
            **_shares(spec.ports, partial(_routes, "interconnect", spec), self.seed),
        }

    def _whole(self, spec: SwitchSpec | MeshSpec, level: str, work: Path) -> dict[str, Any]:
        """Return area, clock and power of a network."""
        found = self._synthesized(spec, level)
        shown = found.to_dict()
        return {
            **{key: shown[key] for key in _SHOWN},
            "other_share": sum(one.share for one in found.area.classes if one.name not in _MAIN),
            "all_reduce_w": self._all_reduce_w(level, spec, found, work),
            "not_measured": "",
        }

    def _switch_cycles(self, spec: SwitchSpec, work: Path) -> int:
        """Return the latency of a lone flit through the RTL of a whole switch."""
        test = "lone_flit_takes_the_latency_that_is_stated"
        run = cosimulate_switch(spec, work, tests=[test], seed=self.seed)
        if run.failures:
            raise SimulatorError(f"test {test}: {run.failures[0].message}")
        return run.measurements["switch_latency_cycles"]

    def _measured(self, network: str, level: str, spec: SwitchSpec, work: Path) -> dict[str, Any]:
        """Return the figures of a switch network."""
        return {
            "ports": spec.ports,
            **self._whole(spec, level, work),
            "latency_cycles": self._latency_cycles(level, spec, work),
            **_shares(spec.ports, partial(_routes, level, spec), self.seed),
        }

    def _latency_cycles(self, level: str, spec: SwitchSpec, work: Path) -> int:
        """Return the latency of the RTL, the same on every path."""
        test = "every_path_has_the_same_latency"
        run = cosimulate(spec, work / "latency", level=level, tests=[test], seed=self.seed)
        if run.failures:
            raise SimulatorError(f"test {test}: {run.failures[0].message}")
        return run.measurements["latency_cycles"]

    def _all_reduce_w(
        self, level: str, spec: SwitchSpec | MeshSpec, found: Synthesis, work: Path
    ) -> float:
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
            workloads=("all_reduce",),
        )
        [row] = power["workloads"]
        ports = spec.routers if isinstance(spec, MeshSpec) else spec.ports
        if row["flits"] < _FULL_RATE * ports * _CYCLES:
            message = f"{row['flits']} flits in {_CYCLES} cycles are no full rate"
            raise SimulatorError(f"all-reduce of {spec.name}: {message}")
        return row["total"]["total_w"]


def _routes(level: str, spec: SwitchSpec, flows: Sequence[Flow]) -> bool:
    """Return whether a switch network routes flows at once."""
    return ROUTERS[level](flows, spec) is not None


def _shares(ports: int, routes: Callable[[Sequence[Flow]], bool], seed: int) -> dict[str, float]:
    """Return the shares of flow sets that route at once."""
    rng = random.Random(seed)
    sets = [random_flows(rng, ports) for _ in range(_FLOW_SETS)]
    phases = [flows for _, flows in strategy_phases(ports)]
    return {
        name: sum(map(routes, found)) / len(found)
        for name, found in (("random_share", sets), ("phase_share", phases))
    }
