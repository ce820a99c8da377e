"""Measure meshes of routers in RTL under open-loop traffic; all payload is checked.

Packets of 8 flits on one circuit, links without delay unless said. Prints cycles of lone packets
to the other side; data flits per cycle of links at full load, and payload of 512 B flits as a share
of the raw link; for uniform random traffic latency against load, and the saturation of several
patterns: data flits accepted per end and cycle when each offers one, and for uniform traffic that
as a share of what the links across the middle allow. Returns 1 if a flit was lost or wrong, a
router found an error, or packets wait for each other.
"""

import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from fred_hw.mesh.routing import ROUTINGS
from fred_hw.mesh.spec import MeshSpec
from fred_hw.protocol import CRC_BITS, HEADER_BITS
from fred_hw.published import FLIT_BYTES
from testbench.characterize_saturation import capacity
from testbench.stimulus.meshes import with_routing
from testbench.volume.loaded_mesh import LOADS, MeshLoad, build_mesh, run_mesh

PAYLOAD = 8 * FLIT_BYTES / (8 * FLIT_BYTES + HEADER_BITS + CRC_BITS)
CURVE = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.8, 0.9)


SHAPES = ((4, 4), (5, 4), (8, 8))


def mesh_of(width: int, height: int, routing: str = "xy") -> MeshSpec:
    """Return a mesh or a torus with a small payload."""
    return with_routing(MeshSpec(width=width, height=height, lanes=2), routing)


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


def report_saturation(program: Path, name: str, mesh: MeshSpec, load: MeshLoad) -> dict[str, Any]:
    """Print what goes through when each end offers a flit in each cycle."""
    found = run_mesh(program, load)
    share = ""
    if load.pattern == "uniform":
        share = f", {found['accepted'] / capacity(mesh, 'uniform'):.3f} of the middle's links"
    sys.stdout.write(f"{name}, {load.pattern}: {found['accepted']:.3f} at saturation{share}\n")
    if not found["right"]:
        sys.stdout.write(f"error: {name}, {load.pattern}: {found}\n")
    return found


def main() -> int:
    """Print a line per run."""
    runs: list[dict[str, Any]] = []
    small = mesh_of(4, 4)
    four = build_mesh(small)
    runs += report_lone(four)
    runs += report_curve(four, MeshLoad(load=0.1))
    for shape, routing in product(SHAPES, ROUTINGS):
        mesh = mesh_of(*shape, routing)
        program = build_mesh(mesh)
        for pattern in LOADS:
            load = MeshLoad(load=1.0, pattern=pattern)
            name = f"{shape[0]} x {shape[1]}, {routing}"
            runs.append(report_saturation(program, name, mesh, load))
    far = MeshLoad(load=1.0, delay=24, warm=4000)
    runs.append(report_saturation(four, "4 x 4, links of 24 cycles", small, far))
    three = MeshLoad(load=1.0, circuits=3)
    runs.append(report_saturation(four, "4 x 4, three circuits", small, three))
    return int(not all(one["right"] for one in runs))


if __name__ == "__main__":
    sys.exit(main())
