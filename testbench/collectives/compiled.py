# amaranth: UnusedElaboratable=no
# Equal units are created for each place, for their names and ports, and generated once.
"""A wafer plane, or a mesh with endpoints, as compiled code.

It does what ``plane.py`` and ``mesh.py`` do in Icarus, for fabrics that are too large for that.
"""

from pathlib import Path

from fred_hw.ace.npu_endpoint import NpuEndpoint
from fred_hw.mesh.spec import OPPOSITE, MeshSpec
from fred_hw.switch.switch import Switch
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.spec import WaferSpec
from gen.mesh_top import routers_of

from .fabric import Sizes
from .joined import Instance, Joint, Netlist, build_joined

__all__ = ["build_compiled_mesh", "build_compiled_plane"]


def build_compiled_plane(wafer: WaferSpec, size: Sizes) -> Path:
    """Return the compiled program of a plane, without links of controllers that lack endpoints.

    Raises
    ------
    SimulatorError
        Verilator is not installed or could not build.
    """
    plane, endpoint = Plane(wafer), NpuEndpoint(spec=wafer.link)
    instances = [Instance(endpoint) for _ in range(wafer.endpoints)]
    instances += [Instance(Switch(spec=one.spec)) for one in plane.chiplets]
    joints = []
    for number, one in enumerate(plane.chiplets, wafer.endpoints):
        for port, end in enumerate(one.ends):
            if end.kind == "chiplet":
                other = wafer.endpoints + end.number
                pace = plane.flit_cycles(number - wafer.endpoints, port)
                joints.append(Joint(number, port, other, end.port, pace))
            elif end.kind != "nothing" and end.number < wafer.endpoints:
                joints += [Joint(number, port, end.number, 0), Joint(end.number, 0, number, port)]
    return build_joined(Netlist("plane", instances, joints), size)


def build_compiled_mesh(mesh: MeshSpec, size: Sizes) -> Path:
    """Return the compiled program of a mesh with an endpoint per router, without controllers.

    Raises
    ------
    SimulatorError
        Verilator is not installed or could not build.
    """
    endpoint = NpuEndpoint(spec=mesh.link)
    routers = routers_of(mesh)
    x_bits = max(1, (mesh.width - 1).bit_length())
    npus = mesh.places[: mesh.routers]
    instances = [Instance(endpoint) for _ in npus]
    instances += [
        Instance(routers[mesh.directions(x, y)], {"position": x | y << x_bits}) for x, y, _ in npus
    ]
    joints = []
    for npu, (x, y, _) in enumerate(npus):
        own, ports = mesh.routers + npu, mesh.directions(x, y)
        local = ports.index("local")
        joints += [Joint(npu, 0, own, local), Joint(own, local, npu, 0)]
        for port, direction in enumerate(ports[:local]):
            if other := mesh.neighbour(x, y, direction):
                entry = mesh.directions(*other).index(OPPOSITE[direction])
                joints.append(
                    Joint(own, port, mesh.routers + other[0] + mesh.width * other[1], entry)
                )
    return build_joined(Netlist("mesh_with_ends", instances, joints), size)
