"""IP-XACT component (IEEE 1685-2014): ports, bus interfaces and registers."""

import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import NamedTuple
from xml.etree import ElementTree as ET

from fred_hw.control.registers import WORD_BITS, WORD_BYTES, Field, Register, RegisterMap
from gen.any_design import AnyDesign
from gen.level import LEVELS
from gen.ports import Port

from .companion import COMPANIONS, Companion

__all__ = ["ip_xact"]

_NAMESPACE = "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"
_BYTE_BITS = 8
_VIEW, _INSTANCE, _FILES, _REGISTERS = "rtl", "verilog", "rtl", "registers"

_ACCESSES = {
    "constant": "read-only",
    "ro": "read-only",
    "rw": "read-write",
    "w1c": "read-write",
    "pulse": "write-only",
}
"""IP-XACT access of each access in ``ACCESSES``."""


class _Bus(NamedTuple):
    """A bus of Arm's IP-XACT library.

    ``first`` ends the name of a port that each interface has; masters drive it.
    """

    name: str
    version: str
    first: str


_BUSES = (_Bus("AXI4Stream", "r0p0_1", "_tvalid"), _Bus("AXI4-Lite", "r0p0_0", "_awvalid"))


def ip_xact(design: AnyDesign) -> str:
    """Return the IP-XACT component of a design, with the files that stand beside it."""
    ET.register_namespace("ipxact", _NAMESPACE)
    level = LEVELS[design.level]
    registers = level.registers and level.registers(design.spec)
    component = ET.Element(_tag("component"))
    _identify(component, "fred-hw", design.level, design.name, version("fred-hw"))
    _interfaces(component, design.ports, registers)
    if registers:
        _memory(component, registers)
    _model(component, design)
    files = _add(_add(component, "fileSets"), "fileSet")
    _add(files, "name", _FILES)
    file = _add(files, "file")
    _add(file, "name", f"{design.name}.v")
    _add(file, "fileType", "verilogSource-2001")
    _add(component, "description", level.description)
    ET.indent(component)
    text = ET.tostring(component, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _tag(name: str) -> str:
    return f"{{{_NAMESPACE}}}{name}"


def _add(parent: ET.Element, tag: str, text: object = None, /, **attributes: str) -> ET.Element:
    """Append an element with a text, and return it."""
    one = ET.SubElement(parent, _tag(tag), attributes)
    if text is not None:
        one.text = str(text)
    return one


def _identify(parent: ET.Element, *parts: str) -> None:
    for name, text in zip(("vendor", "library", "name", "version"), parts, strict=True):
        _add(parent, name, text)


def _interfaces(
    component: ET.Element, ports: Sequence[Port], registers: RegisterMap | None
) -> None:
    """Add the bus interfaces, which the names of ports show."""
    found = [
        (bus, port.removesuffix(bus.first), direction)
        for port, direction, _ in ports
        for bus in _BUSES
        if port.endswith(bus.first)
    ]
    interfaces = _add(component, "busInterfaces") if found else component
    for bus, prefix, direction in found:
        interface = _add(interfaces, "busInterface")
        _add(interface, "name", prefix)
        reference = {"vendor": "amba.com", "library": "AMBA4", "version": bus.version}
        _add(interface, "busType", name=bus.name, **reference)
        kind = _add(_add(interface, "abstractionTypes"), "abstractionType")
        _add(kind, "abstractionRef", name=f"{bus.name}_rtl", **reference)
        maps = _add(kind, "portMaps")
        wires = re.compile(rf"{re.escape(prefix)}_([a-z]+)")
        for port, _, _ in ports:
            if wire := wires.fullmatch(port):
                one = _add(maps, "portMap")
                _add(_add(one, "logicalPort"), "name", wire[1].upper())
                _add(_add(one, "physicalPort"), "name", port)
        role = _add(interface, "slave" if direction == "input" else "master")
        if registers and bus.name == "AXI4-Lite":
            _add(role, "memoryMapRef", memoryMapRef=_REGISTERS)


def _memory(component: ET.Element, registers: RegisterMap) -> None:
    memory = _add(_add(component, "memoryMaps"), "memoryMap")
    _add(memory, "name", _REGISTERS)
    block = _add(memory, "addressBlock")
    _add(block, "name", registers.name)
    _add(block, "description", registers.description)
    _add(block, "baseAddress", 0)
    _add(block, "range", 1 << registers.address_bits)
    _add(block, "width", WORD_BITS)
    _add(block, "usage", "register")
    for register in registers.registers:
        _register(block, register)
    _add(memory, "addressUnitBits", _BYTE_BITS)


def _register(block: ET.Element, register: Register) -> None:
    one = _add(block, "register")
    _add(one, "name", register.name)
    _add(one, "description", f"{register.description}.")
    if register.count is not None:
        _add(one, "dim", register.count)
    _add(one, "addressOffset", f"'h{register.address:x}")
    _add(one, "size", _BYTE_BITS * WORD_BYTES)
    for field in register.fields:
        _field(one, field)


def _field(register: ET.Element, field: Field) -> None:
    one = _add(register, "field")
    _add(one, "name", field.name)
    _add(one, "description", f"{field.description}.")
    _add(one, "bitOffset", field.low)
    if field.access in ("constant", "rw", "w1c"):
        _add(_add(_add(one, "resets"), "reset"), "value", f"'h{field.value:x}")
    _add(one, "bitWidth", field.width)
    _add(one, "access", _ACCESSES[field.access])
    if field.names:
        values = _add(one, "enumeratedValues")
        for number, name in enumerate(field.names):
            value = _add(values, "enumeratedValue")
            _add(value, "name", name)
            _add(value, "value", number)
    if field.access == "w1c":
        _add(one, "modifiedWriteValue", "oneToClear")


def _model(component: ET.Element, design: AnyDesign) -> None:
    model = _add(component, "model")
    view = _add(_add(model, "views"), "view")
    _add(view, "name", _VIEW)
    _add(view, "componentInstantiationRef", _INSTANCE)
    instance = _add(_add(model, "instantiations"), "componentInstantiation")
    _add(instance, "name", _INSTANCE)
    _add(instance, "language", "verilog")
    _add(instance, "moduleName", design.name)
    _add(_add(instance, "fileSetRef"), "localName", _FILES)
    ports = _add(model, "ports")
    for name, direction, bits in design.ports:
        port = _add(ports, "port")
        _add(port, "name", name)
        wire = _add(port, "wire")
        _add(wire, "direction", "in" if direction == "input" else "out")
        if bits > 1:
            vector = _add(_add(wire, "vectors"), "vector")
            _add(vector, "left", bits - 1)
            _add(vector, "right", 0)


COMPANIONS.add("IP-XACT component", Companion(".xml", ip_xact), rank=5.5)
