"""Verilog of a wafer plane: endpoints, switches and the wires between them.

It is written as text, as that of a mesh is: it is wires alone, and many.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from fred_hw.link.axis import AXIS_BACK, AXIS_FORTH
from fred_hw.unit import Unit
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.spec import WaferSpec

from .fabric_units import fabric_units
from .ports import SHARED, Port, bit_range, head_of_top, link_ports, module_ports

__all__ = ["Module", "modules_of", "units_of", "wafer_ports", "wafer_top"]

_WIRES = (*AXIS_FORTH, AXIS_BACK)
_BEHIND = "behind"


class Module(NamedTuple):
    """A module that the top instantiates: its name and its ports."""

    name: str
    ports: list[Port]


def units_of(wafer: WaferSpec) -> dict[str, Unit]:
    """Return the units of a plane: that of endpoints ("npu"), and those of chiplets."""
    made = fabric_units(wafer)
    names = [one.name for one in made.plan.units]
    return {"npu": made.endpoint, **dict(zip(names, made.units, strict=True))}


def modules_of(wafer: WaferSpec) -> dict[str, Module]:
    """Return the Verilog modules of units."""
    return {name: Module(one.unit_name, module_ports(one)) for name, one in units_of(wafer).items()}


class _Instance(NamedTuple):
    """An instance: prefix of its external ports, its module, and its links.

    A link is what its streams' names begin with in the module, and the wire or port that they are
    joined to: with ``{}`` for what it sends ("m") or is sent ("s"). Nothing is at ``spare`` ports.
    """

    prefix: str
    module: Module
    sends: dict[str, str]
    takes: dict[str, str]
    spare: Sequence[int] = ()


def _instances(plane: Plane, modules: Mapping[str, Module]) -> Iterator[_Instance]:
    """Yield endpoints, then switches; ``modules`` is keyed by chiplet name or "npu"."""
    chiplets, ends = plane.units, plane.wafer.endpoints
    for address in range(ends):
        home, port = plane.homes[address]
        name = plane.end_name(address)
        sends, takes = f"{name}_up", f"{chiplets[home].name}_{port}"
        yield _Instance(name, modules["npu"], {"m_axis_": sends}, {"s_axis_": takes})
    for chiplet in chiplets:
        sends, takes, spare = {}, {}, []
        for port, end in enumerate(chiplet.ends):
            if end.kind == "nothing":
                spare.append(port)
                continue
            sends[f"m{port}_axis_"] = f"{chiplet.name}_{port}"
            if end.kind == "unit":
                takes[f"s{port}_axis_"] = f"{chiplets[end.number].name}_{end.port}"
            elif end.number < ends:
                takes[f"s{port}_axis_"] = f"{plane.end_name(end.number)}_up"
            else:
                sends[f"m{port}_axis_"] = takes[f"s{port}_axis_"] = plane.end_name(end.number)
        yield _Instance(chiplet.name, modules[chiplet.name], sends, takes, spare)


def _outside(one: _Instance) -> Iterator[tuple[str, Port]]:
    """Yield the external ports of an instance, each with its name in the module."""
    inside = {begin + wire for begin in (*one.sends, *one.takes) for wire in _WIRES}
    inside |= _tied(one).keys()
    for name, direction, bits in one.module.ports:
        if name not in SHARED and name not in inside:
            yield name, (f"{one.prefix}_{name}", direction, bits)


def _tied(one: _Instance) -> dict[str, tuple[str, int]]:
    """Return the values at the pins of spare ports, with their widths: idle, always ready.

    Linters accept wires named as unused.
    """
    names = {
        f"{letter}{port}_axis_{wire}" for letter in "ms" for port in one.spare for wire in _WIRES
    }
    pins: dict[str, tuple[str, int]] = {}
    for name, direction, bits in one.module.ports:
        if name in names:
            value = f"{bits}'d{int(name.endswith(AXIS_BACK))}"
            pins[name] = value if direction == "input" else f"{one.prefix}_unused_{name}", bits
    return pins


def _controllers(plane: Plane) -> range:
    """Return the addresses of controllers whose links leave the plane."""
    return range(plane.wafer.endpoints, plane.addresses)


def wafer_ports(plane: Plane, modules: Mapping[str, Module]) -> list[Port]:
    """Return the ports of a plane.

    Ports of an endpoint begin with ``npu<n>_``, or ``io<address>_`` at a controller, those of a
    switch with its name; the link of a controller without an endpoint is ``io<address>_s_axis_*``,
    from the controller, and ``io<address>_m_axis_*``.
    """
    session_id = next(one for one in modules["npu"].ports if one[0] == "session_id")
    ports: list[Port] = [("clk", "input", 1), ("rst", "input", 1), session_id]
    for one in _instances(plane, modules):
        ports += [port for _, port in _outside(one)]
    widths = _widths(modules)
    for address in _controllers(plane):
        ports += link_ports(f"io{address}_{{}}_axis_", widths)
    return ports


def _widths(modules: Mapping[str, Module]) -> dict[str, int]:
    """Return the width of each wire of a link."""
    prefix = "m_axis_"
    bits = {name: bits for name, _, bits in modules["npu"].ports}
    return {wire: bits[prefix + wire] for wire in _WIRES}


def wafer_top(plane: Plane, modules: Mapping[str, Module], line: str | None = None) -> str:
    """Return the Verilog of the top module.

    Parameters
    ----------
    plane : Plane
        A plane of the wafer.
    modules : mapping of str to Module
        Module of the endpoints, "npu", and of each chiplet, by its name.
    line : str, optional
        Module that stands in each link between units: ``clk``, ``s_axis_*`` and ``m_axis_*``, with
        the width of ``tdata``, a number and the cycles from flit to flit as parameters ``BITS``,
        ``NUMBER`` and ``PACE``.
    """
    ports = wafer_ports(plane, modules)
    lines = head_of_top(plane.wafer.name, ports)
    instances = list(_instances(plane, modules))
    controllers = {f"io{address}" for address in _controllers(plane)}
    for one in instances:
        for link in one.sends.values():
            if link not in controllers:
                for wire, bits in _widths(modules).items():
                    lines.append(f"  wire {bit_range(bits)}{link}_{wire};")
                    if line:
                        lines.append(f"  wire {bit_range(bits)}{link}_{_BEHIND}_{wire};")
    for one in instances:
        tied = _tied(one).values()
        lines += [f"  wire {bit_range(bits)}{wire};" for wire, bits in tied if "'" not in wire]
        lines += list(_instance(one, controllers, bool(line)))
    if line:
        links = [link for one in instances for link in one.sends.values()]
        paces = {
            f"{one.name}_{port}": plane.flit_cycles(number, port)
            for number, one in enumerate(plane.units)
            for port in range(len(one.ends))
        }
        for number, link in enumerate(one for one in links if one not in controllers):
            parameters = f".BITS({_widths(modules)['tdata']}), .NUMBER({number})"
            parameters += f", .PACE({paces.get(link, 1)})"
            lines += [f"  {line} #({parameters}) u_{link}_line (", "    .clk(clk),"]
            pins = [
                f"    .{letter}_axis_{wire}({name}_{wire})"
                for letter, name in (("s", link), ("m", f"{link}_{_BEHIND}"))
                for wire in _WIRES
            ]
            lines += [",\n".join(pins), "  );"]
    return "\n".join([*lines, "endmodule"]) + "\n"


def _instance(one: _Instance, controllers: set[str], behind: bool) -> Iterator[str]:
    """Yield an instance with its wires; its inputs come from after (``behind``) the links."""
    pins = {name: name for name in SHARED}
    pins |= {name: port for name, (port, _, _) in _outside(one)}
    pins |= {name: value for name, (value, _) in _tied(one).items()}
    for letter, links in (("m", one.sends), ("s", one.takes)):
        for begin, link in links.items():
            outside = f"{link}_{letter}_axis" if link in controllers else link
            if behind and letter == "s" and link not in controllers:
                outside = f"{link}_{_BEHIND}"
            pins |= {begin + wire: f"{outside}_{wire}" for wire in _WIRES}
    yield f"  {one.module.name} u_{one.prefix} ("
    yield ",\n".join(f"    .{name}({pins[name]})" for name, _, _ in one.module.ports)
    yield "  );"
