"""Verilog of a mesh: routers and the wires between them.

It is written as text, since it is wires alone: Amaranth takes modules of up to 65,536 bits of
inputs, which sixteen links of 4,096 bits exceed.
"""

from collections.abc import Iterator, Mapping, Sequence

from fred_hw.link.axis import AXIS_BACK, AXIS_FORTH, axis_widths
from fred_hw.mesh.plan import MeshPlan, Router
from fred_hw.mesh.router import ERRORS
from fred_hw.mesh.spec import MeshSpec
from fred_hw.mesh.way import position_layout
from fred_hw.protocol import HEADER_FIELDS

from .ports import SHARED, Port, bit_range, head_of_top, link_ports

__all__ = ["mesh_ports", "mesh_top"]

_WIRES = (*AXIS_FORTH, AXIS_BACK)
_BEHIND = "behind_"


def mesh_ports(mesh: MeshSpec) -> list[Port]:
    """Return the ports of a mesh; links are numbered by endpoint address.

    ``up`` has a bit for each of them; ``inner_up`` is high when all links between routers are up;
    ``errors`` and ``dropped`` combine those of all routers.
    """
    ports = [("clk", "input", 1), ("rst", "input", 1)]
    for address in range(mesh.plan.addresses):
        ports += link_ports(f"{{}}{address}_axis_", axis_widths(mesh.link.data_width))
    return [
        *ports,
        ("session_id", "input", HEADER_FIELDS["session_id"].bits),
        ("up", "output", mesh.plan.addresses),
        ("inner_up", "output", 1),
        ("errors", "output", len(ERRORS)),
        ("dropped", "output", 1),
    ]


def mesh_top(mesh: MeshSpec, modules: Sequence[str], line: str | None = None) -> str:
    """Return the Verilog of the top module.

    Parameters
    ----------
    mesh : MeshSpec
        The mesh.
    modules : sequence of str
        Name of the module of each router.
    line : str, optional
        Module that stands in each link between routers, with the ports and parameters that
        ``wafer_top`` says. Its numbers begin above those of two links for each NPU.
    """
    plan, widths = mesh.plan, axis_widths(mesh.link.data_width)
    routers, bits = plan.units, position_layout(mesh).size
    lines = head_of_top(mesh.name, mesh_ports(mesh))
    for one in routers:
        lines += list(_wires(one, widths, bool(line)))
    for one, module in zip(routers, modules, strict=True):
        lines += [f"  {module} {one.name} (", _pins(_router_pins(plan, one, bits, bool(line)))]
        lines += ["  );"]
    inside = [
        (one, port) for one in routers for port, end in enumerate(one.ends) if end.kind == "unit"
    ]
    for number, (one, port) in enumerate(inside if line else (), 2 * plan.npus):
        parameters = f".BITS({mesh.link.data_width}), .NUMBER({number})"
        lines += [f"  {line} #({parameters}) {_link(one, port)}line ("]
        lines += [_pins(_line_pins(plan, one, port)), "  );"]
    ups = [_up(routers[unit], port) for unit, port in reversed(plan.homes)]
    inner = [_up(one, port) for one, port in inside]
    lines += [
        f"  assign up = {{ {', '.join(ups)} }};",
        f"  assign inner_up = &{{ {', '.join(inner)} }};",
        f"  assign errors = {' | '.join(f'{one.name}_errors' for one in routers)};",
        f"  assign dropped = |{{ {', '.join(f'{one.name}_dropped' for one in routers)} }};",
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


def _up(one: Router, port: int) -> str:
    return f"{one.name}_up[{port}]"


def _link(one: Router, port: int) -> str:
    """Return the prefix of the wires at a port.

    ``..._tready`` is the router's answer to flits that arrive by that port.
    """
    return f"{one.name}_{one.directions[port]}_"


def _peer(plan: MeshPlan, one: Router, port: int) -> str:
    """Return the prefix of the wires at the port of a neighbour."""
    end = one.ends[port]
    return _link(plan.units[end.number], end.port)


def _pins(pins: Mapping[str, str]) -> str:
    return ",\n".join(f"    .{pin}({wire})" for pin, wire in pins.items())


def _wires(one: Router, widths: Mapping[str, int], behind: bool) -> Iterator[str]:
    """Yield the output wires of a router: links to neighbours, and state."""
    yield f"  wire {bit_range(len(one.ends))}{one.name}_up;"
    yield f"  wire {bit_range(len(ERRORS))}{one.name}_errors;"
    yield f"  wire {one.name}_dropped;"
    for port, end in enumerate(one.ends):
        for part in ("", _BEHIND) if behind else ("",):
            for wire in _WIRES if end.kind == "unit" else ():
                yield f"  wire {bit_range(widths[wire])}{_link(one, port)}{part}{wire};"


def _line_pins(plan: MeshPlan, one: Router, port: int) -> dict[str, str]:
    """Return the wires at the delay-line module in a router's link to a neighbour."""
    mine, its = _link(one, port), _peer(plan, one, port)
    pins = {f"s_axis_{wire}": f"{mine}{wire}" for wire in AXIS_FORTH}
    pins |= {f"m_axis_{wire}": f"{mine}{_BEHIND}{wire}" for wire in AXIS_FORTH}
    pins |= {f"s_axis_{AXIS_BACK}": f"{mine}{_BEHIND}{AXIS_BACK}"}
    return pins | {"clk": "clk", f"m_axis_{AXIS_BACK}": f"{its}{AXIS_BACK}"}


def _router_pins(plan: MeshPlan, one: Router, bits: int, behind: bool) -> dict[str, str]:
    """Return the wires at a router, whose position has a number of bits.

    The received flits come from ``behind`` the links' modules, if there are any.
    """
    pins = {name: name for name in SHARED} | {"position": f"{bits}'d{one.position}"}
    pins |= {name: f"{one.name}_{name}" for name in ("up", "errors", "dropped")}
    for port, (number, end) in enumerate(zip(one.numbers, one.ends, strict=True)):
        if end.kind == "unit":
            mine, its = _link(one, port), _peer(plan, one, port)
            came, told = (f"{its}{_BEHIND}", f"{mine}{_BEHIND}") if behind else (its, its)
            ends = {"s": (came, mine), "m": (mine, told)}
        else:
            ends = {letter: (f"{letter}{end.number}_axis_",) * 2 for letter in "sm"}
        for letter, (forth, back) in ends.items():
            pins |= {f"{letter}{number}_axis_{wire}": f"{forth}{wire}" for wire in AXIS_FORTH}
            pins |= {f"{letter}{number}_axis_{AXIS_BACK}": f"{back}{AXIS_BACK}"}
    return pins
