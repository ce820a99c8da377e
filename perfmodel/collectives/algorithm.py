"""The interface of a collective algorithm, and the registry of all algorithms."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fred_hw.registry import Registry
from perfmodel.topology.graph import Topology

from .bounds import scattered_s
from .schedule import PATTERNS, ScheduleBuilder

__all__ = ["ALGORITHMS", "SCATTERED", "TABLES", "Algorithm"]

SCATTERED = ("all_reduce", "reduce_scatter", "all_gather")
"""Patterns of algorithms that scatter the data over the members and gather it again."""

TABLES = "each network interface sends by a table of the schedule, as soon as data and links allow"
"""What schedules that are made for a network take for granted."""

Add = Callable[[ScheduleBuilder, Sequence[int], float, str], None]


@dataclass(frozen=True, slots=True)
class Algorithm:
    """An algorithm for collectives.

    Parameters
    ----------
    words : str or callable
        How it is done, in words; may depend on the topology and the pattern.
    add : callable
        Adds the collective of one group to a ScheduleBuilder, given the members, the bytes of the
        whole vector [B] and the pattern. A broadcast or a reduce has its root first.
    patterns : tuple of str
        Those of ``schedule.PATTERNS`` that it has.
    needs : str
        What topology and group must have, for the refusal of others; empty if nothing.
    fits : callable
        Whether a topology and a group have that.
    preference : mapping
        By pattern: of the algorithms that fit, ``published`` takes the one with the highest number.
        It never takes one without a number.
    published : callable
        Whether it also was taken for a topology and a group by those who published the wafers.
    least_s : callable
        Time that it takes at least [s], of a topology, a pattern, groups and the bytes of the whole
        vector of each [B]. ``auto`` does not build its messages where another takes no longer.
    assumptions : callable
        What it takes for granted on a topology.
    automatic : bool
        Whether ``auto`` tries it. Algorithms that need a schedule in each network interface, or
        long to find one, run only where they are asked for.
    passes : bool
        Whether, where it scatters and gathers, all of it is passes around rings of all members, in
        which each member sends on what has come to it: every model then takes a pass as one item.
    falls_back : bool
        Whether the fastest of the others that fit runs instead where it takes less time.
    """

    words: str | Callable[[Topology, str], str]
    add: Add
    patterns: tuple[str, ...] = PATTERNS
    needs: str = ""
    fits: Callable[[Topology, Sequence[int]], bool] = lambda _topology, _group: True
    preference: Mapping[str, int] = field(default_factory=dict[str, int])
    published: Callable[[Topology, Sequence[int]], bool] = lambda _topology, _group: True
    least_s: Callable[[Topology, str, Sequence[Sequence[int]], float], float] = scattered_s
    assumptions: Callable[[Topology], tuple[str, ...]] = lambda _: ()
    automatic: bool = True
    passes: bool = False
    falls_back: bool = False

    def described(self, topology: Topology, pattern: str) -> str:
        """Return how a pattern is done on a topology, in words."""
        return self.words if isinstance(self.words, str) else self.words(topology, pattern)


ALGORITHMS: Registry[Algorithm] = Registry("perfmodel.collectives.algorithms", "algorithm")
"""Collective algorithms by name; each is a module of ``collectives/algorithms``."""
