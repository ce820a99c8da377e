"""Co-simulation of a single router of a mesh: generate it, run its bench, report."""

from functools import partial
from pathlib import Path
from typing import Unpack

from fred_hw.checks import check_int
from fred_hw.errors import InputError
from fred_hw.mesh.plan import DIRECTIONS
from fred_hw.mesh.spec import MeshSpec
from gen.design import generate
from testbench.models.endpoint import endpoint_library
from testbench.sim.kept import kept
from testbench.sim.runner import SimulationResult

from .benches import benches
from .launch import Options, launch

__all__ = ["cosimulate_router"]


def cosimulate_router(
    mesh: MeshSpec, work: Path, *, packets: int = 4, **options: Unpack[Options]
) -> SimulationResult:
    """Run the bench of a router, with the reference endpoint on all of its links.

    Parameters
    ----------
    mesh : MeshSpec
        The router's mesh, with one virtual channel per class between routers.
    work, options
        As in :func:`launch`.
    packets : int
        Packets of each pair of endpoints, 1 or more.

    Raises
    ------
    TypeError, ValueError
        ``packets`` is no integer, or below 1.
    InputError
        Links between routers have several virtual channels per class, unlike those of endpoints.
    SimulatorError
        The simulator, or a C++ compiler for the endpoints, is not installed or failed.
    """
    channels = mesh.router(DIRECTIONS).protocol.channels
    if channels > 1:
        message = "must have one virtual channel per class for simulation of a single router"
        raise InputError(mesh.name, "routing", f"{message}, not {channels} as {mesh.routing} has")
    check_int("packets", packets, minimum=1)
    endpoint_library()  # raises here rather than inside the simulation
    environment = {"FRED_MESH": mesh.model_dump_json(), "FRED_PACKETS": packets}
    make = partial(kept, generate, mesh, level="router")
    return launch(benches("router"), make, mesh.link, work, environment, options)
