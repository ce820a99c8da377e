"""Verilog of a mesh: its routers and the wires between them.

It is written as text, since it is wires alone: Amaranth takes modules of up to 65,536 bits of
inputs, which sixteen links of 4,096 bits exceed.
"""

from collections.abc import Iterator

from fred_hw.link.axis import AXIS_BACK, AXIS_FORTH, axis_widths
from fred_hw.mesh.router import ERRORS, MeshRouter
from fred_hw.mesh.spec import DIRECTIONS, OPPOSITE, MeshSpec
from fred_hw.protocol import HEADER_FIELDS

from .ports import Port, bit_range, head_of_top, link_ports

__all__ = ["mesh_ports", "mesh_top", "router_kinds", "routers_of"]

_WIRES = (*AXIS_FORTH, AXIS_BACK)
_BEHIND = "behind_"


def mesh_ports(mesh: MeshSpec) -> list[Port]:
    """Return the ports of a mesh; a link is numbered by the address of its endpoint.

    ``up`` has a bit for each of them, ``inner_up`` is high when all links between routers are up,
    ``errors`` and ``dropped`` are those of any router.
    """
    ports = [("clk", "input", 1), ("rst", "input", 1)]
    for address in range(len(mesh.places)):
        ports += link_ports(f"{{}}{address}_axis_", axis_widths(mesh.link.data_width))
    return [
        *ports,
        ("session_id", "input", HEADER_FIELDS["session_id"].bits),
        ("up", "output", len(mesh.places)),
        ("inner_up", "output", 1),
        ("errors", "output", len(ERRORS)),
        ("dropped", "output", 1),
    ]


def router_kinds(mesh: MeshSpec) -> list[tuple[str, ...]]:
    """Return the ports of each distinct router, in the order of their first."""
    kinds = [mesh.directions(x, y) for y in range(mesh.height) for x in range(mesh.width)]
    return list(dict.fromkeys(kinds))


def routers_of(mesh: MeshSpec) -> dict[tuple[str, ...], MeshRouter]:
    """Return the router of each kind."""
    return {kind: MeshRouter(mesh=mesh, directions=kind) for kind in router_kinds(mesh)}


def mesh_top(mesh: MeshSpec, modules: dict[tuple[str, ...], str], line: str | None = None) -> str:
    """Return the top module.

    Parameters
    ----------
    mesh : MeshSpec
        The mesh.
    modules : dict
        Name of the module of each kind of routers, by its ports.
    line : str, optional
        Module that stands in each link between routers, with the ports and parameters that
        ``wafer_top`` says. Its numbers begin above those of two links for each NPU.
    """
    ports = mesh_ports(mesh)
    routers = [(x, y) for y in range(mesh.height) for x in range(mesh.width)]
    lines = head_of_top(mesh.name, ports)
    for x, y in routers:
        lines += list(_wires(mesh, x, y, bool(line)))
    for x, y in routers:
        lines += list(_instance(mesh, x, y, modules[mesh.directions(x, y)], bool(line)))
    inside = [(x, y, one) for x, y in routers for one in _inner(mesh, x, y)]
    if line:
        for number, (x, y, direction) in enumerate(inside, 2 * mesh.routers):
            lines += list(_line(mesh, x, y, direction, line, number))
    ups = [_up(mesh, one.x, one.y, one.direction) for one in reversed(mesh.places)]
    inner = [_up(mesh, *one) for one in inside]
    lines += [
        f"  assign up = {{ {', '.join(ups)} }};",
        f"  assign inner_up = &{{ {', '.join(inner)} }};",
        f"  assign errors = {' | '.join(f'{_name(x, y)}_errors' for x, y in routers)};",
        f"  assign dropped = |{{ {', '.join(f'{_name(x, y)}_dropped' for x, y in routers)} }};",
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


def _name(x: int, y: int) -> str:
    return f"router_{x}_{y}"


def _up(mesh: MeshSpec, x: int, y: int, direction: str) -> str:
    return f"{_name(x, y)}_up[{mesh.directions(x, y).index(direction)}]"


def _inner(mesh: MeshSpec, x: int, y: int) -> list[str]:
    """Return the directions in which a router has a neighbour."""
    return [one for one in mesh.directions(x, y) if one != "local" and mesh.neighbour(x, y, one)]


def _wires(mesh: MeshSpec, x: int, y: int, behind: bool) -> Iterator[str]:
    """Yield what a router gives: what it sends to neighbours, and its state."""
    name, count = _name(x, y), len(mesh.directions(x, y))
    yield f"  wire {bit_range(count)}{name}_up;"
    yield f"  wire {bit_range(len(ERRORS))}{name}_errors;"
    yield f"  wire {name}_dropped;"
    widths = axis_widths(mesh.link.data_width)
    for direction in _inner(mesh, x, y):
        for part in ("", _BEHIND) if behind else ("",):
            for wire in _WIRES:
                yield f"  wire {bit_range(widths[wire])}{name}_{direction}_{part}{wire};"


def _line(
    mesh: MeshSpec, x: int, y: int, direction: str, module: str, number: int
) -> Iterator[str]:
    """Yield the module in the link of a router to a neighbour."""
    mine, its = _ends(mesh, x, y, direction)
    pins = {f"s_axis_{wire}": f"{mine}{wire}" for wire in AXIS_FORTH}
    pins |= {f"m_axis_{wire}": f"{mine}{_BEHIND}{wire}" for wire in AXIS_FORTH}
    pins |= {f"s_axis_{AXIS_BACK}": f"{mine}{_BEHIND}{AXIS_BACK}"}
    pins |= {"clk": "clk", f"m_axis_{AXIS_BACK}": f"{its}{AXIS_BACK}"}
    yield f"  {module} #(.BITS({mesh.link.data_width}), .NUMBER({number})) {mine}line ("
    yield ",\n".join(f"    .{pin}({wire})" for pin, wire in pins.items())
    yield "  );"


def _instance(mesh: MeshSpec, x: int, y: int, module: str, behind: bool) -> Iterator[str]:
    """Yield a router with its wires."""
    bits = [max(1, (size - 1).bit_length()) for size in (mesh.width, mesh.height)]
    pins = {
        "clk": "clk",
        "rst": "rst",
        "session_id": "session_id",
        "position": f"{sum(bits)}'d{x | y << bits[0]}",
        **{one: f"{_name(x, y)}_{one}" for one in ("up", "errors", "dropped")},
    }
    for direction in mesh.directions(x, y):
        pins |= _link(mesh, x, y, direction, behind)
    yield f"  {module} {_name(x, y)} ("
    yield ",\n".join(f"    .{pin}({wire})" for pin, wire in pins.items())
    yield "  );"


def _ends(mesh: MeshSpec, x: int, y: int, direction: str) -> tuple[str, str]:
    """Return what wires of a link begin with at a router and at its neighbour.

    ``..._tready`` of a router's wire is what it says of what comes in on that port.
    """
    other = mesh.neighbour(x, y, direction)
    assert other is not None
    return f"{_name(x, y)}_{direction}_", f"{_name(*other)}_{OPPOSITE[direction]}_"


def _link(mesh: MeshSpec, x: int, y: int, direction: str, behind: bool) -> dict[str, str]:
    """Return the wires at the pins of a port of a router.

    What it takes comes ``behind`` the links' modules, if there are any.
    """
    number = DIRECTIONS.index(direction)
    into, out = f"s{number}_axis_", f"m{number}_axis_"
    if direction not in _inner(mesh, x, y):
        address = mesh.places.index((x, y, direction))
        ends = {"s": f"s{address}_axis_", "m": f"m{address}_axis_"}
        return {
            f"{letter}{number}_axis_{wire}": f"{ends[letter]}{wire}"
            for letter in "sm"
            for wire in _WIRES
        }
    mine, its = _ends(mesh, x, y, direction)
    came, told = (f"{its}{_BEHIND}", f"{mine}{_BEHIND}") if behind else (its, its)
    return {
        **{f"{into}{wire}": f"{came}{wire}" for wire in AXIS_FORTH},
        f"{into}{AXIS_BACK}": f"{mine}{AXIS_BACK}",
        **{f"{out}{wire}": f"{mine}{wire}" for wire in AXIS_FORTH},
        f"{out}{AXIS_BACK}": f"{told}{AXIS_BACK}",
    }
