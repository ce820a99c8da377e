"""Checker of refutations by reverse unit propagation (RUP), the part of DRAT that solvers need.

A clause follows from others if unit propagation from the negation of its literals ends in a
conflict (Goldberg and Novikov, "Verification of proofs of unsatisfiability for CNF formulas",
DATE 2003). This module imports nothing of the project.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

__all__ = ["first_gap"]

Clause = Sequence[int]


def first_gap(clauses: Iterable[Clause], proof: Sequence[Clause]) -> int | None:
    """Return the first clause of a proof that does not follow, or None if it refutes the clauses.

    Parameters
    ----------
    clauses : iterable of sequence of int
        Formula in the literals of DIMACS: a variable from 1, or minus a variable.
    proof : sequence of sequence of int
        Clauses, each of which must follow from the formula and the earlier ones. The empty clause
        must follow from all, and has the index ``len(proof)``.
    """
    known = _Clauses()
    for clause in clauses:
        known.add(clause)
    for index, clause in enumerate([*proof, ()]):
        if not known.conflict([-literal for literal in clause]):
            return index
        known.add(clause)
    return None


class _Clauses:
    """Clauses with unit propagation; the first two literals of each are watched."""

    def __init__(self) -> None:
        self._short: list[Clause] = []
        self._watches: dict[int, list[list[int]]] = defaultdict(list)

    def add(self, clause: Clause) -> None:
        literals = list(dict.fromkeys(clause))
        if len(literals) < 2:
            self._short.append(literals)
        for literal in literals[:2] if len(literals) > 1 else ():
            self._watches[literal].append(literals)

    def conflict(self, assumed: Iterable[int]) -> bool:
        """Return whether unit propagation from assumed literals ends in a conflict."""
        if [] in self._short:
            return True
        true: set[int] = set()
        waiting = [*assumed, *(literal for clause in self._short for literal in clause)]
        while waiting:
            literal = waiting.pop()
            if -literal in true:
                return True
            if literal not in true:
                true.add(literal)
                waiting += self._implied(-literal, true)
        return False

    def _implied(self, false: int, true: set[int]) -> list[int]:
        """Return the last literals of clauses all of whose others are false."""
        implied: list[int] = []
        watching, self._watches[false] = self._watches[false], []
        for clause in watching:
            if clause[0] == false:
                clause[:2] = clause[1], clause[0]
            free = next((k for k in range(2, len(clause)) if -clause[k] not in true), None)
            if clause[0] in true or free is None:
                self._watches[false].append(clause)
                if clause[0] not in true:
                    implied.append(clause[0])
            else:
                clause[1], clause[free] = clause[free], clause[1]
                self._watches[clause[1]].append(clause)
        return implied
