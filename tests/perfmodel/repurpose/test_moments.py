"""Tests of perfmodel.repurpose.moments."""

import numpy as np
import pytest

from perfmodel.repurpose.moments import Moments, refit


@pytest.mark.parametrize("samples", [8, 500])
def test_error_is_that_of_the_samples(samples: int) -> None:
    rng = np.random.default_rng(1)
    rows, change = rng.normal(size=(samples, 12)), rng.normal(size=(5, 12))
    moments = Moments.of(rows)
    assert moments.second == pytest.approx(np.square(rows).mean(axis=0))
    want = np.square(rows @ change.T).sum(axis=1).mean()
    assert moments.error(change) == pytest.approx(want)


def test_refit_is_the_least_squares_solution() -> None:
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(400, 10)) @ rng.normal(size=(10, 10))
    weights, keep = rng.normal(size=(6, 10)), rng.random((6, 10)) < 0.5
    keep[0] = True
    keep[1] = False
    found = refit(weights, keep, Moments.of(rows), np.arange(6) % 2)
    assert not found[~keep].any()
    assert (found[0] == weights[0]).all()
    for i in range(2, 6):
        solution = np.linalg.lstsq(rows[:, keep[i]], rows @ weights[i], rcond=None)[0]
        errors = [
            np.square(rows @ weights[i] - rows[:, keep[i]] @ one).sum()
            for one in (solution, found[i, keep[i]])
        ]
        assert errors[1] == pytest.approx(errors[0], rel=1e-3)


@pytest.mark.parametrize("samples", [5, 300])
def test_refit_never_makes_a_row_worse(samples: int) -> None:
    rng = np.random.default_rng(3)
    rows = np.maximum(rng.normal(size=(samples, 20)), 0)
    rows[:, 3] = 0.0  # an input that is 0 in all samples
    weights, keep = rng.normal(size=(30, 20)), rng.random((30, 20)) < 0.3
    moments = Moments.of(rows)
    found = refit(weights, keep, moments, np.arange(30) % 4)
    for i in range(30):
        before = moments.error((weights[i] * ~keep[i])[None])
        assert moments.error((weights[i] - found[i])[None]) <= before * (1 + 1e-5) + 1e-12
    assert np.isfinite(found).all()


@pytest.mark.parametrize("samples", [15, 50, 200])
def test_rows_of_a_group_are_refitted_on_the_inputs_that_they_keep(samples: int) -> None:
    rng = np.random.default_rng(4)
    moments = Moments.of(rng.normal(size=(samples, 60)))
    weights, groups = rng.normal(size=(12, 60)), np.arange(12) // 4
    keep = (groups[:, None] == np.arange(60)[None, :] // 20) & (rng.random((12, 60)) < 0.9)
    found = refit(weights, keep, moments, groups)
    assert found == pytest.approx(refit(weights, keep, moments, np.zeros(12, int)), abs=0.02)
    errors = [moments.error(weights - one) for one in (found, np.where(keep, weights, 0))]
    assert errors[0] < 0.97 * errors[1]
