"""Cycles of tree all-reduces on a mesh with schedule tables, measured by co-simulation."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fred_hw.compiler.placement import Strategy
from fred_hw.mesh.spec import MeshSpec
from fred_hw.mesh.tree_program import TreeEdge, TreeProgram
from fred_hw.progress import track
from testbench.collectives.compiled import build_compiled_mesh
from testbench.collectives.fabric import Sizes
from testbench.collectives.joined import run_joined
from testbench.collectives.phase_cycles import LINK_CYCLES, MEMORY_CYCLES
from testbench.collectives.tree_cycles import tree_cycles
from testbench.designs import MeasuredDesign, mesh_with_endpoints_design
from testbench.measurement import Say, SpecMeasurement

__all__ = ["SETUP_CYCLES", "TreesMeasurement"]

SETUP_CYCLES = 320
"""Cycles of a step besides the flits of its block, with links of ``LINK_CYCLES``.

A block is read from memory, crosses three links and two routers, and is acknowledged. With 300
cycles endpoints of a mesh of 5 x 4 are late by 372 cycles in all at blocks of 410 flits, with 320
by 76. On a mesh of 4 x 4 280 cycles are enough for blocks of 8 to 512 flits.
"""


@dataclass(frozen=True, kw_only=True)
class TreesMeasurement(SpecMeasurement[MeshSpec]):
    """Cycles of tree all-reduces over all NPUs.

    Results are compared with the golden model, bit for bit.

    Parameters
    ----------
    edges : sequence of TreeEdge
        The trees, for endpoints with one link.
    flits : sequence of int
        Vector of an NPU [flits], padded to whole flits for the block of each NPU.
    """

    SCHEMA = "fred-mesh-cycles/1"

    edges: Sequence[TreeEdge]
    flits: Sequence[int]
    simulators: tuple[str, ...] = ("verilator",)

    @property
    def designs(self) -> Mapping[str, MeasuredDesign]:
        return {"verilog_sha256": mesh_with_endpoints_design(self.measured_spec)}

    def other_inputs(self, record: Any) -> Iterator[str]:
        yield from super().other_inputs(record)
        steps = 2 * max((1 + edge.step for edge in self.edges), default=0)
        for name, values in (("flits", self.flits), ("steps", (steps,))):
            if other := {getattr(row, name) for row in record.rows} ^ {*values}:
                yield f"{name}: {', '.join(sorted(map(str, other)))}"

    def figures(self, work: Path, say: Say) -> dict[str, Any]:
        mesh = self.measured_spec
        size = Sizes(link_cycles=LINK_CYCLES, memory_cycles=MEMORY_CYCLES)
        model = build_compiled_mesh(mesh, size)
        rows, checked = list[dict[str, Any]](), 0
        strategy = str(Strategy(mesh.routers, 1, 1))
        for flits in track(self.flits, "all-reduces"):
            block = -(-flits // mesh.routers)
            program = TreeProgram(
                mesh=mesh,
                edges=tuple(self.edges),
                size=mesh.routers * block * mesh.link.data_width // 8,
                step_cycles=block + SETUP_CYCLES,
            )
            with tempfile.TemporaryDirectory() as folder:
                run = partial(run_joined, model, work=Path(folder))
                found = tree_cycles(program, run, seed=self.seed)
            checked += found.flits
            rows.append(
                {
                    "strategy": strategy,
                    "phase": "mp_all_reduce",
                    "algorithm": "multitree_one_port",
                    "flits": flits,
                    "cycles": found.cycles,
                    "steps": program.steps,
                    "step_cycles": program.step_cycles,
                }
            )
        return {
            "link_cycles": LINK_CYCLES,
            "memory_cycles": MEMORY_CYCLES,
            "flits_checked": checked,
            "rows": rows,
        }
