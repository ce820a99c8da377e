"""Co-simulation of the control unit."""

from functools import lru_cache
from pathlib import Path
from typing import Unpack

from fred_hw.control.unit import ControlUnit
from fred_hw.spec import SwitchSpec
from testbench.faults.fault import Fault, FaultyEmitter
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
        return _written(spec.model_dump_json(), emitter.faults)

    return launch(benches("control"), make, spec, work, {}, options)


@lru_cache(maxsize=1)  # the faults of a unit are chosen one after another
def _written(spec_json: str, faults: tuple[Fault, ...]) -> tuple[str, str]:
    """Return the text and the name of a control unit that may have faults."""
    spec = SwitchSpec.model_validate_json(spec_json)
    top, emitter = ControlUnit(spec=spec), FaultyEmitter(faults)
    emitter.add(top)
    return emitter.verilog(), top.unit_name
