"""Measure the generator: seconds and bytes of Verilog per preset."""

import sys
import time

from fred_hw.load import PRESETS, load_spec
from fred_hw.switch.core import SwitchCore
from fred_hw.switch.spec import CoreSpec
from gen.design import generate
from gen.emitter import VerilogEmitter


def main() -> None:
    """Print a line per preset."""
    out = sys.stdout.write
    out(f"{'preset':10} {'modules':>8} {'bytes':>10} {'seconds':>8}\n")
    for name in PRESETS:
        begin = time.perf_counter()
        design = generate(load_spec(name))
        seconds = time.perf_counter() - begin
        out(f"{name:10} {len(design.modules):8} {len(design.verilog):10,} {seconds:8.2f}\n")
    begin = time.perf_counter()
    emitter = VerilogEmitter()
    emitter.add(SwitchCore(switch=load_spec("l1-12"), spec=CoreSpec(phases=28)))
    text = emitter.verilog()
    seconds = time.perf_counter() - begin
    out(f"{'l1-12 core':10} {len(emitter.modules):8} {len(text):10,} {seconds:8.2f}\n")


if __name__ == "__main__":
    main()
