"""Co-simulation of two link terminators, with a faulty link between them."""

from functools import partial
from pathlib import Path
from typing import Unpack

from fred_hw.checks import check_int
from fred_hw.endpoint.terminator import LinkTerminator
from fred_hw.spec import SwitchSpec
from gen.emitter import VerilogEmitter
from testbench.sim.kept import Kept, kept
from testbench.sim.runner import SimulationResult

from .benches import benches
from .launch import Options, launch
from .pair import pair_of

__all__ = ["cosimulate_terminator"]


def cosimulate_terminator(
    spec: SwitchSpec, work: Path, *, packets: int = 6, **options: Unpack[Options]
) -> SimulationResult:
    """Run the regression of a pair of terminators.

    Parameters
    ----------
    spec, work, options
        As in :func:`launch`.
    packets : int
        Packets of each flow, 1 or more.

    Raises
    ------
    TypeError, ValueError
        ``packets`` is no integer, or below 1.
    SimulatorError
        The simulator is not installed or failed.
    """
    check_int("packets", packets, minimum=1)
    make = partial(kept, _pair, spec)
    return launch(benches("terminator"), make, spec, work, {"FRED_PACKETS": packets}, options)


def _pair(spec: SwitchSpec, emitter: VerilogEmitter) -> Kept:
    """Generate two terminators."""
    return pair_of(LinkTerminator(spec=spec), "terminator_pair", emitter)
