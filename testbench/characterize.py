"""Timing record of a specification, measured by co-simulation."""

import hashlib
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fred_hw.spec import SwitchSpec
from gen.companions import CLOCK_HZ, CLOCK_SOURCE
from gen.design import generate

from .cosimulation import cosimulate
from .runner import SimulatorError

__all__ = ["MEASURED_LANES", "RECORD_SCHEMA", "characterize"]

RECORD_SCHEMA = "fred-timing/1"
MEASURED_LANES = 1
"""Lanes as co-simulated. Lanes run side by side and share no control, so cycle counts do not depend
on them; tests/testbench/test_characterize.py shows it for 1, 4 and 256."""

_MEASURED = ("latency_cycles", "throughput_flits_per_cycle", "reconfiguration_cycles")


def characterize(
    spec: SwitchSpec,
    work: Path,
    *,
    simulators: Sequence[str] = ("icarus",),
    seed: int = 1,
    lanes: int | None = None,
) -> dict[str, Any]:
    """Co-simulate ``spec`` and return its timing record, JSON-friendly.

    Parameters
    ----------
    spec : SwitchSpec
        What the record is for.
    work : Path
        Folder for logs and results.
    simulators : Sequence of str
        Simulators that all have to measure the same.
    seed : int
        Seed of all stimulus.
    lanes : int, optional
        Lanes to co-simulate, ``MEASURED_LANES`` or fewer by default.

    Raises
    ------
    SimulatorError
        A simulator is not installed or failed, a test failed, or the simulators disagree.
    """
    lanes = min(spec.lanes, MEASURED_LANES) if lanes is None else lanes
    measured_spec = spec.with_changes(lanes=lanes)
    design = generate(measured_spec)
    results = [
        cosimulate(measured_spec, work / name, simulator=name, seed=seed, design=design)
        for name in simulators
    ]
    for result in results:
        if result.failures:
            failed = ", ".join(test.name for test in result.failures)
            raise SimulatorError(f"{result.simulator}: no record, as these tests failed: {failed}")
    measured = [{key: result.measurements[key] for key in _MEASURED} for result in results]
    if any(one != measured[0] for one in measured):
        raise SimulatorError(f"simulators must agree on cycle counts, not measure {measured}")
    return {
        "schema": RECORD_SCHEMA,
        "name": spec.name,
        "spec": spec.model_dump(),
        "measured_spec": measured_spec.model_dump(),
        "simulators": [{"name": r.simulator, "version": r.version} for r in results],
        "seed": seed,
        "source": {
            "git_commit": _git_commit(),
            "verilog_sha256": hashlib.sha256(design.verilog.encode()).hexdigest(),
        },
        **measured[0],
        "flits_checked": sum(result.measurements["flits_checked"] for result in results),
        "preemption_cycles": None,
        "retransmission_cycles": None,
        "protocol_efficiency": None,
        "clock": {"hz": CLOCK_HZ, "source": CLOCK_SOURCE},
    }


def _git_commit() -> str | None:
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
