"""Exact routing and minimal conflicts by satisfiability (SAT) across all levels."""

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from fred_hw.progress import count

from .greedy import Path
from .sharing import Sharing, bits

if TYPE_CHECKING:
    from pysat.solvers import Solver

__all__ = ["Effort", "EffortError", "PathSolver", "smallest_conflict"]

_SOLVER = "glucose4"

_AT_ONCE = 20_000
"""Solver conflicts between two progress reports, about a second."""


class EffortError(Exception):
    """The bound on solver conflicts was reached before an answer."""


class Effort:
    """Remaining budget of solver conflicts; each solver call costs one more.

    Parameters
    ----------
    conflicts : int
        Budget at the start, 0 or more.
    """

    def __init__(self, conflicts: int) -> None:
        self.left = self._most = conflicts

    def ask(self, solver: "Solver", assumptions: Sequence[int]) -> bool:
        """Return whether the formula is satisfiable under ``assumptions``.

        Raises
        ------
        EffortError
            The remaining effort did not suffice to decide.
        """
        while self.left > 0:
            before = _conflicts(solver)
            # The solver keeps the clauses that it has learnt.
            solver.conf_budget(min(self.left, _AT_ONCE))
            answer = solver.solve_limited(assumptions=assumptions)
            self.left -= 1 + _conflicts(solver) - before
            count("solver conflicts", self._most - max(0, self.left), self._most)
            if answer is not None:
                return answer
        raise EffortError


class PathSolver:
    """Routability of any subset of the given flows.

    A variable says that a flow takes a colour at a level. The flows of a subset take one at each;
    two that first share at level l must not agree on levels 1 to l. What is symmetric is fixed for
    flows of a clique at level 1, which differ there in every routing of every subset.

    Parameters
    ----------
    sharing : Sharing
        The flows.
    flows : sequence of int
        Flows from which subsets are taken.
    middle_switches : int
        Colours, 2 or more.
    effort : Effort
        Budget from which solver calls are paid.
    """

    def __init__(
        self, sharing: Sharing, flows: Sequence[int], middle_switches: int, effort: Effort
    ) -> None:
        from pysat.solvers import Solver

        self.flows, self.effort = tuple(flows), effort
        self._depth, self._middle = sharing.depth, middle_switches
        self._variables = 0
        self._solver = Solver(name=_SOLVER)
        self._selectors = {flow: self._variable() for flow in self.flows}
        self._colours = {
            flow: [[self._variable() for _ in range(middle_switches)] for _ in range(sharing.depth)]
            for flow in self.flows
        }
        for flow, levels in self._colours.items():
            for choices in levels:
                self._solver.add_clause([-self._selectors[flow], *choices])
                for pair in combinations(choices, 2):
                    self._solver.add_clause([-variable for variable in pair])
        for level, masks in enumerate(sharing.exact):
            for flow in self.flows:
                for other in bits(masks[flow]):
                    if flow < other and other in self._selectors:
                        self._keep_apart(flow, other, level)
        self._break_symmetry(sharing)

    def close(self) -> None:
        """Free the solver."""
        self._solver.delete()

    def routable(self, flows: Iterable[int]) -> bool:
        """Return whether these flows can be routed together.

        Raises
        ------
        EffortError
            The effort did not suffice to decide.
        """
        return self.effort.ask(self._solver, [self._selectors[flow] for flow in flows])

    def core(self) -> list[int]:
        """Return a subset of the last flows tested that is unroutable; they were unroutable."""
        used = set(self._solver.get_core() or ())
        return [flow for flow in self.flows if self._selectors[flow] in used]

    def paths(self, flows: Iterable[int]) -> dict[int, Path]:
        """Return paths for the last flows tested, which were routable."""
        true = {literal for literal in self._solver.get_model() or () if literal > 0}
        return {
            flow: tuple(
                next(c for c, variable in enumerate(choices) if variable in true)
                for choices in self._colours[flow]
            )
            for flow in flows
        }

    def _variable(self) -> int:
        self._variables += 1
        return self._variables

    def _keep_apart(self, flow: int, other: int, level: int) -> None:
        pairs = list(zip(self._colours[flow], self._colours[other], strict=True))[:level]
        agreements = []
        for ours, theirs in pairs[:-1]:
            agree = self._variable()
            agreements.append(-agree)
            for a, b in zip(ours, theirs, strict=True):
                self._solver.add_clause([-a, -b, agree])
        for a, b in zip(*pairs[-1], strict=True):
            self._solver.add_clause([-a, -b, *agreements])

    def _break_symmetry(self, sharing: Sharing) -> None:
        sizes = range(min(self._middle, len(self.flows)), 0, -1)
        clique = next(filter(None, (sharing.clique(size, self.flows) for size in sizes)), ())
        for rank, flow in enumerate(clique):
            for level, choices in enumerate(self._colours[flow]):
                own = rank if level == 0 else 0
                for colour, variable in enumerate(choices):
                    if colour != own:
                        self._solver.add_clause([-variable])
        others = [flow for flow in self.flows if flow not in clique]
        for rank, flow in enumerate(others, start=len(clique)):
            for variable in self._colours[flow][0][rank + 1 :] if self._depth else ():
                self._solver.add_clause([-variable])


def smallest_conflict(solver: PathSolver, middle_switches: int) -> tuple[tuple[int, ...], bool]:
    """Return a smallest unroutable set of flows, and whether it is proven smallest.

    Call after ``solver`` found its flows not routable. Whatever can be routed leaves out a flow of
    every conflict; so a smallest conflict is a smallest set that hits all that routable sets leave
    out (Ignatiev et al., "Smallest MUS extraction with minimal hitting set dualization", CP 2015).
    The effort ending early, the set is the smallest found and not proven.
    """
    best, left_out = solver.core(), []
    try:
        best = _reduced(solver, best, left_out)
        # With m flows or fewer each has a subswitch of its own; the caller excluded m + 1.
        size = middle_switches + 2
        with _HittingSets(solver.flows, solver.effort, len(best)) as hitting:
            for rest in left_out:
                hitting.add(rest)
            while size < len(best):
                chosen = hitting.find(size)
                if chosen is None:
                    size += 1
                elif solver.routable(chosen):
                    hitting.add(_grown(solver, chosen))
                else:
                    return tuple(chosen), True
    except EffortError:
        return tuple(best), False
    return tuple(best), True


def _conflicts(solver: "Solver") -> int:
    return (solver.accum_stats() or {})["conflicts"]


class _HittingSets:
    """Sets of limited size with one flow from each of the sets added."""

    def __init__(self, flows: Sequence[int], effort: Effort, most: int) -> None:
        from pysat.card import ITotalizer
        from pysat.solvers import Solver

        self._flows, self._effort = list(flows), effort
        self._number = {flow: n for n, flow in enumerate(self._flows, start=1)}
        self._solver = Solver(name=_SOLVER)
        top = len(self._flows)
        self._count = ITotalizer(lits=list(range(1, top + 1)), ubound=most, top_id=top)
        self._solver.append_formula(self._count.cnf.clauses)

    def __enter__(self) -> "_HittingSets":
        return self

    def __exit__(self, *_: object) -> None:
        self._count.delete()
        self._solver.delete()

    def add(self, flows: Iterable[int]) -> None:
        self._solver.add_clause([self._number[flow] for flow in flows])

    def find(self, size: int) -> list[int] | None:
        if not self._effort.ask(self._solver, [-self._count.rhs[size]]):
            return None
        model = self._solver.get_model() or ()
        return [flow for flow, literal in zip(self._flows, model, strict=False) if literal > 0]


def _reduced(solver: PathSolver, flows: list[int], left_out: list[list[int]]) -> list[int]:
    """Return a minimal unroutable part of ``flows``; append the complements of routable sets."""
    for flow in list(flows):
        if flow in flows:
            rest = [other for other in flows if other != flow]
            if solver.routable(rest):
                left_out.append(_grown(solver, rest))
            else:
                flows = solver.core()
    return flows


def _grown(solver: PathSolver, flows: Sequence[int]) -> list[int]:
    """Return the flows left out after extending a routable set as far as possible."""
    kept, left = list(flows), []
    for flow in solver.flows:
        if flow not in kept:
            (kept if solver.routable([*kept, flow]) else left).append(flow)
    return left
