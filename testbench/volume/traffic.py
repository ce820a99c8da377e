"""Traffic of a volume test: packets of NPUs, and configuration memory contents."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from fred_hw.control.phase_entry import entry_word
from fred_hw.protocol import GENERATIONS
from fred_hw.spec import SwitchSpec
from testbench.stimulus.addresses import address_of
from testbench.stimulus.phases import Packet, Phase, PhaseRun, make_phase_run

from .fabric import one_level
from .scenario import Burst, Operation, Operations, Unicast, Write, commit, routes, scenario

__all__ = ["Traffic", "configure", "flits_of", "random_traffic"]

_POOL = 67  # different packets of a phase; odd, so that packets a power of two apart differ
_MOST_PACKETS, _UNICASTS = 200, 0.3  # packets of the longest burst, share of unicasts of the bursts


@dataclass(frozen=True)
class Traffic:
    """Traffic of the NPUs, and its expected result.

    Parameters
    ----------
    phases : tuple of Phase
        Phases in the configuration memory.
    pools : dict
        Data of each phase's packets, by phase number; packet n has entry n modulo their number,
        which should be odd so that packets whose numbers are equal modulo the sequence field differ
        in content.
    bursts : tuple
        Bursts in the order in which each port sends those of a virtual channel; the next one starts
        when all packets of the previous one are acknowledged.
    unicast_packets : int
        Number of different packets between two ports as unicasts.
    full : bool
        Whether all of these have the largest size.
    unicast_flits : int
        Otherwise the length of each of these, 0 for random lengths.
    """

    phases: tuple[Phase, ...]
    pools: Mapping[int, tuple[PhaseRun, ...]]
    bursts: tuple[Burst | Unicast, ...]
    unicast_packets: int = 61
    full: bool = False
    unicast_flits: int = 0

    def __post_init__(self) -> None:
        circuits: dict[tuple[int, int], int] = {}
        for burst in self.bursts:
            if isinstance(burst, Unicast):
                pair = burst.source, burst.destination
                if circuits.setdefault(pair, burst.circuit) != burst.circuit:
                    raise ValueError(
                        f"circuit of unicasts from {pair[0]} to {pair[1]} must be "
                        f"{circuits[pair]} as before, not {burst.circuit}"
                    )

    def numbers(self, spec: SwitchSpec, operations: Operations) -> Iterator[int]:
        """Yield the scenario as the numbers that the harness reads."""
        writes = [
            Write(
                phase.number,
                phase.circuit,
                phase.number % GENERATIONS,
                phase.flows,
                [(flits_of(run.sent), flits_of(run.wanted)) for run in self.pools[phase.number]],
            )
            for phase in self.phases
        ]
        return scenario(
            spec,
            one_level(spec.ports),
            operations,
            [*writes, *self.bursts],
            unicast_packets=self.unicast_packets,
            unicast_flits=spec.protocol.packet_flits if self.full else self.unicast_flits,
        )


def flits_of(packets: Mapping[int, Packet]) -> dict[int, tuple[int, ...]]:
    """Return the flits of packets, keyed by port."""
    return {port: packet.flits for port, packet in packets.items()}


def configure(spec: SwitchSpec, phases: Sequence[Phase]) -> tuple[Operation, ...]:
    """Return the writes of phases and routes to a switch.

    The generation of a phase is its number, modulo the number of generations.

    Parameters
    ----------
    spec : SwitchSpec
        The switch.
    phases : sequence of Phase
        Phases for the configuration memory.
    """
    operations = routes(spec, {address_of(port): port for port in range(spec.ports)})
    for phase in phases:
        word = entry_word(
            spec,
            phase.configuration,
            phase.flows,
            phase.circuit,
            generation=phase.number % GENERATIONS,
        )
        operations += commit(spec, phase.number, word)
    return tuple(operations)


def random_traffic(
    spec: SwitchSpec, phases: Sequence[Phase], *, flits: int, seed: int = 1, full: bool = False
) -> Traffic:
    """Return bursts of random phases, and unicasts, that deliver a total number of flits.

    Parameters
    ----------
    spec : SwitchSpec
        The switch.
    phases : sequence of Phase
        Phases in the configuration memory.
    flits : int
        Approximate number of flits that all outputs deliver together.
    seed : int
        Seed of payloads, lengths and bursts.
    full : bool
        Whether all packets have the largest size.
    """
    rng = random.Random(seed)
    most = spec.protocol.packet_flits

    def lengths(phase: Phase) -> list[int]:
        return [most if full else rng.randint(1, most) for _ in phase.flows]

    phases = [phase for phase in phases if phase.flows]
    pools = {
        phase.number: tuple(make_phase_run(rng, spec, phase, lengths(phase)) for _ in range(_POOL))
        for phase in phases
    }
    packets = flits / (most if full else (1 + most) / 2)
    bursts = tuple(_bursts(rng, spec.ports, phases, packets))
    return Traffic(tuple(phases), pools, bursts, full=full)


def _bursts(
    rng: random.Random, ports: int, phases: Sequence[Phase], wanted: float
) -> Iterator[Burst | Unicast]:
    """Yield bursts that deliver a total number of packets."""
    outputs = {phase.number: sum(len(flow.outputs) for flow in phase.flows) for phase in phases}
    circuits = {pair: rng.randrange(3) for pair in permutations(range(ports), 2)}
    while wanted > 0:
        packets = rng.randint(1, _MOST_PACKETS)
        if rng.random() < _UNICASTS:
            pair = rng.choice(list(circuits))
            yield Unicast(*pair, circuits[pair], packets)
            wanted -= packets
        else:
            number = rng.choice(list(outputs))
            yield Burst(number, packets)
            wanted -= packets * outputs[number]
