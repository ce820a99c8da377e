"""Co-simulation of a switch core."""

from collections.abc import Sequence
from pathlib import Path

from fred_hw.datapath.interconnect import latency_cycles
from fred_hw.spec import SwitchSpec
from fred_hw.switch.core import SwitchCore
from fred_hw.switch.spec import CoreSpec
from gen.emitter import VerilogEmitter

from .runner import SimulationResult, run_bench

__all__ = ["CORE_CYCLES", "cosimulate_core"]

CORE_CYCLES = 5
"""Cycles of a lone flit in the core beside those of the interconnect, as its contract states."""


def cosimulate_core(
    switch: SwitchSpec,
    spec: CoreSpec,
    work: Path,
    *,
    simulator: str = "icarus",
    seed: int = 1,
    turns: int = 60,
    tests: Sequence[str] = (),
    emitter: VerilogEmitter | None = None,
) -> SimulationResult:
    """Run the core's regression against the golden model.

    Parameters
    ----------
    switch, spec : SwitchSpec, CoreSpec
        What to simulate.
    work : Path
        Folder for logs and results.
    simulator : str
        "verilator" or "icarus".
    seed : int
        Seed of all stimulus.
    turns : int
        Packets of each flow in the longer tests.
    tests : sequence of str
        Names of tests; all if empty.
    emitter : VerilogEmitter, optional
        One with broken units.

    Raises
    ------
    SimulatorError
        The simulator is not installed or failed.
    """
    emitter = emitter or VerilogEmitter()
    top = SwitchCore(switch=switch, spec=spec)
    emitter.add(top)
    return run_bench(
        emitter.verilog(),
        top.unit_name,
        "testbench.tb_switch_core",
        work,
        simulator=simulator,
        seed=seed,
        tests=tests,
        environment={
            "FRED_SPEC": switch.model_dump_json(),
            "FRED_CORE": spec.model_dump_json(),
            "FRED_TURNS": str(turns),
            "FRED_LATENCY": str(latency_cycles(switch) + CORE_CYCLES),
        },
    )
