"""What all records of measurements say alike: what was measured, by whom, and on what."""

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from fred_hw.mesh.spec import MeshSpec
from fred_hw.spec import SwitchSpec
from fred_hw.wafer.spec import WaferSpec
from testbench.sim.runner import find_simulator

__all__ = ["MEASURED_LANES", "fewer_lanes", "git_commit", "measurement", "record_head"]

MEASURED_LANES = 1
"""Lanes as co-simulated. Lanes run side by side and share no control, so cycle counts do not depend
on them. Tests show it: tests/testbench/test_characterize.py of an interconnect for 1, 4 and 256,
tests/testbench/test_characterize_mesh.py of a router for 1 and 2, and
tests/testbench/collectives/test_phase_cycles.py of endpoints and a plane for 1 and 4."""

Spec = TypeVar("Spec", SwitchSpec, MeshSpec, WaferSpec)


def fewer_lanes(spec: Spec, lanes: int | None = None) -> Spec:
    """Return what is simulated for a specification; it has ``MEASURED_LANES`` or fewer if None."""
    return spec.with_changes(lanes=min(spec.lanes, MEASURED_LANES) if lanes is None else lanes)


def record_head(
    schema: str, spec: Spec, measured: Spec, simulators: Iterable[str], seed: int, **hashes: str
) -> dict[str, Any]:
    """Return what a record begins with.

    Parameters
    ----------
    schema : str
        Its format, with a version.
    spec, measured : SwitchSpec, MeshSpec or WaferSpec
        What it stands for, and what was simulated.
    simulators, seed, hashes
        As for ``measurement``.
    """
    return {
        "schema": schema,
        "name": spec.name,
        "spec": spec.model_dump(),
        "measured_spec": measured.model_dump(),
        **measurement(simulators, seed, **hashes),
    }


def measurement(simulators: Iterable[str], seed: int, **hashes: str) -> dict[str, Any]:
    """Return who measured, and on what.

    Parameters
    ----------
    simulators : iterable of str
        Names of those that took part.
    seed : int
        Of all stimulus.
    hashes : str
        ``verilog_sha256`` and likewise: which Verilog was simulated.

    Raises
    ------
    SimulatorError
        A simulator is not installed.
    """
    return {
        "simulators": [{"name": one, "version": find_simulator(one)[0]} for one in simulators],
        "seed": seed,
        "source": {"git_commit": git_commit(), **hashes},
    }


def git_commit() -> str | None:
    """Return the commit of the sources, marked if they were changed since; None outside git."""
    try:
        said = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return None
    return said.stdout.strip() if said.returncode == 0 else None
