"""Co-simulation of workloads whose ports are recorded, for the power of a netlist."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from fred_hw.mesh.spec import MeshSpec
from fred_hw.spec import SwitchSpec
from gen.design import generate
from testbench.models.endpoint import endpoint_library
from testbench.models.protocol_header import protocol_header
from testbench.sim.kept import kept
from testbench.sim.runner import find_simulator
from testbench.sim.tools import SimulatorError

from .benches import BASELINES
from .launch import Options, launch

__all__ = ["WORKLOADS", "Recording", "record_workloads"]

WORKLOADS = ("idle", "random", "all_reduce")
"""Workloads, which are the tests of the bench of each level."""


@dataclass(frozen=True)
class Recording:
    """Ports of a design under a workload.

    Parameters
    ----------
    workload : str
        One of ``WORKLOADS``.
    window : (int, int)
        First counted cycle, and the first that is not counted any more.
    counts : Mapping of str to float
        In the window: ``flits`` with data that were delivered, their ``crossings`` of switches or
        routers, and ``additions`` of numbers; those of a mesh take place in its NPUs.
    values : Mapping of str to Sequence of int or None
        Value of each port in each cycle; None while it has undefined bits.
    """

    workload: str
    window: tuple[int, int]
    counts: Mapping[str, float]
    values: Mapping[str, Sequence[int | None]]


def record_workloads(
    spec: SwitchSpec | MeshSpec,
    level: str,
    ports: Sequence[str],
    work: Path,
    *,
    cycles: int,
    seed: int = 1,
    workloads: Sequence[str] = (),
    modules: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> tuple[str, list[Recording]]:
    """Simulate the workloads of a level; return the simulator, and what the ports carried.

    Parameters
    ----------
    spec : SwitchSpec or MeshSpec
        The switch, or the mesh.
    level : str
        One of ``POWER_LEVELS``.
    ports : sequence of str
        Ports to record, of the top module or as ``instance.port``.
    work : Path
        Folder for logs and recordings.
    cycles : int
        Length of the counted window.
    seed : int
        Seed of all stimulus.
    workloads : sequence of str
        Names of workloads; all if empty.
    modules : Mapping of str to sequence of str
        Ports of each module of which instances are recorded. Such a design has many instances of
        few modules, so Verilator simulates it and translates each module once; else Icarus does.

    Raises
    ------
    SimulatorError
        The simulator is not installed or failed, or what arrived was wrong.
    """
    link = spec.link if isinstance(spec, MeshSpec) else spec
    if level in ("switch", "mesh", "reducing_mesh"):
        endpoint_library(protocol_header(link.protocol))  # raises here, not in the simulation
    work.mkdir(parents=True, exist_ok=True)
    environment = _environment(spec, level, ports, work, cycles)
    probes = [f"{module}.{port}" for module, its in modules.items() for port in its]
    design = kept(generate, spec, level=level)
    bench = f"testbench.benches.tb_activity_{BASELINES.get(level, level)}"
    simulator = "verilator" if modules else "icarus"

    def record(name: str) -> Recording:
        options: Options = {"seed": seed, "simulator": simulator, "tests": [name]}
        result = launch(
            [bench], lambda _: design, link, work, environment, options, probes, [*modules]
        )
        if result.failures:
            raise SimulatorError(f"workload {name}: {result.failures[0].message}")
        return _recording(name, work)

    # Each runs in a simulation of its own, so that nothing is left over.
    found = [record(name) for name in workloads or WORKLOADS]
    return f"{simulator} {find_simulator(simulator)[0]}", found


def _environment(
    spec: SwitchSpec | MeshSpec, level: str, ports: Sequence[str], work: Path, cycles: int
) -> dict[str, object]:
    """Return the variables that the benches read."""
    return {
        "FRED_CYCLES": cycles,
        "FRED_LEVEL": level,
        "FRED_PORTS": json.dumps(list(ports)),
        "FRED_RECORDINGS": work.resolve(),
        "FRED_MESH": spec.model_dump_json(),
        "FRED_PACKETS": 1,
    }


def _recording(name: str, work: Path) -> Recording:
    """Return what a bench recorded under a workload."""
    found = json.loads((work / f"{name}.json").read_text(encoding="utf-8"))
    begin, end = found["window"]
    return Recording(name, (begin, end), found["counts"], found["values"])
