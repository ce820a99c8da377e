"""Tests of gen.companions.system_verilog, read by three tools."""

import re
from pathlib import Path
from typing import Any

import pytest

from fred_hw.link.axis import USER_BITS
from fred_hw.load import load_spec
from fred_hw.protocol import CONTROL, HEADER_BITS
from gen.companions.system_verilog import package, wrapper
from gen.design import Design
from gen.level import LEVELS, UnitLevel
from gen.manifest_parts import header_fields
from gen.ports import module_ports
from tests.gen.tools import icarus, lint

NAMES = ("switch", "endpoint", "terminator")
EACH = pytest.mark.parametrize("level", NAMES)


def design_of(level: str) -> Design:
    """Return a design of small sizes whose Verilog has ports alone."""
    what, spec = LEVELS[level], load_spec("tiny-2")
    assert isinstance(what, UnitLevel)
    ports, name = module_ports(what.top(spec)), what.name(spec)
    lines = [f"{direction} [{bits - 1}:0] {port}" for port, direction, bits in ports]
    verilog = f"module {name}({', '.join(lines)});\nendmodule\n"
    none: dict[str, Any] = {"modules": {}, "units": {}, "latency_cycles": 0}
    return Design(spec=spec, level=level, name=name, verilog=verilog, ports=tuple(ports), **none)


def widths(design: Design) -> str:
    """Return a module that fails to elaborate if a type has another width than its word."""
    types = [
        *((f"{kind}_header_t", HEADER_BITS) for kind in ("phase", "unicast", "handshake")),
        *((f"{kind}_user_t", USER_BITS) for kind in ("phase", "unicast", "handshake")),
        *((name, 32) for name in re.findall(r"} (\w+_t);", package(design)) if "kind" not in name),
    ]
    checked = [(name, bits) for name, bits in types if not (bits == 32 and name in dict(types[:6]))]
    return "\n".join(
        [
            "module widths;",
            *(
                f'  initial if ($bits({design.name}_pkg::{name}) != {bits}) $fatal(1, "{name}");'
                for name, bits in checked
                if name != "circuit_t"
            ),
            "endmodule\n",
        ]
    )


@EACH
def test_slang_finds_nothing_and_the_wrapper_fits_the_ports(level: str) -> None:
    slang = pytest.importorskip("pyslang")
    design = design_of(level)
    whole = slang.ast.Compilation()
    for text in (design.verilog, package(design), wrapper(design), top(design)):
        whole.addSyntaxTree(slang.syntax.SyntaxTree.fromText(text))
    found = [str(one.code) for one in whole.getAllDiagnostics()]
    assert [one for one in found if "Undriven" not in one and "Unused" not in one] == []


@pytest.mark.sim
@EACH
def test_verilator_finds_no_error(level: str, tmp_path: Path) -> None:
    design = design_of(level)
    (tmp_path / "design.v").write_text(design.verilog)
    (tmp_path / "pkg.sv").write_text(package(design))
    (tmp_path / "wrapper.sv").write_text(wrapper(design) + top(design))
    waived = ("-Wno-UNDRIVEN", "-Wno-UNUSEDSIGNAL", "-Wno-UNUSEDPARAM", "-Wno-DECLFILENAME")
    files = ("design.v", "pkg.sv", "wrapper.sv")
    assert lint(tmp_path, "top", *waived, *files) == (0, "")


@pytest.mark.sim
@EACH
def test_icarus_reads_the_package(level: str, tmp_path: Path) -> None:
    (tmp_path / "pkg.sv").write_text(package(design_of(level)))
    (tmp_path / "widths.sv").write_text(widths(design_of(level)))
    assert icarus(tmp_path, "-g2012", "pkg.sv", "widths.sv") == (0, "")


def top(design: Design) -> str:
    """Return a module that instantiates a wrapper, with an interface of the widths of its ports."""
    bits = {name: width for name, _, width in design.ports}
    lines, pins = list[str](), list[str]()
    for kind, name in re.findall(r"^  (axi_\w+_if)\.\w+ (\w+)", wrapper(design), re.MULTILINE):
        sizes = {"DATA": "tdata", "USER": "tuser", "DEST": "tdest"}
        given = [
            f".{size}({bits[f'{name}_{wire}']})"
            for size, wire in sizes.items()
            if f"{name}_{wire}" in bits and kind == "axi_stream_if"
        ]
        lines.append(
            f"  {kind} #({', '.join(given)}) {name}();" if given else f"  {kind} {name}();"
        )
        pins.append(name)
    rest = [one for one in design.ports if not any(one[0].startswith(f"{n}_") for n in pins)]
    lines += [f"  logic [{width - 1}:0] {name};" for name, _, width in rest]
    pins += [name for name, _, _ in rest]
    joined = ", ".join(f".{name}({name})" for name in pins)
    return "\n".join(
        ["module top;", *lines, f"  {design.name}_wrapper w({joined});", "endmodule\n"]
    )


@EACH
def test_fields_of_headers_are_where_the_manifest_has_them(level: str) -> None:
    design = design_of(level)
    fields = header_fields()
    for kind in ("phase", "unicast", "handshake"):
        body = re.search(rf"packed {{\n((?:    .*\n)*?)  }} {kind}_header_t;", package(design))
        assert body
        low, found = HEADER_BITS, dict[str, list[int]]()
        for high, name in re.findall(r"logic (?:\[(\d+):0\] )?(\w+);", body[1]):
            width = int(high or 0) + 1
            low -= width
            found[name] = [low, width]
        assert low == 0
        named = {
            name.rstrip("_"): place
            for name, place in found.items()
            if not name.startswith("reserved")
        }
        assert named.items() <= fields.items()
        assert {"kind", "circuit", "credit_limit"} <= named.keys()


@EACH
def test_numbers_of_circuits_are_those_in_headers(level: str) -> None:
    design = design_of(level)
    found = re.findall(r"CIRCUIT_(\w+) = 4'd(\d+)", package(design))
    assert {name.lower(): int(number) for name, number in found} == design.spec.protocol.circuits
    assert design.spec.protocol.circuits["control"] == CONTROL
