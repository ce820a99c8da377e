"""The fastest algorithm of a collective, or the fastest equivalent sequence of others."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import inf

from fred_hw.errors import InputError
from fred_hw.progress import track
from perfmodel.collectives.bounds import any_s
from perfmodel.collectives.guidelines import Stage, composed_name, sequences
from perfmodel.collectives.select import (
    MAX_COMPOSED,
    MAX_SEARCHED,
    PUBLISHED,
    candidates,
    check_groups,
    chosen,
    least_s,
    left_out,
)
from perfmodel.topology.graph import Topology

from .model import CannotTimeError, find_model
from .prepared import Request, Size, prepare

__all__ = ["fastest", "fastest_fixed"]

_ROUNDING = 1e-9
"""Share by which rounding may raise the bound of an algorithm above its time."""

_LARGEST: dict[tuple[Stage, ...], float] = {
    (Stage("all_reduce"),): inf,
    (Stage("all_gather", whole=True),): MAX_SEARCHED,
}
"""Largest group for which a sequence is tried; ``MAX_COMPOSED`` for all other sequences."""


def fastest(topology: Topology, asked: Request, size: Size) -> Request:
    """Return a request with the fastest algorithm; ``published`` wins ties.

    In ``fluid`` no algorithm takes less as data grow or links get slower, so neither does their
    least. Algorithms that the network model cannot time are left out.

    Parameters
    ----------
    topology : Topology
        Topology on which the collective runs.
    asked : Request
        The collective to time; its algorithm is ignored.
    size : Size
        The vector.

    Raises
    ------
    InputError
        As for ``select.build_schedule``.
    CannotTimeError
        The network model can time no algorithm.
    """
    _, name = _Search(topology, asked, size, candidates).fastest()
    return replace(asked, algorithm=name)


def fastest_fixed(
    topology: Topology, asked: Request, size: Size, own_s: float
) -> tuple[Request, float]:
    """Return a request with the fastest algorithm, also of those only on request, and its time [s].

    Of the algorithms that ``select.left_out`` names, only those are built whose lower bound is
    below ``own_s`` and the time of all others. A network model without lower bounds builds none of
    them, since nothing would limit how many.

    Parameters
    ----------
    topology, asked, size
        As for :func:`fastest`, which has the same errors.
    own_s : float
        Time of the algorithm that is compared with the result [s].
    """
    fixed_s, name = _Search(topology, asked, size, partial(candidates, automatic=False)).fastest()
    if not find_model(asked.network_model).never_faster_than_links:
        return replace(asked, algorithm=name), fixed_s
    late = _Search(topology, asked, size, left_out).stage(
        Stage(asked.pattern), min(own_s, fixed_s), first=True, last=True
    )
    fixed_s, name = min((fixed_s, name), late or (inf, ""), key=lambda one: one[0])
    return replace(asked, algorithm=name), fixed_s


class _Search:
    """Times of the stages of sequences, each computed once.

    Parameters
    ----------
    topology, asked, size
        As for :func:`fastest`.
    names : callable
        Returns the algorithms to try, as ``select.candidates`` does.
    """

    def __init__(
        self, topology: Topology, asked: Request, size: Size, names: Callable[..., list[str]]
    ) -> None:
        self._topology, self._asked, self._size = topology, asked, size
        self._names = names
        self._bounded = find_model(asked.network_model).never_faster_than_links
        self._least: dict[Stage, dict[str, float]] = {}
        self._known: dict[tuple[Stage, bool, bool], tuple[float, str]] = {}
        self.problem: CannotTimeError | None = None

    def fastest(self) -> tuple[float, str]:
        """Return the least time [s] and its algorithm or sequence."""
        found = self.stage(Stage(self._asked.pattern), inf, first=True, last=True)
        if found is None:
            raise self.problem or AssertionError("one algorithm fits everywhere")
        best_s, name = found
        for stages in self.sequences():
            better = self.sequence(stages, best_s)
            best_s, name = better or (best_s, name)
        return best_s, name

    def sequences(self) -> list[tuple[Stage, ...]]:
        """Return the sequences that the groups allow, ordered by lower bound."""
        largest = max(map(len, self._asked.groups))
        fit = [
            some
            for some in sequences(self._asked.pattern)
            if largest <= _LARGEST.get(some, MAX_COMPOSED) and all(map(self._allowed, some))
        ]
        return sorted(fit, key=lambda some: sum(map(self._least_s, some)))

    def _allowed(self, stage: Stage) -> bool:
        """Return whether the groups may run a stage; only roots may belong to two groups."""
        try:
            check_groups(self._topology, stage.pattern, self._asked.groups)
        except InputError:
            return False
        return True

    def sequence(self, stages: Sequence[Stage], limit_s: float) -> tuple[float, str] | None:
        """Return the least time of a sequence and its name, if below the limit [s]."""
        rest_s = sum(map(self._least_s, stages))
        names: list[str] = []
        for place, stage in enumerate(stages):
            rest_s -= self._least_s(stage)
            ends = {"first": place == 0, "last": place == len(stages) - 1}
            found = self.stage(stage, limit_s - rest_s, **ends)
            if found is None or found[0] + rest_s >= limit_s:
                return None
            names.append(found[1])
            rest_s += found[0]
        return rest_s, composed_name(stages, names)

    def stage(
        self, stage: Stage, limit_s: float, *, first: bool, last: bool
    ) -> tuple[float, str] | None:
        """Return the least time of a stage [s] and its algorithm; None if none can meet the limit.

        The time of every stage but the last includes the ack that reports its end to its sources.
        """
        key = (stage, first, last)
        if key in self._known:
            return self._known[key]
        asked = self._asked
        size = self._size.times(stage.times(asked.groups))
        least_s = self._bounds(stage)
        best: tuple[float, int, str] | None = None
        order = sorted(least_s, key=lambda name: (name != PUBLISHED, least_s[name]))
        for name in track(order, "algorithms"):
            if least_s[name] > min(limit_s, best[0] if best else inf) * (1 + _ROUNDING):
                continue
            changes = asked.changes if first else 0
            one = replace(asked, pattern=stage.pattern, algorithm=name, changes=changes)
            try:
                prepared = prepare(self._topology, one)
                time_s = prepared.time_s(size) + (0.0 if last else prepared.ack_s)
            except CannotTimeError as error:
                self.problem = self.problem or error
                continue
            found = (time_s, list(least_s).index(name), name)
            best = min(best, found) if best else found
        if best is None:
            return None
        if best[0] <= limit_s:
            self._known[key] = best[0], best[2]
        return best[0], best[2]

    def _least_s(self, stage: Stage) -> float:
        """Return a lower bound of a stage's time over all algorithms [s]."""
        return min(self._bounds(stage).values())

    def _bounds(self, stage: Stage) -> dict[str, float]:
        """Return the algorithms of a stage and a lower bound of each one's time [s]."""
        if stage not in self._least:
            asked, topology = self._asked, self._topology
            given = (topology, stage.pattern, asked.groups)
            names = self._names(*given, asked.concurrent)
            size_bytes = stage.times(asked.groups) * self._size.size_bytes
            self._least[stage] = dict.fromkeys(names, 0.0)
            if self._bounded:
                every_s = any_s(*given, size_bytes)
                for name in names:
                    own_s = self._own_s(stage.pattern, name, size_bytes)
                    self._least[stage][name] = max(every_s, own_s)
        return self._least[stage]

    def _own_s(self, pattern: str, name: str, size_bytes: float) -> float:
        """Return the bound of an algorithm; for ``published``, that of the slowest group [s]."""
        topology, groups = self._topology, self._asked.groups
        if name != PUBLISHED:
            return least_s(topology, pattern, groups, size_bytes, name)
        names = [chosen(topology, pattern, group, PUBLISHED) for group in groups]
        return max(
            least_s(topology, pattern, [group], size_bytes, name)
            for name, group in zip(names, groups, strict=True)
        )
