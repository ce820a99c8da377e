"""Routing of flows on FRED_m(P): the middle subswitch of each flow at every level.

FRED, arXiv 2406.19580, on routing (our section 5), as a search across all levels at once: a flow
takes one of m subswitches at each of K levels, so its path is a leaf of an m-ary tree, and two
flows that first share a micro-switch at level l must differ in the first l choices.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from fred_hw.checks import check_int

from .assembly import assemble
from .configuration import Configuration
from .exact import Effort, EffortError, PathSolver, smallest_conflict
from .flows import Flow, check_flows
from .greedy import Path, by_flows, by_levels, leftmost_path
from .shape import split_count
from .sharing import Sharing

__all__ = ["DEFAULT_CONFLICTS", "MAX_CONFLICTS", "RoutingResult", "route", "route_in_rounds"]

DEFAULT_CONFLICTS = 20_000
"""Default budget of solver conflicts per connected set of flows, about a second."""

MAX_CONFLICTS = 10**9
"""Largest budget of solver conflicts, hours of search."""

_RETRIES = 4

Status = Literal["routed", "conflict", "unknown"]


@dataclass(frozen=True)
class RoutingResult:
    """Result of routing a set of flows.

    Parameters
    ----------
    flows : tuple of Flow
        The flows, in the order given; indices refer to it.
    ports, middle_switches : int
        Size of the interconnect.
    status : str
        ``routed``; ``conflict``: it is proven that they cannot be active at once; or ``unknown``:
        the search reached ``max_conflicts`` before either was known.
    paths : tuple of tuple of int
        Middle subswitch of each flow at each level, outermost first; empty unless routed.
    conflict : tuple of int
        Indices of flows that cannot be active at once, ascending; empty unless in conflict.
    smallest : bool
        Whether ``conflict`` is proven to have the fewest flows of all conflicts.
    """

    flows: tuple[Flow, ...]
    ports: int
    middle_switches: int
    status: Status
    paths: tuple[Path, ...] = ()
    conflict: tuple[int, ...] = ()
    smallest: bool = False

    @cached_property
    def configuration(self) -> Configuration | None:
        """Configuration of every micro-switch, if routed."""
        if self.status != "routed":
            return None
        return assemble(self.flows, self.paths, self.ports, self.middle_switches)


def route(
    flows: Iterable[Flow],
    ports: int,
    middle_switches: int,
    *,
    max_conflicts: int = DEFAULT_CONFLICTS,
) -> RoutingResult:
    """Route flows that are to be active at the same time.

    The path of a flow depends neither on the order of the flows nor on flows that no chain of
    shared micro-switches connects it to. Unicasts are always routed.

    Parameters
    ----------
    flows : iterable of Flow
        Flows, disjoint in inputs and in outputs.
    ports, middle_switches : int
        Size of the interconnect, each at least 2.
    max_conflicts : int
        Solver conflicts to spend at most on each set of connected flows when the quick searches
        fail, 0 to ``MAX_CONFLICTS``. Equal bounds give equal results on every machine.

    Raises
    ------
    TypeError, ValueError
        As :func:`check_flows`, or ``middle_switches`` or ``max_conflicts`` is out of range.
    """
    flows = check_flows(flows, ports)
    check_int("middle_switches", middle_switches, minimum=2)
    check_int("max_conflicts", max_conflicts, minimum=0, maximum=MAX_CONFLICTS)
    order = sorted(range(len(flows)), key=flows.__getitem__)
    sorted_flows = tuple(flows[index] for index in order)
    status, paths, conflict, smallest = _search(
        sorted_flows, split_count(ports), middle_switches, max_conflicts
    )
    by_index = dict(zip(order, paths, strict=False))
    return RoutingResult(
        flows,
        ports,
        middle_switches,
        status,
        paths=tuple(by_index[index] for index in sorted(by_index)),
        conflict=tuple(sorted(order[rank] for rank in conflict)),
        smallest=smallest,
    )


def route_in_rounds(
    flows: Iterable[Flow],
    ports: int,
    middle_switches: int,
    *,
    max_conflicts: int = DEFAULT_CONFLICTS,
) -> list[RoutingResult]:
    """Split flows into rounds that can each be routed, and route every round.

    The last flow of each conflict, in the order of the flows, waits for a later round; so does the
    last of all flows if the search reaches ``max_conflicts``. Parameters and errors are those of
    :func:`route`.
    """
    waiting, rounds = check_flows(flows, ports), []
    check_int("middle_switches", middle_switches, minimum=2)
    check_int("max_conflicts", max_conflicts, minimum=0, maximum=MAX_CONFLICTS)
    while waiting:
        tried, waiting = list(waiting), ()
        while (
            result := route(tried, ports, middle_switches, max_conflicts=max_conflicts)
        ).status != "routed":
            postponed = tried.pop(result.conflict[-1] if result.conflict else -1)
            waiting = (*waiting, postponed)
        rounds.append(result)
        waiting = tuple(sorted(waiting))
    return rounds


Found = tuple[Status, tuple[Path, ...], tuple[int, ...], bool]


@lru_cache(maxsize=8192)
def _search(flows: tuple[Flow, ...], depth: int, middle_switches: int, max_conflicts: int) -> Found:
    """Return status, paths, conflict and whether it is smallest; ports matter only as depth."""
    paths: list[Path] = [()] * len(flows)
    found: list[tuple[int, tuple[int, ...], bool]] = []
    unknown = False
    for members in Sharing(flows, depth).components():
        part = _search_connected(
            tuple(flows[n] for n in members), depth, middle_switches, max_conflicts
        )
        for member, path in zip(members, part[1], strict=False):
            paths[member] = path
        if part[0] == "conflict":
            found.append((len(part[2]), tuple(members[n] for n in part[2]), part[3]))
        unknown |= part[0] == "unknown"
    if found:
        size, conflict, _ = min(found)
        proven = all(flag for _, _, flag in found) and not unknown
        return "conflict", (), conflict, proven or size == middle_switches + 1
    return ("unknown", (), (), False) if unknown else ("routed", tuple(paths), (), False)


def _search_connected(
    flows: Sequence[Flow], depth: int, middle_switches: int, max_conflicts: int
) -> Found:
    # Flows with the most ports first, as they conflict with the most others.
    order = sorted(range(len(flows)), key=lambda n: -len(flows[n].inputs) - len(flows[n].outputs))
    paths, stuck = by_flows(flows, depth, middle_switches, order)
    if paths is not None:
        return "routed", tuple(paths), (), False
    sharing = Sharing(flows, depth)
    clique = sharing.clique(middle_switches + 1, range(len(flows)))
    if clique:
        # Fewer flows cannot conflict: up to m flows have a subswitch each.
        return "conflict", (), clique, True
    for _ in range(_RETRIES):
        order.remove(stuck)
        order.insert(0, stuck)
        paths, stuck = by_flows(flows, depth, middle_switches, order)
        if paths is not None:
            return "routed", tuple(paths), (), False
    paths = by_levels(sharing, middle_switches)
    if paths is not None:
        return "routed", tuple(paths), (), False
    return _search_exactly(sharing, middle_switches, Effort(max_conflicts))


def _search_exactly(sharing: Sharing, middle_switches: int, effort: Effort) -> Found:
    core, easy = sharing.core(middle_switches)
    solver = PathSolver(sharing, core, middle_switches, effort)
    try:
        if not solver.routable(core):
            return "conflict", (), *smallest_conflict(solver, middle_switches)
        placed = solver.paths(core)
    except EffortError:
        return "unknown", (), (), False
    finally:
        solver.close()
    for flow in reversed(easy):
        path = leftmost_path(flow, sharing, placed, middle_switches)
        assert path is not None, "a flow taken off always has a path left"
        placed[flow] = path
    return "routed", tuple(placed[flow] for flow in range(sharing.count)), (), False
