"""Traffic on one or two levels of switches, with phases rewritten under load."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import product

from fred_hw.compiler.flows import Flow
from fred_hw.control.phase_entry import entry_word
from fred_hw.control.registers import WORD_BITS
from fred_hw.control.switch_map import switch_map
from fred_hw.per_class import per_class
from fred_hw.protocol import GENERATIONS
from fred_hw.spec import SwitchSpec
from testbench.models.golden import lanes_of, reduction_of, word_of
from testbench.stimulus.traffic import random_flit, random_flows, routed

from .fabric import Fabric
from .scenario import Burst, Operation, Packets, Unicast, Wait, Write, commit, erase

__all__ = ["DISTINCT_PACKETS", "changing_steps", "phase_operations", "sum_packets"]

DISTINCT_PACKETS = (
    11  # different packets of a phase; odd, so that packets a power of two apart differ
)
_UNICASTS, _WRITES = 0.3, 0.1  # shares of steps
_EVERYONE, _NEAR = 0.3, 0.3  # shares of phases: all-reduces of all NPUs; flows within switches
_FEW_PACKETS, _MOST_PACKETS = 3, 100  # of the longest bursts
_AHEAD = 24  # steps in flight


def phase_operations(
    spec: SwitchSpec,
    parts: Mapping[int, Sequence[Flow]],
    number: int,
    circuit: int,
    generation: int,
) -> list[Operation]:
    """Return the writes of a phase to all switches that it crosses."""
    operations = []
    for switch, flows in sorted(parts.items()):
        configuration = routed(flows, spec)
        assert configuration is not None
        word = entry_word(spec, configuration, flows, circuit, generation=generation)
        operations += commit(spec, number, word, switch)
    return operations


def sum_packets(
    rng: random.Random, spec: SwitchSpec, flows: Sequence[Flow]
) -> list[tuple[Packets, Packets]]:
    """Return packets, and the sums that each destination must receive."""
    packets: list[tuple[Packets, Packets]] = []
    for _ in range(DISTINCT_PACKETS):
        sent: dict[int, Sequence[int]] = {}
        wanted: dict[int, Sequence[int]] = {}
        for flow in flows:
            length = rng.randint(1, spec.protocol.packet_flits)
            own = {npu: [random_flit(rng, spec) for _ in range(length)] for npu in flow.inputs}
            sent |= own
            total = [_sum(spec, flits) for flits in zip(*own.values(), strict=True)]
            wanted |= dict.fromkeys(flow.outputs, total)
        packets.append((sent, wanted))
    return packets


def _sum(spec: SwitchSpec, flits: Sequence[int]) -> int:
    lanes = (lanes_of(flit, spec) for flit in flits)
    return word_of(reduce(reduction_of(spec), lanes), spec)


@dataclass
class _Written:
    """A phase as written to the switches: its flows there, and the steps that use it."""

    flows: Sequence[Flow] = ()
    parts: dict[int, list[Flow]] = field(default_factory=dict)
    circuit: int = 0
    generation: int = -1
    steps: list[int] = field(default_factory=list)


def changing_steps(
    spec: SwitchSpec, fabric: Fabric, *, flits: int, seed: int = 1, writes: bool = True
) -> list[Write | Burst | Unicast]:
    """Return random bursts of phases and unicasts that deliver a total number of flits.

    A phase gets other flows, another virtual channel and another generation according to
    docs/how-to/driver.md, while everything else continues. Bursts of phases that share a virtual
    channel of a link between switches follow each other, as docs/reference/protocol.md requires, or
    come from the same sources, which keep the order.

    Parameters
    ----------
    spec : SwitchSpec
        Specification of all switches; numbers that wrap, so that the order of a sum does not
        matter.
    fabric : Fabric
        Connections of the switches.
    flits : int
        Approximate number of flits that all NPUs receive together.
    seed : int
        Seed of everything random.
    writes : bool
        Whether phases are rewritten.
    """
    return list(_Generator(spec, fabric, seed).steps(flits, writes))


class _Generator:
    """Generator of the steps of a run."""

    def __init__(self, spec: SwitchSpec, fabric: Fabric, seed: int) -> None:
        self.spec, self.fabric, self.rng = spec, fabric, random.Random(seed)
        self.npus = len(fabric.npus)
        self.table = [_Written() for _ in range(spec.protocol.phases)]
        # The last burst of each virtual channel on each link between switches.
        self.last: dict[tuple[int, int, str], tuple[int, Sequence[int], set[int]]] = {}
        pairs = product(range(self.npus), repeat=2)
        self.circuits = {pair: self.rng.randrange(per_class(spec)) for pair in pairs}

    def steps(self, flits: int, writes: bool) -> Iterator[Write | Burst | Unicast]:
        """Yield the steps; each phase is written before its first burst."""
        rng, place, short = self.rng, 0, None
        left = flits / ((1 + self.spec.protocol.packet_flits) / 2)
        for number in range(len(self.table)):
            yield self._write(number, place)
            place += 1
        while left > 0:
            pace = (place - _AHEAD,) if place >= _AHEAD else ()
            number = rng.randrange(len(self.table))
            packets = rng.randint(1, rng.choice((_FEW_PACKETS, _MOST_PACKETS)))
            if writes and (short is not None or rng.random() < _WRITES):
                number, short = number if short is None else short, None
                yield self._write(number, place)
            elif rng.random() < _UNICASTS:
                pair = rng.choice(list(self.circuits))
                yield Unicast(pair[0], pair[1], self.circuits[pair], packets, pace)
                left -= packets
            else:
                # Duplicates of its packets have the numbers of the next packets after the rewrite.
                first = len(self.table[number].steps) == 1
                short = number if first and packets <= _FEW_PACKETS else None
                yield Burst(number, packets, self._before(number, place, pace))
                left -= packets * sum(len(flow.outputs) for flow in self.table[number].flows)
            place += 1

    def _before(self, number: int, place: int, pace: Sequence[int]) -> tuple[int, ...]:
        """Return the steps that must have ended before the next burst on its links."""
        phase = self.table[number]
        links = {
            (phase.circuit, *link): flow.inputs
            for flow in phase.flows
            for link in self.fabric.links(flow)
        }
        before = {phase.steps[0], *pace}
        for link in links.keys() & self.last.keys():
            other, sources, its = self.last[link]
            # The same sources keep this order on the link if their bursts start in it, too.
            before |= its if sources == links[link] else {other}
        for link, sources in links.items():
            self.last[link] = place, sources, before
        phase.steps.append(place)
        return tuple(sorted(before))

    def _write(self, number: int, place: int) -> Write:
        old = self.table[number]
        flows, parts = self._flows()
        new = _Written(
            flows,
            parts,
            self.rng.randrange(per_class(self.spec)),
            (old.generation + 1) % GENERATIONS,
            [place],
        )
        self.table[number] = new
        operations = [] if new.generation or not old.steps else self._emptied(number)
        operations += phase_operations(self.spec, parts, number, new.circuit, new.generation)
        for switch in sorted(old.parts.keys() - parts.keys()):
            operations += erase(self.spec, number, switch)
        packets = sum_packets(self.rng, self.spec, flows)
        return Write(
            number, new.circuit, new.generation, flows, packets, operations, tuple(old.steps)
        )

    def _emptied(self, number: int) -> list[Operation | Wait]:
        """Return how software waits until no retransmission of a phase is left: up, then down."""
        root = self.fabric.root
        address = switch_map(self.spec).register("QUEUED").address
        address += WORD_BITS // 8 * (number // WORD_BITS)
        selected = 1 << number % WORD_BITS
        return [
            Wait(self.spec.drop_cycles),
            *(
                Operation(address, 0, selected, switch)
                for switch in (*range(root), root, *range(root))
            ),
        ]

    def _flows(self) -> tuple[Sequence[Flow], dict[int, list[Flow]]]:
        """Return flows of NPUs with disjoint paths, and the flows at each switch."""
        everyone = tuple(range(self.npus))
        flows = [Flow(everyone, everyone)]
        if (drawn := self.rng.random()) >= _EVERYONE:
            near = drawn < _EVERYONE + _NEAR
            flows = self._near_flows() if near else random_flows(self.rng, self.npus)
        kept: list[Flow] = []
        parts: dict[int, list[Flow]] = {}
        for flow in flows:
            more = {switch: list(own) for switch, own in parts.items()}
            for switch, own in self.fabric.parts(flow).items():
                more[switch] = [*more.get(switch, []), *own]
            if all(self._fits(own) for own in more.values()):
                kept, parts = [*kept, flow], more
        return kept, parts

    def _near_flows(self) -> list[Flow]:
        """Return flows among the NPUs of each switch."""
        found: list[Flow] = []
        for switch in range(self.fabric.switches):
            own = [npu for npu, place in enumerate(self.fabric.npus) if place[0] == switch]
            for flow in random_flows(self.rng, len(own)):
                ends = (tuple(own[k] for k in side) for side in (flow.inputs, flow.outputs))
                found.append(Flow(*ends))
        return found

    def _fits(self, flows: Sequence[Flow]) -> bool:
        for side in ("inputs", "outputs"):
            ports = [port for flow in flows for port in getattr(flow, side)]
            if len(set(ports)) < len(ports):
                return False
        return routed(flows, self.spec) is not None
