"""Phases for the switch bench: entries, packets and expected results."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from fred_hw.compiler.configuration import Configuration
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy, phases
from fred_hw.compiler.reduction_crossbar import CrossbarConfiguration
from fred_hw.per_class import per_class
from fred_hw.spec import SwitchSpec
from testbench.models.golden import Words, deliver, lanes_of, word_of

from .traffic import random_flit, routed, routed_random_flows

__all__ = ["Packet", "Phase", "PhaseRun", "make_phase_run", "phase_table"]

_CIRCUITS = {"mp_all_reduce": 0, "pp_forward": 1, "pp_backward": 1, "dp_all_reduce": 2}


@dataclass(frozen=True)
class Phase:
    """A phase of the configuration memory.

    Parameters
    ----------
    number, circuit : int
        Index in the table, and virtual channel of its packets.
    flows : tuple of Flow
        Flows of the phase.
    configuration : Configuration or CrossbarConfiguration
        Configuration that routes them.
    """

    number: int
    circuit: int
    flows: tuple[Flow, ...]
    configuration: Configuration | CrossbarConfiguration


@dataclass(frozen=True)
class Packet:
    """A packet on a port: its flits and their header fields."""

    phase: int
    circuit: int
    flits: tuple[int, ...]


@dataclass(frozen=True)
class PhaseRun:
    """One packet of each flow of a phase.

    Parameters
    ----------
    phase : Phase
        The phase of the packets.
    sent, wanted : dict
        Packet of each input port, and packet that each output port must give.
    """

    phase: Phase
    sent: dict[int, Packet]
    wanted: dict[int, Packet]


def phase_table(rng: random.Random, spec: SwitchSpec, count: int) -> list[Phase]:
    """Return phases of a strategy, at least one per virtual channel, then random ones.

    Parameters
    ----------
    rng : random.Random
        Source of the random ones.
    spec : SwitchSpec
        The interconnect.
    count : int
        Phases of the table, at least one more than there are urgency classes.
    """
    mp = 2 if spec.ports >= 4 else 1
    pp = 2 if spec.ports >= 8 else 1
    strategy = Strategy(mp, spec.ports // mp // pp, pp)
    table: list[Phase] = []
    for name, flows in phases(strategy, ports=spec.ports).items():
        configuration = routed(flows, spec)
        if configuration is not None and len(table) < count:
            circuit = min(_CIRCUITS[name], per_class(spec) - 1)
            table.append(Phase(len(table), circuit, tuple(flows), configuration))
    everyone = Flow(tuple(range(spec.ports)), tuple(range(spec.ports)))
    for circuit in range(per_class(spec)):
        configuration = routed([everyone], spec)
        if circuit not in {phase.circuit for phase in table} and configuration is not None:
            table.append(Phase(len(table), circuit, (everyone,), configuration))
    while len(table) < count:
        flows, configuration = routed_random_flows(rng, spec)
        table.append(Phase(len(table), rng.randrange(per_class(spec)), tuple(flows), configuration))
    return table


def make_phase_run(
    rng: random.Random, spec: SwitchSpec, phase: Phase, lengths: Sequence[int]
) -> PhaseRun:
    """Return random packets of all flows of a phase, with the golden model's results.

    Parameters
    ----------
    rng : random.Random
        Source of the numbers.
    spec : SwitchSpec
        The interconnect.
    phase : Phase
        The phase of the packets.
    lengths : sequence of int
        Flits of the packets of each flow.
    """
    sent: dict[int, Packet] = {}
    wanted: dict[int, Packet] = {}
    for flow, length in zip(phase.flows, lengths, strict=True):
        flits = {port: [random_flit(rng, spec) for _ in range(length)] for port in flow.inputs}
        results: dict[int, list[int]] = {port: [] for port in flow.outputs}
        for place in range(length):
            inputs: list[Words | None] = [None] * spec.ports
            for port in flow.inputs:
                inputs[port] = lanes_of(flits[port][place], spec)
            for port, words in enumerate(deliver(spec, phase.configuration, inputs)):
                if words is not None:
                    results[port].append(word_of(words, spec))
        for port, own in flits.items():
            sent[port] = Packet(phase.number, phase.circuit, tuple(own))
        for port, own in results.items():
            assert len(own) == length
            wanted[port] = Packet(phase.number, phase.circuit, tuple(own))
    return PhaseRun(phase, sent, wanted)
