"""Co-simulation of an interconnect or of a baseline: generate it, run its benches, report."""

from functools import partial
from pathlib import Path
from typing import Unpack

from fred_hw.spec import SwitchSpec
from gen.design import generate
from gen.level import LEVELS
from testbench.sim.kept import kept
from testbench.sim.runner import SimulationResult

from .benches import benches
from .launch import Options, launch

__all__ = ["cosimulate", "cosimulate_benes", "cosimulate_crossbar"]


def cosimulate(
    spec: SwitchSpec,
    work: Path,
    *,
    flits: int = 20,
    configurations: int = 40,
    level: str = "interconnect",
    **options: Unpack[Options],
) -> SimulationResult:
    """Run the interconnect's regression against the golden model.

    An interconnect for some configurations only has a regression of its own.

    Parameters
    ----------
    spec, work, options
        As in :func:`launch`.
    flits, configurations : int
        Flits per configuration and configurations per random test.
    level : str
        ``interconnect``, or ``crossbar`` or ``benes``, with which it is compared.

    Raises
    ------
    SimulatorError
        The simulator is not installed or failed.
    """
    environment = {"FRED_LATENCY": LEVELS[level].latency_cycles(spec), "FRED_FLITS": flits}
    environment |= {"FRED_CONFIGURATIONS": configurations, "FRED_LEVEL": level}
    make = partial(kept, generate, spec, level=level)
    regression = "interconnect" if spec.only is None else "pruned"
    return launch(benches(regression), make, spec, work, environment, options)


cosimulate_crossbar = partial(cosimulate, level="crossbar")
cosimulate_benes = partial(cosimulate, level="benes")
