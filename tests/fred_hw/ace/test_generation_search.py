"""All histories of two phases in which a generation of packets comes round.

Packets have the lowest bits of a generation, so an endpoint that missed exactly ``GENERATIONS``
writings of a phase has numbers of an equal generation. ``AcePrepare`` compares generations whole
and refuses the descriptor. The search has the ledger's model, which is equal to the unit, and
software that omits any FORGET. Only equality of generations matters, so each is kept relative to
the last writing of its phase.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest

from fred_hw.protocol import GENERATIONS
from tests.fred_hw.endpoint.test_ledger_search import PHASES

from .histories import FlowEnd, put, search
from .test_prepare import FLOW_REFUSED, flows, refusals

WRITINGS, NUMBERS = 2 * GENERATIONS, 3
"""Whole generations, which are enough for packets' generations to come round; and numbers."""

Accepts = Callable[[int | None], bool]


@dataclass(frozen=True)
class End(FlowEnd):
    """A sender or a receiver."""

    packet_generations, generations, numbers = GENERATIONS, WRITINGS, NUMBERS

    def following(self, receives: bool, accepts: Accepts, bound: bool) -> Iterator["End"]:
        """Yield what may come next."""
        for phase in range(PHASES):
            named = self.named[phase]
            if named != 1 or not bound:
                yield self.written(phase)
            if named != 0:
                now = replace(self, named=put(self.named, phase, None))
                yield now.cycle(self.ledger.held, receives, forget=1 << phase)
            if accepts(named):
                now = replace(self, named=put(self.named, phase, 0))
                yield now.cycle((phase, 0), receives)
        if self.settled:
            yield self.cycle(self.ledger.held, receives, moves=True)

    @property
    def settled(self) -> bool:
        """Whether a descriptor of the last writing has set the flow."""
        phase, generation = self.ledger.held
        return self.named[phase] == 0 and generation == 0

    @property
    def wrong(self) -> bool:
        """Whether a phase that may be used goes on, or is answered, with an old number."""
        held = self.ledger.held[0]
        return (self.settled and self.number != self.right[held]) or any(
            phase != held and named in (None, 0) and self.ledger.stored((phase, 0)) != right
            for phase, (named, right) in enumerate(zip(self.named, self.right, strict=True))
        )

    @property
    def stale(self) -> bool:
        """Whether packets of the last writing have the generation of an old number."""
        return any(
            named == GENERATIONS and self.ledger.stored((phase, 0)) != 0
            for phase, named in enumerate(self.named)
        )


def histories(receives: bool, accepts: Accepts, bound: bool = True) -> tuple[set[End], End | None]:
    """Return the ends that are reached, and the first wrong one, if any."""
    return search(End(), lambda one: one.following(receives, accepts, bound))


def whole(named: int | None) -> bool:
    """Return whether a descriptor of the last writing is accepted, as ``AcePrepare`` does."""
    return named in (None, 0)


def lowest(named: int | None) -> bool:
    """Return the same by the bits that packets have."""
    return named is None or named % GENERATIONS == 0


@pytest.mark.parametrize("receives", [False, True])
def test_no_number_outlives_the_writing_of_its_phase_without_an_error(receives: bool) -> None:
    states, wrong = histories(receives, whole)
    assert wrong is None
    assert any(one.stale for one in states)


@pytest.mark.parametrize("receives", [False, True])
def test_lowest_bits_alone_would_not_be_enough(receives: bool) -> None:
    assert histories(receives, lowest)[1] is not None


@pytest.mark.parametrize("receives", [False, True])
def test_generations_must_not_come_round_whole(receives: bool) -> None:
    """So all endpoints forget a phase before its generations are used up."""
    assert histories(receives, whole, bound=False)[1] is not None


def test_the_rule_is_that_of_the_unit() -> None:
    rng = random.Random(1)
    steps: list[tuple[str, int]] = []
    wanted: list[int] = []
    named: dict[int, int] = {}
    for _ in range(600):
        if rng.random() < 0.2:
            phase = rng.randrange(PHASES)
            steps.append(("forget", 1 << phase))
            named.pop(phase, None)
            continue
        both = [
            (rng.randrange(PHASES), rng.choice((0, 1)) + GENERATIONS * rng.choice((0, 1)))
            if rng.random() < 0.6
            else None
            for _ in range(2)
        ]
        steps.append(("set", flows(*both)))
        given = [one for one in both if one is not None]
        right = all(named.get(phase, one) == one for phase, one in given)
        right &= len(given) == len(dict(given)) or len(set(given)) == 1
        wanted.append(0 if right else FLOW_REFUSED)
        if right:
            named |= dict(given)
    assert refusals(*steps) == wanted
    assert 0 < wanted.count(0) < len(wanted)
