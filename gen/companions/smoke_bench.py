"""Self-checking Verilog bench for a first simulation in any simulator."""

from collections.abc import Iterator, Sequence

from fred_hw.compiler.configuration import Configuration
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route
from fred_hw.control.registers import RegisterMap
from fred_hw.formats.number_format import FORMATS
from fred_hw.link.axis import AXIS_FORTH
from fred_hw.pruning import needed_results
from fred_hw.spec import SwitchSpec
from gen.any_design import AnyDesign
from gen.level import LEVELS
from gen.ports import bit_range, instance

from .companion import COMPANIONS, Companion

__all__ = ["SMOKE_FILESET", "smoke_bench"]

SMOKE_FILESET = "bench"
"""Fileset of the FuseSoC core that holds the bench; the target ``sim`` reads it."""

_LIMIT = 1_000
"""Cycles within which a register must answer, or a packet arrive."""


def smoke_bench(design: AnyDesign) -> str:
    """Return a Verilog-2005 bench that prints ``PASS`` or ``FAIL`` and ends.

    An interconnect gets a multicast from port 0 and a reduction of all ports, whose results need no
    golden model: the operands are one number and zeros, or equal numbers. An interconnect for some
    configurations only gets two of these. A terminator sends itself
    a packet. Of other levels the bench reads the registers that hold constants, over AXI4-Lite.
    """
    registers = LEVELS[design.level].registers
    if registers is not None:
        checks = _constants(registers(design.spec))
    else:
        checks = _loop(design) if design.level == "terminator" else _flows(design)
    return "\n".join([*_head(design), *checks, *_end(design)]) + "\n"


def _head(design: AnyDesign) -> list[str]:
    inputs = [
        (name, bits)
        for name, direction, bits in design.ports
        if direction == "input" and name != "clk"
    ]
    outputs = [(name, bits) for name, direction, bits in design.ports if direction == "output"]
    return [
        f"// Smoke test of {design.name}; `fred sim` runs the full verification.",
        f"module {design.name}_tb;",
        "  reg clk = 0;",
        *(f"  reg {bit_range(bits)}{name} = {int(name == 'rst')};" for name, bits in inputs),
        *(f"  wire {bit_range(bits)}{name};" for name, bits in outputs),
        "  integer failures = 0;",
        *instance(design.name, "dut", {name: name for name, _, _ in design.ports}),
        "  always #1 clk = !clk;",
    ]


def _end(design: AnyDesign) -> list[str]:
    return [
        f'    if (failures == 0) $display("PASS {design.name}");',
        f'    else $display("FAIL {design.name}: %0d mismatches", failures);',
        "    $finish;",
        "  end",
        "endmodule",
    ]


def _start() -> list[str]:
    """Return the start of the program; all inputs change at falling clock edges."""
    return ["  initial begin", "    repeat (4) @(negedge clk);", "    rst = 0;"]


def _flows(design: AnyDesign) -> list[str]:
    spec = design.spec
    every = range(spec.ports)
    width, lanes = spec.data_width, spec.lanes
    below = FORMATS[spec.format].padding_below
    word = sum(
        (k % 7 + 1) << (k * width // lanes + below) for k in range(lanes)
    )  # small, so that sums are exact
    others = 0 if spec.operation == "sum" else word
    lines = [
        f"  task check(input [{spec.ports - 1}:0] valid, input [8*12-1:0] what);",
        "    begin",
        *(
            f"      if (o__{k}__valid !== valid[{k}]"
            f" || (valid[{k}] && o__{k}__data !== {width}'h{word:x}))"
            f' begin failures = failures + 1; $display("port {k}: wrong after %0s", what); end'
            for k in every
        ),
        "    end",
        "  endtask",
        *_start(),
    ]
    for name, flows, found in _cases(spec):
        operands = {
            k: others if place else word for flow in flows for place, k in enumerate(flow.inputs)
        }
        ends = sum(1 << k for flow in flows for k in flow.outputs)
        bits = next(bits for port, _, bits in design.ports if port == "configuration")
        lines += [
            "    @(negedge clk);",
            f"    configuration = {bits}'h{found.pack():x};",
            *(
                f"    i__{k}__valid = 1; i__{k}__data = {width}'h{value:x};"
                for k, value in operands.items()
            ),
            "    @(negedge clk);",
            *(f"    i__{k}__valid = 0;" for k in operands),
            f"    repeat ({design.latency_cycles - 1}) begin",
            f'      check(0, "{name}");',
            "      @(negedge clk);",
            "    end",
            f'    check({spec.ports}\'h{ends:x}, "{name}");',
            "    @(negedge clk);",
            f'    check(0, "{name}");',
        ]
    return lines


def _cases(spec: SwitchSpec) -> Iterator[tuple[str, Sequence[Flow], Configuration]]:
    """Yield name, flows and configuration of what an interconnect is to do."""
    if spec.only is not None:
        results = needed_results(spec).values()
        largest = sorted(results, key=lambda one: sum(len(flow.inputs) for flow in one.flows))
        for result in largest[-2:]:
            assert result.configuration is not None
            yield "needed", result.flows, result.configuration
        return
    every = range(spec.ports)
    for name, flow in (("multicast", Flow([0], every)), ("reduction", Flow(every, every))):
        found = route([flow], spec.ports, spec.middle_switches).configuration
        assert found is not None, "one flow alone is always routed"
        yield name, [flow], found


def _loop(design: AnyDesign) -> list[str]:
    """Return a program for a terminator whose link returns to it."""
    flits, stream = min(3, design.spec.protocol.packet_flits), "axis_mp"
    return [
        "  integer taken = 0, came = 0, waited = 0;",
        "  always @(negedge clk) begin",
        "    m_axis_tready = 1;",
        *(f"    s_axis_{wire} = m_axis_{wire};" for wire in AXIS_FORTH),
        f"    m_{stream}_tready = 1;",
        f"    s_{stream}_tvalid = !rst && taken < {flits};",
        f"    s_{stream}_tdata = taken + 1;",
        f"    s_{stream}_tlast = taken == {flits - 1};",
        "  end",
        "  always @(posedge clk) if (!rst) begin",
        f"    if (s_{stream}_tvalid && s_{stream}_tready) taken <= taken + 1;",
        f"    if (m_{stream}_tvalid && m_{stream}_tready) begin",
        f"      if (m_{stream}_tdata !== came + 1",
        f"          || m_{stream}_tlast !== (came == {flits - 1})) begin",
        "        failures = failures + 1;",
        f'        $display("flit %0d: %h", came, m_{stream}_tdata);',
        "      end",
        "      came <= came + 1;",
        "    end",
        "  end",
        *_start(),
        f"    while ((came < {flits} || idle !== 7) && waited < {_LIMIT})",
        "      begin @(negedge clk); waited = waited + 1; end",
        f"    if (came !== {flits} || idle !== 7) begin",
        "      failures = failures + 1;",
        f'      $display("%0d of {flits} flits arrived", came);',
        "    end",
    ]


def _constants(registers: RegisterMap) -> list[str]:
    lines = [
        "  integer waited;",
        "  task check(input [31:0] address, input [31:0] expected);",
        "    begin",
        "      s_axil_araddr = address; s_axil_arvalid = 1; s_axil_rready = 1; waited = 0;",
        f"      while (!s_axil_arready && waited < {_LIMIT})",
        "        begin @(negedge clk); waited = waited + 1; end",
        "      @(negedge clk);",
        "      s_axil_arvalid = 0;",
        f"      while (!s_axil_rvalid && waited < {_LIMIT})",
        "        begin @(negedge clk); waited = waited + 1; end",
        "      if (s_axil_rvalid !== 1 || s_axil_rdata !== expected) begin",
        "        failures = failures + 1;",
        '        $display("register %h: %h, not %h", address, s_axil_rdata, expected);',
        "      end",
        "      @(negedge clk);",
        "    end",
        "  endtask",
        *_start(),
        "    @(negedge clk);",
    ]
    for one in registers.registers:
        if all(field.access == "constant" for field in one.fields) and one.count is None:
            value = sum(field.value << field.low for field in one.fields)
            lines.append(f"    check(32'h{one.address:x}, 32'h{value:08x}); // {one.name}")
    return lines


COMPANIONS.add(
    "smoke test",
    Companion(
        "_tb.v",
        smoke_bench,
        levels=("interconnect", "switch", "endpoint", "terminator"),
        fileset=SMOKE_FILESET,
        file_type="verilogSource-2005",
    ),
    rank=8,
)
