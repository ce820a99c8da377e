"""Volume test of a whole switch, with compiled endpoints and faulty links on all its ports."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fred_hw.control.phase_entry import entry_word
from fred_hw.control.registers import WORD_BITS
from fred_hw.control.switch_map import COMMANDS, switch_map
from fred_hw.spec import SwitchSpec
from fred_hw.switch.switch import Switch
from gen.emitter import VerilogEmitter
from testbench.sim.harness import build_harness
from testbench.stimulus.phases import Phase, Turn, make_turn

from .program import harness_sources, run_program

__all__ = [
    "FAULT_KINDS",
    "Burst",
    "LinkFault",
    "Operation",
    "Stop",
    "Traffic",
    "Unicast",
    "build_switch",
    "configure",
    "random_traffic",
    "recovery_cycles",
    "run_switch",
]

FAULT_KINDS = ("flipped", "bursts", "lost", "doubled", "runs", "lost_acks")
"""What happens to flits on a link: a bit flips, a burst of up to 32 bits changes, a flit is lost
or comes twice, up to 12 flits in a row are lost, an ack is lost (ten times as often)."""


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
class LinkFault:
    """The one fault of a run.

    Parameters
    ----------
    port : int
        The link.
    at : int
        Number of the flit on it, from 0, control flits included.
    kind : str
        One of ``FAULT_KINDS``.
    from_switch : bool
        The direction.
    """

    port: int
    at: int
    kind: str = "lost"
    from_switch: bool = True


@dataclass(frozen=True)
class Stop:
    """A time in which a port receives, but makes no room for more.

    Parameters
    ----------
    port : int
        Which one.
    at, cycles : int
        When it begins, and for how long; without the link layer ``tready`` is low then.
    """

    port: int
    at: int
    cycles: int


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
        all packets of the one before are acknowledged. Without the link layer in this order on all
        circuits.
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
        yield len(operations)
        for one in operations:
            polls = one.select is not None
            yield from (int(polls), one.address, one.select or 0, one.value)
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


def configure(spec: SwitchSpec, phases: Sequence[Phase]) -> tuple[Operation, ...]:
    """Return the writes that bring phases into the configuration memory of a switch.

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
    operations: list[Operation] = []
    for phase in phases:
        word = entry_word(spec, phase.configuration, phase.flows, phase.circuit)
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
    spec: SwitchSpec,
    phases: Sequence[Phase],
    *,
    flits: int,
    seed: int = 1,
    full: bool = False,
    unicasts: bool = True,
    most_packets: int = 200,
    pool: int = 67,
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
    unicasts : bool
        Whether there is traffic at the default index too.
    most_packets : int
        Packets in the longest burst.
    pool : int
        Different packets of each phase.
    """
    rng = random.Random(seed)
    most = spec.protocol.packet_flits

    def lengths(phase: Phase) -> list[int]:
        return [most if full else rng.randint(1, most) for _ in phase.flows]

    phases = [phase for phase in phases if phase.flows]
    pools = {
        phase.number: tuple(make_turn(rng, spec, phase, lengths(phase)) for _ in range(pool))
        for phase in phases
    }
    outputs = {phase.number: sum(len(flow.outputs) for flow in phase.flows) for phase in phases}
    mean = most if full else (1 + most) / 2
    circuits = {
        (a, b): rng.randrange(3) for a in range(spec.ports) for b in range(spec.ports) if a != b
    }
    bursts: list[Burst | Unicast] = []
    left = float(flits)
    while left > 0:
        packets = rng.randint(1, most_packets)
        if unicasts and rng.random() < 0.3:
            pair = rng.choice(list(circuits))
            bursts.append(Unicast(*pair, circuits[pair], packets))
            left -= packets * mean
        else:
            number = rng.choice(list(pools))
            bursts.append(Burst(number, packets))
            left -= packets * mean * outputs[number]
    return Traffic(tuple(phases), pools, tuple(bursts), full=full)


def build_switch(spec: SwitchSpec, emitter: VerilogEmitter | None = None) -> Path:
    """Verilate a switch with its harness and return the program, from the cache if it is there.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes; flits of up to 64 bits.
    emitter : VerilogEmitter, optional
        One that puts broken units into the design.

    Raises
    ------
    ValueError
        The flits are wider.
    SimulatorError
        Verilator is not installed or could not build.
    """
    if spec.data_width > 64:
        raise ValueError(f"data_width must be 64 or less for the harness, not {spec.data_width}")
    unit = Switch(spec=spec)
    ports = " ".join(f"DO({port})" for port in range(spec.ports))
    lines = [f"#define EACH_PORT(DO) {ports}"]
    return build_harness(unit, harness_sources("switch.cpp", unit.unit_name, spec, lines), emitter)


def run_switch(
    program: Path,
    spec: SwitchSpec,
    traffic: Traffic,
    operations: Sequence[Operation] = (),
    *,
    seed: int = 1,
    delay: int = 20,
    faults_per_million: float = 0.0,
    fault: LinkFault | None = None,
    stop: Stop | None = None,
    stall_percent: int = 0,
    start_spread: int = 0,
    gap_cycles: int = 0,
    interval_cycles: int = 0,
    idle_limit: int = 500_000,
    trace: bool = False,
    plusargs: Sequence[str] = (),
) -> dict[str, Any]:
    """Send packets through a switch and return what the harness counted.

    Parameters
    ----------
    program : Path
        Of :func:`build_switch`.
    spec : SwitchSpec
        That it was built for.
    traffic : Traffic
        What is sent.
    operations : sequence of Operation
        What is written to the configuration memory first.
    seed : int
        Of pauses and faults.
    delay : int
        Cycles that a link takes in each direction, 1 or more.
    faults_per_million : float
        Faults of any kind per flit of each link and direction, times a million.
    fault : LinkFault, optional
        A single fault.
    stop : Stop, optional
        A port that stops for a while.
    stall_percent : int
        Share of cycles in which sources, and ports that receive, pause; packets that an NPU has
        received also keep their room for a while [%].
    start_spread, gap_cycles : int
        A circuit of a port starts, and goes on after a burst, up to so many cycles late.
    interval_cycles : int
        At least so many cycles between two packets of a burst when they are sent first; 0 for as
        fast as it goes. With the link layer only.
    idle_limit : int
        Give up after so many cycles in which no packet arrives and none is acknowledged.
    trace : bool
        Whether to add ``arrivals``.
    plusargs : sequence of str
        Arguments of the model: the fault that it has.

    Returns
    -------
    dict
        ``right``
            All packets have come to all destinations, in order, each once, with the payload that
            the golden model gives, all are acknowledged, and no rule was broken.
        ``flits``, ``packets``, ``wanted_packets``
            Delivered, and to be delivered, at all outputs together.
        ``wrong``, ``violations``, ``messages``
            Wrong flits; broken rules of docs/protocol.md, wrong flits included; the first of them.
        ``cycles``, ``late_flits``
            Until all was acknowledged; data flits that the switch sent after that.
        ``resent``, ``timeouts``, ``stomped``
            Packets that sources began again, times they went back on their own, flits that the
            switch sent with an inverted CRC.
        ``preemptions``, ``source_preemptions``
            Times that a packet of a more urgent circuit went out, or was sent, before a burst of a
            less urgent one was over.
        ``latency_cycles``
            From the last source's first data flit on ``s<k>_axis`` to the first on any
            ``m<k>_axis``: the latency of a lone flit, if that is all that is sent.
        ``to_switch``, ``from_switch``
            Flits by kind.
        ``faults_to_switch``, ``faults_from_switch``
            Faults by kind.
        ``in``, ``out``
            Per port: ``flits``, those of ``data``, cycles of the ``first`` and ``last`` of these,
            and ``rate``, data flits per cycle between them.
        ``fault_cycle``
            When the single fault came.
        ``arrivals``
            With ``trace``, by "port/phase" (for the default index ``phases`` plus the source), the
            cycle in which each packet was complete.
        ``state``
            If not all was delivered, where each NPU stands.
    """
    options: dict[str, float] = {
        "seed": seed,
        "delay": delay,
        "faults_per_million": faults_per_million,
        "stall_percent": stall_percent,
        "start_spread": start_spread,
        "gap_cycles": gap_cycles,
        "interval_cycles": interval_cycles,
        "idle_limit": idle_limit,
        "trace": int(trace),
    }
    if fault:
        options |= {
            "fault_port": fault.port,
            "fault_at": fault.at,
            "fault_kind": FAULT_KINDS.index(fault.kind),
            "fault_direction": int(fault.from_switch),
        }
    if stop:
        options |= {
            "stop_port": stop.port,
            "stop_at": stop.at,
            "stop_cycles": stop.cycles,
        }
    return run_program(program, options, traffic.numbers(spec, operations), plusargs)


def recovery_cycles(clean: Mapping[str, Any], faulty: Mapping[str, Any], tolerance: int = 8) -> int:
    """Return the cycles from a single fault until all packets come as early as without it.

    Parameters
    ----------
    clean, faulty : mapping
        Results of the same run with ``trace``, without and with a fault. Sources must have cycles
        to spare, see ``interval_cycles``, or what is lost is never caught up.
    tolerance : int
        Cycles that are not counted as late: acks and limits that go at other times than before
        put packets off by a flit or two for good.
    """
    late = [
        second
        for flow, cycles in clean["arrivals"].items()
        for first, second in zip(cycles, faulty["arrivals"][flow], strict=True)
        if second > first + tolerance
    ]
    return max(late, default=faulty["fault_cycle"]) - faulty["fault_cycle"]
