"""Searches through all histories of the writings of phases, as an end of their flows sees them."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self, TypeVar

from tests.fred_hw.endpoint.test_ledger_search import PHASES, Flow, Model

__all__ = ["FlowEnd", "put", "search"]

NEW = Model()


@dataclass(frozen=True)
class FlowEnd(ABC):
    """A sender or a receiver, and what it should know.

    ``number`` is where the flow that is set goes on. Of each phase: the generation of its last
    descriptor, and the number that the endpoint has come to since the phase was written. Only
    equality of generations matters, so each is kept relative to the last writing of its phase.
    """

    packet_generations: ClassVar[int]
    """Generations of a phase that packets distinguish."""

    generations: ClassVar[int]
    """Generations of a phase that software and descriptors distinguish."""

    numbers: ClassVar[int]
    """Sequence numbers of a flow, after which they start again at 0."""

    ledger: Model = NEW
    number: int = 0
    named: tuple[int | None, ...] = (None,) * PHASES
    right: tuple[int, ...] = (0,) * PHASES

    @property
    @abstractmethod
    def settled(self) -> bool:
        """Whether the flow that is set is that of a descriptor of the last writing."""

    @property
    @abstractmethod
    def wrong(self) -> bool:
        """Whether a descriptor of the last writing may go on with the number of another one."""

    def written(self, phase: int) -> Self:
        """Return the end after a phase has been written, which the end does not notice."""
        kept, (held, generation) = list(self.ledger.kept), self.ledger.held
        if (entry := kept[phase]) is not None:
            kept[phase] = (entry[0], (entry[1] - 1) % self.packet_generations)
        if held == phase:
            generation = (generation - 1) % self.packet_generations
        named = self.named[phase]
        then = None if named is None else (named - 1) % self.generations
        return replace(
            self,
            ledger=Model(tuple(kept), (held, generation)),
            named=put(self.named, phase, then),
            right=put(self.right, phase, 0),
        )

    def cycle(self, flow: Flow, receives: bool, moves: bool = False, forget: int = 0) -> Self:
        """Return the end a cycle later; with ``moves``, a packet of the flow passes."""
        number, write, right = self.number, None, self.right
        if moves:
            number = (number + 1) % self.numbers
            write = number if receives else None
            if self.settled:
                right = put(right, flow[0], (right[flow[0]] + 1) % self.numbers)
        if flow != self.ledger.held:
            write = None if receives else self.number
            number = self.ledger.stored(flow)
        if forget >> flow[0] & 1:
            number = 0
        ledger = self.ledger.step(flow, write, False, forget)
        return replace(self, ledger=ledger, number=number, right=right)


End = TypeVar("End", bound=FlowEnd)


def put(values: tuple, place: int, value: object) -> tuple:
    """Return a tuple with another value at a place."""
    return (*values[:place], value, *values[place + 1 :])


def search(begin: End, following: Callable[[End], Iterator[End]]) -> tuple[set[End], End | None]:
    """Return all ends that can be reached, and the first wrong one, if any.

    Parameters
    ----------
    begin : FlowEnd
        The end at first.
    following : Callable
        Returns the ends that may come next.
    """
    seen, waiting = {begin}, deque([begin])
    while waiting:
        for one in following(waiting.popleft()):
            if one.wrong:
                return seen, one
            if one not in seen:
                seen.add(one)
                waiting.append(one)
    return seen, None
