"""A mesh with an endpoint at each router, with memories and programs, in Icarus."""

from pathlib import Path

from fred_hw.mesh.spec import MeshSpec
from gen.mesh_top import mesh_top

from .fabric import Sizes, compiled
from .plane import bench, line_text
from .units import mesh_and_endpoint

__all__ = ["build_mesh_with_ends"]


def build_mesh_with_ends(mesh: MeshSpec, size: Sizes) -> Path:
    """Return a compiled mesh: the generated units, joined with endpoints and delay lines in links.

    Raises
    ------
    SimulatorError
        Icarus is not installed, or could not build.
    """
    units, top = mesh_and_endpoint(mesh), mesh_top(mesh)
    assert units.endswith(top)
    text = units.removesuffix(top) + mesh_top(mesh, endpoints=True, line="wafer_link")
    pins = [
        f".s{address}_axis_tvalid(1'b0), .m{address}_axis_tready(1'b1), "
        for address in range(mesh.plan.endpoints, mesh.plan.addresses)
    ]
    ends = [mesh.plan.end_name(address) for address in range(mesh.plan.endpoints)]
    around = bench(f"{mesh.name} mesh ({''.join(pins)}", mesh.link, ends, (), size)
    return compiled("mesh", text + line_text(size) + around)
