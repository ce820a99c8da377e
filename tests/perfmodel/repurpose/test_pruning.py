"""Tests of perfmodel.repurpose.pruning."""

from itertools import permutations, product
from typing import Literal

import numpy as np
import pytest

from perfmodel.repurpose.placement import contiguous
from perfmodel.repurpose.pruning import Penalties, keep_weights, objective, place_layer

Form = Literal["edge", "activation"]
FORMS: tuple[Form, ...] = ("edge", "activation")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("lam0", [0.0, 0.05])
def test_kept_weights_are_the_optimum_of_a_placement(form: Form, lam0: float) -> None:
    rng = np.random.default_rng(1)
    penalties = Penalties(lam0, 0.3, form)
    energy, owner = np.square(rng.normal(size=(3, 4))) / 2, np.array([0, 0, 1, 1])
    rows = np.array([0, 1, 1])
    keep = keep_weights(energy, owner, rows, penalties)
    best = min(
        objective(energy, owner, rows, np.array(bits).reshape(3, 4), penalties)
        for bits in product([False, True], repeat=12)
    )
    assert objective(energy, owner, rows, keep, penalties) == pytest.approx(best)


@pytest.mark.parametrize("form", FORMS)
def test_without_penalties_every_weight_is_kept(form: Form) -> None:
    energy = np.zeros((3, 4))
    keep = keep_weights(energy, np.array([0, 0, 1, 1]), np.array([0, 1, 1]), Penalties(form=form))
    assert keep.all()


@pytest.mark.parametrize("seed", range(10))
def test_edge_form_is_the_optimum_of_all_placements(seed: int) -> None:
    rng = np.random.default_rng(seed)
    penalties = Penalties(0.02, 0.2, "edge")
    energy, owner = np.square(rng.normal(size=(6, 6))) / 2, np.array([0, 0, 0, 1, 1, 1])
    placed = place_layer(energy, owner, np.arange(6), (3, 3), penalties)
    found = objective(energy, owner, placed.workers, placed.keep, penalties)
    best = min(
        objective(energy, owner, rows, keep_weights(energy, owner, rows, penalties), penalties)
        for rows in map(np.array, sorted(set(permutations([0, 0, 0, 1, 1, 1]))))
    )
    assert found == pytest.approx(best)


@pytest.mark.parametrize("seed", range(10))
def test_activation_form_is_never_worse_than_the_contiguous_split(seed: int) -> None:
    rng = np.random.default_rng(seed)
    penalties = Penalties(0.01, 0.5, "activation")
    energy, owner = np.square(rng.normal(size=(12, 12))) / 2, np.repeat(np.arange(3), 4)
    placed = place_layer(energy, owner, np.arange(12), (4, 4, 4), penalties)
    found = objective(energy, owner, placed.workers, placed.keep, penalties)
    rows = contiguous(12, (4, 4, 4))
    keep = keep_weights(energy, owner, rows, penalties)
    assert np.bincount(placed.workers).tolist() == [4, 4, 4]
    assert found <= objective(energy, owner, rows, keep, penalties)


def test_rows_of_a_unit_stay_together() -> None:
    rng = np.random.default_rng(4)
    energy, units = np.square(rng.normal(size=(12, 6))), np.repeat([2, 0, 1, 3], 3)
    for form in FORMS:
        placed = place_layer(energy, np.arange(6) // 3, units, (2, 2), Penalties(0, 0.1, form))
        assert placed.workers.shape == (4,)
        assert np.bincount(placed.workers).tolist() == [2, 2]
