"""Co-simulation of a whole switch: generate it, run its benches, report."""

from collections.abc import Collection, Sequence
from pathlib import Path

from fred_hw.checks import check_int
from fred_hw.spec import SwitchSpec
from gen.design import Design, generate
from testbench.faults.fault import Fault, FaultyEmitter
from testbench.sim.runner import SimulationResult, find_simulator, run_bench

__all__ = ["BENCHES", "cosimulate_switch"]

BENCHES = tuple(f"testbench.benches.tb_switch{part}" for part in ("", "_link", "_measures"))


def cosimulate_switch(
    spec: SwitchSpec,
    work: Path,
    *,
    simulator: str = "icarus",
    seed: int = 1,
    waves: bool = False,
    tests: Sequence[str] = (),
    packets: int = 6,
    faults: Collection[type[Fault]] = (),
    fault: type[Fault] | None = None,
    design: Design | None = None,
) -> SimulationResult:
    """Run the whole switch's regression against the golden model.

    Parameters
    ----------
    spec : SwitchSpec
        What to simulate; what the link layer does is tested if it has one.
    work : Path
        Folder for logs, JUnit results and waves.
    simulator : str
        "verilator" or "icarus".
    seed : int
        Seed of all stimulus, 1 or more.
    waves : bool
        Record waves.
    tests : Sequence of str
        Names of tests; all if empty.
    packets : int
        Packets of each flow in the longer tests, 1 or more.
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
    check_int("packets", packets, minimum=1)
    emitter = FaultyEmitter(faults)
    design = design or generate(spec, emitter, level="switch")
    return run_bench(
        design.verilog,
        design.name,
        ",".join(BENCHES),
        work,
        simulator=simulator,
        seed=seed,
        tests=tests,
        plusargs=emitter.plusargs(fault),
        waves=waves,
        environment={
            "FRED_SPEC": spec.model_dump_json(),
            "FRED_LATENCY": str(design.latency_cycles),
            "FRED_PACKETS": str(packets),
        },
    )
