"""Co-simulation of two collective endpoints, with a faulty link between them."""

from functools import partial
from pathlib import Path
from typing import Unpack

from fred_hw.ace.npu_endpoint import NpuEndpoint
from fred_hw.checks import check_int
from fred_hw.spec import SwitchSpec
from gen.emitter import VerilogEmitter
from testbench.sim.kept import Kept, kept
from testbench.sim.runner import SimulationResult

from .benches import benches
from .launch import Options, launch
from .pair import pair_of

__all__ = ["cosimulate_endpoint"]


def cosimulate_endpoint(
    spec: SwitchSpec, work: Path, *, flits: int = 32, **options: Unpack[Options]
) -> SimulationResult:
    """Run the regression of a pair of endpoints.

    Parameters
    ----------
    spec, work, options
        As in :func:`launch`.
    flits : int
        Flits of each buffer, 1 or more.

    Raises
    ------
    TypeError, ValueError
        ``flits`` is no integer, or below 1.
    SimulatorError
        The simulator is not installed or failed.
    """
    check_int("flits", flits, minimum=1)
    make = partial(kept, _pair, spec)
    return launch(benches("endpoint"), make, spec, work, {"FRED_FLITS": flits}, options)


def _pair(spec: SwitchSpec, emitter: VerilogEmitter) -> Kept:
    """Generate two endpoints."""
    return pair_of(NpuEndpoint(spec=spec), "endpoint_pair", emitter)
