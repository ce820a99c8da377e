"""Co-simulation of the control unit."""

from functools import partial
from pathlib import Path
from typing import Unpack

from fred_hw.control.unit import ControlUnit
from fred_hw.spec import SwitchSpec
from gen.emitter import VerilogEmitter
from gen.ports import module_ports
from testbench.sim.kept import Kept, kept
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
    make = partial(kept, _control_unit, spec)
    return launch(benches("control"), make, spec, work, {}, options)


def _control_unit(spec: SwitchSpec, emitter: VerilogEmitter) -> Kept:
    """Generate a control unit."""
    top = ControlUnit(spec=spec)
    emitter.add(top)
    return Kept(top.unit_name, emitter.verilog(), tuple(module_ports(top)))
