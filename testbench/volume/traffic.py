"""What the NPUs of a switch send in a volume test, and what its configuration memory holds."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from fred_hw.control.phase_entry import entry_word
from fred_hw.control.registers import WORD_BITS
from fred_hw.control.switch_map import COMMANDS, switch_map
from fred_hw.protocol import GENERATIONS
from fred_hw.spec import SwitchSpec
from testbench.stimulus.addresses import address_of
from testbench.stimulus.phases import Phase, Turn, make_turn

__all__ = ["Burst", "Operation", "Traffic", "Unicast", "configure", "random_traffic", "scripted"]

_POOL = 67  # different packets of a phase; odd, so that packets a power of two apart differ
_MOST_PACKETS, _UNICASTS = 200, 0.3  # packets of the longest burst, share of unicasts of the bursts


@dataclass(frozen=True)
class Burst:
    """So many packets from every source of a phase."""

    phase: int
    packets: int


@dataclass(frozen=True)
class Unicast:
    """So many packets at the default index from one port to another, on a data circuit."""

    source: int
    destination: int
    circuit: int
    packets: int


@dataclass(frozen=True)
class Operation:
    """A write to the configuration memory, or a wait until a word of it has a value.

    Parameters
    ----------
    address, value : int
        Byte address, and the word.
    select : int, optional
        Bits of the word that are compared with ``value``, again and again until they are equal; a
        write without it.
    """

    address: int
    value: int
    select: int | None = None


@dataclass(frozen=True)
class Traffic:
    """What the NPUs send, and what must come of it.

    Parameters
    ----------
    phases : tuple of Phase
        The table.
    pools : dict
        Turns of each phase by its number; packet n is that of turn n modulo their number, which
        should be odd so that numbers that the sequence field cannot tell apart differ in content.
    bursts : tuple
        In the order in which each port works through those of a circuit; the next one starts when
        all packets of the one before are acknowledged.
    unicast_packets : int
        Different packets between two ports at the default index.
    full : bool
        Whether those are all of the largest size.
    """

    phases: tuple[Phase, ...]
    pools: Mapping[int, tuple[Turn, ...]]
    bursts: tuple[Burst | Unicast, ...]
    unicast_packets: int = 61
    full: bool = False

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

    def numbers(self, spec: SwitchSpec, operations: Sequence[Operation]) -> Iterator[int]:
        """Yield the numbers of the scenario that the harness reads."""
        yield from scripted(operations)
        yield len(self.phases)
        circuits = {}
        for phase in self.phases:
            circuits[phase.number] = phase.circuit
            yield from (phase.number, phase.circuit)
            for side in ("inputs", "outputs"):
                for port in range(spec.ports):
                    flows = enumerate(phase.flows, start=1)
                    yield next((n for n, one in flows if port in getattr(one, side)), 0)
            yield len(self.pools[phase.number])
            for turn in self.pools[phase.number]:
                for port in range(spec.ports):
                    for packets in (turn.sent, turn.wanted):
                        if port in packets:
                            yield from (len(packets[port].flits), *packets[port].flits)
        yield from (self.unicast_packets, int(self.full), len(self.bursts))
        for burst in self.bursts:
            if isinstance(burst, Burst):
                yield from (circuits[burst.phase], burst.phase, 0, 0, burst.packets)
            else:
                yield from (burst.circuit, spec.protocol.online, burst.source, burst.destination)
                yield burst.packets


def scripted(operations: Sequence[Operation]) -> Iterator[int]:
    """Yield the numbers of operations that the harnesses read."""
    yield len(operations)
    for one in operations:
        polls = one.select is not None
        yield from (int(polls), one.address, one.select or 0, one.value)


def configure(spec: SwitchSpec, phases: Sequence[Phase]) -> tuple[Operation, ...]:
    """Return the writes that bring phases into the configuration memory of a switch, and routes.

    The generation of a phase is its number, modulo that of generations.

    Parameters
    ----------
    spec : SwitchSpec
        The switch.
    phases : sequence of Phase
        What it holds then.
    """
    registers = switch_map(spec)
    entry, status = registers.register("ENTRY"), registers.register("COMMAND_STATUS")
    done = sum(status.field(name).mask for name in ("busy", "refused"))
    route = registers.register("ROUTE").address
    operations = [
        Operation(route + WORD_BITS // 8 * address_of(port), port + 1) for port in range(spec.ports)
    ]
    for phase in phases:
        word = entry_word(
            spec,
            phase.configuration,
            phase.flows,
            phase.circuit,
            generation=phase.number % GENERATIONS,
        )
        for index in range(entry.words):
            part = word >> WORD_BITS * index & ((1 << WORD_BITS) - 1)
            operations.append(Operation(entry.address + WORD_BITS // 8 * index, part))
        operations += [
            Operation(registers.register("PHASE").address, phase.number),
            Operation(registers.register("COMMAND").address, COMMANDS.index("commit")),
            Operation(status.address, 0, select=done),
        ]
    return tuple(operations)


def random_traffic(
    spec: SwitchSpec, phases: Sequence[Phase], *, flits: int, seed: int = 1, full: bool = False
) -> Traffic:
    """Return bursts of random phases, and unicasts, until so many flits are to be delivered.

    Parameters
    ----------
    spec : SwitchSpec
        The switch.
    phases : sequence of Phase
        What its configuration memory holds.
    flits : int
        Flits that all outputs together get, about.
    seed : int
        Of payloads, lengths and bursts.
    full : bool
        Whether all packets are of the largest size.
    """
    rng = random.Random(seed)
    most = spec.protocol.packet_flits

    def lengths(phase: Phase) -> list[int]:
        return [most if full else rng.randint(1, most) for _ in phase.flows]

    phases = [phase for phase in phases if phase.flows]
    pools = {
        phase.number: tuple(make_turn(rng, spec, phase, lengths(phase)) for _ in range(_POOL))
        for phase in phases
    }
    packets = flits / (most if full else (1 + most) / 2)
    bursts = tuple(_bursts(rng, spec.ports, phases, packets))
    return Traffic(tuple(phases), pools, bursts, full=full)


def _bursts(
    rng: random.Random, ports: int, phases: Sequence[Phase], wanted: float
) -> Iterator[Burst | Unicast]:
    """Yield bursts until so many packets are to be delivered."""
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
