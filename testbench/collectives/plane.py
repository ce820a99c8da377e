"""A wafer plane with memories, links and programs, in Icarus."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.ace.operations import Descriptor
from fred_hw.ace.steps import EndpointProgram, Step
from fred_hw.control.switch_map import switch_map
from fred_hw.link.axis import USER_BITS
from fred_hw.spec import SwitchSpec
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.spec import CONTROLLERS, WaferSpec
from gen.design import generate
from gen.wafer_top import modules_of, wafer_top
from testbench.sim.kept import kept

from .bench_text import MODELS, axil_pins, bench_begin, bench_end, driver, memory, memory_pins
from .fabric import (
    ALL_BITS,
    Finished,
    Flits,
    Sizes,
    compiled,
    finished,
    write_memories,
    write_steps,
)

__all__ = [
    "LEAST",
    "MARK",
    "RESET",
    "SHOW",
    "STEP_CYCLES",
    "UNTIL",
    "WAIT",
    "WRITE",
    "Code",
    "PlaneRun",
    "bench",
    "build_plane",
    "codes",
    "line_text",
    "npu_steps",
    "options_of",
    "preempted",
    "run_plane",
    "write_programs",
]

_STEPS = 4096
WAIT, WRITE, UNTIL, SHOW = range(4)
MARK, LEAST, RESET = 7, 8, 9
"""Driver commands; see ``fabric.v``, and for RESET of compiled fabrics ``joined.cpp``."""

STEP_CYCLES = 6
"""Most cycles of a driver for a register write that is not blocked."""

Code = tuple[int, int, int, int]
"""A step of a driver: command, address, value and mask."""


@dataclass(frozen=True, kw_only=True)
class PlaneRun:
    """Inputs of a run on a plane or on another fabric with endpoints.

    Parameters
    ----------
    program : EndpointProgram
        Program for the switches.
    steps : Sequence of Sequence
        Steps of the driver of each endpoint, see ``npu_steps``.
    memories : Sequence of array of bytes
        Contents of each endpoint's memory at the beginning, shape (flits, bytes of a flit).
    faults : int
        Faults in a million flits of a link.
    memory_stalls : int
        Percentage of cycles in which the memory takes nothing.
    behind : mapping of int to Sequence
        Steps of a switch's driver after its program, by the switch's number.
    limit : int
        Cycles after which a run has failed.
    seed : int
        Seed of faults and stalls.
    """

    program: EndpointProgram
    steps: Sequence[Sequence[Code]]
    memories: Sequence[Flits]
    faults: int = 0
    memory_stalls: int = 0
    behind: Mapping[int, Sequence[Code]] = field(default_factory=dict)
    limit: int = 100_000
    seed: int = 1


def codes(steps: Sequence[Step]) -> list[Code]:
    """Return the steps of a program as driver commands."""
    return [(UNTIL if one.mask else WRITE, one.address, one.value, one.mask) for one in steps]


def npu_steps(
    program: EndpointProgram,
    npu: int,
    jobs: Sequence[tuple[int, Descriptor]],
    ready: int,
    before: Sequence[Code] = (),
    behind: Sequence[Code] = (),
    entries: Mapping[str, int] | None = None,
) -> list[Code]:
    """Return the driver steps of an endpoint.

    Parameters
    ----------
    program : EndpointProgram
        The fabric's.
    npu : int
        Number of the endpoint.
    jobs : sequence of (int, Descriptor)
        Cycles to wait, and what is queued then.
    ready : int
        Cycles until routes and phases are written.
    before, behind : sequence of Code
        What it does before it queues jobs, and when all are queued.
    entries : mapping of str to int
        Descriptors of each virtual channel that are completed beside the jobs.
    """
    steps = [*codes(program.begin_steps(npu)), (WAIT, 0, ready, 0), *before]
    names = program.link.protocol.channels.names
    count: dict[str, int] = dict.fromkeys(names, 0) | dict(entries or {})
    for wait, descriptor in jobs:
        steps += [(WAIT, 0, wait, 0)] if wait else []
        steps += codes(program.descriptor_steps(descriptor))
        count[descriptor.circuit] += 1
    steps += behind
    for name, jobs_of in count.items():
        steps.append((UNTIL, program.completed(name), jobs_of, ALL_BITS))
    error = endpoint_map(program.link).register("ERROR").address
    return [*steps, (SHOW, error, 0, 0)]


def preempted(spec: SwitchSpec) -> Code:
    """Return the driver step that waits until a switch has counted a preemption."""
    return (LEAST, switch_map(spec).register("PREEMPTIONS").address, 1, ALL_BITS)


_LINE = """
module wafer_link #(parameter BITS = 8, NUMBER = 0, PACE = 1) (
  input clk,
  input [BITS-1:0] s_axis_tdata, input s_axis_tvalid, output s_axis_tready, input s_axis_tlast,
  input [@USER@-1:0] s_axis_tuser,
  output [BITS-1:0] m_axis_tdata, output m_axis_tvalid, input m_axis_tready, output m_axis_tlast,
  output [@USER@-1:0] m_axis_tuser
);
  reg [31:0] faults = 0, seed = 1, busy = 0; // for so many cycles it takes no flit
  assign s_axis_tready = busy == 0;
  wire taken = s_axis_tvalid && s_axis_tready;
  always @(posedge clk) busy <= taken === 1'b1 ? PACE - 1 : busy == 0 ? 0 : busy - 1;
  initial if ($value$plusargs("faults=%d", faults)) ;
  initial if ($value$plusargs("seed=%d", seed)) ;
  line #(.WIDTH(BITS + @USER@), .CYCLES(@CYCLES@)) line (.clk(clk), .faults(faults),
    .seed(seed + NUMBER * 7919), .valid(taken), .flit({s_axis_tuser, s_axis_tdata}),
    .out_valid(m_axis_tvalid), .out_flit({m_axis_tuser, m_axis_tdata}));
  assign m_axis_tlast = 1'b0;
endmodule
"""


def bench(
    top: str, link: SwitchSpec, ends: Sequence[str], slaves: Sequence[tuple[str, int]], size: Sizes
) -> str:
    """Return the module around a fabric with endpoints.

    Parameters
    ----------
    top : str
        Instance of the fabric up to its pins, without those of endpoints, other slaves, ``clk``,
        ``rst`` and ``session_id``, and with a comma behind those that it has.
    link : SwitchSpec
        Specification of the endpoints.
    ends : sequence of str
        Name of each endpoint, such as ``npu0``, the prefix of its pins.
    slaves : sequence of (str, int)
        Prefix of each other unit with registers, and bits of its addresses.
    size : Sizes
        Memories.
    """
    units = len(ends) + len(slaves)
    lines = [*bench_begin(units, {"stalls": 0, "limit": 0}), "  wire rst = now < 8;"]
    pins = [".clk(clk)", ".rst(rst)", ".session_id(8'd9)"]
    for k, end in enumerate(ends):
        lines += [f"  reg [31:0] seed{k} = {k + 1};"]
        lines += driver(f"d{k}", k, "rst", "0", endpoint_map(link).address_bits, _STEPS)
        lines += memory(link, k, "rst", depth=size.flits, cycles=size.memory_cycles)
        name = f"{end}_"
        pins += [memory_pins(link, k, name), axil_pins(f"d{k}", name), f".{name}irq()"]
    for number, (prefix, address_bits) in enumerate(slaves, len(ends)):
        lines += driver(f"d{number}", number, "rst", "0", address_bits, _STEPS)
        pins += [axil_pins(f"d{number}", f"{prefix}_"), f".{prefix}_irq()"]
    drivers = [f"d{k}" for k in range(units)]
    return "\n".join([*lines, f"  {top}", ",\n".join(pins), "  );", bench_end(len(ends), drivers)])


def line_text(size: Sizes) -> str:
    """Return the module ``wafer_link``, a link direction with delay, and its dependencies."""
    line = _LINE.replace("@CYCLES@", str(size.link_cycles)).replace("@USER@", str(USER_BITS))
    return MODELS.read_text() + line


def _plane_bench(wafer: WaferSpec, size: Sizes) -> str:
    """Return the module around a plane."""
    plane = Plane(wafer)
    pins = []
    for address in range(wafer.endpoints, plane.addresses):
        pins += [f".io{address}_s_axis_{w}(0), " for w in ("tdata", "tvalid", "tlast")]
        pins += [f".io{address}_s_axis_tuser({USER_BITS}'d0), .io{address}_m_axis_tready(1'b1),\n"]
    slaves = [(one.name, switch_map(one.spec).address_bits) for one in plane.units]
    top = f"{wafer.name} plane ({''.join(pins)}"
    ends = [plane.end_name(address) for address in range(wafer.endpoints)]
    return bench(top, wafer.link, ends, slaves, size)


def build_plane(wafer: WaferSpec, size: Sizes) -> Path:
    """Return a compiled plane: the generated top, with delay lines in its links.

    Raises
    ------
    SimulatorError
        Icarus is not installed, or could not build.
    """
    # I/O controllers change only the top module, so the units are generated once for both.
    usual = wafer.with_changes(controllers=CONTROLLERS[0])
    modules = modules_of(usual)
    assert modules == modules_of(wafer)
    design = kept(generate, usual, level="wafer")
    units = design.verilog.removesuffix(wafer_top(Plane(usual), modules))
    top = wafer_top(Plane(wafer), modules, "wafer_link")
    return compiled("plane", units + top + line_text(size) + _plane_bench(wafer, size))


def write_programs(work: Path, run: PlaneRun) -> None:
    """Write the programs of all drivers: endpoints, then other units."""
    own = enumerate(run.program.unit_steps())
    units = [[*codes(one), *run.behind.get(number, ())] for number, one in own]
    write_steps(work, [*run.steps, *units], _STEPS)


def options_of(run: PlaneRun) -> dict[str, int]:
    """Return the command line options of a run."""
    plusargs = {"faults": run.faults, "stalls": run.memory_stalls, "limit": run.limit}
    return {**plusargs, "seed": random.Random(run.seed).randrange(1, 1 << 30)}


def run_plane(model: Path, run: PlaneRun, work: Path) -> Finished:
    """Simulate until all programs have ended.

    Raises
    ------
    SimulatorError
        The run did not end well.
    """
    work.mkdir(parents=True, exist_ok=True)
    write_programs(work, run)
    write_memories(work, run.memories)
    return finished(model, run.program.link, run.program.endpoints, options_of(run), work)
