"""Co-simulation of a mesh: generate it, run its benches, report."""

from functools import partial
from pathlib import Path
from typing import Unpack

from fred_hw.checks import check_int
from fred_hw.mesh.spec import MeshSpec
from gen.design import generate
from testbench.models.endpoint import endpoint_library
from testbench.sim.kept import kept
from testbench.sim.runner import SimulationResult

from .benches import benches
from .launch import Options, launch

__all__ = ["cosimulate_mesh"]


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
    check_int("packets", packets, minimum=1)
    endpoint_library()  # raises here rather than inside the simulation
    environment = {"FRED_MESH": mesh.model_dump_json(), "FRED_PACKETS": packets}
    make = partial(kept, generate, mesh, level="mesh")
    return launch(benches("mesh"), make, mesh.link, work, environment, options)
