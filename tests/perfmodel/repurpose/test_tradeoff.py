"""Tests of perfmodel.repurpose.tradeoff, on networks trained on digits."""

import sys
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from perfmodel.repurpose.calibrated import Calibrated, calibrate
from perfmodel.repurpose.network import INPUT, Network
from perfmodel.repurpose.pruning import Penalties
from perfmodel.repurpose.restructure import Options
from perfmodel.repurpose.samples import Samples
from perfmodel.repurpose.study import answer, split
from perfmodel.repurpose.tradeoff import at_error, baselines, curve, measure

from .trained import TRAINED, cnn, digits, mlp

CALIBRATION = 300
SHAPES: dict[str, tuple[Callable[[], Network], tuple[int, ...], dict[str, int]]] = {
    "mlp": (mlp, (64,), {}),
    "cnn": (cnn, (1, 8, 8), {INPUT: 0}),  # an image of one channel arrives at one worker
}


def trained(name: str) -> tuple[Calibrated, Samples, Options]:
    """Return a calibrated network, digits that it has not seen, and what is asked of it."""
    make, shape, pins = SHAPES[name]
    images, labels = digits()
    images = images.reshape(-1, *shape)
    calibrated = calibrate(make(), images[:CALIBRATION])
    return calibrated, Samples(images[TRAINED:], labels[TRAINED:]), Options(4, pins=pins)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "error"), [("mlp", 0.03), ("mlp", 0.08), ("cnn", 0.03)])
def test_fewer_activations_cross_than_with_baselines_at_equal_error(
    name: str, error: float, capsys: pytest.CaptureFixture[str]
) -> None:
    calibrated, unseen, options = trained(name)
    found = answer(calibrated, options, error)
    assert 0.7 * error < found.error <= error
    chosen = measure("repurpose", found.options, found.made)
    others = baselines(calibrated, found.options, error)
    before, after = (
        unseen.accuracy(one.run(unseen.inputs)) for one in (calibrated.network, found.made.network)
    )
    assert before is not None and after is not None
    with capsys.disabled():
        plain = measure("contiguous", options, split(calibrated, options))
        counts = ", ".join(f"{one.method} {one.activations}" for one in others)
        sys.stdout.write(
            f"\n{name}, error {found.error:.1%}: {chosen.activations} activations cross "
            f"({counts}, unpruned {plain.activations}); accuracy {before:.1%} -> {after:.1%}\n"
        )
    by_name = {one.method: one for one in others}
    for method in ("contiguous", "magnitude"):
        assert by_name[method].error <= error
        assert chosen.activations < by_name[method].activations
    assert before > 0.9
    assert after > before - (0.02 if error < 0.1 else 0.1)


def test_crossings_fall_and_errors_rise_with_the_penalty() -> None:
    calibrated, _, options = trained("mlp")
    asked = [Penalties(0.0, lam1) for lam1 in np.geomspace(1e-3, 3, 8).tolist()]
    points = curve("repurpose", calibrated, options, asked)
    crossing, error = [one.activations for one in points], [one.error for one in points]
    assert all(b <= a + 0.05 * crossing[0] for a, b in pairwise(crossing))
    assert all(b >= a - 0.02 for a, b in pairwise(error))
    assert crossing[-1] < 0.3 * crossing[0]
    assert error[0] < 0.02 < error[-1]


@pytest.mark.parametrize("method", ["repurpose", "magnitude"])
def test_an_error_that_is_looked_for_is_kept_to(method: str) -> None:
    calibrated, _, options = trained("mlp")
    point = at_error(method, calibrated, options, 0.1)
    assert 0.09 < point.error <= 0.1


def test_without_error_only_inputs_that_are_always_0_are_dropped() -> None:
    calibrated, _, options = trained("mlp")
    point = at_error("repurpose", calibrated, options, 0.0)
    assert point.error == pytest.approx(0, abs=1e-9)
    assert 0 < point.activations <= 576
