"""Co-simulation of a mesh or one of its routers: generate it, run its benches, report."""

from functools import partial
from pathlib import Path
from typing import Unpack

from fred_hw.checks import check_int
from fred_hw.errors import InputError
from fred_hw.mesh.plan import DIRECTIONS
from fred_hw.mesh.reducing.spec import ReducingMeshSpec
from fred_hw.mesh.spec import MeshSpec
from gen.design import generate
from gen.level import LEVELS
from testbench.models.endpoint import endpoint_library
from testbench.models.protocol_header import protocol_header
from testbench.sim.kept import kept
from testbench.sim.runner import SimulationResult

from .benches import benches
from .launch import Options, launch

__all__ = ["cosimulate_mesh", "cosimulate_reducing_mesh", "cosimulate_router"]


def cosimulate_mesh(
    mesh: MeshSpec, work: Path, *, packets: int = 4, **options: Unpack[Options]
) -> SimulationResult:
    """Run the benches of a mesh, with the reference endpoint on all of its links.

    Parameters
    ----------
    mesh : MeshSpec
        Mesh to simulate.
    work, options
        As in :func:`launch`.
    packets : int
        Packets of each pair of endpoints, 1 or more.

    Raises
    ------
    TypeError, ValueError
        ``packets`` is no integer, or below 1.
    SimulatorError
        The simulator, or a C++ compiler for the endpoints, is not installed or failed.
    """
    return _cosimulate(mesh, work, packets, "mesh", options)


def _cosimulate(
    mesh: MeshSpec, work: Path, packets: int, level: str, options: Options
) -> SimulationResult:
    """Run the benches of a level."""
    check_int("packets", packets, minimum=1)
    endpoint_library(protocol_header(mesh.link.protocol))  # raises here, not in the simulation
    environment = {
        "FRED_MESH": mesh.model_dump_json(),
        "FRED_PACKETS": packets,
        "FRED_LATENCY": LEVELS[level].latency_cycles(mesh),
    }
    make = partial(kept, generate, mesh, level=level)
    return launch(benches(level), make, mesh.link, work, environment, options)


def cosimulate_reducing_mesh(
    mesh: ReducingMeshSpec, work: Path, *, packets: int = 4, **options: Unpack[Options]
) -> SimulationResult:
    """Run the bench of a mesh whose routers reduce, with the reference endpoint on its links.

    Parameters, and errors, are those of :func:`cosimulate_mesh`.
    """
    return _cosimulate(mesh, work, packets, "reducing_mesh", options)


def cosimulate_router(
    mesh: MeshSpec, work: Path, *, packets: int = 4, **options: Unpack[Options]
) -> SimulationResult:
    """Run the bench of a single router, with the reference endpoint on all of its links.

    Parameters
    ----------
    mesh : MeshSpec
        The router's mesh, with one virtual channel per class between routers.
    work, packets, options
        As in :func:`cosimulate_mesh`.

    Raises
    ------
    InputError
        Links between routers have several virtual channels per class, unlike those of endpoints.
    TypeError, ValueError, SimulatorError
        As in :func:`cosimulate_mesh`.
    """
    channels = mesh.router(DIRECTIONS).protocol.channels.each
    if channels > 1:
        message = "must have one virtual channel per class for simulation of a single router"
        raise InputError(mesh.name, "routing", f"{message}, not {channels} as {mesh.routing} has")
    return _cosimulate(mesh, work, packets, "router", options)
