"""Input of the switch harness: connections, register writes, and traffic over time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fred_hw.compiler.flows import Flow
from fred_hw.control.registers import WORD_BITS
from fred_hw.control.switch_map import COMMANDS, switch_map
from fred_hw.spec import SwitchSpec
from testbench.stimulus.addresses import address_of

from .fabric import Fabric

__all__ = [
    "Attempt",
    "Burst",
    "Operation",
    "Operations",
    "Unicast",
    "Wait",
    "Write",
    "commit",
    "erase",
    "fabric_routes",
    "routes",
    "scenario",
    "scripted",
]

_WRITE, _POLL, _WAIT, _ATTEMPT = range(4)  # kinds of operations


@dataclass(frozen=True)
class Operation:
    """A register write of a switch, or a wait until a register word has a value.

    Parameters
    ----------
    address, value : int
        Byte address, and the word to write.
    select : int, optional
        Bits of the word that are compared with ``value``, again and again until they are equal; a
        write without it.
    device : int
        Number of the switch.
    """

    address: int
    value: int
    select: int | None = None
    device: int = 0


@dataclass(frozen=True)
class Wait:
    """A number of cycles in which software does nothing."""

    cycles: int


@dataclass(frozen=True)
class Attempt:
    """A register write of a switch that may be refused.

    Parameters
    ----------
    address, value : int
        Byte address, and the word to write.
    strobes : int
        One bit for each byte to write.
    device : int
        Number of the switch.
    """

    address: int
    value: int
    strobes: int = 15
    device: int = 0


Operations = Sequence[Operation | Wait | Attempt]
Packets = Mapping[int, Sequence[int]]
"""Flits of a packet, keyed by NPU."""


@dataclass(frozen=True)
class Write:
    """A phase write, which all NPUs follow from then on.

    Parameters
    ----------
    phase, circuit, generation : int
        Number of the phase, virtual channel of its packets, and its generation.
    flows : sequence of Flow
        Flows from and to NPUs, through all switches.
    packets : sequence
        Data that NPUs send, and must receive, for each packet, repeated in a cycle; their number
        should be odd so that packets whose numbers are equal modulo the sequence field differ in
        content.
    operations : sequence
        Register operations of software before it.
    after : tuple of int
        Indices of the steps that must have ended before.
    """

    phase: int
    circuit: int
    generation: int
    flows: Sequence[Flow]
    packets: Sequence[tuple[Packets, Packets]]
    operations: Operations = ()
    after: tuple[int, ...] = ()


@dataclass(frozen=True)
class Burst:
    """A number of packets from every source of a phase, after some steps have ended."""

    phase: int
    packets: int
    after: tuple[int, ...] = ()


@dataclass(frozen=True)
class Unicast:
    """A number of unicasts between two NPUs, on a data virtual channel."""

    source: int
    destination: int
    circuit: int
    packets: int
    after: tuple[int, ...] = ()


def scripted(operations: Operations) -> Iterator[int]:
    """Yield operations as the numbers that the harnesses read."""
    yield len(operations)
    for one in operations:
        if isinstance(one, Wait):
            yield from (_WAIT, 0, 0, 0, one.cycles)
        elif isinstance(one, Attempt):
            yield from (_ATTEMPT, one.device, one.address, one.strobes, one.value)
        else:
            kind = _WRITE if one.select is None else _POLL
            yield from (kind, one.device, one.address, one.select or 0, one.value)


def _phase(one: Write, npus: int) -> Iterator[int]:
    """Yield a phase as numbers."""
    yield from (one.phase, one.circuit, one.generation)
    for side in ("inputs", "outputs"):
        flows = list(enumerate(one.flows, start=1))
        yield npus
        for npu in range(npus):
            yield next((n for n, flow in flows if npu in getattr(flow, side)), 0)
    yield len(one.packets)
    for pair in one.packets:
        for npu in range(npus):
            for packets in pair:
                if npu in packets:
                    yield from (len(packets[npu]), *packets[npu])


def scenario(
    spec: SwitchSpec,
    fabric: Fabric,
    setup: Operations,
    steps: Sequence[Write | Burst | Unicast],
    *,
    unicast_packets: int = 61,
    unicast_flits: int = 0,
) -> Iterator[int]:
    """Yield the scenario as the numbers that the harness reads.

    Parameters
    ----------
    spec, fabric : SwitchSpec, Fabric
        Specification of all switches, and their connections.
    setup : sequence
        Register operations of software before all steps.
    steps : sequence
        Steps, each executed as soon as allowed, and in this order at each NPU.
    unicast_packets : int
        Number of different packets between two NPUs as unicasts.
    unicast_flits : int
        Length of each of those, 0 for random lengths.
    """
    npus = len(fabric.npus)
    yield from (fabric.switches, npus)
    peers = fabric.peers(spec.ports)
    yield from (len(peers), *peers)
    yield from scripted(setup)
    yield from (unicast_packets, unicast_flits, len(steps))
    for kind, one in ((((Write, Burst, Unicast).index(type(step))), step) for step in steps):
        yield from (kind, len(one.after), *one.after)
        if isinstance(one, Write):
            yield from scripted(one.operations)
            yield from _phase(one, npus)
        elif isinstance(one, Burst):
            yield from (one.phase, one.packets)
        else:
            yield from (one.circuit, one.source, one.destination, one.packets)
    error = switch_map(spec).register("ERROR").address
    yield from scripted([Operation(error, 0, 0, device) for device in range(fabric.switches)])


def routes(spec: SwitchSpec, ports: Mapping[int, int], device: int = 0) -> list[Operation]:
    """Return the route writes of a switch: the port for each address."""
    first = switch_map(spec).register("ROUTE").address
    return [
        Operation(first + WORD_BITS // 8 * address, port + 1, device=device)
        for address, port in ports.items()
    ]


def fabric_routes(spec: SwitchSpec, fabric: Fabric) -> list[Operation]:
    """Return the route writes of all switches to all NPUs."""
    npus = range(len(fabric.npus))
    return [
        operation
        for switch in range(fabric.switches)
        for operation in routes(
            spec, {address_of(npu): fabric.port_toward(switch, npu) for npu in npus}, switch
        )
    ]


def commit(spec: SwitchSpec, number: int, word: int, device: int = 0) -> list[Operation]:
    """Return the operations with which software writes the entry of a phase."""
    entry = switch_map(spec).register("ENTRY")
    parts = [
        Operation(
            entry.address + WORD_BITS // 8 * index,
            word >> WORD_BITS * index & ((1 << WORD_BITS) - 1),
            device=device,
        )
        for index in range(entry.words)
    ]
    return [*parts, *_command(spec, "commit", number, device)]


def erase(spec: SwitchSpec, number: int, device: int = 0) -> list[Operation]:
    """Return the operations with which software erases a phase."""
    return _command(spec, "erase", number, device)


def _command(spec: SwitchSpec, name: str, number: int, device: int) -> list[Operation]:
    registers = switch_map(spec)
    status = registers.register("COMMAND_STATUS")
    done = sum(status.field(name).mask for name in ("busy", "refused"))
    return [
        Operation(registers.register("PHASE").address, number, device=device),
        Operation(registers.register("COMMAND").address, COMMANDS.index(name), device=device),
        Operation(status.address, 0, select=done, device=device),
    ]
