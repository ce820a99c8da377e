"""Co-simulation of an interconnect: generate it, run its benches, report."""

import random
from collections.abc import Collection, Sequence
from pathlib import Path

from fred_hw.checks import check_int
from fred_hw.spec import SwitchSpec
from gen.design import Design, generate
from testbench.faults.fault import Fault, FaultyEmitter
from testbench.sim.runner import SimulationResult, find_simulator, run_bench

__all__ = ["BENCH", "cosimulate", "fresh_seed"]

BENCH = "testbench.benches.tb_interconnect"


def fresh_seed() -> int:
    """Return a seed that no run had before, for runs whose seed nobody gave."""
    return random.SystemRandom().randrange(1, 2**31)


def cosimulate(
    spec: SwitchSpec,
    work: Path,
    *,
    simulator: str = "icarus",
    seed: int = 1,
    tests: Sequence[str] = (),
    waves: bool = False,
    flits: int = 20,
    configurations: int = 40,
    faults: Collection[type[Fault]] = (),
    fault: type[Fault] | None = None,
    design: Design | None = None,
) -> SimulationResult:
    """Run the interconnect's regression against the golden model.

    Parameters
    ----------
    spec : SwitchSpec
        What to simulate.
    work : Path
        Folder for logs, JUnit results and waves.
    simulator : str
        "verilator" or "icarus".
    seed : int
        Seed of all stimulus, 1 or more.
    tests : Sequence of str
        Names of tests; all if empty.
    waves : bool
        Record waves.
    flits, configurations : int
        Flits per configuration and configurations per random test.
    faults, fault : collection of type, type, optional
        Faults that the design holds, and the one that it has.
    design : Design, optional
        The hardware with these faults, if it is generated already.

    Raises
    ------
    SimulatorError
        The simulator is not installed or failed.
    """
    check_int("seed", seed, minimum=1)
    find_simulator(simulator)
    emitter = FaultyEmitter(faults)
    design = design or generate(spec, emitter)
    return run_bench(
        design.verilog,
        design.name,
        BENCH,
        work,
        simulator=simulator,
        seed=seed,
        tests=tests,
        plusargs=emitter.plusargs(fault),
        waves=waves,
        environment={
            "FRED_SPEC": spec.model_dump_json(),
            "FRED_LATENCY": str(design.latency_cycles),
            "FRED_FLITS": str(flits),
            "FRED_CONFIGURATIONS": str(configurations),
        },
    )
