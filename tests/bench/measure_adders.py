"""Measure how fast adders are by format and depth, and write the record that `clock_ns` follows.

For each operation and format it maps the interconnect of four ports and one lane, whose longest
path is a crossing and a step of an adder, with 0, 1, 2 and more registers, as many as the unit has
places for, as `fred synth --liberty nangate45` does with effort `speed`. Writes the record
`fred_hw/adder_delays.json`, or the file of `-o`; `make adders` runs it, from a clean checkout, in
ten minutes or so. Returns 1 if OpenSTA is not there.
"""

import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from amaranth.hdl import UnusedElaboratable

from fred_hw.adder_delays import LIBRARY, RECORD, REFERENCE_NS
from fred_hw.formats.number_format import FORMATS
from fred_hw.operations.operation import OPERATIONS
from fred_hw.spec import SwitchSpec
from synth.installed import library_path
from synth.liberty import Libraries, read_libraries
from synth.mapping import find_yosys
from synth.synthesis import from_spec, synthesize
from synth.timing import find_opensta
from testbench.measurement import git_commit

SIZE: dict[str, Any] = {"ports": 4, "lanes": 1}
EFFORT = "speed"


def measured() -> Iterator[SwitchSpec]:
    """Yield the interconnects: of each operation and format, those with 0, 1, 2, ... registers."""
    for operation, one in OPERATIONS.items():
        for name, form in FORMATS.items():
            places = len(one.unit(form, "saturate", 0).cuts) if one.takes(form) else 0
            for registers in range(places):
                yield SwitchSpec(
                    **SIZE, format=name, operation=operation, adder_registers=registers
                )


def measure(cells: Libraries) -> dict[str, Any]:
    """Return what is in the record of a library: delays, and hashes of the Verilog."""
    delays: dict[str, dict[str, list[float]]] = {}
    hashes: dict[str, str] = {}
    for spec in measured():
        source = from_spec(spec, "interconnect", spec.name)
        found = synthesize(source, cells, clock_ns=REFERENCE_NS, effort=EFFORT)
        hashes[spec.name] = found.verilog_sha256
        clock_ns = round(found.timing.clock_ns, 4)
        delays.setdefault(spec.operation, {}).setdefault(spec.format, []).append(clock_ns)
        sys.stdout.write(f"{LIBRARY}, {spec.name}: {clock_ns:.3f} ns\n")
        sys.stdout.flush()
    files = [{"library": one.name, "sha256": one.sha256} for one in cells.files]
    return {"files": files, "delays_ns": delays, "verilog_sha256": hashes}


@click.command()
@click.option("-o", "output", type=Path, default=RECORD, help="The record.")
def main(output: Path) -> None:
    """Write the record of adders."""
    warnings.simplefilter("ignore", UnusedElaboratable)  # units that say only how deep they can be
    if (opensta := find_opensta()) is None:
        sys.stdout.write("no record: that takes OpenSTA\n")
        sys.exit(1)
    record = {
        "schema": "fred-adders/2",
        "git_commit": git_commit(),
        "tools": {"Yosys": find_yosys(), "OpenSTA": opensta},
        "measured": {**SIZE, "effort": EFFORT},
        "library": LIBRARY,
        **measure(read_libraries([library_path(LIBRARY)])),
    }
    output.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
