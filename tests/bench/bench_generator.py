"""Measure the generator: seconds and bytes of Verilog per preset."""

import sys
import time

from fred_hw.load import PRESETS, load_spec
from gen.design import generate


def main() -> None:
    """Print a line per preset."""
    out = sys.stdout.write
    out(f"{'preset':10} {'modules':>8} {'bytes':>10} {'seconds':>8}\n")
    for name in PRESETS:
        begin = time.perf_counter()
        design = generate(load_spec(name))
        seconds = time.perf_counter() - begin
        out(f"{name:10} {len(design.modules):8} {len(design.verilog):10,} {seconds:8.2f}\n")


if __name__ == "__main__":
    main()
