"""Co-simulation of a mesh: generate it, run its benches, report."""

from functools import lru_cache
from pathlib import Path
from typing import Unpack

from fred_hw.mesh.spec import MeshSpec
from gen.meshes import generate_mesh
from testbench.faults.fault import Fault, FaultyEmitter
from testbench.models.endpoint import endpoint_library
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
        What to simulate.
    work, options
        As in :func:`launch`.
    packets : int
        Packets of each pair of ends, 1 or more.

    Raises
    ------
    SimulatorError
        The simulator, or g++ for the endpoints, is not installed or failed.
    """

    def make(emitter: FaultyEmitter) -> tuple[str, str]:
        return _written(mesh.model_dump_json(), emitter.faults)

    endpoint_library()  # refused here rather than inside the simulation
    environment = {"FRED_MESH": mesh.model_dump_json(), "FRED_PACKETS": packets}
    return launch(benches("mesh"), make, mesh.link, work, environment, options)


@lru_cache(maxsize=1)  # the faults of a router are chosen one after another
def _written(mesh_json: str, faults: tuple[Fault, ...]) -> tuple[str, str]:
    """Return the text and the name of a mesh that may have faults."""
    design = generate_mesh(MeshSpec.model_validate_json(mesh_json), FaultyEmitter(faults))
    return design.verilog, design.name
