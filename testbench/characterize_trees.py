"""Cycles of tree all-reduces on a mesh with schedule tables, measured by co-simulation."""

import hashlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fred_hw.compiler.placement import Strategy
from fred_hw.mesh.spec import MeshSpec
from fred_hw.mesh.tree_program import TREE_ALGORITHM, TreeEdge, TreeProgram, steps_of
from fred_hw.progress import track
from testbench.characterize_phases import CyclesMeasurement
from testbench.collectives.compiled import build_compiled
from testbench.collectives.fabric import Sizes
from testbench.collectives.joined import run_joined
from testbench.collectives.phase_cycles import CONFIGURATION, cycles_record
from testbench.collectives.tree_cycles import tree_cycles
from testbench.designs import MeasuredDesign, mesh_with_endpoints_design
from testbench.measurement import Say

__all__ = ["SETUP_CYCLES", "TreesMeasurement"]

SETUP_CYCLES = 320
"""Cycles of a step beyond those of the flits of its block, with the links of ``CONFIGURATION``.

A block is read from memory, crosses three links and two routers, and is acknowledged. With 300
cycles endpoints of a mesh of 5 x 4 are late by 372 cycles in all at blocks of 410 flits, with 320
by 76. The record ``mesh-4x4-trees`` has what 280 cycles do on a mesh of 4 x 4, and 220.
"""


@dataclass(frozen=True, kw_only=True)
class TreesMeasurement(CyclesMeasurement[MeshSpec]):
    """Cycles of tree all-reduces over all NPUs.

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

    @property
    def edges_sha256(self) -> str:
        """Hash of all edges, in whatever order they are given."""
        return hashlib.sha256(
            repr([tuple(edge) for edge in sorted(self.edges)]).encode()
        ).hexdigest()

    def other_inputs(self, record: Any) -> Iterator[str]:
        yield from super().other_inputs(record)
        if record.edges_sha256 != self.edges_sha256:
            yield "edges_sha256"

    def wanted_rows(self) -> list[dict[str, Any]]:
        return [self._row(flits, setup) for flits in self.flits for setup in self.setups]

    def _row(self, flits: int, setup: int) -> dict[str, Any]:
        """Return the row of a size and an estimate of the setup before it is measured."""
        npus = self.spec.routers
        return {
            "strategy": str(Strategy(npus, 1, 1)),
            "phase": "mp_all_reduce",
            "algorithm": TREE_ALGORITHM,
            "flits": flits,
            "steps": steps_of(self.edges),
            "step_cycles": -(-flits // npus) + setup,
        }

    def _program(self, row: Mapping[str, Any]) -> TreeProgram:
        """Return the program of a row; its block of each NPU is padded to whole flits."""
        mesh = self.measured_spec
        block = -(-row["flits"] // mesh.routers)
        size = mesh.routers * block * mesh.link.data_width // 8
        return TreeProgram(
            mesh=mesh, edges=tuple(self.edges), size=size, step_cycles=row["step_cycles"]
        )

    def figures(self, work: Path, say: Say) -> dict[str, Any]:
        model = build_compiled(self.measured_spec, Sizes(**CONFIGURATION))

        def measured() -> Iterator[tuple[dict[str, Any], int]]:
            for row in track(self.wanted_rows(), "all-reduces"):
                with tempfile.TemporaryDirectory() as folder:
                    run = partial(run_joined, model, work=Path(folder))
                    found = tree_cycles(self._program(row), run, seed=self.seed)
                yield {**row, "cycles": found.cycles}, found.flits

        return {"edges_sha256": self.edges_sha256, **cycles_record(measured())}
