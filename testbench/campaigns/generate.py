"""Random legal plans: operations first, then cuts, order and delays of each endpoint's jobs."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from fred_hw.virtual_channels import DEFAULT_CHANNELS

from .legal import is_legal
from .plan import Job, Operation, Piece, Plan

__all__ = ["Group", "Making", "random_plan"]

_RINGS = ("all_reduce", "reduce_scatter", "all_gather")
_SOURCE = 300
"""Flits of each memory that no operation writes."""

_MOST_FLITS = 2500
"""Flits of a memory behind which no operation begins."""

_LATEST = 5000


@dataclass(frozen=True)
class Group:
    """A flow of a phase, which operations use at any time, in the same order at all endpoints."""

    phase: int
    circuit: str
    sources: tuple[int, ...]
    destinations: tuple[int, ...]


@dataclass
class Making:
    """A plan under construction.

    Parameters
    ----------
    npus : int
        Endpoints.
    slot : int
        Flits of a slot of an endpoint, which holds a message of each member of a ring.
    joined : str
        Virtual channel reserved for flows that are reduced between switches; empty if there are
        none.
    generations : mapping of int to int
        Generations of phase entries, by number; 0 for others.
    """

    rng: random.Random
    npus: int
    slot: int
    groups: Sequence[Group]
    joined: str
    operations: list[Operation] = field(default_factory=list)
    jobs: list[list[Job]] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    pairs: dict[tuple[int, int], str] = field(default_factory=dict)
    received: dict[tuple[int, str], list[tuple[int, int]]] = field(default_factory=dict)
    generations: Mapping[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.jobs = [[] for _ in range(self.npus)]
        self.ends = self.ends or [_SOURCE] * self.npus

    def circuit_of(self, pairs: Sequence[tuple[int, int]]) -> str:
        """Return a virtual channel that all of these unicasts may use; empty if there is none.

        All packets of a pair use one virtual channel (docs/reference/protocol.md, Unicasts), and so
        do those of the other direction, as no two channels of an endpoint have the same flow.
        """
        sorted_pairs = {(min(pair), max(pair)) for pair in pairs}
        known = {self.pairs[pair] for pair in sorted_pairs if pair in self.pairs}
        if len(known) > 1:
            return ""
        free = [one for one in DEFAULT_CHANNELS.names if one != self.joined]
        circuit = known.pop() if known else self.rng.choice(free)
        self.pairs |= dict.fromkeys(sorted_pairs, circuit)
        return circuit

    def reads(self, npu: int, circuit: str, flits: int) -> int:
        """Return where an endpoint reads: initial data, or data it has received."""
        held = [first for first, size in self.received.get((npu, circuit), []) if size >= flits]
        if held and self.rng.random() < 0.3:
            return self.rng.choice(held)
        return self.rng.randrange(_SOURCE - flits + 1)

    def writes(self, npu: int, circuit: str, flits: int) -> int:
        """Return a buffer that no other operation writes."""
        first = self.ends[npu]
        self.ends[npu] += flits
        self.received.setdefault((npu, circuit), []).append((first, flits))
        return first

    def add(
        self,
        kind: str,
        circuit: str,
        sources: tuple[int, ...],
        destinations: tuple[int, ...],
        flits: int,
        phase: int = -1,
        message: int = 0,
    ) -> None:
        """Add an operation, with a job at each endpoint."""
        read = tuple(self.reads(one, circuit, flits) for one in sources)
        write = tuple(self.writes(one, circuit, flits) for one in destinations)
        piece = Piece(len(self.operations), 0, flits)
        if kind == "all_gather":  # in place
            read = write
        self.operations.append(
            Operation(
                kind,
                circuit,
                sources,
                destinations,
                flits,
                read,
                write,
                phase,
                message,
                self.generations.get(phase, 0),
            )
        )
        for npu in {*sources, *destinations}:
            sends = piece if npu in sources else None
            receives = piece if npu in destinations else None
            self.jobs[npu].append(Job(circuit, sends, receives))

    def chain(self, flits: int, times: int) -> None:
        """Add chains of unicasts from one endpoint to the next."""
        path = self.rng.sample(range(self.npus), min(self.npus, self.rng.choice((2, 2, 3, 3, 4))))
        pairs = list(pairwise(path))
        if circuit := self.circuit_of(pairs):
            for _ in range(times):
                for source, to in pairs:
                    self.add("unicast", circuit, (source,), (to,), flits)

    def ring(self, flits: int, times: int) -> None:
        members = self.rng.sample(range(self.npus), min(self.npus, self.rng.choice((2, 3, 3, 4))))
        pairs = list(zip(members, members[1:] + members[:1], strict=True))
        if circuit := self.circuit_of(pairs):
            message = self.rng.randint(1, self.slot // len(members))
            kind, own = self.rng.choice(_RINGS), tuple(members)
            for _ in range(times):
                self.add(kind, circuit, own, own, flits, message=message)

    def all_to_all(self, flits: int, times: int) -> None:
        """Add rounds of unicasts without conflicts; an endpoint's round is one descriptor."""
        members = self.rng.sample(range(self.npus), min(self.npus, self.rng.choice((3, 3, 4))))
        pairs = [(a, b) for a in members for b in members if a != b]
        if circuit := self.circuit_of(pairs):
            for distance in list(range(1, len(members))) * times:
                before = [len(own) for own in self.jobs]
                self.received = {}  # data received in a step cannot be sent in the same step
                for rank, npu in enumerate(members):
                    to = members[(rank + distance) % len(members)]
                    self.add("unicast", circuit, (npu,), (to,), flits)
                    self.received = {}
                for npu in members:
                    pair = self.jobs[npu][before[npu] :]
                    self.jobs[npu][before[npu] :] = [_merged(pair[0], pair[1])]

    def in_network(self, flits: int, times: int) -> None:
        if self.groups:
            one = self.rng.choice(self.groups)
            kind = "copy" if len(one.sources) == 1 else "reduce"
            for _ in range(times):
                self.add(kind, one.circuit, one.sources, one.destinations, flits, one.phase)


def _merged(a: Job, b: Job) -> Job:
    return Job(a.circuit, a.sends or b.sends, a.receives or b.receives, a.wait)


def random_plan(
    fabric: str,
    npus: int,
    slot: int,
    groups: Sequence[Group],
    joined: str,
    seed: int,
    pairs: Mapping[tuple[int, int], str] | None = None,
    ends: Sequence[int] = (),
    generation: int = 0,
) -> Plan:
    """Return a random legal plan.

    Parameters
    ----------
    fabric : str
        Name of the fabric.
    npus, slot, groups, joined
        As for operations of ``Making``.
    seed : int
        All of it is a function of the seed, the groups and the pairs.
    pairs : mapping of (int, int) to str
        Circuits of the unicasts of some pairs; empty if there may be none.
    ends : sequence of int
        Flits of each memory that are in use before the plan.
    generation : int
        Generation of all phases.
    """
    rng = random.Random(seed)
    making = Making(rng, npus, slot, groups, joined, pairs=dict(pairs or {}), ends=[*ends])
    making.generations = dict.fromkeys((one.phase for one in groups), generation)
    full = _MOST_FLITS + max(making.ends) - _SOURCE
    most = rng.choice((1, 4, 8, 16, 32))
    large = rng.choice((8, 40, 250))
    kinds = [making.chain, making.chain, making.ring, making.all_to_all, making.in_network]
    kinds = rng.sample(kinds, rng.randint(1, len(kinds)))
    for _ in range(4 * most):
        times = rng.choice((1, 1, 2, 4, 8))
        rng.choice(kinds)(rng.randint(1, large), times)
        if len(making.operations) >= most or max(making.ends) > full:
            break
    if not making.operations:
        making.chain(large, 2)
    plan = Plan(
        fabric=fabric,
        operations=tuple(making.operations),
        queues=tuple(map(tuple, making.jobs)),
        memory=max(making.ends),
        faults=rng.choice((0, 0, 200, 2000, 20_000)),
        stalls=rng.choice((0, 0, 20, 50, 80, 95)),
        seed=seed,
    )
    assert is_legal(plan)
    return _late(_shaped(plan, rng), rng)


def _shaped(plan: Plan, rng: random.Random) -> Plan:
    """Return the plan with jobs cut, merged and moved at some endpoints, while it stays legal."""
    cuts, merges, moves = (rng.choice((0.0, 0.3, 1.0)) for _ in range(3))
    for npu in rng.sample(range(len(plan.queues)), len(plan.queues)):
        plan = _changed(plan, npu, _cut(plan, plan.queues[npu], rng, cuts))
        plan = _changed(plan, npu, _merge(plan.queues[npu], rng, merges))
        for _ in range(4):
            if rng.random() < moves:
                plan = _changed(plan, npu, _move(plan, plan.queues[npu], rng))
    return plan


def _changed(plan: Plan, npu: int, queue: Sequence[Job]) -> Plan:
    """Return the plan with one endpoint's queue replaced; unchanged if that would be illegal."""
    found = replace(plan, queues=(*plan.queues[:npu], tuple(queue), *plan.queues[npu + 1 :]))
    return found if is_legal(found) else plan


def _cut(plan: Plan, queue: Sequence[Job], rng: random.Random, chance: float) -> list[Job]:
    """Cut jobs that only send or only receive; sources of a joined flow are cut alike."""
    found: list[Job] = []
    for job in queue:
        piece = job.receives or job.sends
        assert piece
        one = plan.operations[piece.operation]
        joined = job.sends is not None and len(one.sources) > 1
        if (job.sends and job.receives) or joined or rng.random() >= chance or piece.flits < 2:
            found.append(job)
            continue
        at = rng.randrange(1, piece.flits)
        parts = [
            replace(piece, flits=at),
            replace(piece, first=piece.first + at, flits=piece.flits - at),
        ]
        side = "receives" if job.receives else "sends"
        found += [replace(job, **{side: part}) for part in parts]
    return found


def _merge(queue: Sequence[Job], rng: random.Random, chance: float) -> list[Job]:
    """Merge a sending and a receiving job that follow each other on a virtual channel."""
    found: list[Job] = []
    last: dict[str, int] = {}
    for job in queue:
        before = last.get(job.circuit)
        other = found[before] if before is not None else None
        one_each = other and (
            (not other.sends and not job.receives) or (not other.receives and not job.sends)
        )
        if other and before is not None and one_each and rng.random() < chance:
            found[before] = _merged(other, job)
            del last[job.circuit]
            continue
        last[job.circuit] = len(found)
        found.append(job)
    return found


def _move(plan: Plan, queue: Sequence[Job], rng: random.Random) -> list[Job]:
    """Move the rest of a receive after jobs that receive in other flows."""
    found = list(queue)

    def flow(job: Job) -> object:
        return plan.operations[job.receives.operation].flow if job.receives else None

    rests = [
        n for n, job in enumerate(found) if job.receives and job.receives.first and not job.sends
    ]
    if rests:
        place = rng.choice(rests)
        rest = found.pop(place)
        end = min(len(found), place + rng.randint(1, 4))
        while place < end and flow(found[place]) != flow(rest):
            place += 1
        found.insert(place, rest)
    return found


def _late(plan: Plan, rng: random.Random) -> Plan:
    """Delay the start of endpoints, and add pauses between jobs."""
    pauses = rng.choice((0.0, 0.0, 0.1, 0.5))
    late = rng.choice((0.0, 0.3, 0.7))
    queues: list[tuple[Job, ...]] = []
    for queue in plan.queues:
        jobs = [replace(one, wait=rng.randrange(600) * (rng.random() < pauses)) for one in queue]
        if jobs and rng.random() < late:
            jobs[0] = replace(jobs[0], wait=rng.randrange(_LATEST + 1))
        queues.append(tuple(jobs))
    return replace(plan, queues=tuple(queues))
