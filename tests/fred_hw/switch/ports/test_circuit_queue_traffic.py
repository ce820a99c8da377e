"""A circuit queue under any traffic, against a list: places, numbers, verdicts, and space."""

import random
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from fred_hw.switch.ports.circuit_queue import CircuitQueue
from tests.fred_hw.simulation import known, port, simulate
from tests.fred_hw.specs import LINK

from .test_circuit_queue import DEPTH, NUMBERS, ONLINE, THROWN, flits

FLOWS = {0: (0, 3), 3: (3, 1), ONLINE: (ONLINE, 0), ONLINE + 1: (ONLINE, 1)}
"""Phase and exit of each flow, by its key; the second is not served."""

REASONS = [name for name in THROWN if name != "stuck"]


class Traffic:
    """What comes on a circuit: packets of flows, some with a wrong number, some cut short."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.left, self.incoming = rng, list[dict[str, int]](), 0
        self.key, self.next = 0, dict.fromkeys(FLOWS, 0)

    def flit(self) -> dict[str, int]:
        """Return the flit that comes next."""
        rng = self.rng
        if not self.left:
            if rng.random() < 0.15:
                self.key = rng.choice(list(FLOWS))
            phase, way = FLOWS[self.key]
            number, length = self.next[self.key], rng.choice([1, 1, 2, 4])
            wrong, old = rng.random() < 0.1, int(rng.random() < 0.1)
            if wrong:
                number = (number + rng.randint(-9, 9)) % NUMBERS
            elif not old:
                self.next[self.key] = (number + 1) % NUMBERS
            known = {"phase": phase, "sequence": number, "generation": old}
            packet = flits(length, **known)
            rest = {"mark.exit": way, "mark.descriptor.destination": 7, "mark.descriptor.source": 9}
            packet = [one | rest for one in packet]
            self.left = packet[: rng.randint(1, length)] if rng.random() < 0.2 else packet
        flit = self.left.pop(0)
        self.incoming = int(bool(self.left))
        return flit

    def lose(self, flit: Mapping[str, int]) -> None:
        """Without a flit, the rest of its packet does not come either; begin it again."""
        self.left, self.incoming = [], 0
        if flit["mark.first"] and not flit["mark.descriptor.generation"]:
            self.next[self.key] = flit["mark.descriptor.sequence"]


class Reference:
    """A circuit queue as a list, and the numbers of the flows; generations are 0."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.traffic, self.numbers = rng, Traffic(rng), dict.fromkeys(FLOWS, 0)
        self.queue = deque[tuple[int, dict[str, int]]]()  # places and flits
        self.came = self.gone = self.inside = self.pending = self.resolved = 0
        self.started: tuple[int, ...] | None = None  # the packet whose next one follows
        self.follows, self.answer = False, 0
        self.seen = dict.fromkeys((*REASONS, "start", "follows", "lost", "left", "cut", "told"), 0)

    def flow(self, flit: Mapping[str, int]) -> tuple[int, ...]:
        names = ("descriptor.phase", "exit", "descriptor.generation", "descriptor.sequence")
        return tuple(flit[f"mark.{name}"] for name in names)

    def key(self, flit: Mapping[str, int]) -> int:
        phase, way, *_ = self.flow(flit)
        return phase + way if phase == ONLINE else phase

    def verdict(self) -> str:
        """Return what becomes of the packet at the head."""
        head = self.queue[0][1]
        phase, _, generation, number = self.flow(head)
        behind = (self.numbers[self.key(head)] - number) % NUMBERS
        if phase == ONLINE:
            return "due"
        if generation:
            return "stale"
        if phase == 3:
            return "unknown"
        late = behind <= LINK.protocol.window_packets
        return "due" if behind == 0 else "late" if late else "early"

    def check(self, see: Mapping[str, int]) -> str | None:
        """Compare what registers show; return why the packet at the head is thrown away."""
        flit = self.queue[0][1] if self.queue else {}
        first = bool(self.queue) and flit["mark.first"] and not self.inside
        assert see["used"] == len(self.queue) + self.gone
        assert see["ready"] == (see["used"] < DEPTH)
        assert see["tail"] == self.came % DEPTH
        if self.queue:
            assert see["place"] == self.queue[0][0]
            assert see["last"] == flit["mark.last"]
            told = {f"mark.{name}": see[name] for name in see if name.startswith("descriptor")}
            assert told.items() <= flit.items()
        goes_on = bool(self.queue) and self.inside and not flit["mark.first"]
        assert see["valid"] == (see["waiting"] or goes_on)
        thrown = [name for name in THROWN if see[name]]
        assert len(thrown) + see["waiting"] + see["asks"] <= (1 if first else 0)
        assert not see["waiting"] or self.verdict() == "due"
        assert not thrown or thrown == [self.verdict()]
        assert see["waiting"] or not self.follows
        # The packet at the head asks unless it is known what becomes of it.
        known = see["waiting"] or thrown or self.pending
        assert see["asks"] == (first and not known)
        assert not (self.resolved and see["asks"])
        return thrown[0] if thrown else None

    def choose(self, see: Mapping[str, int], rates: Sequence[float]) -> dict[str, int]:
        """Return inputs for a cycle."""
        rng, comes = self.rng, {}
        arrives, starts, takes = (rng.random() < rate for rate in rates)
        if arrives:
            comes = self.traffic.flit()
        start = see["waiting"] and starts
        take = start or (see["valid"] and self.inside and takes)
        ended = take and see["last"]
        ends = rng.random() < (0.9 if ended else 0.02 if see["valid"] else 0.2)
        quiet, event = not start, rng.random()
        changed, overtaken = quiet and event < 0.03, quiet and 0.03 <= event < 0.06
        answered = see["asks"] and rng.random() < 0.6
        new = comes.get("mark.first", 0) and not (see["asks"] or changed or overtaken or start)
        moves = {
            "incoming": self.traffic.incoming,
            "start": start,
            "take": take,
            "finish": (start or self.inside) and ends,
            "changed": changed,
            "overtaken": overtaken,
            "answered": answered,
            "prefetched": new and rng.random() < 0.7,
            "due": self.answer,
        }
        return {**comes, **{name: int(value) for name, value in moves.items()}}

    def step(self, see: Mapping[str, int], moves: Mapping[str, int], thrown: str | None) -> None:
        """Go on to the next cycle."""
        head = self.queue[0][1] if self.queue else None
        self._number(moves)
        left = head is not None and not head["mark.first"] and not self.inside
        gone = bool(moves["take"] or thrown or left)
        came = bool(moves.get("arrives")) and see["ready"]
        spoilt = moves["changed"] or moves["overtaken"]
        between = moves["finish"] or not (self.inside or moves["start"])
        if gone:
            self.queue.popleft()
        straight = came and not self.queue
        if came:
            self.queue.append((self.came % DEPTH, dict(moves)))
            self.came += 1
        elif moves.get("arrives"):
            self.traffic.lose(moves)
            self.seen["lost"] += 1
        told = moves["prefetched"] and straight and between
        if spoilt:
            self.started = None
        elif moves["start"] and head is not None:
            self.started = self.flow(head)
        self.follows = False
        if self.queue and (gone or head is None) and self.queue[0][1]["mark.first"]:
            if self.started is not None and between:
                phase, *same, number = self.started
                then, *others, following = self.flow(self.queue[0][1])
                if phase == ONLINE:
                    same, others = same[:1], others[:1]
                    following = (number + 1) % NUMBERS
                due = [phase, *same, (number + 1) % NUMBERS]
                self.follows = due == [then, *others, following]
            self.started = None
            self.seen["cut"] += not between
        self.resolved = self.pending and not spoilt and not gone
        self.pending = (moves["answered"] or told) and not spoilt
        self.inside = int(not between)
        self.gone = int(gone)
        for name, more in (("start", moves["start"]), ("follows", self.follows), ("left", left)):
            self.seen[name] += more
        self.seen["told"] += bool(told)
        if thrown:
            self.seen[thrown] += 1

    def _number(self, moves: Mapping[str, int]) -> None:
        """Give the number that is asked for, and write numbers behind it."""
        rng, head = self.rng, self.key(self.queue[0][1]) if self.queue else 0
        key = self.key(moves) if moves["prefetched"] else head
        self.answer = rng.randrange(NUMBERS)
        if moves["answered"] or moves["prefetched"]:
            self.answer = self.numbers[key]
        if moves["start"] or moves["overtaken"]:
            self.numbers[head] = (self.numbers[head] + 1) % NUMBERS
        if moves["changed"] and self.queue:
            *_, number = self.flow(self.queue[0][1])
            self.numbers[head] = (
                number if rng.random() < 0.6 else (number + rng.randint(-9, 9)) % NUMBERS
            )


@pytest.mark.slow_after_first
@pytest.mark.parametrize("seed", range(2))
def test_places_numbers_and_verdicts_go_with_the_flits_of_any_traffic(seed: int) -> None:
    unit, rng = known(CircuitQueue(spec=LINK)), random.Random(seed)
    reference = Reference(rng)
    names = ["used", "ready", "tail", "place", "valid", "last", "waiting", "asks", *THROWN]
    names += [f"descriptor.{name}" for name, _ in unit.descriptor.shape()]
    rates = (1.0, 1.0, 1.0)
    outputs = {name: port(unit, name) for name in names}
    moved = ["arrives", "incoming", "start", "take", "finish", "changed", "overtaken", "answered"]
    moved += ["prefetched", "due", "mark.first", "mark.last", "mark.exit"]
    moved += [f"mark.descriptor.{name}" for name, _ in unit.descriptor.shape()]
    inputs = {name: port(unit, name) for name in moved}
    served, matches, scheduler = 0, [0, 0], random.Random(~seed)

    async def bench(ctx: Any) -> None:
        nonlocal rates, served
        ctx.set(unit.enable, 1)
        ctx.set(unit.serves, 0b0111)
        for cycle in range(2500):
            if cycle % 100 == 0:
                rates = rng.choice([0.1, 0.4, 1.0]), rng.choice([0.2, 1.0]), rng.choice([0.5, 1.0])
            see = {name: ctx.get(value) for name, value in outputs.items()}
            thrown = reference.check(see)
            moves = reference.choose(see, rates)
            for name, value in inputs.items():
                ctx.set(value, moves.get(name, 0))
            head = reference.queue[0][1] if reference.queue else None
            if head is not None:
                matches[matching := int(head["mark.descriptor.phase"] == served)] += 1
                assert ctx.get(unit.of_phase) == matching
            following, load = scheduler.choice((0, 3, ONLINE)), scheduler.random() < 0.1
            ctx.set(unit.served, served)
            ctx.set(unit.following, following)
            ctx.set(unit.load, load)
            served = following if load else served
            came = moves.get("arrives", 0) & see["ready"]
            assert ctx.get(unit.enters) == (came and moves["mark.first"])
            goes = moves["take"] or thrown is not None
            assert ctx.get(unit.leaves) == (head is not None and goes and head["mark.first"])
            rest = head is None and moves["incoming"]
            cut = head is not None and not head["mark.first"]
            assert ctx.get(unit.broken) == (reference.inside and not rest and not cut)
            reference.step(see, moves, thrown)
            await ctx.tick()

    simulate(unit, bench)
    assert min(*reference.seen.values(), *matches) > 10, reference.seen
