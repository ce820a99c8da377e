"""Verilog of a mesh: routers and the wires between them."""

from collections.abc import Sequence

from fred_hw.link.axis import axis_widths
from fred_hw.mesh.router import ERRORS
from fred_hw.mesh.spec import MeshSpec
from fred_hw.protocol import HEADER_FIELDS
from fred_hw.unit import Unit

from .fabric_top import LINK_WIRES, FabricTop, Module
from .fabric_units import fabric_units
from .ports import SHARED, Port, module_ports

__all__ = ["mesh_ports", "mesh_top"]


def _top(mesh: MeshSpec, endpoints: bool) -> FabricTop:
    made = fabric_units(mesh)
    endpoint = Module(made.endpoint.unit_name, module_ports(made.endpoint))
    return FabricTop(
        plan=made.plan,
        modules=[
            Module(unit.unit_name, _pins(unit, one.numbers))
            for unit, one in zip(made.units, made.plan.units, strict=True)
        ],
        endpoint=endpoint if endpoints else None,
        widths=axis_widths(mesh.link.data_width),
        instance="{}",
        external="{letter}{address}_axis_",
        inside=("up", "errors", "dropped"),
        receiver_names_ready=True,
    )


def _pins(router: Unit, numbers: Sequence[int]) -> list[Port]:
    """Return the ports of a router with numbered links, links last."""
    links = [
        f"{letter}{number}_axis_{wire}"
        for number in numbers
        for letter in "sm"
        for wire in LINK_WIRES
    ]
    ports = {port[0]: port for port in module_ports(router)}
    state = [name for name in ports if name not in (*SHARED, *links)]
    return [ports[name] for name in (*SHARED, *state, *links)]


def mesh_ports(mesh: MeshSpec, *, endpoints: bool = False) -> list[Port]:
    """Return the ports of a mesh.

    With ``endpoints`` the mesh contains the endpoints of NPUs, whose ports begin with ``npu<n>_``.

    Ports
    -----
    s<a>_axis_tdata, tvalid, tready, tlast, tuser
        Flits from the endpoint with address a, see docs/reference/protocol.md. ``tready`` is always
        high.
    m<a>_axis_tdata, tvalid, tready, tlast, tuser
        Flits to the endpoint with address a.
    session_id
        Session ID of all routers: another number after each reset, constant between resets.
    up
        Links to endpoints that are up, a bit for each address.
    inner_up
        High while all links between routers are up.
    errors
        High for a cycle when any router detects an error: ``length``, ``kind``, ``overflow``,
        ``stuck``, ``route``, ``partner``, from bit 0 on.
    dropped
        High for a cycle when any router drops a flit or a message. A packet that waited too
        long at the head of a queue is reported by ``errors`` alone.
    """
    top = _top(mesh, endpoints)
    return [
        ("clk", "input", 1),
        ("rst", "input", 1),
        *top.state_ports(),
        *top.external_ports(),
        ("session_id", "input", HEADER_FIELDS["session_id"].bits),
        ("up", "output", mesh.plan.addresses),
        ("inner_up", "output", 1),
        ("errors", "output", len(ERRORS)),
        ("dropped", "output", 1),
    ]


def mesh_top(mesh: MeshSpec, *, endpoints: bool = False, line: str | None = None) -> str:
    """Return the Verilog of the top module.

    Parameters
    ----------
    mesh : MeshSpec
        The mesh.
    endpoints : bool
        Whether the mesh contains the endpoints of NPUs.
    line : str, optional
        Module that stands in each link between units; see ``FabricTop.text``.
    """
    routers = mesh.plan.units

    def up(unit: int, port: int) -> str:
        return f"{routers[unit].name}_up[{port}]"

    inner = [
        up(unit, port)
        for unit, one in enumerate(routers)
        for port, end in enumerate(one.ends)
        if end.kind == "unit"
    ]
    tail = [
        f"  assign up = {{ {', '.join(up(*home) for home in reversed(mesh.plan.homes))} }};",
        f"  assign inner_up = &{{ {', '.join(inner)} }};",
        f"  assign errors = {' | '.join(f'{one.name}_errors' for one in routers)};",
        f"  assign dropped = |{{ {', '.join(f'{one.name}_dropped' for one in routers)} }};",
    ]
    ports = mesh_ports(mesh, endpoints=endpoints)
    return _top(mesh, endpoints).text(mesh.name, ports, tail, line=line)
