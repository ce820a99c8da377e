"""Cycles of phases on a plane of a wafer, measured by co-simulation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fred_hw.compiler.placement import Strategy
from fred_hw.errors import FieldError
from fred_hw.wafer.program import COLLECTIVES, compile_strategy
from fred_hw.wafer.spec import WaferSpec
from testbench.characterize_phases import PhasesMeasurement
from testbench.collectives.compiled import build_compiled
from testbench.collectives.fabric import Finished, Sizes
from testbench.collectives.joined import run_joined
from testbench.collectives.phase_cycles import CONFIGURATION, Job
from testbench.collectives.plane import PlaneRun, build_plane, run_plane
from testbench.designs import MeasuredDesign, plane_design
from testbench.sim.tools import SimulatorError

__all__ = ["PlanePhasesMeasurement"]


@dataclass(frozen=True, kw_only=True)
class PlanePhasesMeasurement(PhasesMeasurement[WaferSpec]):
    """Phases of strategies on a plane of a wafer.

    Parameters
    ----------
    collectives : Sequence of str
        Some of ``program.COLLECTIVES``.
    phases : Sequence of str
        Names of phases, such as ``load_0``; no others are done. All are if there are none.

    Raises
    ------
    SimulatorError
        Several simulators are asked for, or another one than Icarus and Verilator.
    FieldError
        While it measures: none of the strategies has a phase; its field is ``--phase``.
    """

    SCHEMA = "fred-wafer-cycles/1"

    simulators: tuple[str, ...] = ("verilator",)
    collectives: Sequence[str] = COLLECTIVES
    phases: Sequence[str] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.simulators not in (("icarus",), ("verilator",)):
            said = ", ".join(self.simulators)
            raise SimulatorError(f"simulator must be icarus or verilator for a plane, not {said}")

    @property
    def designs(self) -> Mapping[str, MeasuredDesign]:
        return {"verilog_sha256": plane_design(self.measured_spec)}

    def jobs(self) -> list[Job]:
        small = self.measured_spec
        return _jobs(small, self.strategies, self.flits, self.collectives, self.phases)

    def runner(self) -> Callable[[PlaneRun, Path], Finished]:
        return _runner(self.measured_spec, self.simulators, max(self.flits))


def _jobs(
    wafer: WaferSpec,
    strategies: Sequence[str],
    flits: Sequence[int],
    collectives: Sequence[str],
    phases: Sequence[str],
) -> list[Job]:
    """Return the phases to run; fail if a phase is unknown, or a strategy has no phases."""
    programs = [
        compile_strategy(wafer, Strategy.parse(strategy), size, collectives=how)
        for strategy in strategies
        for how in collectives
        for size in (count * wafer.link.data_width // 8 for count in flits)
    ]
    known = dict.fromkeys(phase.name for program in programs for phase in program.phases)
    for name in phases:
        if name not in known:
            allowed = f"a phase of the strategies ({', '.join(known) or 'they have none'})"
            raise FieldError("--phase", f"must be {allowed}, not {name!r}")
    if not known:
        raise ValueError(f"strategy must have phases, not {programs[0].strategy}")
    return [
        (program, phase, {"collectives": program.collectives})
        for program in programs
        for phase in program.phases
        if not phases or phase.name in phases
    ]


def _runner(
    wafer: WaferSpec, simulators: Sequence[str], flits: int
) -> Callable[[PlaneRun, Path], Finished]:
    """Return a function that simulates a plane in a folder."""
    size = Sizes(flits=2 * flits, **CONFIGURATION)
    if simulators == ("icarus",):
        return partial(run_plane, build_plane(wafer, size))
    return partial(run_joined, build_compiled(wafer, size))
