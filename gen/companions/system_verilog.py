"""SystemVerilog package with constants and types, and wrapper with interfaces."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from fred_hw.control.registers import WORD_BITS, Register
from fred_hw.protocol import CRC_BITS, HEADER_BITS, KINDS, Kind, absent_fields
from gen.any_design import AnyDesign
from gen.keywords import KEYWORDS
from gen.level import LEVELS
from gen.manifest_parts import header_fields
from gen.ports import bit_range, instance

from .companion import COMPANIONS, Companion

__all__ = ["package", "wrapper"]

_LEVELS = ("switch", "endpoint", "terminator")
_STREAM = re.compile(r"(\w+)_(tdata|tvalid|tready|tlast|tuser|tdest)")
_AXIL = re.compile(r"(s_axil)_(\w+)")
_HEADERS = {
    "phase_header_t": (Kind.DATA, 0),
    "unicast_header_t": (Kind.DATA, 1),
    "handshake_header_t": (Kind.HANDSHAKE, 0),
}
"""Types of headers, by a kind of flit and whether it is a unicast."""

_INTERFACES = """\
// Interfaces that all wrappers share.
`ifndef FRED_AXI_INTERFACES
`define FRED_AXI_INTERFACES
interface axi_stream_if #(parameter int DATA = 1, parameter int USER = 1, parameter int DEST = 1);
  logic [DATA-1:0] tdata;
  logic tvalid, tready, tlast;
  logic [USER-1:0] tuser;
  logic [DEST-1:0] tdest;
  modport source(output tdata, tvalid, tlast, tuser, tdest, input tready);
  modport sink(input tdata, tvalid, tlast, tuser, tdest, output tready);
endinterface

interface axi_lite_if #(parameter int ADDRESS = 12);
  logic [ADDRESS-1:0] awaddr, araddr;
  logic [2:0] awprot, arprot;
  logic [31:0] wdata, rdata;
  logic [3:0] wstrb;
  logic [1:0] bresp, rresp;
  logic awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rvalid, rready;
  modport manager(
    output awaddr, awprot, awvalid, wdata, wstrb, wvalid, bready, araddr, arprot, arvalid, rready,
    input awready, wready, bresp, bvalid, arready, rdata, rresp, rvalid
  );
  modport subordinate(
    input awaddr, awprot, awvalid, wdata, wstrb, wvalid, bready, araddr, arprot, arvalid, rready,
    output awready, wready, bresp, bvalid, arready, rdata, rresp, rvalid
  );
endinterface
`endif
"""


class _Field(NamedTuple):
    """A field of a packed structure."""

    name: str
    low: int
    width: int


def package(design: AnyDesign) -> str:
    """Return a package with constants, kinds, headers, and offsets and fields of registers."""
    spec, registers = design.spec, LEVELS[design.level].registers
    header = header_fields()
    lines = [
        f"// Constants and types for logic and software around {design.name}.",
        f"package {design.name}_pkg;",
        f"  localparam int DATA_WIDTH = {spec.data_width};",
        f"  localparam int PHASES = {spec.protocol.phases};",
        *_enumeration(
            "kind_t", "KIND", {name: k for k, name in enumerate(KINDS)}, header["kind"][1]
        ),
        *_enumeration("circuit_t", "CIRCUIT", spec.protocol.circuits, header["circuit"][1]),
    ]
    for name, (kind, unicast) in _HEADERS.items():
        absent = {*absent_fields(kind, unicast), "crc"}
        fields = [_Field(one, *place) for one, place in header.items() if one not in absent]
        lines += _structure(name, fields, HEADER_BITS)
        lines += [
            f"  // Contents of tuser with {name.removesuffix('_t')}.",
            "  typedef struct packed {",
            f"    logic [{CRC_BITS - 1}:0] crc;",
            f"    {name} header;",
            f"  }} {name.replace('header', 'user')};",
        ]
    for register in registers(spec).registers if registers else ():
        lines += _register(register)
    return "\n".join([*lines, "endpackage", ""])


def wrapper(design: AnyDesign) -> str:
    """Return a module with interfaces in place of the streams and AXI4-Lite ports of a design."""
    groups = _groups(design)
    ports, pins, body = ["input logic clk", "input logic rst"], dict[str, str](), list[str]()
    for name, wires in groups.items():
        if name == "s_axil":
            ports.append(f"axi_lite_if.subordinate {name}")
        elif "tvalid" in wires:
            ports.append(f"axi_stream_if.{_end(wires)} {name}")
            if _end(wires) == "source":  # what the design lacks has a value all the same
                rest = {"tlast": "1'b1", "tuser": "'0", "tdest": "'0"}
                body += [
                    f"  assign {name}.{wire} = {value};"
                    for wire, value in rest.items()
                    if wire not in wires
                ]
        for wire in wires:
            pins[f"{name}_{wire}"] = f"{name}.{wire}"
    for name, direction, bits in design.ports:
        if name not in pins:
            pins[name] = name
            if name not in ("clk", "rst"):
                ports.append(f"{direction} logic {bit_range(bits)}{name}")
    own = {port: pins[port] for port, _, _ in design.ports}
    return "\n".join(
        [
            f"// {design.name} with interfaces in place of its streams and AXI4-Lite ports.",
            "// verilator lint_off DECLFILENAME",
            "// verilator lint_off UNUSEDSIGNAL",
            _INTERFACES,
            f"module {design.name}_wrapper(",
            ",\n".join(f"  {port}" for port in ports),
            ");",
            *instance(design.name, "core", own),
            *body,
            "endmodule",
            "",
        ]
    )


def _groups(design: AnyDesign) -> dict[str, dict[str, str]]:
    """Return direction by wire of each interface, by its name."""
    found: dict[str, dict[str, str]] = {}
    for name, direction, _ in design.ports:
        if match := _AXIL.fullmatch(name) or _STREAM.fullmatch(name):
            found.setdefault(match[1], {})[match[2]] = direction
    return found


def _end(wires: Mapping[str, str]) -> str:
    """Return the modport of a stream."""
    return "source" if wires["tvalid"] == "output" else "sink"


def _plain(name: str) -> str:
    """Return a name that is no keyword."""
    return f"{name}_" if name in KEYWORDS else name


def _enumeration(name: str, prefix: str, values: Mapping[str, int], bits: int) -> list[str]:
    items = [f"    {prefix}_{one.upper()} = {bits}'d{n}" for one, n in values.items()]
    return [f"  typedef enum logic [{bits - 1}:0] {{", ",\n".join(items), f"  }} {name};"]


def _structure(name: str, fields: list[_Field], bits: int) -> list[str]:
    """Return a packed structure, the highest field first, with gaps filled."""
    lines, top = ["  typedef struct packed {"], bits
    for one in sorted(fields, key=lambda field: -field.low):
        if gap := top - one.low - one.width:
            lines.append(f"    logic {bit_range(gap)}reserved_{one.low + one.width};")
        lines.append(f"    logic {bit_range(one.width)}{_plain(one.name)};")
        top = one.low
    if top:
        lines.append(f"    logic {bit_range(top)}reserved_0;")
    return [*lines, f"  }} {name};"]


def _register(register: Register) -> list[str]:
    """Return the offset of a register, and a structure if it has fields."""
    words = register.count and f"  localparam int {register.name}_WORDS = {register.count};"
    lines = [f"  localparam int {register.name}_OFFSET = 'h{register.address:03x};"]
    fields = [_Field(one.name, one.low, one.width) for one in register.fields]
    if [one.width for one in fields] != [WORD_BITS]:
        lines += _structure(f"{register.name.lower()}_t", fields, WORD_BITS)
    return [*lines, *([words] if words else [])]


COMPANIONS.add(
    "SystemVerilog package",
    Companion("_pkg.sv", package, levels=_LEVELS),
    rank=11,
)
COMPANIONS.add(
    "SystemVerilog wrapper",
    Companion("_wrapper.sv", wrapper, levels=_LEVELS),
    rank=12,
)
