"""Measure the generator: seconds and bytes of Verilog per preset."""

import sys
import time

from fred_hw.load import PRESETS, load_spec
from gen.design import generate


def main() -> None:
    """Print a line per preset, and for two of them as whole switches."""
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


if __name__ == "__main__":
    main()
