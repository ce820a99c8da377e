"""Two endpoints on one link, with memories and programs, in Icarus: when flits cross."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.protocol import HEADER_FIELDS, KINDS
from fred_hw.spec import SwitchSpec
from gen.design import generate
from testbench.sim.kept import kept

from .fabric import (
    MODELS,
    NEVER,
    Finished,
    Flits,
    Program,
    Sizes,
    axil_pins,
    compiled,
    driver,
    finished,
    memory,
    memory_pins,
    write_memories,
    write_steps,
)

__all__ = ["PairRun", "build_pair", "run_pair"]


@dataclass(frozen=True)
class PairRun:
    """What came out of a run.

    Parameters
    ----------
    finished : Finished
        Memories, and what drivers have read, when.
    crossed : list of dict of str to list of int
        For each endpoint and kind of flit, when one left for the link [cycles].
    """

    finished: Finished
    crossed: list[dict[str, list[int]]]


def _bench(spec: SwitchSpec, size: Sizes, top: str) -> str:
    """Return the module around both."""
    bits, width = spec.data_width, spec.data_width + 88
    kind = HEADER_FIELDS["kind"]
    lines = [
        "module fabric (input clk);",
        f"  reg [31:0] now = 0, asked = {NEVER}; wire [1:0] ended, asks; integer log;",
        "  reg [31:0] stalls = 0, limit = 0, seed0 = 1, seed1 = 2;",
        '  initial if ($value$plusargs("limit=%d", limit)) ;',
        '  initial log = $fopen("crossed.txt");',
        "  wire rst = now < 8;",
    ]
    for k in range(2):
        lines += driver(f"n{k}", k, "rst", "0", endpoint_map(spec).address_bits)
        lines += memory(k, bits, size, "rst")
        lines += [
            f"  wire v{k}, w{k}; wire [{width - 1}:0] f{k}, g{k};",
            (
                f"  line #(.WIDTH({width}), .CYCLES({size.link_cycles})) line{k} (.clk(clk), "
                f".faults(32'd0), .seed(32'd1), .valid(v{k}), .flit(f{k}), .out_valid(w{k}), "
                f".out_flit(g{k}));"
            ),
            (
                f"  {top} n{k} (.clk(clk), .rst(rst), .incarnation(8'd{k + 1}), .irq(), "
                f".s_axis_tvalid(w{1 - k}), .s_axis_tready(), .s_axis_tlast(1'b0), "
                f".s_axis_tuser(g{1 - k}[{width - 1}:{bits}]), "
                f".s_axis_tdata(g{1 - k}[{bits - 1}:0]), "
                f".m_axis_tvalid(v{k}), .m_axis_tready(1'b1), .m_axis_tlast(), "
                f".m_axis_tuser(f{k}[{width - 1}:{bits}]), .m_axis_tdata(f{k}[{bits - 1}:0]), "
                f"{memory_pins(k)}, {axil_pins(f'n{k}')});"
            ),
            f"  wire [{kind.bits - 1}:0] kind{k} = f{k}[{bits + kind.low} +: {kind.bits}];",
        ]
    lines += [
        "  always @(posedge clk) begin",
        "    now <= now + 1;",
        *(f'    if (!rst && v{k}) $fwrite(log, "{k} %0d %0d\\n", kind{k}, now);' for k in (0, 1)),
        "    if (&ended) begin",
        *(f'      $writememh("result_{k}.hex", memory{k}.words);' for k in range(2)),
        '      $display("ENDED %0d", now); $finish;',
        "    end",
        '    if (now > limit) begin $display("LATE %b", ended); $finish; end',
        "  end",
        "endmodule",
        "module main; reg clk = 0; always #5 clk = ~clk; fabric fabric (clk); endmodule",
    ]
    return "\n".join(lines) + "\n"


def build_pair(spec: SwitchSpec, size: Sizes) -> Path:
    """Return two compiled endpoints, joined by a link.

    Raises
    ------
    SimulatorError
        Icarus is not installed, or could not build.
    """
    endpoint = kept(generate, spec, level="endpoint")
    bench = _bench(spec, size, endpoint.name)
    return compiled("pair", endpoint.verilog + MODELS.read_text() + bench)


def run_pair(
    model: Path,
    spec: SwitchSpec,
    programs: Sequence[Program],
    memories: Sequence[Flits],
    work: Path,
    limit: int = 20_000,
) -> PairRun:
    """Simulate until both programs have ended.

    Parameters
    ----------
    model : Path
        From ``build_pair``.
    spec : SwitchSpec
        Sizes.
    programs, memories : sequence
        What the driver of each does, and what its memory begins with, shape (flits, bytes).
    work : Path
        Folder for files of the run.
    limit : int
        Cycles after which it has failed.

    Raises
    ------
    SimulatorError
        The run did not end well.
    """
    work.mkdir(parents=True, exist_ok=True)
    write_steps(work, [one.steps for one in programs])
    write_memories(work, memories)
    done = finished(model, spec, 2, {"limit": limit}, work)
    crossed: list[dict[str, list[int]]] = [{name: [] for name in KINDS} for _ in range(2)]
    for line in (work / "crossed.txt").read_text().splitlines():
        node, kind, now = map(int, line.split())
        crossed[node][KINDS[kind]].append(now)
    return PairRun(done, crossed)
