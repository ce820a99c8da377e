"""Co-simulation of a switch core."""

from collections.abc import Collection, Sequence
from pathlib import Path

from fred_hw.datapath.interconnect import latency_cycles
from fred_hw.spec import SwitchSpec
from fred_hw.switch.core import SwitchCore
from fred_hw.switch.switch import added_cycles
from testbench.faults.fault import Fault, FaultyEmitter
from testbench.sim.runner import SimulationResult, run_bench

__all__ = ["cosimulate_core"]


def cosimulate_core(
    spec: SwitchSpec,
    work: Path,
    *,
    simulator: str = "icarus",
    seed: int = 1,
    turns: int = 60,
    tests: Sequence[str] = (),
    faults: Collection[type[Fault]] = (),
    fault: type[Fault] | None = None,
) -> SimulationResult:
    """Run the core's regression against the golden model.

    Parameters
    ----------
    spec : SwitchSpec
        What to simulate; without the link layer.
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
    faults, fault : collection of type, type, optional
        Faults that the design holds, and the one that it has.

    Raises
    ------
    SimulatorError
        The simulator is not installed or failed.
    """
    emitter = FaultyEmitter(faults)
    top = SwitchCore(spec=spec)
    emitter.add(top)
    return run_bench(
        emitter.verilog(),
        top.unit_name,
        "testbench.benches.tb_switch_core",
        work,
        simulator=simulator,
        seed=seed,
        tests=tests,
        plusargs=emitter.plusargs(fault),
        environment={
            "FRED_SPEC": spec.model_dump_json(),
            "FRED_TURNS": str(turns),
            "FRED_LATENCY": str(latency_cycles(spec) + added_cycles(spec)),
        },
    )
