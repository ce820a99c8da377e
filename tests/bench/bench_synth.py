"""Synthesize what the goals of clock and area are about, with the libraries of ../shared.

Prints a line for each design and library, ASAP7 and sky130hd: shortest clock, area, flip-flops,
seconds. `demo-8` with four lanes of FP16 is to take less than 120 s on a quiet machine. An adder
of FP16 without registers, flat, stands beside that of the first edition, for both efforts. Returns
1 if a design misses 0.67 ns with ASAP7, which stand for 0.853 ns in a 45 nm library, the adder
takes more area or time than the first edition's, or FRED_3(8) of INT32, as small as a clock of
0.5 ns in ASAP7 allows, more than 30 kGE. `--only TEXT` runs the rows with this in their
name; a library that is not there is left out, with a line. All of it takes an hour or so.
"""

import sys
import time
from collections.abc import Mapping
from pathlib import Path

import click

from fred_hw.arith.float_add import FloatAdd
from fred_hw.formats.fp16 import FP16
from fred_hw.load import load_spec
from fred_hw.spec import SwitchSpec
from gen.emitter import VerilogEmitter
from synth.liberty import Libraries, read_libraries
from synth.synthesis import Source, Synthesis, from_spec, synthesize

FOLDERS = [root / "shared/data/liberty" for root in Path(__file__).resolve().parents]
LIBRARIES = {"ASAP7": "asap7_*_RVT_TT.lib.gz", "sky130hd": "sky130hd_tt.lib.gz"}
FITTED_ROW = "interconnect demo-8, INT32 x 1, effort clock"
GOAL_NS = {"ASAP7": 0.67, "sky130hd": None}

FIRST_EDITION = {
    ("ASAP7", "area"): (0.800, 1.829),
    ("ASAP7", "speed"): (1.021, 1.029),
    ("sky130hd", "area"): (0.812, 10.906),
    ("sky130hd", "speed"): (1.084, 5.058),
}
"""Its adder in kGE and ns, with the flow of today."""

FITTED_NS, FITTED_KGE = 0.5, 30.0
"""Clock and area of FRED_3(8) of INT32; the first edition's takes 37.8 with effort speed, 30.9 with
effort clock."""


def goals() -> dict[str, tuple[SwitchSpec, str]]:
    """Return the designs, the smallest first, with their levels."""
    eight, four, twelve = (load_spec(name) for name in ("demo-8", "small-4", "l1-12"))
    lone = {"format": "int8", "lanes": 1}
    return {
        "switch of 4 ports, INT8 x 1": (
            four.with_changes(**lone, adder_registers="auto"),
            "switch",
        ),
        "interconnect demo-8, FP16 x 4": (eight.with_changes(lanes=4), "interconnect"),
        "interconnect demo-8, FP32 x 4": (
            eight.with_changes(lanes=4, format="fp32", adder_registers="auto"),
            "interconnect",
        ),
        "switch of 12 ports, INT8 x 1": (
            twelve.with_changes(**lone, adder_registers="auto"),
            "switch",
        ),
    }


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


def report(row: str, library: str, found: Synthesis, begin: float, more: str = "") -> None:
    """Print a line."""
    area, gate = found.area, found.libraries.nand2.area_um2
    sys.stdout.write(
        f"{row}, {library}: {found.timing.clock_ns:.3f} ns, {area.area_um2 / gate / 1000:.3f} kGE, "
        f"{area.area_um2:,.0f} um2, {area.flip_flops:,} flip-flops, "
        f"{time.perf_counter() - begin:.0f} s{more}\n"
    )
    sys.stdout.flush()


def run_adder(library: str, cells: Libraries) -> bool:
    """Print the adder; return whether it is no worse than that of the first edition."""
    right = True
    for effort in ("area", "speed"):
        begin = time.perf_counter()
        found = synthesize(adder(), cells, clock_ns=1.0, effort=effort, flat=True)
        kge, ns = FIRST_EDITION[library, effort]
        gates = found.area.area_um2 / cells.nand2.area_um2 / 1000
        ratios = gates / kge, found.timing.clock_ns / ns
        more = f"; first edition {kge:.3f} kGE, {ns:.3f} ns: {ratios[0]:.3f}, {ratios[1]:.3f}"
        report(f"adder of FP16, effort {effort}", library, found, begin, more)
        right &= max(ratios) <= 1
    return right


def run_goal(row: str, spec: SwitchSpec, level: str, library: str, cells: Libraries) -> bool:
    """Print a design; return whether it has the clock that it should."""
    begin, goal = time.perf_counter(), GOAL_NS[library]
    found = synthesize(from_spec(spec, level, row), cells, clock_ns=goal or 1.0)
    missed = goal is not None and found.timing.clock_ns > goal
    report(row, library, found, begin, f"; misses {goal} ns" if missed else "")
    return not missed


def run_fitted(library: str, cells: Libraries) -> bool:
    """Print a design as small as its clock allows; return whether it is as small as it should."""
    spec = load_spec("demo-8", {"format": "int32", "lanes": 1, "adder_registers": 0})
    begin, row = time.perf_counter(), FITTED_ROW
    source = from_spec(spec, "interconnect", row)
    found = synthesize(source, cells, clock_ns=FITTED_NS, effort="clock")
    kge = found.area.area_um2 / cells.nand2.area_um2 / 1000
    missed = found.timing.clock_ns > FITTED_NS or kge > FITTED_KGE
    more = f"; misses {FITTED_KGE} kGE with {FITTED_NS} ns" if missed else ""
    report(row, library, found, begin, more)
    return not missed


def there() -> Mapping[str, Libraries]:
    """Return the libraries that are there."""
    found = {}
    for name, pattern in LIBRARIES.items():
        if files := sorted(file for folder in FOLDERS for file in folder.glob(pattern)):
            found[name] = read_libraries(files)
        else:
            sys.stdout.write(f"left out: no {pattern} in ../shared/data/liberty\n")
    return found


@click.command()
@click.option("--only", default="", metavar="TEXT", help="Rows with this in their name.")
def main(only: str) -> None:
    """Print a line for each design and library."""
    right = True
    for library, cells in there().items():
        if only in "adder of FP16":
            right &= run_adder(library, cells)
        if only in FITTED_ROW and library == "ASAP7":
            right &= run_fitted(library, cells)
        for row, (spec, level) in goals().items():
            if only in row:
                right &= run_goal(row, spec, level, library, cells)
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
