"""Measure meshes of routers in RTL under open-loop traffic; all payload is checked.

Packets of 8 flits on one circuit, links without delay unless said. Prints cycles of lone packets
to the other side; data flits per cycle of links at full load, and payload of 512 B flits as a share
of the raw link; for uniform random traffic latency against load, and the saturation of several
patterns: data flits accepted per end and cycle when each offers one, and for uniform traffic that
as a share of what the links across the middle allow. Returns 1 if a flit was lost or wrong, or a
router found an error.
"""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from fred_hw.mesh.routing import ROUTINGS
from fred_hw.mesh.spec import MeshSpec
from fred_hw.protocol import CRC_BITS, HEADER_BITS
from fred_hw.published_links import FLIT_BYTES
from testbench.volume.mesh import LOADS, MeshLoad, build_mesh, run_mesh

PAYLOAD = 8 * FLIT_BYTES / (8 * FLIT_BYTES + HEADER_BITS + CRC_BITS)
CURVE = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.8, 0.9)


def mesh_of(size: int, routing: str = "xy") -> MeshSpec:
    """Return a square mesh with a small payload."""
    return MeshSpec(width=size, height=size, lanes=2, routing=routing)


def across_the_middle(size: int) -> float:
    """Return the flits per end and cycle that links across the middle of a square mesh carry.

    Half of ``size * size`` ends send to the other half over ``size`` links, each to any other end.
    """
    half = size * size // 2
    return size / (half * half / (size * size - 1))


def report_lone(program: Path) -> list[dict[str, Any]]:
    """Print what a packet and a link take on their own."""
    quiet = run_mesh(program, MeshLoad(load=0.002, pattern="complement", measure=20000))
    full = run_mesh(program, MeshLoad(load=1.0, pattern="neighbor"))
    sys.stdout.write(
        f"lone packets of 8 flits to the other side: {quiet['latency_cycles']:.1f} cycles, "
        f"{quiet['least_cycles']} at least\n"
        f"row of neighbors at full load: {full['accepted']:.4f} data flits per end and cycle, "
        f"payload {full['accepted'] * PAYLOAD:.4f} of the link\n"
    )
    return [quiet, full]


def report_curve(program: Path, load: MeshLoad) -> list[dict[str, Any]]:
    """Print latency against load."""
    runs = []
    for offered in CURVE:
        runs.append(run_mesh(program, replace(load, load=offered)))
        sys.stdout.write(
            f"uniform, {offered:.2f} offered: {runs[-1]['accepted']:.3f} accepted, "
            f"{runs[-1]['latency_cycles']:.1f} cycles\n"
        )
    return runs


def report_saturation(program: Path, name: str, size: int, load: MeshLoad) -> dict[str, Any]:
    """Print what goes through when each end offers a flit in each cycle."""
    found = run_mesh(program, load)
    share = ""
    if load.pattern == "uniform":
        share = f", {found['accepted'] / across_the_middle(size):.3f} of the middle's links"
    sys.stdout.write(f"{name}, {load.pattern}: {found['accepted']:.3f} at saturation{share}\n")
    return found


def main() -> int:
    """Print a line per run."""
    runs: list[dict[str, Any]] = []
    four = build_mesh(mesh_of(4))
    runs += report_lone(four)
    runs += report_curve(four, MeshLoad(load=0.1))
    for routing in ROUTINGS:
        program = build_mesh(mesh_of(4, routing))
        for pattern in LOADS:
            load = MeshLoad(load=1.0, pattern=pattern)
            runs.append(report_saturation(program, f"4 x 4, {routing}", 4, load))
    far = MeshLoad(load=1.0, delay=24, warm=4000)
    runs.append(report_saturation(four, "4 x 4, links of 24 cycles", 4, far))
    three = MeshLoad(load=1.0, circuits=3)
    runs.append(report_saturation(four, "4 x 4, three circuits", 4, three))
    eight = build_mesh(mesh_of(8))
    runs.append(report_saturation(eight, "8 x 8, xy", 8, MeshLoad(load=1.0)))
    return int(not all(one["right"] for one in runs))


if __name__ == "__main__":
    sys.exit(main())
