"""Measure the generator: seconds and bytes of Verilog per preset, and of a plane of the wafer.

That of 256 lanes, twenty endpoints and all of its switches, is to take less than 90 s on a quiet
machine: returns 1 if it does not.
"""

import sys
import time
from pathlib import Path

from fred_hw.load import PRESETS, load_spec
from fred_hw.wafer.load import load_wafer
from gen.design import generate

MOST_S = 90.0
"""For the plane."""

WAFER = Path(__file__).parents[2] / "examples/wafer-20.yaml"


def main() -> int:
    """Print a line per preset, for two as whole switches, and for the wafer; return 1 if slow."""
    out = sys.stdout.write
    out(f"{'preset':32} {'modules':>8} {'bytes':>10} {'seconds':>8}\n")
    jobs = [(name, load_spec(name), "interconnect") for name in PRESETS]
    for name in ("demo-8", "l1-12"):
        spec = load_spec(name, {"protocol.phases": 28})
        jobs.append((f"{name}, whole switch of 28 phases", spec, "switch"))
    for name, spec, level in jobs:
        begin = time.perf_counter()
        design = generate(spec, level=level)
        seconds = time.perf_counter() - begin
        out(f"{name:32} {len(design.modules):8} {len(design.verilog):10,} {seconds:8.2f}\n")
    begin = time.perf_counter()
    wafer = generate(load_wafer(str(WAFER)), level="wafer")
    seconds = time.perf_counter() - begin
    name = f"{WAFER.stem}, a plane"
    out(f"{name:32} {len(wafer.modules):8} {len(wafer.verilog):10,} {seconds:8.2f}\n")
    right = seconds < MOST_S
    out(f"{WAFER.stem}, a plane: {'meets' if right else 'MISSES'} {MOST_S:g} s\n")
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
