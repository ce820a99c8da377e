"""The interface of a collective algorithm, and the registry of all algorithms."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fred_hw.registry import Registry
from perfmodel.topology.graph import Topology

from .bounds import scattered_s
from .schedule import PATTERNS, ScheduleBuilder

__all__ = ["ALGORITHMS", "SCATTERED", "TABLES", "Algorithm"]

SCATTERED = ("all_reduce", "reduce_scatter", "all_gather")
"""Patterns of algorithms that scatter the data over the members and then gather it."""

TABLES = "each network interface sends by a table of the schedule, as soon as data and links allow"
"""Assumption of schedules that are built for a specific network."""

Add = Callable[[ScheduleBuilder, Sequence[int], float, str], None]


@dataclass(frozen=True, slots=True)
class Algorithm:
    """An algorithm for collectives.

    Parameters
    ----------
    words : str or callable
        Description of the algorithm; may depend on the topology and the pattern.
    add : callable
        Adds the collective of one group to a ScheduleBuilder, given the members, the bytes of the
        whole vector [B] and the pattern. A broadcast or a reduce has its root first.
    patterns : tuple of str
        Supported patterns of ``schedule.PATTERNS``.
    needs : str
        Requirements on topology and group, for error messages; empty without any.
    fits : callable
        Whether a topology and a group meet the requirements.
    preference : mapping
        By pattern: of the algorithms that fit, ``published`` takes the one with the highest number.
        It never takes one without a number.
    published : callable
        Whether the publications about the wafers also used it for a topology and a group.
    least_s : callable
        Lower bound of its time [s], for a topology, a pattern, groups and the bytes of the whole
        vector of each [B]. ``auto`` does not build its messages if another algorithm is at least as
        fast.
    assumptions : callable
        Its assumptions on a topology, for a pattern.
    automatic : bool
        Whether ``auto`` tries it. Algorithms that need a schedule in each network interface, or a
        long search, run only on request.
    passes : bool
        Whether its reduce-scatters and all-gathers consist only of passes around rings of all
        members, in which each member forwards what it received. Every network model then treats a
        pass as one item.
    falls_back : bool
        Whether the fastest of the other suitable algorithms runs instead if it takes less time.
    """

    words: str | Callable[[Topology, str], str]
    add: Add
    patterns: tuple[str, ...] = PATTERNS
    needs: str = ""
    fits: Callable[[Topology, Sequence[int]], bool] = lambda _topology, _group: True
    preference: Mapping[str, int] = field(default_factory=dict[str, int])
    published: Callable[[Topology, Sequence[int]], bool] = lambda _topology, _group: True
    least_s: Callable[[Topology, str, Sequence[Sequence[int]], float], float] = scattered_s
    assumptions: Callable[[Topology, str], tuple[str, ...]] = lambda _topology, _pattern: ()
    automatic: bool = True
    passes: bool = False
    falls_back: bool = False

    def described(self, topology: Topology, pattern: str) -> str:
        """Return the algorithm of a pattern on a topology as text."""
        return self.words if isinstance(self.words, str) else self.words(topology, pattern)


ALGORITHMS: Registry[Algorithm] = Registry("perfmodel.collectives.algorithms", "algorithm")
"""Collective algorithms by name; each module of ``collectives/algorithms`` registers one or
more."""
