"""Co-simulation runs: build once per content, run benches, read results."""

import json
import os
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cocotb_tools.runner import get_runner
from filelock import FileLock

from fred_hw.checks import check_choice

from .simulator import SIMULATORS, TIMESCALE
from .tools import SimulatorError

__all__ = ["COVERAGE", "BenchRun", "SimulationResult", "TestOutcome", "find_simulator", "run_bench"]


_LOG = "simulation.log"

COVERAGE = "coverage.dat"
"""File with the coverage of a run; see ``testbench.coverage.counts``."""

_REWRITTEN = "*/testbench/benches/*.py */testbench/agents/*.py"
"""Modules whose assertions report operands; cocotb's default rewrites everything a bench
imports."""


@dataclass(frozen=True)
class TestOutcome:
    """Outcome of one test of a bench.

    Parameters
    ----------
    name : str
        Name of the test, parameters included.
    passed : bool
        Whether it passed.
    message : str
        First line of the failure, or empty.
    wall_s : float
        Time it took [s].
    """

    __test__ = False  # tells pytest that this is no test class

    name: str
    passed: bool
    message: str
    wall_s: float


@dataclass(frozen=True)
class SimulationResult:
    """Results of one run of a bench.

    Parameters
    ----------
    simulator, version : str
        The simulator and its version.
    seed : int
        Seed of all random stimulus.
    tests : tuple of TestOutcome
        Outcome of each test, in the order of the bench.
    measurements : Mapping of str to Any
        Values that the bench reported, by name.
    figures : Mapping of str to Mapping
        The ``unit`` and ``meaning`` of each measurement.
    results_xml : str
        File with the same results as JUnit XML.
    waves : str or None
        Wave file, if requested.
    """

    simulator: str
    version: str
    seed: int
    tests: tuple[TestOutcome, ...]
    measurements: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    results_xml: str = ""
    waves: str | None = None

    @property
    def failures(self) -> tuple[TestOutcome, ...]:
        """The tests that failed."""
        return tuple(test for test in self.tests if not test.passed)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {**asdict(self), "tests": [asdict(test) for test in self.tests]}


@dataclass(frozen=True, kw_only=True)
class BenchRun:
    """A bench, and the options of its run.

    Parameters
    ----------
    module : str
        Importable name of the cocotb module; several between commas.
    simulator : str
        A name of ``SIMULATORS``.
    seed : int
        Seed of cocotb's random generator.
    environment : Mapping
        Further variables for the bench.
    tests : Sequence of str
        Names of the tests to run; all if empty.
    waves : bool
        Record a wave file, of the format that the simulator has.
    plusargs : sequence of str
        Arguments that the design itself reads, each with its "+".
    probes : sequence of str
        Signals below the top module that the bench looks at: ``signal`` or ``module.signal``, in
        which "*" is any characters.
    points : str, optional
        SystemVerilog of cover points; if given, the run leaves coverage in ``COVERAGE``.
    blocks : sequence of str
        Modules with many instances, which Verilator translates once each.
    """

    module: str
    simulator: str = "icarus"
    seed: int = 1
    environment: Mapping[str, str] = field(default_factory=dict)
    tests: Sequence[str] = ()
    waves: bool = False
    plusargs: Sequence[str] = ()
    probes: Sequence[str] = ()
    points: str | None = None
    blocks: Sequence[str] = ()

    @property
    def wave_file(self) -> str:
        """Name of the waveform file."""
        return f"waves.{SIMULATORS[self.simulator].waves}"


def run_bench(verilog: str, top: str, bench: BenchRun, work: Path) -> SimulationResult:
    """Simulate ``verilog`` under a bench and return the outcome of its tests.

    Runs in one folder wait for each other, also those of other processes.

    Parameters
    ----------
    verilog, top : str
        Text of the design, name of its top module.
    bench : BenchRun
        The bench, and its options.
    work : Path
        Folder for the log, the results (JUnit XML), the measurements and the waves.

    Raises
    ------
    SimulatorError
        The simulator is not installed, the build failed, or the run left no results.
    """
    version, path = find_simulator(bench.simulator)
    work.mkdir(parents=True, exist_ok=True)
    work = work.resolve()
    with FileLock(work / ".lock"):
        return _run_bench(verilog, top, bench, work, version, path)


def _run_bench(
    verilog: str, top: str, bench: BenchRun, work: Path, version: str, path: Path
) -> SimulationResult:
    """Simulate in a private folder."""
    results_xml = work / "results.xml"
    measured = work / "measurements.json"
    for stale in (measured, work / COVERAGE):
        stale.unlink(missing_ok=True)
    with _environment(path):
        simulator = SIMULATORS[bench.simulator]
        model = simulator.build(
            verilog,
            top,
            waves=bench.waves,
            probes=bench.probes,
            points=bench.points,
            blocks=bench.blocks,
        )
        try:
            _simulate(model, top, bench, work, {"FRED_MEASUREMENTS": str(measured)})
        except (RuntimeError, SystemExit) as error:
            if not results_xml.exists():
                raise SimulatorError(f"{bench.simulator} ended without results: {error}") from None
    outcomes = _read_results(results_xml)
    figures = json.loads(measured.read_text()) if measured.exists() else {}
    if not outcomes:
        raise SimulatorError(f"{bench.simulator} ran no test; see {work / _LOG}")
    return SimulationResult(
        simulator=bench.simulator,
        version=version,
        seed=bench.seed,
        tests=outcomes,
        measurements={name: one.pop("value") for name, one in figures.items()},
        figures=figures,
        results_xml=str(results_xml),
        waves=str(work / bench.wave_file) if bench.waves else None,
    )


def find_simulator(name: str) -> tuple[str, Path]:
    """Return the version of a simulator and the folder of its programs.

    Raises
    ------
    SimulatorError
        The simulator is not installed.
    """
    check_choice("simulator", name, SIMULATORS)
    simulator = SIMULATORS[name]
    path = simulator.find()
    if path is None:
        raise SimulatorError(f"{name} is not installed; {simulator.package} has it")
    return simulator.version() or "unknown", path


@contextmanager
def _environment(path: Path) -> Iterator[None]:
    """Put the simulator first on PATH; hide pytest, which would change cocotb's result names."""
    before = dict(os.environ)
    os.environ["PATH"] = os.pathsep.join([str(path), before.get("PATH", "")])
    os.environ.pop("PYTEST_CURRENT_TEST", None)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _simulate(
    model: Path, top: str, bench: BenchRun, work: Path, environment: Mapping[str, str]
) -> None:
    """Run a built model with a bench in a folder, which receives the results."""
    simulator = SIMULATORS[bench.simulator]
    runner = get_runner(simulator.runner)
    runner.test(
        test_module=bench.module,
        hdl_toplevel=top,
        hdl_toplevel_lang="verilog",
        test_filter=_filter(bench.tests) if bench.tests else None,
        seed=bench.seed,
        extra_env={
            **bench.environment,
            **environment,
            "PYTHONWARNINGS": "error",
            "COCOTB_ANSI_OUTPUT": "0",
            # By file name: the path may have characters that XML cannot hold.
            "COCOTB_RESULTS_ATTACHMENTS": _LOG,
            "COCOTB_RESULTS_RELATIVE_TO": str(work),
            # NumPy's threads, which benches do not need, would take 0.1 s of each simulation.
            "OPENBLAS_NUM_THREADS": "1",
            "COCOTB_REWRITE_ASSERTION_FILES": _REWRITTEN,
        },
        waves=bench.waves,
        test_args=list(simulator.wave_arguments(bench.wave_file)) if bench.waves else [],
        build_dir=model,
        test_dir=work,
        results_xml=str(work / "results.xml"),
        timescale=TIMESCALE,
        plusargs=bench.plusargs,
        log_file=work / _LOG,
    )


def _filter(tests: Sequence[str]) -> str:
    """Return a cocotb filter for exactly these tests, with any parameters."""
    return rf"\.({'|'.join(tests)})(/.*)?$"


def _read_results(path: Path) -> tuple[TestOutcome, ...]:
    """Return the outcomes in a cocotb results file.

    Raises
    ------
    SimulatorError
        The file is not XML, for example as the simulator was stopped while writing it.
    """
    outcomes = []
    try:
        root = ET.parse(path).getroot()
    except ET.ParseError as error:
        raise SimulatorError(f"{path}: must be results of cocotb, not with: {error}") from None
    for case in root.iter("testcase"):
        if case.find("skipped") is not None:
            continue
        failure = case.find("failure")
        if failure is None:
            failure = case.find("error")
        text = "" if failure is None else failure.get("message") or failure.text or "failed"
        outcomes.append(
            TestOutcome(
                name=case.get("name", ""),
                passed=failure is None,
                message=text.strip().splitlines()[0] if text.strip() else "",
                wall_s=float(case.get("time", 0)),
            )
        )
    return tuple(outcomes)
