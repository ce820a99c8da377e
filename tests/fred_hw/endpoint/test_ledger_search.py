"""All histories of two phases in three generations: no number outlives the writing of its phase.

A model of the ledger is equal to the unit cycle by cycle, and every state is visited that the model
has with an end which sends, or receives, as software wants. The ledger only compares generations,
so what holds for three holds for eight.
"""

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from fred_hw.endpoint.ledger import Ledger
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK

PHASES, GENERATIONS, NUMBERS = 2, 3, 3
Flow = tuple[int, int]  # phase and generation


@dataclass(frozen=True)
class Model:
    """A ledger: what is known of each phase, and the flow of the cycle before."""

    kept: tuple[tuple[int, int] | None, ...] = (None,) * PHASES  # number and generation
    held: Flow = (0, 0)

    def stored(self, flow: Flow) -> int:
        """Return the number of a flow that is set, or of another one."""
        phase, generation = flow
        entry = self.kept[phase]
        return entry[0] if entry is not None and entry[1] == generation else 0

    def step(self, flow: Flow, number: int | None, clear: bool, forget: int) -> "Model":
        """Return it a cycle later; a number that is not None is written."""
        (phase, generation), (before, old) = flow, self.held
        kept = list(self.kept)
        changed = flow != self.held
        entry = self.kept[phase]
        other = entry is None or entry[1] != generation
        stale = changed and (phase == before or other)
        if number is not None:
            kept[before] = (number, old)
        if clear:
            kept[before] = None
        for one in range(PHASES):
            if forget >> one & 1 or (stale and one == phase):
                kept[one] = None
        return Model(tuple(kept), flow)


def test_the_model_is_equal_to_the_unit_cycle_by_cycle() -> None:
    rng = random.Random(1)
    inputs: list[dict[str, int]] = []
    wanted: list[tuple[int, ...]] = []
    model, flow = Model(), (0, 0)
    for _ in range(3000):
        if rng.random() < 0.5:
            flow = (rng.randrange(PHASES), rng.randrange(GENERATIONS))
        other = (rng.randrange(PHASES), rng.randrange(GENERATIONS))
        number = rng.randrange(NUMBERS) if rng.random() < 0.5 else None
        clear = rng.random() < 0.1
        forget = rng.randrange(1 << PHASES) if rng.random() < 0.2 else 0
        inputs.append(
            {
                "flow.phase": flow[0],
                "flow.generation": flow[1],
                "other.phase": other[0],
                "other.generation": other[1],
                "write": int(number is not None),
                "number": number or 0,
                "clear": int(clear),
                "forget": forget,
            }
        )
        entry = model.kept[other[0]]
        known = entry is not None and entry[1] == other[1]
        wanted.append(
            (int(flow != model.held), model.stored(flow), model.stored(other), int(known))
        )
        model = model.step(flow, number, clear, forget)
    watch = ["changed", "stored", "other_stored", "other_known"]
    assert trace(Ledger(spec=LINK), inputs, watch) == wanted


@dataclass(frozen=True)
class End:
    """An end of flows, and what software has done.

    ``number`` is where the flow that is set goes on. Of each phase: the generation in which it was
    written last, whether this end was told, and the number that it has come to since.
    """

    ledger: Model = Model()
    number: int = 0
    written: tuple[int, ...] = (0,) * PHASES
    told: tuple[bool, ...] = (True,) * PHASES
    right: tuple[int, ...] = (0,) * PHASES

    def cycle(self, flow: Flow, receives: bool, moves: bool, forget: int = 0) -> "End":
        """Return it a cycle later, which takes a packet of the flow that is set if it ``moves``."""
        changed, phase = flow != self.ledger.held, flow[0]
        number, write = self.number, None
        if moves:
            number = (number + 1) % NUMBERS
            write = number if receives else None
        if changed:
            write = None if receives else self.number
            number = self.ledger.stored(flow)
        if forget >> phase & 1:
            number = 0
        right = list(self.right)
        if moves:
            right[phase] = (right[phase] + 1) % NUMBERS
        return replace(
            self,
            ledger=self.ledger.step(flow, write, False, forget),
            number=number,
            right=tuple(right),
        )

    def following(self, receives: bool, tells: bool) -> Iterator["End"]:
        """Yield what may come next; software that does not tell forgets no phase."""
        for phase in range(PHASES):
            # Written anew, which this end need not be told before it takes part.
            written = _with(self.written, phase, (self.written[phase] + 1) % GENERATIONS)
            yield replace(
                self,
                written=written,
                told=_with(self.told, phase, False),
                right=_with(self.right, phase, 0),
            )
            if not self.told[phase]:
                now = replace(self, told=_with(self.told, phase, True))
                yield now.cycle(self.ledger.held, receives, False, tells << phase)
            if self.told[phase]:
                yield self.cycle((phase, self.written[phase]), receives, False)
        if self.settled:
            yield self.cycle(self.ledger.held, receives, True)

    @property
    def settled(self) -> bool:
        """Whether the flow that is set is the phase as it was written last."""
        phase, generation = self.ledger.held
        return self.told[phase] and self.written[phase] == generation

    @property
    def wrong(self) -> bool:
        """Whether it goes on with a number of an earlier writing."""
        return self.settled and self.number != self.right[self.ledger.held[0]]

    @property
    def answers_wrong(self) -> bool:
        """Whether it would answer with one, for a phase that is not set."""
        return any(
            told and phase != self.ledger.held[0] and self.ledger.stored((phase, now)) != right
            for phase, (now, told, right) in enumerate(
                zip(self.written, self.told, self.right, strict=True)
            )
        )


def _with(values: tuple, place: int, value: object) -> tuple:
    return (*values[:place], value, *values[place + 1 :])


def search(receives: bool, tells: bool) -> tuple[int, End | None]:
    """Return how many states there are, and the first wrong one, if any."""
    first = End()
    seen, waiting = {first}, deque([first])
    while waiting:
        for one in waiting.popleft().following(receives, tells):
            if one.wrong or one.answers_wrong:
                return len(seen), one
            if one not in seen:
                seen.add(one)
                waiting.append(one)
    return len(seen), None


@pytest.mark.parametrize("receives", [False, True])
def test_no_number_outlives_the_writing_of_its_phase(receives: bool) -> None:
    states, wrong = search(receives, tells=True)
    assert wrong is None
    assert states > 1000


@pytest.mark.parametrize("receives", [False, True])
def test_a_phase_that_is_not_forgotten_is_found(receives: bool) -> None:
    """Without FORGET an end that sat out two of three generations has an old number."""
    assert search(receives, tells=False)[1] is not None
