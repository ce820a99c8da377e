"""Co-simulation of a whole switch: generate it, run its benches, report."""

from functools import partial
from pathlib import Path
from typing import Unpack

from fred_hw.checks import check_int
from fred_hw.datapath.network import network_latency_cycles
from fred_hw.spec import SwitchSpec
from fred_hw.switch.switch import ADDED_CYCLES
from gen.design import generate
from testbench.models.endpoint import endpoint_library
from testbench.models.protocol_header import protocol_header
from testbench.sim.kept import kept
from testbench.sim.runner import SimulationResult

from .benches import benches
from .launch import Options, launch

PROBES = ("head__waiting", "service__load", "i__*__valid", "o__*__valid")
"""Internal signals that the benches probe: queue heads, phase loads, interconnect ends."""

__all__ = ["cosimulate_switch"]


def cosimulate_switch(
    spec: SwitchSpec, work: Path, *, packets: int = 6, **options: Unpack[Options]
) -> SimulationResult:
    """Run the whole switch's regression against the golden model.

    Parameters
    ----------
    spec, work, options
        As in :func:`launch`.
    packets : int
        Packets of each flow in the longer tests, 1 or more.

    Raises
    ------
    TypeError, ValueError
        ``packets`` is no integer, or below 1.
    SimulatorError
        The simulator, or a C++ compiler for the endpoints, is not installed or failed.
    """
    check_int("packets", packets, minimum=1)
    make = partial(kept, generate, spec, level="switch")
    endpoint_library(protocol_header(spec.protocol))  # raises here, not in the simulation
    latency = network_latency_cycles(spec) + ADDED_CYCLES
    environment = {"FRED_LATENCY": latency, "FRED_PACKETS": packets}
    return launch(benches("switch"), make, spec, work, environment, options, PROBES)
