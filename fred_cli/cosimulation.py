"""Shared code of co-simulation commands, which need optional packages."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fred_hw.choices import not_one_of
from fred_hw.errors import InputError
from fred_hw.optional import needed

__all__ = [
    "LATENCIES",
    "check_tests",
    "load_testbench",
    "regression_of",
    "simulating",
    "tests_begun",
    "tests_begun_last",
]

LATENCIES = {"interconnect": "latency_cycles", "switch": "switch_latency_cycles"}
"""Levels that have a regression, and the latency that each measures."""

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


def load_testbench(simulator: str) -> tuple[Any, tuple[str, ...]]:
    """Import the co-simulation package, which is optional; return it and the simulators.

    Raises
    ------
    InputError
        The package is not installed.
    """
    with needed("cocotb", "co-simulation", "fred-hw[sim]"):
        from testbench.cosimulation import interconnect as cosimulation
        from testbench.sim.simulator import SIMULATORS
    import logging

    for one in SIMULATORS.values():
        logging.getLogger(one.runner.capitalize()).setLevel(logging.ERROR)
    return cosimulation, _BOTH if simulator == "both" else (simulator,)


def regression_of(level: str) -> Callable[..., Any]:
    """Return the function that runs the regression of a level of ``LATENCIES``."""
    from testbench.cosimulation import interconnect, switch

    return switch.cosimulate_switch if level == "switch" else interconnect.cosimulate


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
def simulating() -> Iterator[None]:
    """Convert a missing or failing simulator to an error message."""
    from testbench.sim.tools import SimulatorError

    try:
        yield
    except SimulatorError as error:
        raise InputError("--sim", "", str(error)) from None
