"""Verilog of benches around endpoints: pins, start and end of a run.

The modules are those of ``fabric.v``.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from amaranth.hdl import Shape

from fred_hw.control.axi_lite import PREFIX, axi_lite_members
from fred_hw.link.axis import USER_BITS
from fred_hw.spec import SwitchSpec

__all__ = [
    "AXIL_TIED",
    "AXIL_WIRES",
    "MODELS",
    "NEVER",
    "STEPS",
    "axil_pins",
    "bench_begin",
    "bench_end",
    "driver",
    "endpoint",
    "known",
    "known_link",
    "known_memory",
    "known_slave",
    "link_line",
    "link_pins",
    "memory",
    "memory_pins",
    "plusargs",
]

MODELS = Path(__file__).with_name("fabric.v")
"""Memories, links and drivers in Verilog."""

STEPS = 256
"""Of a program, its end too, where nothing else is said."""

NEVER = 1 << 30
"""A cycle that does not come."""

AXIL_TIED = {"awprot": 0, "arprot": 0, "wstrb": 15, "bready": 1, "rready": 1}
"""Inputs of a slave of AXI4-Lite that never change here."""

AXIL_WIRES = tuple(
    name for one in axi_lite_members(1) if (name := one.removeprefix(PREFIX)) not in AXIL_TIED
)
"""The other wires of a slave, which a driver is at."""


def plusargs(defaults: Mapping[str, int]) -> list[str]:
    """Return numbers that the command line of a run may set."""
    return [f"  reg [31:0] {name} = {value};" for name, value in defaults.items()] + [
        f'  initial if ($value$plusargs("{name}=%d", {name})) ;' for name in defaults
    ]


def bench_begin(units: int, defaults: Mapping[str, int]) -> list[str]:
    """Return how the module around units with drivers begins, with plusargs."""
    return [
        "module fabric (input clk);",
        f"  reg [31:0] now = 0, asked = {NEVER}; wire [{units - 1}:0] ended, asks;",
        *plusargs(defaults),
    ]


def bench_end(memories: int, drivers: Sequence[str], edge: Sequence[str] = ()) -> str:
    """Return how it ends: when all programs have, or when that is late.

    Parameters
    ----------
    memories : int
        Those that are written to files then.
    drivers : sequence of str
        Names, as ``driver`` has them.
    edge : sequence of str
        What else happens in each cycle.
    """
    late = r'$display("{\"late\": [%0d, %0d]}"'
    lines = [
        "  always @(posedge clk) begin",
        "    now <= now + 1;",
        *edge,
        "    if (&ended) begin",
        *(f'      $writememh("result_{k}.hex", memory{k}.words);' for k in range(memories)),
        r'      $display("{\"ended\": %0d}", now); $finish;',
        "    end else if (now > limit) begin",
        *(
            f"      if (!ended[{k}]) {late}, {k}, {one}_driver.at);"
            for k, one in enumerate(drivers)
        ),
        "      $finish;",
        "    end",
        "  end",
        "endmodule",
        "module main; reg clk = 0; always #5 clk = ~clk; fabric fabric (clk); endmodule",
    ]
    return "\n".join(lines) + "\n"


def _axil_widths(address_bits: int) -> dict[str, int]:
    """Return the bits of each wire of a slave."""
    return {
        name.removeprefix(PREFIX): Shape.cast(member.shape).width
        for name, member in axi_lite_members(address_bits).items()
    }


def driver(name: str, node: int, rst: str, label: str, bits: int, length: int = STEPS) -> list[str]:
    """Return the driver of a slave and its wires, with space for so many steps."""
    widths = _axil_widths(bits)
    lines = [f"  wire [{widths[wire] - 1}:0] {name}_{wire};" for wire in AXIL_WIRES]
    pins = ", ".join(f".{wire}({name}_{wire})" for wire in AXIL_WIRES)
    return [
        *lines,
        (
            f"  driver #(.LENGTH({length}), .NODE({node}), .BITS({bits})) "
            f"{name}_driver (.clk(clk), .rst({rst}), .label({label}), "
            f".ended(ended[{node}]), .asks(asks[{node}]), .begun(asked != {NEVER}), {pins});"
        ),
        f'  initial $readmemh("program_{node}.hex", {name}_driver.steps);',
    ]


def axil_pins(name: str, prefix: str = "") -> str:
    """Return the pins of a slave, which a driver is at; those of a top have a prefix."""
    widths = _axil_widths(1)
    tied = {wire: f"{widths[wire]}'d{value}" for wire, value in AXIL_TIED.items()}
    driven = {wire: f"{name}_{wire}" for wire in AXIL_WIRES}
    return ", ".join(f".{prefix}{PREFIX}{w}({value})" for w, value in (driven | tied).items())


def _memory_wires(ports: int) -> dict[str, dict[str, str]]:
    """Return the streams between an endpoint and its memory: wires of each, by their pins.

    Of a memory with one port to read those of the second port are not there.
    """
    wires = {
        "m_axis_read": {"tvalid": "rv", "tready": "rr", "tdata": "ra"},
        "s_axis_data": {"tvalid": "dv", "tready": "dr", "tdata": "dd"},
        "m_axis_write": {"tvalid": "wv", "tready": "wr", "tdata": "wd", "tuser": "wa"},
        "m_axis_operand_read": {"tvalid": "ov", "tready": "or_", "tdata": "oa"},
        "s_axis_operand_data": {"tvalid": "pv", "tready": "pr", "tdata": "pd"},
    }
    return {name: pins for name, pins in wires.items() if ports == 2 or "operand" not in name}


def memory(spec: SwitchSpec, k: int, rst: str, *, depth: int, cycles: int) -> list[str]:
    """Return the memory of an endpoint and its wires; ``stalls`` and ``seed<k>`` are there."""
    bits = spec.data_width
    shift = (bits // 8 - 1).bit_length()
    second = {"read_valid": "1'b0", "read_ready": "", "read_address": "40'd0"}
    second |= {"data_valid": "", "data_ready": "1'b0", "data": ""}
    if spec.endpoint.read_ports == 2:
        wires = ("ov", "or_", "oa", "pv", "pr", "pd")
        second = {name: f"{wire}{k}" for name, wire in zip(second, wires, strict=True)}
    operand = ", ".join(f".operand_{name}({wire})" for name, wire in second.items())
    return [
        f"  wire rv{k}, rr{k}, dv{k}, dr{k}, wv{k}, wr{k}; wire [39:0] ra{k}, wa{k};",
        f"  wire ov{k}, or_{k}, pv{k}, pr{k}; wire [39:0] oa{k};",
        f"  wire [{bits - 1}:0] dd{k}, wd{k}, pd{k};",
        (
            f"  memory #(.BITS({bits}), .SHIFT({shift}), .DEPTH({depth}), "
            f".CYCLES({cycles})) memory{k} (.clk(clk), .rst({rst}), .stalls(stalls), "
            f".seed(seed{k}), .read_valid(rv{k}), .read_ready(rr{k}), "
            f".read_address(ra{k}), .data_valid(dv{k}), .data_ready(dr{k}), .data(dd{k}), "
            f"{operand}, "
            f".write_valid(wv{k}), .write_ready(wr{k}), .write_address(wa{k}), .write_data(wd{k}));"
        ),
        f'  initial $readmemh("memory_{k}.hex", memory{k}.words);',
    ]


def known(rst: str, streams: Mapping[str, tuple[str, int]]) -> list[str]:
    """Return what watches streams that leave a unit: payload and its bits, by the wire of valid."""
    return [
        f"  known #(.WIDTH({bits})) {valid}_known (.clk(clk), .rst({rst}), .valid({valid}), "
        f".payload({payload}));"
        for valid, (payload, bits) in streams.items()
    ]


def known_link(name: str, bits: int) -> dict[str, tuple[str, int]]:
    """Return the flits of a unit that go on a ``link_line``."""
    return {f"{name}_v": (f"{name}_f", bits + USER_BITS)}


def known_memory(spec: SwitchSpec, k: int) -> dict[str, tuple[str, int]]:
    """Return the reads and writes of the memory of an endpoint."""
    streams = {f"rv{k}": (f"ra{k}", 40), f"wv{k}": (f"{{wa{k}, wd{k}}}", 40 + spec.data_width)}
    return streams | ({f"ov{k}": (f"oa{k}", 40)} if spec.endpoint.read_ports == 2 else {})


def known_slave(name: str) -> dict[str, tuple[str, int]]:
    """Return the answers of a slave of AXI4-Lite."""
    widths = _axil_widths(1)
    read = f"{{{name}_rresp, {name}_rdata}}", widths["rresp"] + widths["rdata"]
    return {f"{name}_bvalid": (f"{name}_bresp", widths["bresp"]), f"{name}_rvalid": read}


def memory_pins(spec: SwitchSpec, k: int, prefix: str = "") -> str:
    """Return the pins of an endpoint that its memory is at; those of a top have a prefix."""
    return ", ".join(
        f".{prefix}{stream}_{pin}({wire}{k})"
        for stream, pins in _memory_wires(spec.endpoint.read_ports).items()
        for pin, wire in pins.items()
    )


def link_line(name: str, bits: int, cycles: int, *, faults: str, seed: str) -> list[str]:
    """Return a direction of a link, and its wires."""
    width = bits + USER_BITS
    return [
        f"  wire {name}_v, {name}_w; wire [{width - 1}:0] {name}_f, {name}_g;",
        (
            f"  line #(.WIDTH({width}), .CYCLES({cycles})) {name} (.clk(clk), .faults({faults}), "
            f".seed({seed}), .valid({name}_v), .flit({name}_f), .out_valid({name}_w), "
            f".out_flit({name}_g));"
        ),
    ]


def link_pins(number: str, came: str, goes: str, bits: int) -> str:
    """Return the pins of a unit whose flits come on one ``link_line`` and go on another."""
    user, data = f"[{bits + USER_BITS - 1}:{bits}]", f"[{bits - 1}:0]"
    pins = {
        "s": (f"{came}_w", "", "1'b0", f"{came}_g{user}", f"{came}_g{data}"),
        "m": (f"{goes}_v", "1'b1", "", f"{goes}_f{user}", f"{goes}_f{data}"),
    }
    return ", ".join(
        f".{letter}{number}_axis_{wire}({pin})"
        for letter, own in pins.items()
        for wire, pin in zip(("tvalid", "tready", "tlast", "tuser", "tdata"), own, strict=True)
    )


def endpoint(
    top: str, spec: SwitchSpec, k: int, links: tuple[str, str], rst: str, number: str
) -> str:
    """Return endpoint ``n<k>`` with its memory and its driver.

    Parameters
    ----------
    top : str
        The module.
    spec : SwitchSpec
        What it is made of.
    k : int
        Which one.
    links : (str, str)
        The ``link_line`` that flits come on, and that which they go on.
    rst, number : str
        Its reset and its session ID.
    """
    return (
        f"  {top} n{k} (.clk(clk), .rst({rst}), .session_id({number}), .irq(), "
        f"{link_pins('', *links, spec.data_width)}, {memory_pins(spec, k)}, "
        f"{axil_pins(f'n{k}')});"
    )
