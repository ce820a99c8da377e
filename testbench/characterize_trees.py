"""Cycles of all-reduces along trees on a mesh with schedule tables, measured by co-simulation."""

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
"""Cycles of a step beyond those of the flits of its block, with links of ``LINK_CYCLES``.

A block is read from memory, crosses three links and two routers, and is acknowledged. With 300
cycles endpoints of a mesh of 5 x 4 are late by 372 cycles in all at blocks of 410 flits, with 320
by 76. The record ``mesh-4x4-trees`` has what 280 cycles do on a mesh of 4 x 4, and 220.
"""


@dataclass(frozen=True, kw_only=True)
class TreesMeasurement(SpecMeasurement[MeshSpec]):
    """All-reduces of all NPUs along trees: how many cycles each takes.

    Results are compared with the golden model, bit for bit.

    Parameters
    ----------
    edges : sequence of TreeEdge
        The trees, for endpoints with one link.
    flits : sequence of int
        What an NPU has [flits], padded to whole flits for the block of each NPU.
    setups : sequence of int
        Estimates of the cycles of a step beyond the flits of its block. Each is measured with each
        of ``flits``.
    """

    SCHEMA = "fred-mesh-cycles/1"

    edges: Sequence[TreeEdge]
    flits: Sequence[int]
    setups: Sequence[int] = (SETUP_CYCLES,)
    simulators: tuple[str, ...] = ("verilator",)

    @property
    def designs(self) -> Mapping[str, MeasuredDesign]:
        return {"verilog_sha256": mesh_with_endpoints_design(self.measured_spec)}

    def other_inputs(self, record: Any) -> Iterator[str]:
        yield from super().other_inputs(record)
        steps = 2 * max((1 + edge.step for edge in self.edges), default=0)
        cycles = [self._block(flits) + setup for flits, setup in self._runs()]
        inputs = (("flits", self.flits), ("steps", (steps,)), ("step_cycles", cycles))
        for name, values in inputs:
            if other := {getattr(row, name) for row in record.rows} ^ {*values}:
                yield f"{name}: {', '.join(sorted(map(str, other)))}"

    def _runs(self) -> list[tuple[int, int]]:
        """Return flits and setup of each all-reduce."""
        return [(flits, setup) for flits in self.flits for setup in self.setups]

    def _block(self, flits: int) -> int:
        """Return the flits of a block."""
        return -(-flits // self.measured_spec.routers)

    def figures(self, work: Path, say: Say) -> dict[str, Any]:
        mesh = self.measured_spec
        size = Sizes(link_cycles=LINK_CYCLES, memory_cycles=MEMORY_CYCLES)
        model = build_compiled_mesh(mesh, size)
        rows, checked = list[dict[str, Any]](), 0
        strategy = str(Strategy(mesh.routers, 1, 1))
        for flits, setup in track(self._runs(), "all-reduces"):
            block = self._block(flits)
            program = TreeProgram(
                mesh=mesh,
                edges=tuple(self.edges),
                size=mesh.routers * block * mesh.link.data_width // 8,
                step_cycles=block + setup,
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
