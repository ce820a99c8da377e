"""A mesh with an endpoint at each router, with memories and programs, in Icarus."""

from collections.abc import Iterator
from pathlib import Path

from fred_hw.ace.npu_endpoint import NpuEndpoint
from fred_hw.link.axis import AXIS_WIRES
from fred_hw.mesh.spec import MeshSpec
from gen.fabric_units import fabric_units
from gen.mesh_top import mesh_top
from gen.ports import SHARED, bit_range, module_ports

from .fabric import Sizes, compiled
from .plane import bench, line_text
from .units import mesh_and_endpoint

__all__ = ["build_mesh_with_ends"]


def _top(mesh: MeshSpec, endpoint: NpuEndpoint) -> str:
    """Return a mesh with endpoints, with a plane's names and pins, and delay lines in its links.

    Lines between routers have other numbers (``mesh_top``).
    """
    own = [one for one in module_ports(endpoint) if one[0] not in SHARED]
    links = {f"{letter}_axis_{wire}" for letter in "sm" for wire in AXIS_WIRES}
    outside = [
        (f"npu{npu}_{name}", direction, bits)
        for npu in range(mesh.routers)
        for name, direction, bits in own
        if name not in links
    ]
    lines = [f"module mesh_with_ends(clk, rst, session_id, {', '.join(n for n, _, _ in outside)});"]
    lines += ["  input clk, rst; input [7:0] session_id;"]
    lines += [f"  {direction} {bit_range(bits)}{name};" for name, direction, bits in outside]
    pins = [f".{name}({name})" for name in SHARED]
    for npu in range(mesh.routers):
        lines += list(_end(mesh, npu, endpoint))
        for letter, wire in (("s", "up"), ("m", "down")):
            behind = "_behind" if letter == "s" else ""
            pins += [f".{letter}{npu}_axis_{one}({wire}{npu}{behind}_{one})" for one in AXIS_WIRES]
    for number in range(mesh.plan.endpoints, mesh.plan.addresses):
        pins += [f".s{number}_axis_tvalid(1'b0)", f".m{number}_axis_tready(1'b1)"]
    return "\n".join([*lines, f"  {mesh.name} mesh (", ",\n".join(pins), "  );", "endmodule"])


def _end(mesh: MeshSpec, npu: int, endpoint: NpuEndpoint) -> Iterator[str]:
    """Yield an endpoint and its link, with ``up`` leaving it and ``down`` entering it."""
    bits = {name: bits for name, _, bits in module_ports(endpoint)}
    for number, side in enumerate(("up", "down")):
        for name in (f"{side}{npu}", f"{side}{npu}_behind"):
            yield "".join(f"  wire {bit_range(bits[f'm_axis_{w}'])}{name}_{w};" for w in AXIS_WIRES)
        pins = [
            f".{letter}_axis_{wire}({name}_{wire})"
            for letter, name in (("s", f"{side}{npu}"), ("m", f"{side}{npu}_behind"))
            for wire in AXIS_WIRES
        ]
        width = mesh.link.data_width
        yield f"  wafer_link #(.BITS({width}), .NUMBER({2 * npu + number})) {side}{npu}_line ("
        yield f"    .clk(clk), {', '.join(pins)});"
    pins = [f".{name}({name})" for name in SHARED]
    for name in bits:
        side, _, wire = name.rpartition("_")
        if side in ("s_axis", "m_axis") and wire in AXIS_WIRES:
            link = f"down{npu}_behind" if side == "s_axis" else f"up{npu}"
            pins.append(f".{name}({link}_{wire})")
        elif name not in SHARED:
            pins.append(f".{name}(npu{npu}_{name})")
    yield f"  {endpoint.unit_name} u_npu{npu} ({', '.join(pins)});"


def build_mesh_with_ends(mesh: MeshSpec, size: Sizes) -> Path:
    """Return a compiled mesh: the generated one, with delay lines in its links.

    An endpoint is at each router.

    Raises
    ------
    SimulatorError
        Icarus is not installed, or could not build.
    """
    modules = [one.unit_name for one in fabric_units(mesh).units]
    units = mesh_and_endpoint(mesh)
    top = mesh_top(mesh, modules)
    assert units.endswith(top)
    text = units.removesuffix(top) + mesh_top(mesh, modules, "wafer_link")
    text += _top(mesh, NpuEndpoint(spec=mesh.link)) + "\n" + line_text(size)
    ends = [f"npu{npu}" for npu in range(mesh.routers)]
    return compiled("mesh", text + bench("mesh_with_ends mesh (", mesh.link, ends, (), size))
