"""Measure the generator: seconds and bytes of Verilog of presets, a plane and a large switch.

A plane of 256 lanes, twenty endpoints and all of its switches, is to take less than 90 s on a quiet
machine. A switch of 64 ports is to take less than 60 s and 10 MB, and Verilator's lint of it less
than 2 GB. Returns 1 if one of them does not.
"""

import resource
import sys
import tempfile
import time
from pathlib import Path

from fred_hw.load import PRESETS, load_spec
from fred_hw.spec import SwitchSpec
from fred_hw.wafer.load import load_wafer
from gen.design import generate
from tests.gen.tools import lint

MOST_S = 90.0
"""For the plane."""

PORTS, SWITCH_S, SWITCH_BYTES, LINT_BYTES = 64, 60.0, 10e6, 2e9
"""For the large switch: generating it, its Verilog, and the memory of its lint."""

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
    return int(not all([right, *large_switch()]))


def large_switch() -> list[bool]:
    """Print what a switch of 64 ports takes; return whether each of it meets its goal."""
    begin = time.perf_counter()
    design = generate(SwitchSpec(ports=PORTS, format="int8", lanes=1), level="switch")
    seconds = time.perf_counter() - begin
    with tempfile.TemporaryDirectory() as folder:
        for name, text in design.files().items():
            (Path(folder) / name).write_text(text)
        status, said = lint(Path(folder), design.name, f"{design.name}.vlt", f"{design.name}.v")
    if status:
        raise SystemExit(said)
    memory = 1024.0 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    verdicts: list[bool] = []
    for what, found, most, unit in (
        ("to generate", seconds, SWITCH_S, "s"),
        ("Verilog", len(design.verilog) / 1e6, SWITCH_BYTES / 1e6, "MB"),
        ("lint, memory", memory / 1e9, LINT_BYTES / 1e9, "GB"),
    ):
        verdicts.append(found < most)
        verdict = "meets" if verdicts[-1] else "MISSES"
        sys.stdout.write(
            f"switch of {PORTS} ports, {what}: {found:.2f} {unit}, {verdict} {most:g}\n"
        )
    return verdicts


if __name__ == "__main__":
    sys.exit(main())
