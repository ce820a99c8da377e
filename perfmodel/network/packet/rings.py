"""Rings simulated message by message, with each link as a port.

Rings meet at links, and halves of the data on two circuits at endpoints too: the packets of the
less urgent one wait at each router, and each step of a ring for the last packet of a message. No
sum of latencies and bytes says how long, so this lets the messages of all members go, as endpoints
with their state machines send them (docs/reference/endpoint.md), over routers (``packets``), and
once more what is not acknowledged in time (``ring_flow``).
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from weakref import WeakKeyDictionary

from fred_hw.compiler.ring_messages import message_flits
from perfmodel.clock import Clock
from perfmodel.collectives.transfer import RingPass, Transfer
from perfmodel.network.fluid.endpoints import lanes_of, reducing
from perfmodel.switch_timing.endpoint import EndpointTiming
from perfmodel.switch_timing.record import ROUNDING
from perfmodel.topology.graph import Hops, Topology

from .answers import Answers, Heard
from .beyond import beyond_s
from .packets import Packet, Routers, Shared
from .ring_flow import Flow
from .router_sizes import router_sizes

__all__ = ["CircuitRings", "rings_on_circuits"]

_MOST_ROUNDS = 4
"""Rounds simulated for a single descriptor; further rounds extrapolate the last half of these."""
_MOST_ON_SLOW_LINKS = 16
"""The same for rings that share slow links, where arbitration needs more rounds to repeat."""

_Key = tuple[int, int, int]
"""Round, step and state machine of a message, or round, part and state machine of a load."""

_Came = tuple[_Key, _Key | None, Packet]
"""A packet's message, the message again if this is its last packet (else None), and the packet."""


@dataclass
class _Ring:
    """A descriptor: successive passes around a ring.

    Parameters
    ----------
    circuit, place : int
        Virtual channel, 0 the most urgent, and number of descriptors that software queues before
        this one.
    members, edges
        See ``RingPass``.
    back : tuple
        Links from each member to the previous one, by which its acks go.
    block : float
        Share of the vector that a member sends in a step.
    after : list of int
        Positions of the rings that must be complete.
    passes, reduces : int, bool
        Number of passes, and whether one of them reduces what it loads.
    """

    circuit: int
    place: int
    members: tuple[int, ...]
    edges: tuple[Hops, ...]
    back: tuple[tuple[int, ...], ...]
    block: float
    after: list[int]
    passes: int = 0
    reduces: bool = False


def rings_on_circuits(
    topology: Topology,
    messages: Sequence[Transfer | RingPass],
    pattern: str,
    *,
    second_first: bool = False,
) -> "CircuitRings | None":
    """Return the rings of a schedule of one byte; None if it contains other messages.

    None where it has others, or none, or the topology no endpoints, or links of several ports.
    ``second_first`` says that the second half is the more urgent one.
    """
    passes = [item for item in messages if isinstance(item, RingPass) and item.payload_bytes]
    if topology.endpoint is None or not topology.single_ports or not passes:
        return None
    if len(passes) < len(messages):
        return None
    sent: dict[int, list[int]] = {}
    for number, item in enumerate(passes):
        for member in item.members:
            sent.setdefault(member, []).append(number)
    placed: dict[int, int] = {}
    reduces: set[int] = set()
    for numbers in sent.values():
        for place, lane in enumerate(lanes_of(passes, numbers)):
            placed.update(dict.fromkeys(lane, place))
            reduces.update(lane[: reducing(pattern, len(lane))])
    last = max(placed.values())
    rings: list[_Ring] = []
    ring_of: dict[int, int] = {}
    for number, item in enumerate(passes):
        known = [ring_of[one] for one in item.after if passes[one].members == item.members]
        if known:
            ring_of[number] = known[0]
        else:
            ring_of[number] = len(rings)
            block = item.payload_bytes / (len(item.members) - 1)
            after = sorted({ring_of[one] for one in item.after})
            place = placed[number]
            circuit = last - place if second_first else place
            back = _back(topology, item.members)
            rings.append(_Ring(circuit, place, item.members, item.edges, back, block, after))
        own = rings[ring_of[number]]
        own.passes, own.reduces = own.passes + 1, own.reduces or number in reduces
    return CircuitRings(topology, topology.endpoint, rings)


def _back(topology: Topology, members: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return the links from each member of a ring to its predecessor."""
    routes = (
        topology.hops((member,), (members[number - 1],)) for number, member in enumerate(members)
    )
    return tuple(tuple(link for link, _ in hops) for hops in routes)


_Shape = tuple[object, ...]
_Parts = dict[tuple[_Shape, float], float]
_simulated: WeakKeyDictionary[Topology, _Parts] = WeakKeyDictionary()
"""Cycles of equivalent parts, cached by number of flits of the vector."""


class CircuitRings:
    """Times of rings on virtual channels, each simulated once.

    Parameters
    ----------
    topology : Topology
        Topology on which the rings run.
    timing : EndpointTiming
        Timing of the endpoints.
    rings : sequence of _Ring
        Rings of a vector of one byte.
    """

    def __init__(self, topology: Topology, timing: EndpointTiming, rings: Sequence[_Ring]) -> None:
        self._topology, self._timing = topology, timing
        # What shares nothing needs no other, and what is alike takes as long.
        self._parts = {_shape(part): part for part in _apart(rings)}
        self._alike = not any(ring.circuit or ring.place or ring.after for ring in rings)
        """Whether there is only one virtual channel and one descriptor, so that rounds repeat."""

    def time_s(self, size_bytes: float) -> float:
        """Return the time of a vector, from COMMAND until software reads completion [s]."""
        if self._alike:
            return self._simulated_s(size_bytes)
        return beyond_s(size_bytes, self._timing, self._simulated_s)

    def _simulated_s(self, size_bytes: float) -> float:
        known = _simulated.setdefault(self._topology, {})
        flits = size_bytes / self._timing.flit_bytes
        for shape, part in self._parts.items():
            if (shape, flits) not in known:
                known[shape, flits] = self._cycles(part, flits)
        return max(known[shape, flits] for shape in self._parts) * self._timing.cycle_s

    def _cycles(self, part: Sequence[_Ring], flits: float) -> float:
        """Return the duration of an independent part [cycles]."""
        ends = self._topology, self._timing, part, flits
        if not self._alike:
            return _Run(*ends).cycles()
        slow = router_sizes(self._topology, self._timing, 1).paces
        most = _MOST_ON_SLOW_LINKS if slow else _MOST_ROUNDS
        run = _Run(*ends, rounds=most)
        whole, more = run.cycles(), run.rounds - most
        if more <= 0:
            return whole
        half = most // 2
        each = (whole - _Run(*ends, rounds=half).cycles()) / (most - half)
        return whole + more * max(0.0, each)


def _apart(rings: Sequence[_Ring]) -> list[list[_Ring]]:
    """Return the rings in independent parts, renumbered within each part."""
    parts: list[tuple[set[tuple[str, int]], list[int]]] = []
    for number, ring in enumerate(rings):
        own = {("npu", one) for one in ring.members}
        own |= {("link", link) for hops in ring.edges for link, _ in hops}
        own |= {("ring", one) for one in (number, *ring.after)}
        numbers = [number]
        for part in [one for one in parts if one[0] & own]:
            parts.remove(part)
            own, numbers = own | part[0], part[1] + numbers
        parts.append((own, sorted(numbers)))
    return [
        [replace(rings[one], after=[numbers.index(k) for k in rings[one].after]) for one in numbers]
        for _, numbers in parts
    ]


def _shape(rings: Sequence[_Ring]) -> _Shape:
    """Return a key that is equal for rings that differ only in the positions of NPUs."""
    npus: dict[int, int] = {}
    links: dict[int, int] = {}
    return tuple(
        (
            (ring.circuit, ring.place, ring.block, ring.passes, ring.reduces),
            tuple(ring.after),
            tuple(npus.setdefault(one, len(npus)) for one in ring.members),
            tuple(tuple(links.setdefault(link, len(links)) for link, _ in e) for e in ring.edges),
            tuple(tuple(links.setdefault(link, len(links)) for link in e) for e in ring.back),
        )
        for ring in rings
    )


class _Run:
    """A simulation of the rings of a vector of a given number of flits."""

    def __init__(
        self,
        topology: Topology,
        timing: EndpointTiming,
        rings: Sequence[_Ring],
        flits: float,
        *,
        rounds: int | None = None,
    ) -> None:
        self.timing, self.clock = timing, Clock(0.0)
        self.hz = timing.clock.hz
        measured, protocol = timing.record.endpoint, timing.record.spec.protocol
        self.packet_flits = protocol.packet_flits
        self.turn_cycles = measured.turn_cycles
        # What a packet takes to be read is in it: it leaves when it has been.
        self.step_cycles = max(0, measured.step_cycles - protocol.packet_flits - 1)
        sizes = router_sizes(topology, timing, 1 + max(ring.circuit for ring in rings))
        self.slow = bool(sizes.paces)
        self.routers = Routers(self.clock, sizes)
        self.protocol, self.answer_cycles = protocol, measured.answer_cycles
        self.timeout_cycles = protocol.timeout_cycles
        self.window = timing.record.spec.endpoint.replay_packets or protocol.window_packets
        self.fsms = timing.fsms
        # Of each port that reads memory; what is added has the last one.
        self.loads: list[dict[int, Shared]] = [{} for _ in range(timing.read_ports)]
        self.outlets: dict[int, Shared] = {}
        self.intakes: dict[int, Shared] = {}
        self.heard: dict[int, Heard] = {}
        for ring in rings:
            for member in ring.members:
                for port in self.loads:
                    port.setdefault(member, Shared(self.clock))
                self.outlets.setdefault(member, Shared(self.clock))
                self.intakes.setdefault(member, Shared(self.clock))
                self.heard.setdefault(member, Heard())
        self._topology, self._rings = topology, rings
        self._jobs = [_Job(self, ring, flits, rounds) for ring in rings]
        self.rounds = max(one.rounds for one in self._jobs)
        """Number of rounds that the data takes."""
        self._waits = [len(ring.after) for ring in rings]
        self._next: list[list[int]] = [[] for _ in rings]
        for number, ring in enumerate(rings):
            for before in ring.after:
                self._next[before].append(number)
        self._last = 0.0

    def cycles(self) -> float:
        """Return the time until all rings are complete [cycles]."""
        for number, ring in enumerate(self._rings):
            self._jobs[number].ended = lambda number=number: self._ended(number)
            if not ring.after:
                queued = ring.place * self.timing.record.endpoint.command_cycles
                start = self.timing.ring_start_s * self.hz + queued
                self.clock.after(start, self._jobs[number].begin)
        self.clock.run()
        assert not any(job.left for job in self._jobs), "no packet may wait for ever"
        return self._last + self.timing.finish_s * self.hz

    def _ended(self, number: int) -> None:
        self._last = self.clock.now
        way_s = max(self._topology.latency_s(hops) for hops in self._rings[number].edges)
        cycles = (way_s + self.timing.ack_s + self.timing.next_s) * self.hz
        for after in self._next[number]:
            self._waits[after] -= 1
            if not self._waits[after]:
                self.clock.after(cycles, self._jobs[after].begin)


class _Job:
    """A ring in progress: its messages in the order in which each member sends them."""

    def __init__(self, run: _Run, ring: _Ring, flits: float, most: int | None) -> None:
        self.run, self.ring = run, ring
        engine, count = run.timing.record.spec.endpoint, len(ring.members)
        block = max(1, ceil(ring.block * flits - ROUNDING))
        size = message_flits(block, count, engine)
        # What is bound by slow links is less in a last round that is smaller, other rounds are not.
        each = size * engine.fsms
        self.rounds = block / each if run.slow else ceil(block / each)
        flits = block if most is None else min(block, most * each)
        chunks = [min(size, flits - first) for first in range(0, flits, size)]
        rounds = [chunks[at : at + engine.fsms] for at in range(0, len(chunks), engine.fsms)]
        self.slots = engine.slots
        self.steps = ring.passes * (count - 1)
        self.parts = count if ring.reduces else 1
        self.machines = [len(one) for one in rounds]
        self.turns, order = (
            [
                ((number, step, machine), message)
                for number, messages in enumerate(rounds)
                for step in range(steps)
                for machine, message in enumerate(messages)
            ]
            for steps in (self.steps, self.parts)
        )
        sent, added = (
            [one for one in order if (one[0][1] > 0) == later] for later in (False, True)
        )
        self.orders = [order] if len(run.loads) == 1 else [sent, added]
        """Parts to load, in order, for each port."""
        self.members = [
            _Member(self, place, self._answers(place), self._flow(place)) for place in range(count)
        ]
        self.left = count
        self.ended = lambda: None

    def _answers(self, place: int) -> Answers:
        """Return the acks of a member."""
        run, back = self.run, self.ring.back[place]

        def say(cycles: float) -> None:
            number = self.members[place].expected
            heard = partial(self.members[place - 1].flow.heard, number)
            run.clock.after(cycles, run.routers.answer, back, heard)

        heard = run.heard[self.ring.members[place]]
        return Answers(run.clock, run.protocol, run.answer_cycles, heard, say)

    def _flow(self, place: int) -> Flow:
        """Return the packets of a member."""
        run, ring = self.run, self.ring
        path = [link for link, _ in ring.edges[place]]
        send = partial(run.routers.send, ring.members[place])
        return Flow(run.clock, run.timeout_cycles, run.window, ring.circuit, path, send)

    def begin(self) -> None:
        """Start all members."""
        for member in self.members:
            member.load()

    def done(self) -> None:
        """Note that a member is complete."""
        self.left -= 1
        if not self.left:
            self.ended()


@dataclass(slots=True)
class _Member:
    """State of a ring member: data loaded, sent and received."""

    job: _Job
    place: int
    answers: Answers
    flow: Flow
    expected: int = 0
    turn: int = 0
    asked: list[int] = field(default_factory=lambda: [0, 0])
    used: int = 0
    received: int = 0
    there: set[_Key] = field(default_factory=set[_Key])
    known: set[_Key] = field(default_factory=set[_Key])
    waiting: deque[_Came] = field(default_factory=deque[_Came])

    def load(self) -> None:
        """Request parts of chunks on each port in order, while slots are free."""
        job = self.job
        for port, (shared, order) in enumerate(zip(job.run.loads, job.orders, strict=True)):
            found = list[tuple[float, partial[None]]]()
            while self.asked[port] < len(order):
                key, flits = order[self.asked[port]]
                if key[1] == 0:
                    if self.used == job.slots:
                        break
                    self.used += 1
                elif port and key[0] * job.run.fsms + key[2] >= self.asked[0]:
                    break  # the chunk has no slot yet
                self.asked[port] += 1
                found.append((max(flits, job.run.turn_cycles), partial(self._loaded, key)))
            if found:
                shared[job.ring.members[self.place]].add(job.ring.circuit, found)

    def _loaded(self, key: _Key) -> None:
        self.there.add(key)
        self._take()
        self._send()

    def _send(self) -> None:
        """Send the next messages in order, as long as their data is ready."""
        job = self.job
        while self.turn < len(job.turns):
            key, flits = job.turns[self.turn]
            number, step, machine = key
            if step < job.parts and key not in self.there:
                return
            # Of a first step the machine must be through with its chunk of the round before.
            before = (number, step - 1, machine) if step else (number - 1, job.steps - 1, machine)
            if before[0] >= 0 and before not in self.known:
                return
            self.turn += 1
            self._go(key, flits)

    def _go(self, key: _Key, flits: int) -> None:
        job = self.job
        run, ring = job.run, job.ring
        other = job.members[(self.place + 1) % len(job.members)]
        npu, most = ring.members[self.place], run.packet_flits
        jobs: list[tuple[float, partial[None]]] = []
        for first in range(0, flits, most):
            size = min(most, flits - first)
            last = key if first + size == flits else None
            jobs.append((size, partial(self.flow.add, size, partial(other.come, key, last))))
        run.outlets[npu].add(ring.circuit, jobs)

    def come(self, key: _Key, last: _Key | None, packet: Packet) -> None:
        """Accept a packet in order; the engine has only one row of lanes.

        One that has come before is acknowledged, and goes no further.
        """
        run = self.job.run
        self.answers.come(packet.cycles)
        run.clock.after(packet.cycles - 1, self.answers.ended)
        if packet.number != self.expected:
            run.clock.after(packet.cycles, run.routers.taken, packet)
            return
        self.expected += 1
        self.waiting.append((key, last, packet))
        self._take()

    def _take(self) -> None:
        job, found = self.job, list[tuple[float, partial[None]]]()
        while self.waiting:
            number, step, machine = self.waiting[0][0]
            met = (number, step + 1, machine)
            if step + 1 < job.parts and met not in self.there:
                break
            _, last, packet = self.waiting.popleft()
            found.append((packet.cycles, partial(self._taken, last, packet)))
        if found:
            job.run.intakes[job.ring.members[self.place]].add(job.ring.circuit, found)

    def _taken(self, last: _Key | None, packet: Packet) -> None:
        self.job.run.routers.taken(packet)
        if last is not None:
            self._receive(last)

    def _receive(self, key: _Key) -> None:
        job = self.job
        job.run.clock.after(job.run.step_cycles, self._know, key)
        self.received += 1
        if key[1] == job.steps - 1:
            self.used -= 1
            self.load()
        if self.received == len(job.turns):
            job.done()

    def _know(self, key: _Key) -> None:
        self.known.add(key)
        self._send()
