"""Tests of gen.companions.ip_xact: classes made from the IEEE 1685-2014 schema read the file."""

import io
from importlib import import_module
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.control.registers import RegisterMap
from fred_hw.control.switch_map import switch_map
from gen.companions.ip_xact import ip_xact
from gen.level import LEVELS
from gen.ports import module_ports

from .designs import SPEC, design_without_verilog

NAMESPACE = "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"
_DEFAULTS = {("bitSteering", "off"), ("reserved", "false")}
"""Elements that the classes add, with the default of the schema."""


def component(level: str) -> str:
    """Return the component of a design."""
    return ip_xact(design_without_verilog(level))


def read_by_schema(text: str) -> tuple[list[str], str]:
    """Return the values that the schema refuses, and the component in the order of the schema."""
    schema: Any = import_module("ipyxact.ipxact2014")  # takes 2 s, so not when tests are collected
    messages, out = schema.GdsCollector_(), io.StringIO()
    found = schema.Component.factory()
    found.build(schema.etree_.fromstring(text.encode()), gds_collector_=messages)
    found.export(out, 0, name_="component", namespacedef_=f'xmlns:ipxact="{NAMESPACE}"')
    return messages.get_messages(), canonical(out.getvalue())


def canonical(text: str) -> str:
    root = ET.fromstring(text)
    for parent in list(root.iter()):
        for child in list(parent):
            if (child.tag.rpartition("}")[2], child.text) in _DEFAULTS:
                parent.remove(child)
    return ET.canonicalize(ET.tostring(root, encoding="unicode"), strip_text=True)


@pytest.mark.parametrize("level", ["interconnect", "switch", "endpoint"])
def test_schema_knows_all_elements_in_this_order(level: str) -> None:
    text = component(level)
    assert read_by_schema(text) == ([], canonical(text))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<ipxact:direction>in</", "<ipxact:direction>inward</"),
        ("<ipxact:range>4096</ipxact:range>", "<ipxact:size>4096</ipxact:size>"),
        ("<ipxact:moduleName>", "<ipxact:top/><ipxact:moduleName>"),
    ],
    ids=["value", "element", "unknown"],
)
def test_schema_refuses_what_is_wrong(old: str, new: str) -> None:
    text = component("switch")
    assert old in text
    wrong = text.replace(old, new)
    assert read_by_schema(wrong) != ([], canonical(wrong))


def interfaces(text: str) -> dict[str, tuple[str, str, dict[str, str]]]:
    """Return bus, role, and ports by logical name, of each interface."""
    names = {"x": NAMESPACE}
    found: dict[str, tuple[str, str, dict[str, str]]] = {}
    for one in ET.fromstring(text).iterfind("x:busInterfaces/x:busInterface", names):
        bus, role = one.find("x:busType", names), one[-1].tag.rpartition("}")[2]
        assert bus is not None
        ports = {
            str(port.findtext("x:logicalPort/x:name", "", names)): str(
                port.findtext("x:physicalPort/x:name", "", names)
            )
            for port in one.iterfind(".//x:portMap", names)
        }
        found[str(one.findtext("x:name", "", names))] = (bus.attrib["name"], role, ports)
    return found


def test_interfaces_of_an_endpoint_are_its_streams_and_its_registers() -> None:
    found = interfaces(component("endpoint"))
    assert {name: one[:2] for name, one in found.items()} == {
        "s_axis": ("AXI4Stream", "slave"),
        "m_axis": ("AXI4Stream", "master"),
        "m_axis_read": ("AXI4Stream", "master"),
        "s_axis_data": ("AXI4Stream", "slave"),
        "m_axis_write": ("AXI4Stream", "master"),
        "s_axil": ("AXI4-Lite", "slave"),
    }
    assert set(found["s_axis"][2]) == {"TDATA", "TVALID", "TREADY", "TLAST", "TUSER"}
    assert found["m_axis_read"][2]["TDATA"] == "m_axis_read_tdata"
    assert len(found["s_axil"][2]) == 19
    assert interfaces(component("interconnect")) == {}


@pytest.mark.parametrize("level", ["interconnect", "switch"])
def test_ports_are_those_of_the_module_and_only_buses_have_a_range(level: str) -> None:
    names = {"x": NAMESPACE}
    found = [
        (
            port.findtext("x:name", "", names),
            port.findtext("x:wire/x:direction", "", names),
            [
                (int(bus.findtext("x:left", "", names)), int(bus.findtext("x:right", "", names)))
                for bus in port.iterfind("x:wire/x:vectors/x:vector", names)
            ],
        )
        for port in ET.fromstring(component(level)).iterfind(".//x:ports/x:port", names)
    ]
    kind: Any = LEVELS[level]
    assert found == [
        (name, direction.removesuffix("put"), [(bits - 1, 0)] if bits > 1 else [])
        for name, direction, bits in module_ports(kind.top(SPEC))
    ]


@pytest.mark.parametrize(
    ("level", "registers"), [("switch", switch_map(SPEC)), ("endpoint", endpoint_map(SPEC))]
)
def test_memory_map_has_every_register(level: str, registers: RegisterMap) -> None:
    names = {"x": NAMESPACE}
    found = ET.fromstring(component(level)).iterfind(".//x:register", names)
    assert [
        (
            one.findtext("x:name", "", names),
            int(one.findtext("x:addressOffset", "", names).removeprefix("'h"), 16),
            int(one.findtext("x:dim", "1", names)),
            [field.text for field in one.iterfind("x:field/x:name", names)],
        )
        for one in found
    ] == [
        (one.name, one.address, one.words, [field.name for field in one.fields])
        for one in registers.registers
    ]
