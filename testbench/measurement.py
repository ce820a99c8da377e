"""A co-simulation measurement, from inputs to record.

All records are made in the same way: the Verilog of a specification is generated, hashed and
simulated, and the counts are written after a head with the subject, tools and conditions of the
measurement.
"""

import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from fred_hw.checks import check_int
from fred_hw.mesh.spec import MeshSpec
from fred_hw.spec import SwitchSpec
from fred_hw.wafer.spec import WaferSpec
from testbench.designs import MeasuredDesign
from testbench.sim.cache import cpu_s
from testbench.sim.runner import find_simulator
from testbench.sim.tools import SimulatorError

__all__ = [
    "MEASURED_LANES",
    "Measurement",
    "SpecMeasurement",
    "fewer_lanes",
    "git_commit",
    "provenance",
    "today",
]

MEASURED_LANES = 1
"""Number of co-simulated lanes. Lanes run in parallel and share no control, so cycle counts do not
depend on their number. Tests verify this: tests/testbench/test_characterize.py for an interconnect
with 1, 4 and 256 lanes, tests/testbench/test_characterize_mesh.py for a router with 1 and 2, and
tests/testbench/collectives/test_phase_cycles.py for endpoints and a plane with 1 and 4."""

Spec = TypeVar("Spec", SwitchSpec, MeshSpec, WaferSpec)
Say = Callable[[str], object]


def fewer_lanes(spec: Spec, lanes: int | None = None) -> Spec:
    """Return the specification to simulate, with fewer lanes (``MEASURED_LANES`` if None)."""
    return spec.with_changes(lanes=min(spec.lanes, MEASURED_LANES) if lanes is None else lanes)


@dataclass(frozen=True, kw_only=True)
class Measurement(ABC):
    """A measurement: its subject, method and inputs.

    Parameters
    ----------
    simulators : tuple of str
        Simulators that all have to measure the same.
    seed : int
        Seed of all stimulus.

    Raises
    ------
    ValueError, TypeError
        The seed is not allowed.
    """

    SCHEMA: ClassVar[str]
    keeps_rows: ClassVar[bool] = False
    """Whether a field ``known`` holds a record whose unchanged rows are kept."""

    simulators: tuple[str, ...] = ("icarus",)
    seed: int = 1

    def __post_init__(self) -> None:
        check_int("seed", self.seed, minimum=1)

    @property
    @abstractmethod
    def designs(self) -> Mapping[str, MeasuredDesign]:
        """The measured Verilog, keyed by the name of its hash in the record."""

    @abstractmethod
    def head(self) -> dict[str, Any]:
        """Return the record's description of the hardware, its name first."""

    @abstractmethod
    def figures(self, work: Path, say: Say) -> dict[str, Any]:
        """Run the measurement, and return the figures.

        Parameters
        ----------
        work : Path
            Folder for files of runs.
        say : callable
            Called with a line for each part that is done.

        Raises
        ------
        SimulatorError
            A simulator is not installed or failed, a test failed, a result is wrong, or the
            simulators disagree.
        """

    @abstractmethod
    def other_inputs(self, record: Any) -> Iterator[str]:
        """Yield descriptions of inputs that differ from those of a record."""

    def hashes(self) -> dict[str, str]:
        """Return the canonical hashes of the current Verilog."""
        return {name: design.sha256 for name, design in self.designs.items()}

    def recorded_hashes(self, record: Any) -> dict[str, str | None]:
        """Return the hashes in a record."""
        return {name: getattr(record.source, name) for name in self.designs}

    def tools(self) -> dict[str, str]:
        """Return the versions of the installed simulators."""
        found: dict[str, str] = {}
        for name in self.simulators:
            with suppress(SimulatorError):
                found[name] = find_simulator(name)[0]
        return found

    def recorded_tools(self, record: Any) -> dict[str, str]:
        """Return the versions of the simulators in a record."""
        return {one.name: one.version for one in record.simulators}

    def record(self, work: Path, say: Say = lambda _: None) -> dict[str, Any]:
        """Run the measurement, and return the record; raises what ``figures`` raises."""
        for name in self.simulators:
            find_simulator(name)
        begun_s = cpu_s()
        figures = self.figures(work, say)
        minutes = (cpu_s() - begun_s) / 60
        return {
            "schema": self.SCHEMA,
            **self.head(),
            **provenance(self.simulators, self.seed, minutes, **self.hashes()),
            **figures,
        }


@dataclass(frozen=True, kw_only=True)
class SpecMeasurement(Measurement, Generic[Spec]):
    """A measurement of hardware that a specification describes.

    Parameters
    ----------
    spec : SwitchSpec, MeshSpec or WaferSpec
        Subject of the record.
    lanes : int, optional
        Lanes to co-simulate, ``MEASURED_LANES`` or fewer by default.
    """

    spec: Spec
    lanes: int | None = None

    @property
    def measured_spec(self) -> Spec:
        """The specification that is simulated."""
        return fewer_lanes(self.spec, self.lanes)

    def head(self) -> dict[str, Any]:
        return {
            "name": self.spec.name,
            "spec": self.spec.model_dump(),
            "measured_spec": self.measured_spec.model_dump(),
        }

    def other_inputs(self, record: Any) -> Iterator[str]:
        for name, wanted in (("spec", self.spec), ("measured_spec", self.measured_spec)):
            own = getattr(record, name)
            keys = [key for key in type(wanted).model_fields if _differ(own, wanted, key)]
            if keys:
                yield f"{name}: {', '.join(keys)}"
        if record.seed != self.seed:
            yield "seed"


def _differ(one: Any, other: Any, key: str) -> bool:
    return getattr(one, key) != getattr(other, key)


def provenance(
    simulators: Iterable[str], seed: int, minutes: float, **hashes: str
) -> dict[str, Any]:
    """Return the tools, date and revision of a measurement.

    Parameters
    ----------
    simulators : iterable of str
        Names of the simulators used.
    seed : int
        Seed of all stimulus.
    minutes : float
        Processor time of the measurement [min].
    hashes : str
        ``verilog_sha256`` and likewise: canonical hashes of the Verilog that was simulated.

    Raises
    ------
    SimulatorError
        A simulator is not installed.
    """
    return {
        "simulators": [{"name": one, "version": find_simulator(one)[0]} for one in simulators],
        "seed": seed,
        "source": {"git_commit": git_commit(), **hashes},
        "date": today(),
        "minutes": round(minutes, 1),
    }


def today() -> str:
    """Return the current date in UTC."""
    return datetime.now(UTC).date().isoformat()


def git_commit() -> str | None:
    """Return the commit of the sources, marked if modified; None outside a git checkout.

    Records are no sources: one that was just measured does not mark the next one.
    """
    commit, changed = (
        _git("rev-parse", "HEAD"),
        _git("status", "--porcelain", "-uno", "--", *_SOURCES),
    )
    if commit is None or changed is None:
        return None
    return f"{commit}-dirty" if changed else commit


_SOURCES = (":/", ":(top,exclude)perfmodel/switch_timing/records")
"""Paths that are passed to git."""


def _git(*words: str) -> str | None:
    """Return the output of git, or None if it fails."""
    try:
        said = subprocess.run(
            ["git", *words],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return None
    return said.stdout.strip() if said.returncode == 0 else None
