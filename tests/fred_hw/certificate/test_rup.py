"""Tests of fred_hw.certificate.rup."""

import random
from itertools import product

import pytest
from pysat.solvers import Solver

from fred_hw.certificate.rup import first_gap


def random_clauses(rng: random.Random, variables: int, count: int) -> list[list[int]]:
    """Return clauses of one to three literals."""
    return [
        [rng.choice((-1, 1)) * rng.randint(1, variables) for _ in range(rng.randint(1, 3))]
        for _ in range(count)
    ]


def satisfiable(clauses: list[list[int]], variables: int) -> bool:
    """Return whether an assignment satisfies all clauses, by trying each."""
    return any(
        all(any(values[abs(one) - 1] == (one > 0) for one in clause) for clause in clauses)
        for values in product((False, True), repeat=variables)
    )


def test_only_what_follows_is_accepted() -> None:
    rng, followed, refuted = random.Random(1), 0, 0
    for _ in range(400):
        clauses = random_clauses(rng, 4, rng.randint(2, 12))
        proof = random_clauses(rng, 4, 3)
        gap = first_gap(clauses, proof)
        known = clauses + proof[: len(proof) if gap is None else gap]
        for index in range(len(clauses), len(known)):
            negated = [[-literal] for literal in known[index]]
            assert not satisfiable(known[:index] + negated, 4)
            followed += 1
        if gap is None:
            assert not satisfiable(clauses, 4)
            refuted += 1
    assert followed > 50
    assert refuted > 50


@pytest.mark.parametrize("seed", range(5))
def test_proofs_of_a_solver_are_accepted(seed: int) -> None:
    rng = random.Random(seed)
    clauses = [[rng.choice((-1, 1)) * v for v in rng.sample(range(1, 41), 3)] for _ in range(240)]
    with Solver(name="glucose4", bootstrap_with=clauses, with_proof=True) as solver:
        assert not solver.solve()
        lines = [line for line in solver.get_proof() or () if line[0] != "d"]
    proof = [[int(literal) for literal in line.split()[:-1]] for line in lines]
    assert len(proof) > 10
    assert first_gap(clauses, proof[:-1]) is None
    assert first_gap(clauses[120:], proof[:-1]) is not None


def test_the_first_gap_is_told() -> None:
    square = [[1, 2], [1, -2], [-1, 2], [-1, -2]]
    assert first_gap(square, []) == 0
    assert first_gap(square, [[1]]) is None
    assert first_gap(square, [[1, 2], [3]]) == 1
    assert first_gap([[1], [-1]], []) is None
    assert first_gap([[]], []) is None
    assert first_gap([], [[]]) == 0
