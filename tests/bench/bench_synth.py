"""Synthesize what the goals of clock and area are about, with three libraries.

Prints a line for each design and library: shortest clock, area, flip-flops, seconds, memory of the
largest process so far, and what it is to have. Clocks are ``GOAL_CLOCKS_NS`` of each library. With
ASAP7 and sky130hd, of ../shared, an adder of FP16 without registers, flat, is to be no worse than
that of the first edition in the flow of today. `demo-8` with four lanes of FP16 is to take less
than 120 s on a quiet machine with effort speed, `l1-12` as it is, 256 lanes, less than 10 minutes
and 8 GB. Returns 1 if a goal is missed. `--only TEXT` runs the rows with this in their name,
`--library NAME` those of one library; one that is not there is left out, with a line. All of it
takes two hours or so.
"""

import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from pathlib import Path

import click

from fred_hw.ace.load_tracker import LoadTracker
from fred_hw.arith.float_add import FloatAdd
from fred_hw.errors import InputError
from fred_hw.formats.fp16 import FP16
from fred_hw.load import load_spec
from gen.emitter import VerilogEmitter
from synth.installed import INSTALLED, library_path
from synth.liberty import Libraries, read_libraries
from synth.synthesis import Source, from_spec, synthesize
from tests.synth.goals import GOAL_CLOCKS_NS

FOLDERS = [root / "shared/data/liberty" for root in Path(__file__).resolve().parents]
SHARED = {"ASAP7": "asap7_*_RVT_TT.lib.gz", "sky130hd": "sky130hd_tt.lib.gz"}


@dataclass(frozen=True)
class Row:
    """A design, how it is mapped, and what it is to have.

    Parameters
    ----------
    name : str
        What it is called.
    source : Callable
        Returns it.
    effort : str
        One of ``synth.mapping.EFFORTS``.
    clock_ns, area_kge : float
        Goals of clock [ns] and area [kGE]; effort ``clock`` is asked for that clock.
    flat : bool
        Whether it is mapped as one module.
    seconds, gigabytes : float
        How long it may take [s], and the most memory of a process [GB].
    """

    name: str
    source: Callable[[], Source]
    effort: str = "speed"
    clock_ns: float = inf
    area_kge: float = inf
    flat: bool = False
    seconds: float = inf
    gigabytes: float = inf


def adder() -> Source:
    """Return the adder alone, which adds and lets nothing pass."""
    unit, emitter = FloatAdd(number_format=FP16, registers=0), VerilogEmitter()
    emitter.add(unit)
    top = f"""
module top(input [15:0] a, b, output [15:0] o);
  {unit.unit_name} adder(.i0(a), .i1(b), .o(o), .second(), .together(2'b11));
endmodule
"""
    return Source("top", emitter.verilog() + top, "adder", {})


def load_tracker() -> Source:
    """Return the load tracker of docs/explanation/fidelity-others.md."""
    sizes = {"npus": (8, 8, 8), "reciprocals": (4, 7, 14), "load_width": 40, "chunk_width": 32}
    unit, emitter = LoadTracker(**sizes), VerilogEmitter()
    emitter.add(unit)
    return Source(unit.unit_name, emitter.verilog(), "load tracker", {})


def design(preset: str, level: str = "interconnect", **changes: object) -> Callable[[], Source]:
    """Return what makes a level of a preset with some changes."""
    return lambda: from_spec(load_spec(preset, changes), level, preset)


FP16_X4 = design("demo-8", lanes=4)
FP32_X4 = design("demo-8", lanes=4, format="fp32", adder_registers="auto")
INT32 = design("demo-8", format="int32", lanes=1, adder_registers=0)
WHOLE = design("l1-12", "switch")
FOUR, TWELVE = (
    design(preset, "switch", format="int8", lanes=1, adder_registers="auto")
    for preset in ("small-4", "l1-12")
)


def clocks(library: str) -> tuple[Row, ...]:
    """Return the designs that are to have the clock of a library, the smallest first."""
    goal_ns = GOAL_CLOCKS_NS[library]
    return (
        Row("switch of 4 ports, INT8 x 1", FOUR, clock_ns=goal_ns),
        Row("interconnect demo-8, FP16 x 4", FP16_X4, clock_ns=goal_ns, seconds=120),
        Row("interconnect demo-8, FP32 x 4", FP32_X4, clock_ns=goal_ns),
        Row("switch of 12 ports, INT8 x 1", TWELVE, clock_ns=goal_ns),
        Row("switch l1-12, FP16 x 256", WHOLE, clock_ns=goal_ns, seconds=600, gigabytes=8),
    )


def adders(area: tuple[float, float], speed: tuple[float, float]) -> tuple[Row, ...]:
    """Return the adder with its goals of area [kGE] and clock [ns], by effort."""
    return (
        Row("adder of FP16", adder, "area", area[1], area[0], flat=True),
        Row("adder of FP16", adder, "speed", speed[1], speed[0], flat=True),
    )


GOALS: dict[str, tuple[Row, ...]] = {
    "nangate45": (
        Row("adder of FP16", adder, "clock", 2.15, 0.90, flat=True),
        Row("adder of FP16", adder, "speed", 1.24, 1.27, flat=True),
        Row("load tracker", load_tracker, "speed", 0.853, 10.0),
        Row("interconnect demo-8, INT32 x 1", INT32, "area", inf, 25.0),
        Row("interconnect demo-8, INT32 x 1", INT32, "clock", 0.5, 30.0),
        Row("interconnect demo-8, FP16 x 4", FP16_X4, "clock", 1.3, 130.0),
        *clocks("nangate45"),
    ),
    "ASAP7": (
        *adders((0.800, 1.829), (1.021, 1.029)),
        Row("interconnect demo-8, INT32 x 1", INT32, "clock", 0.5, 30.0),
        *clocks("ASAP7"),
    ),
    "sky130hd": (*adders((0.812, 10.906), (1.084, 5.058)), *clocks("sky130hd")),
}
"""In the order in which they run."""


def run(row: Row, library: str, cells: Libraries) -> bool:
    """Print a design; return whether it has what it should."""
    begin, asked = time.perf_counter(), 1.0 if row.clock_ns == inf else row.clock_ns
    found = synthesize(row.source(), cells, clock_ns=asked, effort=row.effort, flat=row.flat)
    seconds = time.perf_counter() - begin
    clock_ns, kge = found.timing.clock_ns, found.area.area_um2 / cells.nand2.area_um2 / 1000
    verdicts = [
        (value <= goal, f"{goal:g} {unit}")
        for value, goal, unit in (
            (clock_ns, row.clock_ns, "ns"),
            (kge, row.area_kge, "kGE"),
            (seconds, row.seconds, "s"),
            (largest_gb(), row.gigabytes, "GB"),
        )
        if goal < inf
    ]
    said = (
        f"{clock_ns:.3f} ns",
        f"{kge:.3f} kGE",
        f"{found.area.area_um2:,.0f} um2",
        f"{found.area.flip_flops:,} flip-flops",
        f"{seconds:.0f} s",
        f"{largest_gb():.1f} GB",
        *(f"{'meets' if right else 'MISSES'} {goal}" for right, goal in verdicts),
    )
    sys.stdout.write(f"{row.name}, effort {row.effort}, {library}: {', '.join(said)}\n")
    sys.stdout.flush()
    return all(right for right, _ in verdicts)


def largest_gb() -> float:
    """Return the most memory that this process or one that it started has had [GB]."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return max(resource.getrusage(kind).ru_maxrss for kind in kinds) * 1024 / 1e9


def there(wanted: str = "") -> Iterator[tuple[str, Libraries]]:
    """Yield the libraries that are wanted and there."""
    for name in GOALS:
        if wanted not in ("", name):
            continue
        try:
            if name in INSTALLED:
                files = [library_path(name)]
            else:
                found = (sorted(folder.glob(SHARED[name])) for folder in FOLDERS)
                files = next(filter(None, found), [])  # of the nearest folder alone
            if not files:
                raise InputError(name, "", f"must be in ../shared/data/liberty: {SHARED[name]}")
        except InputError as missing:
            sys.stdout.write(f"left out: {missing}\n")
            continue
        yield name, read_libraries(files)


@click.command()
@click.option("--only", default="", metavar="TEXT", help="Rows with this in their name.")
@click.option("--library", default="", type=click.Choice(["", *GOALS]), help="That one alone.")
def main(only: str, library: str) -> None:
    """Print a line for each design and library."""
    right = True
    for name, cells in there(library):
        for row in GOALS[name]:
            if only in f"{row.name}, effort {row.effort}":
                right &= run(row, name, cells)
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
