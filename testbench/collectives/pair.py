"""Two endpoints on one link in Icarus, with the cycles at which flits cross."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.protocol import HEADER_FIELDS, KINDS
from fred_hw.spec import SwitchSpec
from gen.design import generate
from testbench.sim.kept import kept

from .bench_text import MODELS, bench_begin, bench_end, driver, endpoint, link_line, memory
from .fabric import Finished, Flits, Program, Sizes, compiled, finished, write_memories, write_steps

__all__ = ["PairRun", "build_pair", "run_pair"]


@dataclass(frozen=True)
class PairRun:
    """Result of a run.

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
    """Return the module around both endpoints."""
    bits, kind = spec.data_width, HEADER_FIELDS["kind"]
    lines = [
        *bench_begin(2, {"stalls": 0, "limit": 0, "seed0": 1, "seed1": 2}),
        '  integer log; initial log = $fopen("crossed.txt");',
        "  wire rst = now < 8;",
    ]
    for k in range(2):
        lines += driver(f"n{k}", k, "rst", "0", endpoint_map(spec).address_bits)
        lines += memory(spec, k, "rst", depth=size.flits, cycles=size.memory_cycles)
        lines += link_line(f"line{k}", bits, size.link_cycles, faults="32'd0", seed="32'd1")
        links = f"line{1 - k}", f"line{k}"
        lines += [
            endpoint(top, spec, k, links, "rst", f"8'd{k + 1}"),
            f"  wire [{kind.bits - 1}:0] kind{k} = line{k}_f[{bits + kind.low} +: {kind.bits}];",
        ]
    log = r'$fwrite(log, "%0d %0d %0d\n"'
    edge = [f"    if (!rst && line{k}_v) {log}, {k}, kind{k}, now);" for k in range(2)]
    return "\n".join([*lines, bench_end(2, ["n0", "n1"], edge)])


def build_pair(spec: SwitchSpec, size: Sizes) -> Path:
    """Return two compiled endpoints connected by a link.

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
        Model from ``build_pair``.
    spec : SwitchSpec
        Sizes.
    programs, memories : sequence
        Program of the driver of each, and initial contents of its memory, shape (flits, bytes).
    work : Path
        Folder for files of the run.
    limit : int
        Cycles after which the run has failed.

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
