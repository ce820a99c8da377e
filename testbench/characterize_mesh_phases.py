"""Cycles of phases on a mesh with an endpoint at each router, measured by co-simulation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fred_hw.compiler.placement import Strategy
from fred_hw.mesh.program import compile_for_mesh
from fred_hw.mesh.spec import MeshSpec
from testbench.characterize_phases import PhasesMeasurement
from testbench.collectives.compiled import build_compiled
from testbench.collectives.fabric import Finished, Sizes
from testbench.collectives.joined import run_joined
from testbench.collectives.phase_cycles import CONFIGURATION, Job
from testbench.collectives.plane import PlaneRun
from testbench.designs import MeasuredDesign, mesh_with_endpoints_design

__all__ = ["MeshPhasesMeasurement", "measured_phases"]

_ALGORITHMS = ("auto", "ring")


@dataclass(frozen=True, kw_only=True)
class MeshPhasesMeasurement(PhasesMeasurement[MeshSpec]):
    """Phases of strategies on a mesh with an endpoint at each router.

    All-reduces and likewise by the algorithm that the compiler chooses and, where that is another
    one, as one ring. The harness of Icarus has the same cycles, and takes longer.
    """

    SCHEMA = "fred-mesh-cycles/1"

    simulators: tuple[str, ...] = ("verilator",)

    @property
    def designs(self) -> Mapping[str, MeasuredDesign]:
        return {"verilog_sha256": mesh_with_endpoints_design(self.measured_spec)}

    def jobs(self) -> list[Job]:
        small = self.measured_spec
        flit = small.link.data_width // 8
        return measured_phases(small, self.strategies, [count * flit for count in self.flits])

    def runner(self) -> Callable[[PlaneRun, Path], Finished]:
        return partial(run_joined, build_compiled(self.measured_spec, Sizes(**CONFIGURATION)))


def measured_phases(mesh: MeshSpec, strategies: Sequence[str], sizes: Sequence[int]) -> list[Job]:
    """Return the phases to measure with buffers of a given size, and their algorithms."""
    found: dict[tuple[str, str, str, int], Job] = {}
    for strategy in strategies:
        for how in _ALGORITHMS:
            for size in sizes:
                program = compile_for_mesh(mesh, Strategy.parse(strategy), size, algorithm=how)
                for phase in program.phases:
                    if len(set(phase.algorithms)) > 1:
                        raise ValueError(
                            f"groups of {phase.name} of {strategy} must take one algorithm, not "
                            f"{', '.join(dict.fromkeys(phase.algorithms))}"
                        )
                    algorithm = phase.algorithms[0]
                    key = (strategy, phase.name, algorithm, size)
                    found.setdefault(key, (program, phase, {"algorithm": algorithm}))
    if not found:
        raise ValueError(f"strategy must have phases, not {', '.join(strategies)}")
    return list(found.values())
