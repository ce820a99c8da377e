"""Traffic of collectives: phases of a switch, and packets with the results of the golden model."""

import random

from fred_hw.compiler.flows import Flow
from fred_hw.spec import SwitchSpec
from testbench.stimulus.phases import Phase, PhaseRun, make_phase_run
from testbench.stimulus.traffic import routed

__all__ = ["all_reduce", "phase_of", "runs_of"]


def phase_of(spec: SwitchSpec, number: int, circuit: int, *flows: Flow) -> Phase:
    """Return a phase of flows that can be routed.

    Parameters
    ----------
    spec : SwitchSpec
        The switch.
    number, circuit : int
        Phase, and its virtual channel.
    flows : Flow
        Inputs and outputs of each flow: several inputs are reduced, several outputs get copies.
    """
    configuration = routed(flows, spec)
    assert configuration is not None, f"{flows} do not route"
    return Phase(number, circuit, tuple(flows), configuration)


def all_reduce(spec: SwitchSpec, number: int = 0, circuit: int = 0) -> Phase:
    """Return an all-reduce of all ports."""
    ports = tuple(range(spec.ports))
    return phase_of(spec, number, circuit, Flow(ports, ports))


def runs_of(
    spec: SwitchSpec, rng: random.Random, phase: Phase, packets: int, length: int | None = None
) -> list[PhaseRun]:
    """Return packets of all flows of a phase, with their results.

    Parameters
    ----------
    spec : SwitchSpec
        The switch.
    rng : random.Random
        Source of data and lengths.
    phase : Phase
        The phase.
    packets : int
        Packets of each flow.
    length : int, optional
        Flits of each packet; without it any number.
    """
    most = spec.protocol.packet_flits
    return [
        make_phase_run(rng, spec, phase, [length or rng.randint(1, most) for _ in phase.flows])
        for _ in range(packets)
    ]
