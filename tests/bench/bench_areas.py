"""Synthesize the switches, the router and the endpoint of both fabrics, a lane of INT8 each.

Prints area, clock, flip-flops and bits of memories of each, with nangate45, and whether the
shipped record of areas is of the same Verilog; returns 1 if it is not. `-o FILE` writes the
record, `--work DIR` keeps the reports of `fred synth --json` there and takes what is there of the
same Verilog. An hour of CPU time.
"""

import json
import sys
from pathlib import Path
from typing import Any

import click

from fred_hw.files import load_model
from fred_hw.load import load_spec
from fred_hw.mesh.load import load_mesh
from perfmodel.switch_timing.areas import SHIPPED_AREAS, AreaRecord
from synth.installed import library_path
from synth.liberty import Libraries, read_libraries
from synth.synthesis import Source, from_spec, synthesize
from testbench.record_head import git_commit

ROOT = Path(__file__).resolve().parents[2]
LONE = {"format": "int8", "lanes": 1}
LIBRARY, CLOCK_NS, EFFORT = "nangate45", 0.853, "speed"


def sources() -> dict[str, Source]:
    """Return the units, the smallest first."""
    mesh = load_mesh(str(ROOT / "examples/mesh-5x4.yaml"), LONE)
    found = {
        "router": from_spec(mesh, "router", "mesh-5x4"),
        "endpoint": from_spec(load_spec("l1-12", LONE), "endpoint", "l1-12"),
    }
    for name in ("l2-10", "l1-12"):  # 11 ports take a little less than 12
        spec = load_spec(name, LONE)
        found[f"switch of {spec.ports} ports"] = from_spec(spec, "switch", name)
    return found


def report(source: Source, cells: Libraries, kept: Path | None) -> dict[str, Any]:
    """Return the report of a unit, of today's Verilog."""
    import hashlib

    wanted = hashlib.sha256(source.verilog.encode()).hexdigest()
    if kept and kept.exists():
        said = json.loads(kept.read_text())
        origin, files = said["provenance"], [one.sha256 for one in cells.files]
        if (origin["verilog_sha256"], [one["sha256"] for one in origin["libraries"]]) == (
            wanted,
            files,
        ):
            return said
    said = synthesize(source, cells, clock_ns=CLOCK_NS, effort=EFFORT).to_dict()
    if kept:
        kept.write_text(json.dumps(said, default=vars))
    return said


def row(unit: str, said: dict[str, Any]) -> dict[str, Any]:
    """Return what the record has of a unit."""
    keys = ("name", "area_um2", "clock_ns", "flip_flops", "memory_bits")
    sha256 = said["provenance"]["verilog_sha256"]
    return {"unit": unit, **{key: said[key] for key in keys}, "verilog_sha256": sha256}


@click.command()
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the record.")
@click.option("--work", type=click.Path(path_type=Path), help="Folder of reports.")
def main(output: Path | None, work: Path | None) -> None:
    """Print a line for each unit."""
    if work:
        work.mkdir(parents=True, exist_ok=True)
    cells = read_libraries([library_path(LIBRARY)])
    rows, said = list[dict[str, Any]](), dict[str, Any]()
    for unit, source in sources().items():
        said = report(source, cells, work / f"{source.name}.json" if work else None)
        rows.append(row(unit, said))
        sys.stdout.write(
            f"{unit}: {said['area_um2']:,.0f} um2, {said['clock_ns']:.3f} ns, "
            f"{said['flip_flops']:,} flip-flops, {said['memory_bits']:,} bits of memories\n"
        )
        sys.stdout.flush()
    origin = said["provenance"]
    record = {
        "schema": "fred-areas/1",
        **LONE,
        "library": LIBRARY,
        "libraries": {Path(one["file"]).name: one["sha256"] for one in origin["libraries"]},
        "tools": origin["tools"],
        "effort": EFFORT,
        "target_clock_ns": CLOCK_NS,
        "git_commit": git_commit(),
        "units": rows,
    }
    if output:
        output.write_text(json.dumps(record, indent=1) + "\n")
        return
    shipped = {one.unit: one.verilog_sha256 for one in load_model(AreaRecord, SHIPPED_AREAS).units}
    stale = [one["unit"] for one in rows if shipped.get(one["unit"]) != one["verilog_sha256"]]
    if stale:
        sys.exit(f"error: the shipped areas are of other Verilog: {', '.join(stale)}")


if __name__ == "__main__":
    main()
