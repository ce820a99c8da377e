"""Timing record of the routers of a mesh, measured by co-simulation."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fred_hw.checks import check_int
from fred_hw.mesh.spec import MeshSpec
from gen.clock import ROUTER_CLOCK_HZ, ROUTER_CLOCK_SOURCE
from gen.design import generate
from testbench.characterize import agreed
from testbench.cosimulation.launch import Options
from testbench.cosimulation.mesh import cosimulate_mesh
from testbench.record_head import fewer_lanes, record_head
from testbench.sim.kept import kept
from testbench.sim.runner import find_simulator

__all__ = ["MESH_RECORD_SCHEMA", "MESH_TESTS", "characterize_mesh", "measured_mesh", "mesh_hash"]

MESH_RECORD_SCHEMA = "fred-mesh-timing/2"

MESH_TESTS = (
    "lone_flit_takes_as_long_at_every_router",
    "flit_that_follows_another_one_takes_as_long_at_every_router",
    "urgent_packet_waits_for_the_end_of_one_packet_at_most",
    "ack_takes_as_long_at_every_router",
    "links_carry_data_at_full_load",
)


def measured_mesh(mesh: MeshSpec, lanes: int | None = None) -> MeshSpec:
    """Return the mesh that is simulated for one: two routers with all five ports, fewer lanes.

    Routers are equal but for where they stand, so cycle counts depend on neither;
    tests/testbench/test_characterize_mesh.py shows it.
    """
    return fewer_lanes(mesh, lanes).with_changes(width=2, height=1, controllers=True)


def characterize_mesh(
    mesh: MeshSpec,
    work: Path,
    *,
    simulators: Sequence[str] = ("icarus",),
    seed: int = 1,
    lanes: int | None = None,
) -> dict[str, Any]:
    """Co-simulate routers of ``mesh`` and return their timing record.

    Its clock is that of the published link rate.

    Parameters
    ----------
    mesh : MeshSpec
        What the record is for.
    work : Path
        Folder for logs and results.
    simulators : Sequence of str
        Simulators that all have to measure the same.
    seed : int
        Seed of all stimulus.
    lanes : int, optional
        Lanes to co-simulate, ``MEASURED_LANES`` or fewer by default.

    Raises
    ------
    SimulatorError
        A simulator is not installed or failed, a test failed, or the simulators disagree.
    """
    check_int("seed", seed, minimum=1)
    for name in simulators:
        find_simulator(name)
    small = measured_mesh(mesh, lanes)
    runs = [
        cosimulate_mesh(small, work / name, **Options(simulator=name, seed=seed, tests=MESH_TESTS))
        for name in simulators
    ]
    verilog = mesh_hash(small)
    return {
        **record_head(MESH_RECORD_SCHEMA, mesh, small, simulators, seed, verilog_sha256=verilog),
        "router": agreed(runs, lambda one: _router(one, mesh)),
        "flits_checked": sum(run.measurements["flits_checked"] for run in runs),
        "clock": {"hz": ROUTER_CLOCK_HZ, "source": ROUTER_CLOCK_SOURCE},
    }


def mesh_hash(mesh: MeshSpec) -> str:
    """Return what says in a record which Verilog was measured."""
    return hashlib.sha256(kept(generate, mesh, level="mesh").verilog.encode()).hexdigest()


def _router(measured: Mapping[str, Any], mesh: MeshSpec) -> dict[str, Any]:
    """Return what was measured of a router, with shares for flits of its full size."""
    load, bits = measured["efficiency"], mesh.link.data_width
    return {
        "latency_cycles": measured["router_latency_cycles"],
        "follow_cycles": measured["router_follow_cycles"],
        "preemption_cycles": measured["router_preemption_cycles"],
        "message_cycles": measured["router_message_cycles"],
        "data_flits_per_cycle": load["data_flits_per_cycle"],
        "ack_share": load["ack_share"],
        "control_share": load["control_share"],
        "payload_share": load["data_flits_per_cycle"] * bits / (bits + load["header_and_crc_bits"]),
    }
