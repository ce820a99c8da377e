"""Proofs by CaDiCaL: of invariants that another solver found, and of cases one by one."""

from collections.abc import Sequence
from itertools import product

from pysat.solvers import Solver

from .engine import Cube
from .netlist import Graph

__all__ = ["clear_in_each_case", "invariant_holds"]

_SOLVER = "cadical153"


def invariant_holds(graph: Graph, excluded: tuple[Cube, ...]) -> bool:
    """Return whether an invariant proves that no bad state of a graph is reachable.

    It does if it contains the initial state and the successors of its states, and no bad state.
    CaDiCaL searches for a state with a step that contradicts this, and must find none.

    Parameters
    ----------
    graph : Graph
        Graph; all of its registers begin with 0.
    excluded : tuple of cubes
        The invariant, see :class:`~testbench.formal.engine.Outcome`.
    """
    if not all(any(bit for _, bit in cube) for cube in excluded):
        return False  # the initial state is excluded
    clauses, violates = _clauses(graph)
    violated, after = violates + 1, violates + 2
    clauses.append([-after, violated, violates])
    clauses += [[after, -one] for one in (violated, violates)]
    first = graph.inputs + 1
    now = [*range(first, first + len(graph.registers)), violated]
    then = [*(_literal(graph, one) for one in graph.registers), after]
    for cube in excluded:
        clauses.append([-now[place] if bit else now[place] for place, bit in cube])
    steps = [[then[place] if bit else -then[place] for place, bit in cube] for cube in excluded]
    ends = [[_literal(graph, number), -after] for number in graph.bad]
    with Solver(_SOLVER, bootstrap_with=clauses) as solver:
        return not any(solver.solve(assumptions=one) for one in [*steps, *ends])


def clear_in_each_case(graph: Graph, cases: Sequence[int]) -> bool:
    """Return whether no state of a graph is bad, reachable or not, with a search for each case.

    CaDiCaL searches for a bad state with each combination of values of some literals. Each search
    has a solver of its own, which simplifies the gates for the values.

    Parameters
    ----------
    graph : Graph
        Graph.
    cases : sequence of int
        The literals.
    """
    clauses, violates = _clauses(graph)
    clauses += [[-violates], [_literal(graph, number) for number in graph.bad]]
    for case in product(*((-_literal(graph, one), _literal(graph, one)) for one in cases)):
        units = [[literal] for literal in case]
        with Solver(_SOLVER, bootstrap_with=[*units, *clauses]) as solver:
            if solver.solve():
                return False
    return True


def _literal(graph: Graph, number: int) -> int:
    """Return a literal as that of a solver, whose constant 0 is the variable behind the gates."""
    variable = number >> 1 or graph.inputs + len(graph.registers) + len(graph.gates) + 1
    return -variable if number & 1 else variable


def _clauses(graph: Graph) -> tuple[list[list[int]], int]:
    """Return the clauses of all gates, and the variable of a violated constraint, the last one."""
    zero = _literal(graph, 0)
    clauses, violates = [[-zero]], zero + 1
    for gate, pair in enumerate(graph.gates, start=graph.inputs + len(graph.registers) + 1):
        left, right = (_literal(graph, number) for number in pair)
        clauses += [[-gate, left], [-gate, right], [gate, -left, -right]]
    constraints = [_literal(graph, number) for number in graph.constraints]
    clauses.append([-violates, *(-one for one in constraints)])
    clauses += [[violates, one] for one in constraints]
    return clauses, violates
