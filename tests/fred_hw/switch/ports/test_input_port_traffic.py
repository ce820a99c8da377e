"""An input port under any traffic, against lists: payload comes with its marks."""

import random
from collections import deque
from collections.abc import Sequence
from typing import Any

import pytest

from fred_hw.protocol import HEADER_FIELDS
from fred_hw.switch.ports.input_port import InputPort
from tests.fred_hw.simulation import known, port, simulate
from tests.fred_hw.specs import LINK

from .test_input_port import DP, MP, PP, REST, packet

DEPTH = LINK.protocol.buffer_flits
NUMBERS, LINK_SEQUENCES = (1 << HEADER_FIELDS[name].bits for name in ("sequence", "link_sequence"))


class Traffic:
    """Flits of packets on all circuits, each a flow of its own; what is lost is begun again."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.words, self.silent = rng, 0, 0
        self.left = deque[tuple[int, int, int, dict[str, int]]]()
        self.numbers, self.link_sequences = [0] * 3, [0] * 3

    def flit(
        self, rate: float, circuits: Sequence[int]
    ) -> tuple[int, int, int, dict[str, int]] | None:
        """Return the flit of a cycle if there is one: circuit, first, last, and the inputs."""
        # The rest of a packet comes before timeout ends.
        if self.rng.random() >= rate and not (self.left and self.silent > 2):
            self.silent += 1
            return None
        self.silent = 0
        if not self.left:
            circuit, length = self.rng.choice(circuits), self.rng.choice([1, 1, 2, 4])
            number, link_sequence = (
                self.numbers[circuit] % NUMBERS,
                self.link_sequences[circuit] % LINK_SEQUENCES,
            )
            flow = {
                "circuit": circuit,
                "phase": circuit,
                "number": number,
                "link_sequence": link_sequence,
            }
            for k, one in enumerate(packet(length, word=self.words, **flow)):
                self.left.append((circuit, int(k == 0), int(k == length - 1), one))
            self.words = (self.words + length) % 60000
            self.link_sequences[circuit] += length
        return self.left.popleft()


class Reference:
    """Three queues as lists, and what is taken from them."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.traffic = rng, Traffic(rng)
        self.queues = [deque[tuple[int, int, int]]() for _ in range(3)]  # first, last, data
        self.coming: tuple[int, int, int, dict[str, int]] | None = None
        self.circuit: int | None = None  # whose packet has started
        self.gone, self.taken, self.lost, self.most = [0] * 3, [0] * 3, [0] * 3, [0] * 3
        self.numbers = [0] * 3
        self.words: deque[int | None] = deque([None, None])  # taken in the last two cycles

    def space(self) -> bool:
        """Return whether there is space for what was sent a cycle ago."""
        if self.coming is None:
            return False
        circuit, first, *_ = self.coming
        space = len(self.queues[circuit]) + self.gone[circuit] < DEPTH
        if space:
            self.traffic.numbers[circuit] += first
        else:
            self.traffic.left.clear()
            self.lost[circuit] += 1
        return space

    def serve(self, ctx: Any, head: Any, rate: float) -> int | None:
        """Set inputs of the head and check what it shows; return the word that is taken."""
        waiting = [circuit for circuit in (MP, PP, DP) if ctx.get(head.waiting) >> circuit & 1]
        start = self.circuit is None and bool(waiting) and self.rng.random() < rate
        if start:
            self.circuit = self.rng.choice(waiting)
        inside = self.circuit is not None
        circuit = self.rng.randrange(3) if self.circuit is None else self.circuit
        ctx.set(head.circuit, circuit)
        queue = self.queues[circuit]
        goes_on = inside and bool(queue) and queue[0][0] == start
        assert ctx.get(head.valid[circuit]) == (goes_on or circuit in waiting)
        take = start or (goes_on and self.rng.random() < 0.5 + rate)
        ends = inside and not start and bool(ctx.get(head.broken[circuit]))
        assert not (ends and take)
        if start:
            assert ctx.get(head.descriptor[circuit].phase) == circuit
            assert ctx.get(head.descriptor[circuit].sequence) == self.numbers[circuit] % NUMBERS
            self.numbers[circuit] += 1
        word = None
        if take:
            first, last, word = queue.popleft()
            assert (first, last) == (start, ctx.get(head.last[circuit]))
            self.taken[circuit] += 1
            ends = bool(last)
        for value, wire in ((start, head.start), (take, head.take), (ends, head.finish)):
            ctx.set(wire, int(value))
        self.gone = [int(take and one == circuit) for one in range(3)]
        self.circuit = None if ends else self.circuit
        return word


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_payload_comes_with_its_marks_under_any_traffic_on_all_circuits(seed: int) -> None:
    unit, rng = known(InputPort(spec=LINK)), random.Random(seed)
    reference = Reference(rng)
    wires = {name: port(unit, name) for name in [*REST, *packet(1)[0]]}

    async def bench(ctx: Any) -> None:
        rates, circuits = (1.0, 1.0), [MP]
        for name, value in REST.items():
            ctx.set(wires[name], value)
        for cycle in range(2000):
            if cycle % 50 == 0:
                rates = rng.choice([0.3, 0.7, 1.0]), rng.choice([0.05, 0.5, 1.0])
                circuits = rng.choice([[MP], [PP], [DP], [MP, PP, DP], [MP, PP, DP]])
            word = reference.words.popleft()
            assert ctx.get(unit.flit.valid) == (word is not None)
            assert word is None or ctx.get(unit.flit.data) == word
            came, space = reference.coming, reference.space()
            assert ctx.get(unit.came) == space
            assert ctx.get(unit.overflow) == (came is not None and not space)
            reference.coming = reference.traffic.flit(rates[0], circuits)
            idle = dict.fromkeys(packet(1)[0], 0)
            flit = idle if reference.coming is None else reference.coming[3]
            for name, value in flit.items():
                ctx.set(wires[name], value)
            reference.words.append(reference.serve(ctx, unit.head, rates[1]))
            if came is not None and space:
                circuit, first, last, one = came
                reference.queues[circuit].append((first, last, one["i.data"]))
                inside = len(reference.queues[circuit])
                reference.most[circuit] = max(reference.most[circuit], inside)
            await ctx.tick()

    simulate(unit, bench)
    assert min(reference.taken) > 100 and min(reference.lost) > 10
    assert reference.most == [DEPTH] * 3
