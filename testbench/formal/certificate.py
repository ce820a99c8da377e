"""Check of invariants by another solver than the one that found them."""

from pysat.solvers import Solver

from .engine import Cube
from .netlist import Graph

__all__ = ["invariant_holds"]


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
    registers = len(graph.registers)
    with Solver("cadical153") as solver:
        first = graph.inputs + 1
        # Variables of the solver are those of the graph, but for constant 0, which is the last.
        zero = graph.inputs + registers + len(graph.gates) + 1
        violated, violates, after = zero + 1, zero + 2, zero + 3

        def literal(number: int) -> int:
            variable = number >> 1 or zero
            return -variable if number & 1 else variable

        solver.add_clause([-zero])
        for gate, pair in enumerate(graph.gates, start=first + registers):
            left, right = map(literal, pair)
            for clause in ([-gate, left], [-gate, right], [gate, -left, -right]):
                solver.add_clause(clause)
        constraints = [literal(number) for number in graph.constraints]
        solver.add_clause([-violates, *(-one for one in constraints)])
        for one in constraints:
            solver.add_clause([violates, one])
        solver.add_clause([-after, violated, violates])
        for one in (violated, violates):
            solver.add_clause([after, -one])
        now = [*range(first, first + registers), violated]
        then = [*map(literal, graph.registers), after]
        for cube in excluded:
            solver.add_clause([-now[place] if bit else now[place] for place, bit in cube])
        steps = [[then[place] if bit else -then[place] for place, bit in cube] for cube in excluded]
        ends = [[literal(number), -after] for number in graph.bad]
        return not any(solver.solve(assumptions=one) for one in [*steps, *ends])
