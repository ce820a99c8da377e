"""SystemVerilog assertions on what an integrator must keep, and the file that binds them."""

import re

from fred_hw.spec import SwitchSpec
from gen.any_design import AnyDesign
from gen.assertion import Assertion, assertion_module
from gen.level import LEVELS
from gen.link_assertions import link_module, observed_ports
from gen.ports import Port, instance
from gen.register_assertions import register_assertions

from .companion import COMPANIONS, Companion

__all__ = ["assertions", "bind_file"]

_LEVELS = ("switch", "endpoint")

_READS = {"s_axis_data": "m_axis_read", "s_axis_operand_data": "m_axis_operand_read"}
"""Streams of data from memory, and those of the addresses that request the data."""

_WORD = re.compile(r"\w+")


def assertions(design: AnyDesign) -> str:
    """Return modules with the assertions of a design's ports; the last one is to be bound."""
    body, rules = _checks(design)
    return "\n".join(
        [
            f"// Rules for the surroundings of {design.name}; {design.name}_bind.sv binds them.",
            "// Several modules stand in one file, and some bits of ports matter to no rule.",
            "// verilator lint_off DECLFILENAME",
            "// verilator lint_off UNUSEDSIGNAL",
            link_module(_link(design), design.spec),
            assertion_module(_top(design), _observed(design), body, rules),
        ]
    )


def bind_file(design: AnyDesign) -> str:
    """Return the directive that binds the assertions to every instance of a design."""
    pins = {name: name for name, _, _ in _observed(design)}
    return "\n".join([f"bind {design.name}", *instance(_top(design), "assertions", pins), ""])


def _top(design: AnyDesign) -> str:
    return f"{design.name}_sva"


def _link(design: AnyDesign) -> str:
    return f"{design.name}_link_sva"


def _checks(design: AnyDesign) -> tuple[list[str], list[Assertion]]:
    """Return declarations and assertions of the module to bind."""
    of_registers = LEVELS[design.level].registers
    assert of_registers is not None
    body, rules = register_assertions(of_registers(design.spec))
    names = [name for name, _, _ in design.ports]
    for stream, request in _READS.items():
        if f"{stream}_tvalid" in names:
            body += _pending(stream, request)
            rules += _memory_rules(stream)
    for name in names:
        if name.startswith("s") and name.endswith("_axis_tuser"):
            body.append(_of_link(_link(design), name.removesuffix("_tuser"), design.spec))
    return body, [*rules, *_session_rules()]


def _observed(design: AnyDesign) -> list[Port]:
    """Return the ports that the assertions need."""
    body, rules = _checks(design)
    used = {"clk", "rst"} | set(_WORD.findall(" ".join([*body, *(one.rule for one in rules)])))
    return [port for port in design.ports if port[0] in used]


def _of_link(module: str, stream: str, spec: SwitchSpec) -> str:
    """Return the instance of the checks of one link, named after the link."""
    pins: dict[str, str] = {}
    for name, _, _ in observed_ports(spec.data_width):
        side, _, wire = name.partition("_")
        pins[name] = f"{side}{stream[1:]}_{wire}" if wire else name
    return "\n".join(instance(module, stream, pins))


def _pending(stream: str, request: str) -> list[str]:
    """Return the number of flits that memory has yet to return."""
    return [
        f"  logic [15:0] {stream}_pending;",
        f"  wire {stream}_asked = {request}_tvalid && {request}_tready;",
        f"  wire {stream}_came = {stream}_tvalid && {stream}_tready;",
        "  always_ff @(posedge clk)",
        f"    if (rst) {stream}_pending <= '0;",
        f"    else {stream}_pending <= {stream}_pending + 16'({stream}_asked)",
        f"      - 16'({stream}_came);",
    ]


def _memory_rules(stream: str) -> list[Assertion]:
    return [
        Assertion(
            f"{stream}_stable",
            f"$past(!rst && {stream}_tvalid && !{stream}_tready) |-> "
            f"{stream}_tvalid && $stable({stream}_tdata)",
            "tvalid and tdata must stay until tready",
        ),
        Assertion(
            f"{stream}_requested",
            f"{stream}_tvalid |-> {stream}_pending != '0 || {stream}_asked",
            "memory must return one flit for each address",
        ),
    ]


def _session_rules() -> list[Assertion]:
    return [
        Assertion(
            "session_id_constant",
            "$past(!rst) |-> $stable(session_id)",
            "session_id must be constant between resets",
        ),
    ]


COMPANIONS.add("assertions", Companion(".sva", assertions, levels=_LEVELS), rank=9)
COMPANIONS.add(
    "bind file of the assertions", Companion("_bind.sv", bind_file, levels=_LEVELS), rank=10
)
