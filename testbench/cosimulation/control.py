"""Co-simulation of the control unit."""

from pathlib import Path
from typing import Unpack

from fred_hw.control.unit import ControlUnit
from fred_hw.spec import SwitchSpec
from testbench.faults.fault import FaultyEmitter
from testbench.sim.runner import SimulationResult

from .benches import benches
from .launch import Options, launch

__all__ = ["cosimulate_control"]


def cosimulate_control(
    spec: SwitchSpec, work: Path, **options: Unpack[Options]
) -> SimulationResult:
    """Run the control unit's regression, with a model of the switch core behind it.

    Parameters
    ----------
    spec, work, options
        As in :func:`launch`.

    Raises
    ------
    SimulatorError
        The simulator is not installed or failed.
    """

    def make(emitter: FaultyEmitter) -> tuple[str, str]:
        top = ControlUnit(spec=spec)
        emitter.add(top)
        return emitter.verilog(), top.unit_name

    return launch(benches("control"), make, spec, work, {}, options)
