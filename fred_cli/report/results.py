"""Report section of the co-simulation, read from a file or simulated."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from fred_cli.cosimulation import REGRESSIONS, load_testbench, simulating
from fred_hw.errors import InputError
from fred_hw.files import FileModel, validate
from fred_hw.reading import read_data
from fred_hw.spec import SwitchSpec

__all__ = ["simulation_results", "work_folder"]


class _Part(FileModel, extra="ignore"):
    """The part of the results that the page shows."""


class _Test(_Part):
    name: str
    passed: bool
    message: str


class _Measurements(_Part):
    """Measurements; None where the corresponding test failed or did not run."""

    latency_cycles: int | None = None
    throughput_flits_per_cycle: float | None = None
    reconfiguration_cycles: int | None = None
    flits_checked: int | None = None


class _Run(_Part):
    simulator: str
    version: str
    tests: Annotated[list[_Test], Field(min_length=1)]
    measurements: _Measurements


class _Results(_Part):
    name: str
    seed: int
    runs: list[_Run]


def work_folder(spec: SwitchSpec) -> Path:
    """Return the folder in which a report simulates a switch."""
    return Path("build") / "sim-results" / spec.name / "icarus"


def simulation_results(spec: SwitchSpec, results: Path | None) -> dict[str, Any]:
    """Return the co-simulation results to show."""
    if results is not None:
        return _read_results(spec, results)
    load_testbench("icarus")
    with simulating("--results"):
        run = REGRESSIONS["interconnect"].run(spec, work_folder(spec))
    return {"failures": len(run.failures), "seed": run.seed, "runs": [run.to_dict()]}


def _read_results(spec: SwitchSpec, path: Path) -> dict[str, Any]:
    """Return the output of `fred sim --json`, if it is valid and of this switch."""
    data = read_data(path)
    if not isinstance(data, dict) or not isinstance(data.get("runs"), list) or not data["runs"]:
        raise InputError(str(path), "runs", "must be what `fred sim --json` prints")
    results = validate(_Results, data, str(path))
    if results.name != spec.name:
        raise InputError(str(path), "name", f"must be {spec.name}, not {results.name}")
    names = [[test.name for test in run.tests] for run in results.runs]
    if any(one != names[0] for one in names):
        raise InputError(str(path), "runs", "must be runs of the same tests")
    return data
