"""Verilog of a wafer plane: endpoints, switches and the wires between them."""

from collections.abc import Mapping

from fred_hw.unit import Unit
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.spec import WaferSpec

from .fabric_top import LINK_WIRES, FabricTop, Module
from .fabric_units import fabric_units
from .ports import Port, module_ports

__all__ = ["modules_of", "units_of", "wafer_ports", "wafer_top"]


def units_of(wafer: WaferSpec) -> dict[str, Unit]:
    """Return the units of a plane: that of endpoints ("npu"), and those of chiplets."""
    made = fabric_units(wafer)
    names = [one.name for one in made.plan.units]
    return {"npu": made.endpoint, **dict(zip(names, made.units, strict=True))}


def modules_of(wafer: WaferSpec) -> dict[str, Module]:
    """Return the Verilog modules of units."""
    return {name: Module(one.unit_name, module_ports(one)) for name, one in units_of(wafer).items()}


def _top(plane: Plane, modules: Mapping[str, Module]) -> FabricTop:
    bits = {name: bits for name, _, bits in modules["npu"].ports}
    return FabricTop(
        plan=plane,
        modules=[modules[one.name] for one in plane.units],
        widths={wire: bits[f"m_axis_{wire}"] for wire in LINK_WIRES},
        endpoint=modules["npu"],
        external="io{address}_{letter}_axis_",
    )


def wafer_ports(plane: Plane, modules: Mapping[str, Module]) -> list[Port]:
    """Return the ports of a plane.

    Ports
    -----
    session_id
        Session ID of all units: another number after each reset, constant between resets.
    npu<n>_*
        Ports of the endpoint of NPU n, except its link and ``session_id``; see
        docs/reference/endpoint.md.
    io<address>_s_axis_tdata, tvalid, tready, tlast, tuser
        Flits from an I/O controller, see docs/reference/protocol.md.
    io<address>_m_axis_tdata, tvalid, tready, tlast, tuser
        Flits to an I/O controller.
    io<address>_*
        With ``controllers: endpoints`` in place of the link: ports of the endpoint of a controller,
        as those of an NPU.
    <chiplet>_*
        AXI4-Lite registers and ``irq`` of a switch, by its name; ``_p0``, ``_p1`` and so on follow
        the name if the plane has several. See docs/reference/switch.md.
    """
    session_id = next(one for one in modules["npu"].ports if one[0] == "session_id")
    top = _top(plane, modules)
    shared = [("clk", "input", 1), ("rst", "input", 1), session_id]
    return [*shared, *top.state_ports(), *top.external_ports()]


def wafer_top(plane: Plane, modules: Mapping[str, Module], line: str | None = None) -> str:
    """Return the Verilog of the top module.

    Parameters
    ----------
    plane : Plane
        A plane of the wafer.
    modules : mapping of str to Module
        Module of the endpoints, "npu", and of each chiplet, by its name.
    line : str, optional
        Module that stands in each link between units; see ``FabricTop.text``.
    """
    return _top(plane, modules).text(plane.wafer.name, wafer_ports(plane, modules), line=line)
