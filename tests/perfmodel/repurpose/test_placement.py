"""Tests of perfmodel.repurpose.placement."""

import sys
from itertools import product

import numpy as np
import pytest

from fred_hw.errors import InputError
from perfmodel.repurpose.arrays import Array, Indices
from perfmodel.repurpose.placement import (
    assign,
    contiguous,
    energies,
    equal_capacities,
    worker_costs,
)

CASES = 200


def _brute_force(cost: np.ndarray[tuple[int, int], np.dtype[np.float64]], room: list[int]) -> float:
    """Return the least total cost over all placements that keep to the capacities."""
    neurons, workers = cost.shape
    best = np.inf
    states = {tuple([0] * workers): 0.0}
    for neuron in range(neurons):
        after: dict[tuple[int, ...], float] = {}
        for used, total in states.items():
            for worker in range(workers):
                if used[worker] < room[worker]:
                    key = (*used[:worker], used[worker] + 1, *used[worker + 1 :])
                    value = total + float(cost[neuron, worker])
                    after[key] = min(after.get(key, np.inf), value)
        states = after
    return min(best, *states.values())


@pytest.mark.parametrize("seed", range(0, CASES, 10))
def test_assignment_is_the_optimum_of_brute_force(seed: int) -> None:
    for case in range(seed, seed + 10):
        rng = np.random.default_rng(case)
        neurons, workers = rng.integers(1, 8, size=2)
        room = rng.integers(0, neurons + 1, size=workers)
        room[rng.integers(workers)] += max(0, neurons - room.sum())
        cost = rng.integers(0, 100, size=(neurons, workers)).astype(float)
        found = assign(cost, room.tolist())
        assert (np.bincount(found, minlength=workers) <= room).all()
        total = cost[np.arange(neurons), found].sum()
        assert total == _brute_force(cost, room.tolist())


def test_brute_force_of_small_cases_tries_every_placement() -> None:
    rng = np.random.default_rng(1)
    cost = rng.integers(0, 9, size=(4, 3)).astype(float)
    every = [
        sum(cost[i, q] for i, q in enumerate(places))
        for places in product(range(3), repeat=4)
        if max(places.count(q) for q in range(3)) <= 2
    ]
    assert _brute_force(cost, [2, 2, 2]) == min(every)


def elsewhere(owner: Indices, workers: int, lam1: float) -> Array:
    """Return the penalty of each input on each worker: ``lam1`` on all but its owner."""
    return np.where(owner[:, None] == np.arange(workers), 0.0, lam1)


def test_cost_is_the_least_of_dropped_energy_and_penalties() -> None:
    rng = np.random.default_rng(2)
    weights, second = rng.normal(size=(5, 6)), rng.uniform(0.1, 2, size=6)
    owner = np.array([0, 0, 1, 1, 2, 2])
    found = worker_costs(energies(weights, second), elsewhere(owner, 3, 0.3), 0.1)
    for i, q in product(range(5), range(3)):
        terms = [
            min(0.5 * second[k] * weights[i, k] ** 2, 0.1 + 0.3 * (owner[k] != q)) for k in range(6)
        ]
        assert found[i, q] == pytest.approx(sum(terms))


def test_kernels_count_by_their_frobenius_norm() -> None:
    rng = np.random.default_rng(3)
    kernels = rng.normal(size=(4, 3, 3, 3))
    norms = np.sqrt(np.square(kernels).sum(axis=(2, 3)))
    found = energies(kernels, np.ones(3))
    assert found == pytest.approx(energies(norms, np.ones(3)))


def test_parts_are_equal_and_contiguous() -> None:
    assert equal_capacities(10, 4) == (3, 3, 2, 2)
    assert contiguous(10, (3, 3, 2, 2)).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]
    assert contiguous(4, (4, 4)).tolist() == [0, 0, 1, 1]
    assert contiguous(3, (0, 3)).tolist() == [1, 1, 1]


@pytest.mark.parametrize("seed", range(20))
def test_contiguous_parts_keep_to_the_capacities(seed: int) -> None:
    rng = np.random.default_rng(seed)
    room = rng.integers(0, 9, size=rng.integers(1, 7))
    room[0] += 1
    neurons = int(rng.integers(1, room.sum() + 1))
    found = contiguous(neurons, room.tolist())
    assert (np.diff(found) >= 0).all()
    assert (np.bincount(found, minlength=len(room)) <= room).all()


def test_capacities_that_are_too_small_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^capacities must sum up to 3 or more, not 2$"):
        assign(np.zeros((3, 2)), (1, 1))


def test_without_scipy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(
        InputError, match=r"^scipy: must be installed for fred repurpose: pip install 'fred-hw\[rep"
    ):
        assign(np.zeros((2, 2)), (1, 1))
