"""Shared code of co-simulations: generate hardware with faults, and run benches."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from fred_hw.checks import check_int
from fred_hw.spec import SwitchSpec
from testbench.faults.fault import Fault, FaultyEmitter
from testbench.sim.kept import Written
from testbench.sim.runner import BenchRun, SimulationResult, find_simulator, run_bench

__all__ = ["OUTPUTS", "Options", "launch"]

OUTPUTS = "outputs.txt"
"""File with the outputs of a design, cycle by cycle; see ``testbench.agents.outputs``."""


class Options(TypedDict, total=False):
    """Options of any co-simulation.

    Members
    -------
    simulator : str
        A name of ``SIMULATORS``, "icarus" by default.
    seed : int
        Seed of all stimulus, 1 or more; 1 by default.
    tests : sequence of str
        Names of tests; all if empty.
    waves : bool
        Record waves.
    faults, fault : collection of Fault, Fault, optional
        Faults that the design holds, and the one that it has.
    design : Written, optional
        The hardware with these faults, if it is generated already.
    synthesize : callable, optional
        Returns the netlist of the hardware, which is simulated in its place.
    points : str, optional
        SystemVerilog of cover points; if given, the run leaves its coverage in ``COVERAGE``.
    outputs : bool
        Check that no output is undefined after a reset, and record all in ``OUTPUTS``.
    """

    simulator: str
    seed: int
    tests: Sequence[str]
    waves: bool
    faults: Collection[Fault]
    fault: Fault | None
    design: Written | None
    synthesize: Callable[[Written], str] | None
    points: str | None
    outputs: bool


def launch(
    benches: Sequence[str],
    make: Callable[[Collection[Fault]], Written],
    spec: SwitchSpec,
    work: Path,
    environment: Mapping[str, object],
    options: Options,
    probes: Sequence[str] = (),
    blocks: Sequence[str] = (),
) -> SimulationResult:
    """Run benches on hardware.

    Parameters
    ----------
    benches : sequence of str
        Importable names of the benches.
    make : callable
        Returns the hardware, with faults that can be enabled.
    spec : SwitchSpec
        Specification to simulate.
    work : Path
        Folder for logs, JUnit results and waves.
    environment, options : mapping, Options
        Further variables for the benches, and how to run.
    probes, blocks : sequence of str, sequence of str
        Internal signals, and modules with many instances, as in ``BenchRun``.

    Raises
    ------
    SimulatorError
        The simulator is not installed or failed.
    """
    seed, design = options.get("seed", 1), options.get("design")
    simulator = options.get("simulator", "icarus")
    check_int("seed", seed, minimum=1)
    find_simulator(simulator)
    faults = options.get("faults", ())
    design = design or make(faults)
    synthesize = options.get("synthesize")
    verilog = synthesize(design) if synthesize else design.verilog
    environment = {name: str(value) for name, value in environment.items()}
    if options.get("outputs"):
        record = work.absolute() / OUTPUTS
        record.unlink(missing_ok=True)
        names = [name for name, direction, _ in design.ports if direction == "output"]
        environment |= {"FRED_OUTPUTS": str(record), "FRED_OUTPUT_PORTS": json.dumps(names)}
    run = BenchRun(
        module=",".join(benches),
        simulator=simulator,
        seed=seed,
        tests=options.get("tests", ()),
        plusargs=FaultyEmitter(faults).plusargs(options.get("fault")),
        waves=options.get("waves", False),
        probes=probes,
        blocks=blocks,
        points=options.get("points"),
        environment={"FRED_SPEC": spec.model_dump_json(), **environment},
    )
    return run_bench(verilog, design.name, run, work)
