"""Cycles of phases on a plane of a wafer, measured by co-simulation."""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fred_hw.checks import check_int
from fred_hw.compiler.placement import Strategy
from fred_hw.errors import FieldError
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.program import COLLECTIVES, compile_strategy
from fred_hw.wafer.spec import WaferSpec
from gen.design import generate
from gen.wafer_top import modules_of, wafer_top
from testbench.collectives.compiled import build_compiled_plane
from testbench.collectives.fabric import Finished, Sizes
from testbench.collectives.joined import run_joined
from testbench.collectives.phase_cycles import LINK_CYCLES, MEMORY_CYCLES, Job, measured_rows
from testbench.collectives.plane import PlaneRun, build_plane, run_plane
from testbench.record_head import fewer_lanes, record_head
from testbench.sim.kept import kept
from testbench.sim.tools import SimulatorError

__all__ = ["WAFER_SCHEMA", "characterize_wafer", "wafer_hash"]

WAFER_SCHEMA = "fred-wafer-cycles/1"


def wafer_hash(wafer: WaferSpec) -> str:
    """Return what says in a record which Verilog was measured: that of each unit, and the top."""
    plane = Plane(wafer)
    chiplets = dict.fromkeys(one.spec for one in plane.chiplets)
    units = [kept(generate, spec, level="switch") for spec in chiplets]
    texts = [one.verilog for one in (kept(generate, wafer.link, level="endpoint"), *units)]
    texts.append(wafer_top(plane, modules_of(wafer)))
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def characterize_wafer(
    wafer: WaferSpec,
    strategies: Sequence[str],
    flits: Sequence[int],
    *,
    collectives: Sequence[str] = COLLECTIVES,
    phases: Sequence[str] = (),
    simulator: str = "verilator",
    seed: int = 1,
) -> dict[str, Any]:
    """Do each phase of some strategies alone, and return how many cycles each takes.

    Results of all are compared with the golden model, bit for bit.

    Parameters
    ----------
    wafer : WaferSpec
        The wafer, of which a plane is simulated, with fewer lanes.
    strategies : Sequence of str
        Such as ``MP2-DP5-PP2``.
    flits : Sequence of int
        What an NPU sends in a phase [flits].
    collectives : Sequence of str
        Some of ``program.COLLECTIVES``.
    phases : Sequence of str
        Names of phases, such as ``load_0``; no others are done. All are if there are none.
    simulator : str
        ``icarus`` or ``verilator``.
    seed : int
        Of all numbers.

    Raises
    ------
    SimulatorError
        The simulator is not installed, or a run failed.
    ValueError
        A strategy does not fit the wafer.
    FieldError
        None of the strategies has a phase; its field is ``--phase``.
    """
    check_int("seed", seed, minimum=1)
    small = fewer_lanes(wafer)
    jobs = _jobs(small, strategies, flits, collectives, phases)
    verilog = wafer_hash(small)
    head = record_head(WAFER_SCHEMA, wafer, small, [simulator], seed, verilog_sha256=verilog)
    return {**head, **measured_rows(jobs, _runner(small, simulator, max(flits)), seed)}


def _jobs(
    wafer: WaferSpec,
    strategies: Sequence[str],
    flits: Sequence[int],
    collectives: Sequence[str],
    phases: Sequence[str],
) -> list[Job]:
    """Return what is done; refuse a phase that no strategy has, and strategies without phases."""
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


def _runner(wafer: WaferSpec, simulator: str, flits: int) -> Callable[[PlaneRun, Path], Finished]:
    """Return what simulates a plane in a folder."""
    size = Sizes(flits=2 * flits, link_cycles=LINK_CYCLES, memory_cycles=MEMORY_CYCLES)
    if simulator == "icarus":
        model = build_plane(wafer, size)
        return partial(run_plane, model)
    if simulator != "verilator":
        raise SimulatorError(f"simulator must be icarus or verilator for a plane, not {simulator}")
    compiled = build_compiled_plane(wafer, size)
    return partial(run_joined, compiled)
