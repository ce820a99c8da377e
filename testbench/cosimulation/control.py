"""Co-simulation of the control unit."""

from collections.abc import Collection, Sequence
from pathlib import Path

from fred_hw.control.unit import ControlUnit
from fred_hw.spec import SwitchSpec
from testbench.faults.fault import Fault, FaultyEmitter
from testbench.sim.runner import SimulationResult, run_bench

__all__ = ["cosimulate_control"]


def cosimulate_control(
    spec: SwitchSpec,
    work: Path,
    *,
    simulator: str = "icarus",
    seed: int = 1,
    tests: Sequence[str] = (),
    faults: Collection[type[Fault]] = (),
    fault: type[Fault] | None = None,
) -> SimulationResult:
    """Run the control unit's regression, with a model of the switch core behind it.

    Parameters
    ----------
    spec : SwitchSpec
        What to simulate.
    work : Path
        Folder for logs and results.
    simulator : str
        "verilator" or "icarus".
    seed : int
        Seed of all stimulus.
    tests : sequence of str
        Names of tests; all if empty.
    faults, fault : collection of type, type, optional
        Faults that the design holds, and the one that it has.

    Raises
    ------
    SimulatorError
        The simulator is not installed or failed.
    """
    emitter = FaultyEmitter(faults)
    top = ControlUnit(spec=spec)
    emitter.add(top)
    return run_bench(
        emitter.verilog(),
        top.unit_name,
        "testbench.benches.tb_control",
        work,
        simulator=simulator,
        seed=seed,
        tests=tests,
        plusargs=emitter.plusargs(fault),
        environment={"FRED_SPEC": spec.model_dump_json()},
    )
