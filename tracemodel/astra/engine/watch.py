"""Detection of a state that equals the state a number of periods earlier."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracemodel.rank_times import Again

from .periods import Periods
from .state import Parts, Progress, state_of
from .trace import Trace

__all__ = ["NeverAgainError", "Watch"]

_LOOKS = 4
"""Nodes per period after which the state is compared; more if collectives are messages, since
pending messages often prevent a comparison."""
_LOOKS_BY_MESSAGE = 24


class NeverAgainError(Exception):
    """The remaining periods have started without any repetition of a state."""


@dataclass(frozen=True)
class _Look:
    """State of the run when a node of a period had ended."""

    period: int
    now: int
    counts: tuple[int, int]
    state: tuple[object, ...]


class Watch:
    """Observer of shortened traces that finds repeated states.

    Once two states are equal except for their time and their period, the activity between them
    would repeat until the periods end. By then nothing after the periods may have started, nor in
    as many periods before the end as nodes look back.

    Parameters
    ----------
    traces : sequence of Trace
        Shortened trace of each rank.
    periods : sequence of Periods or None
        Repetitions in each, without the periods left out.
    more : int
        Number of periods left out.
    """

    def __init__(
        self, traces: Sequence[Trace], periods: Sequence[Periods | None], more: int
    ) -> None:
        self._traces, self._periods, self._more = traces, periods, more
        self.again: Again | None = None
        """The repetition, once one is found."""
        self._progress: dict[int, Progress] = {}
        self._seen: dict[int, list[_Look]] = {}
        self._due: list[tuple[int, int]] = []

    def begin(self, parts: Parts) -> None:
        """Start observing a run."""
        self._parts = parts
        places: dict[int, Mapping[int, int]] = {}
        for number in (rank.number for rank in parts.ranks):
            trace = self._traces[number]
            key = id(trace.operations)
            if key not in places:
                places[key] = {node.id: place for place, node in enumerate(trace.nodes)}
            self._progress[number] = Progress(self._periods[number], places[key])
        self._rank = next(number for number, one in self._progress.items() if one.periods)
        periods = self._periods[self._rank]
        assert periods
        looks = _LOOKS_BY_MESSAGE if parts.carrying.by_message else _LOOKS
        every = max(1, periods.size // looks)
        self._seen = {offset: [] for offset in range(periods.size - 1, -1, -every)}

    def ended(self, rank: int, number: int) -> None:
        """Note that a node has ended."""
        if self.again:
            return
        one = self._progress[rank]
        one.end(number)
        if rank == self._rank:
            period, offset = one.where(number)
            if period is not None and offset in self._seen:
                self._due.append((period, offset))

    def look(self) -> None:
        """Compare the state after an event, if a node selected for comparison has ended.

        Raises
        ------
        NeverAgainError
            It is too late to leave out any period.
        """
        if not self._due or self.again:
            return
        due, self._due = self._due, []
        periods = [one.periods for one in self._progress.values()]
        for one, found in zip(self._progress.values(), periods, strict=True):
            if found and one.front + found.depth >= found.count:
                raise NeverAgainError
            if found and one.others != found.start:
                return  # nodes from before the periods have not ended yet
        for rank in self._parts.ranks:
            one = self._progress[rank.number]
            found = one.periods
            if found and any(
                (one.where(number)[0] or 0) + found.depth >= found.count
                for number in rank.running
                if not one.far(rank, number)
            ):
                return  # runs ahead of nodes still to come
        for period, offset in due:
            state = state_of(self._parts, self._progress, period)
            if state is not None and self._compare(period, offset, state):
                return

    def _compare(self, period: int, offset: int, state: tuple[object, ...]) -> bool:
        """Return whether an earlier state equals this one and its period can be repeated."""
        now, counts = self._parts.clock.now, self._parts.carrying.counts
        for before in reversed(self._seen[offset]):
            between = period - before.period
            if between > 0 and self._more % between == 0 and before.state == state:
                times = self._more // between
                first, last = (
                    times * (after - one) for one, after in zip(before.counts, counts, strict=True)
                )
                done = frozenset(rank.number for rank in self._parts.ranks if rank.done)
                self.again = Again((before.now, now), times, (first, last), done)
                return True
        self._seen[offset].append(_Look(period, now, counts, state))
        return False
