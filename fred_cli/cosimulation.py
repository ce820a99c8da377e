"""Shared code of co-simulation commands, which need optional packages."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from fred_hw.choices import not_one_of
from fred_hw.errors import InputError
from fred_hw.optional import needed

if TYPE_CHECKING:
    from fred_hw.spec import SwitchSpec
    from testbench.sim.runner import SimulationResult

__all__ = [
    "REGRESSIONS",
    "Regression",
    "check_tests",
    "load_testbench",
    "simulating",
    "tests_begun",
    "tests_begun_last",
]

_TEST = re.compile(rb" running \S+ \((\d+)/(\d+)\)")

_BOTH = ("verilator", "icarus")
"""Simulators that ``--sim both`` selects; both are freely available."""


def check_tests(names: tuple[str, ...], level: str) -> None:
    """Fail if benches lack a requested test."""
    from testbench.cosimulation.benches import tests_of

    known = tests_of(level)
    for name in names:
        if name not in known:
            message = not_one_of(name, known)
            raise InputError("--test", "", message)


def load_testbench(simulator: str) -> tuple[str, ...]:
    """Check that the optional packages of co-simulation are installed; return the simulators.

    Raises
    ------
    InputError
        A package is not installed.
    """
    with needed("cocotb", "co-simulation", "fred-hw[sim]"):
        import_module("testbench.cosimulation.cosimulate_interconnect")
        from testbench.sim.simulator import SIMULATORS
    import logging

    for one in SIMULATORS.values():
        logging.getLogger(one.runner.capitalize()).setLevel(logging.ERROR)
    return _BOTH if simulator == "both" else (simulator,)


@dataclass(frozen=True)
class Regression:
    """The regression of a level.

    Parameters
    ----------
    function : str
        Module in ``testbench.cosimulation`` and function, with a colon between them.
    latency : str, optional
        Name of the latency that it measures; empty if it measures none.
    """

    function: str
    latency: str = ""

    def run(self, spec: "SwitchSpec", work: Path, **options: Any) -> "SimulationResult":
        """Run the regression; call ``load_testbench`` before.

        Parameters
        ----------
        spec, work : SwitchSpec, Path
            The specification, and a folder for logs.
        options
            The keywords of ``testbench.cosimulation.launch.Options``.

        Raises
        ------
        SimulatorError
            The simulator is not installed or failed.
        """
        return resolve_name(f"testbench.cosimulation.{self.function}")(spec, work, **options)


REGRESSIONS = {
    "interconnect": Regression("cosimulate_interconnect:cosimulate", "latency_cycles"),
    "crossbar": Regression("cosimulate_interconnect:cosimulate_crossbar", "latency_cycles"),
    "benes": Regression("cosimulate_interconnect:cosimulate_benes", "latency_cycles"),
    "switch": Regression("cosimulate_switch:cosimulate_switch", "switch_latency_cycles"),
    "endpoint": Regression("cosimulate_pair:cosimulate_endpoint", "endpoint_latency_cycles"),
    "terminator": Regression("cosimulate_pair:cosimulate_terminator", "terminator_latency_cycles"),
    "router": Regression("cosimulate_mesh:cosimulate_router"),
    "reducing_mesh": Regression("cosimulate_mesh:cosimulate_reducing_mesh", "longest_route_cycles"),
}
"""Regression of each level that has one."""


def tests_begun(log: Path) -> tuple[str, int, int] | None:
    """Return the unit, the number of finished tests and their total, parsed from a log."""
    try:
        said = log.read_bytes()
    except OSError:  # the simulator is still being built
        return None
    found = _TEST.findall(said)
    return ("tests", int(found[-1][0]) - 1, int(found[-1][1])) if found else None


def tests_begun_last(logs: Iterable[Path], since_s: float) -> tuple[str, int, int] | None:
    """Return ``tests_begun`` of the most recently written log, if newer than a given time."""
    found: list[tuple[float, Path]] = []
    for log in logs:
        with suppress(OSError):
            found.append((log.stat().st_mtime, log))
    written_s, log = max(found, default=(since_s, None))
    return tests_begun(log) if log and written_s >= since_s else None


@contextmanager
def simulating(source: str = "--sim", field: str = "") -> Iterator[None]:
    """Convert a missing or failing simulator to an error message about a source and field."""
    from testbench.sim.tools import SimulatorError

    try:
        yield
    except SimulatorError as error:
        raise InputError(source, field, str(error)) from None
