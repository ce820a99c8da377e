"""Tests of perfmodel.repurpose.restructure."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fred_hw.errors import InputError
from perfmodel.repurpose.calibrated import Calibrated, calibrate
from perfmodel.repurpose.crossings import crossings, run_by_workers
from perfmodel.repurpose.moments import Moments
from perfmodel.repurpose.network import INPUT, Network
from perfmodel.repurpose.operations import Add, Conv, Flatten, Function, Linear, Operation, Pool
from perfmodel.repurpose.pruning import Penalties
from perfmodel.repurpose.restructure import METHODS, Options, restructure

from .trained import transformer

BLOCKS, SIZE, LAYERS = 4, 64, 3


def planted(eps: float, seed: int) -> tuple[Calibrated, list[Any]]:
    """Return a network with hidden blocks, inputs of second moment 1, and the blocks."""
    rng = np.random.default_rng(seed)
    before = np.arange(SIZE) * BLOCKS // SIZE
    operations: list[Operation] = []
    blocks: list[Any] = []
    value = INPUT
    for i in range(LAYERS):
        block = rng.permutation(before)
        inside = block[:, None] == before[None, :]
        weight = rng.normal(size=(SIZE, SIZE)) * np.where(inside, 1.0, eps)
        operations.append(Linear(f"fc{i}", (value,), weight))
        value, before = f"fc{i}", block
        blocks.append(block)
    calibrated = calibrate(Network("planted", tuple(operations)), np.eye(SIZE))
    ones = Moments(np.eye(SIZE), np.ones(SIZE))
    return replace(calibrated, moments=dict.fromkeys(calibrated.moments, ones)), blocks


# A crossing activation serves the 16 rows of a worker, so it may cost 16 times as much as a weight.
PENALTIES = (Penalties(1e-4, 0.05, "edge"), Penalties(1e-4, 16 * 0.05, "activation"))


@pytest.mark.parametrize("penalties", PENALTIES, ids=["edge", "activation"])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("eps", [0.0, 0.02, 0.05, 0.1])
def test_planted_blocks_are_recovered(eps: float, seed: int, penalties: Penalties) -> None:
    calibrated, blocks = planted(eps, seed)
    made = restructure(calibrated, Options(BLOCKS, penalties, refit=False))
    for i, block in enumerate(blocks):
        assert (made.owners(f"fc{i}") == block).all()
    if eps <= 0.05:
        assert sum(one.activations for one in crossings(made)) == 0


@pytest.mark.parametrize(
    ("eps", "crossing", "removed"),
    [(0, 0, 7e-7), (0.02, 0, 0.0012), (0.1, 14, 0.028), (0.2, 516, 0.054)],
)
def test_planted_network_loses_as_much_as_the_reference(
    eps: float, crossing: int, removed: float
) -> None:
    """The table of the reference behaviour, whose random weights are others."""
    calibrated, _ = planted(eps, 3)
    made = restructure(calibrated, Options(BLOCKS, Penalties(1e-4, 0.05, "edge"), refit=False))
    found = sum(one.activations for one in crossings(made))
    assert found == pytest.approx(crossing, abs=0.1 * crossing + 2 * crossing**0.5)
    share = np.mean([layer.dropped_share for layer in made.layers])
    assert share == pytest.approx(removed, rel=0.25 if eps else 0.75)
    split = restructure(calibrated, Options(BLOCKS, method=METHODS["contiguous"]))
    assert sum(one.activations for one in crossings(split)) == pytest.approx(576, abs=3 * 48)


def images(seed: int) -> Network:
    """Return a small network of images with a residual connection."""
    rng = np.random.default_rng(seed)
    around = (1, 1, 1, 1)

    def kernel(outputs: int, inputs: int) -> Any:
        return rng.normal(size=(outputs, inputs, 3, 3)) / 3

    return Network(
        "images",
        (
            Conv("c0", (INPUT,), kernel(8, 4), rng.normal(size=8), (1, 1), around),
            Function("r0", ("c0",), "relu"),
            Conv("c1", ("r0",), kernel(8, 8), rng.normal(size=8), (1, 1), around),
            Add("sum", ("r0", "c1")),
            Pool("pool", ("sum",), (2, 2), (2, 2)),
            Flatten("flat", ("pool",)),
            Linear("fc0", ("flat",), rng.normal(size=(12, 32)), rng.normal(size=12)),
            Function("r1", ("fc0",), "tanh"),
            Linear("fc1", ("r1",), rng.normal(size=(5, 12))),
        ),
    )


def perceptron(seed: int) -> Network:
    """Return a perceptron of two layers."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(12, 8)), rng.normal(size=(6, 12))
    return Network(
        "perceptron",
        (
            Linear("fc0", (INPUT,), weights[0], rng.normal(size=12)),
            Function("r0", ("fc0",), "sigmoid"),
            Linear("fc1", ("r0",), weights[1], rng.normal(size=6)),
        ),
    )


CASES: dict[str, tuple[Callable[[int], Network], tuple[int, ...], int]] = {
    "perceptron": (perceptron, (8,), 3),
    "images": (images, (4, 4, 4), 3),
    "transformer": (lambda _: transformer(), (6, 8), 2),
}


def case(name: str, seed: int = 0) -> tuple[Calibrated, int]:
    """Return a calibrated network and a number of workers."""
    make, shape, workers = CASES[name]
    inputs = np.random.default_rng(seed + 1).normal(size=(20, *shape))
    return calibrate(make(seed), inputs), workers


@pytest.mark.parametrize("form", ["edge", "activation"])
@pytest.mark.parametrize("name", list(CASES))
def test_function_stays_without_penalties(name: str, form: Literal["edge", "activation"]) -> None:
    calibrated, workers = case(name)
    made = restructure(calibrated, Options(workers, Penalties(0, 0, form)))
    other = np.random.default_rng(9).normal(size=calibrated.inputs.shape)
    want = calibrated.network.run(other)
    ordered = made.permuted(made.network)
    for found in (made.network.run(other), ordered.run(other), run_by_workers(made, other)):
        assert found == pytest.approx(want, rel=1e-6, abs=1e-6)
    assert made.error_bound == pytest.approx(0, abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(["perceptron", "images", "transformer"]),
    st.integers(0, 3),
    st.sampled_from([0.0, 1e-3, 0.03]),
    st.sampled_from([0.0, 1e-3, 0.1, 3.0]),
    st.sampled_from(["edge", "activation"]),
    st.booleans(),
    st.sampled_from(["assigned", "contiguous", "random"]),
)
def test_a_pruned_network_keeps_to_what_is_said_of_it(
    name: str, seed: int, lam0: float, lam1: float, form: Any, refitted: bool, method: Any
) -> None:
    calibrated, workers = case(name, seed)
    asked = replace(METHODS["repurpose"], placement=method)
    options = Options(workers, Penalties(lam0, lam1, form), refit=refitted, method=asked)
    made = restructure(calibrated, options)
    inputs = calibrated.inputs
    pruned = made.network.run(inputs)
    # Workers that know only what is sent to them find the same.
    assert run_by_workers(made, inputs) == pytest.approx(pruned, rel=1e-9, abs=1e-9)
    assert made.permuted(made.network).run(inputs) == pytest.approx(pruned, rel=1e-9, abs=1e-9)
    change = np.square(pruned - calibrated.outputs).reshape(len(inputs), -1).sum(axis=1).mean()
    if made.error_bound is not None:
        assert np.sqrt(change) <= made.error_bound * (1 + 1e-6) + 1e-9
    for layer in calibrated.units.layers.values():
        counts = np.bincount(made.worker_of_unit[layer], minlength=workers)
        assert counts.max() <= -(-len(layer) // workers)


def test_reordered_neurons_of_a_worker_stand_together() -> None:
    calibrated, workers = case("images")
    made = restructure(calibrated, Options(workers, Penalties(0, 0.5)))
    orders = made.orders()
    for name in ("c0", "sum", "flat", "r1"):
        workers_in_order = made.owners(name)[orders[name]]
        assert (np.diff(workers_in_order) >= 0).all()
    assert (orders["fc1"] == np.arange(5)).all()
    assert (orders[INPUT] == np.arange(4)).all()


def test_heads_that_share_a_key_stay_together() -> None:
    calibrated, _ = case("transformer")
    made = restructure(calibrated, Options(2, Penalties(0, 0.01)))
    assert [len(made.calibrated.units.layers[name]) for name in ("q", "gate")] == [2, 64]
    assert made.owners("q").tolist() == np.repeat(made.owners("k")[::4], 8).tolist()
    assert (made.owners("embed") == made.owners("o")).all()


def test_pinned_layers_and_capacities_are_kept_to() -> None:
    calibrated, _ = case("perceptron")
    options = Options(
        3, Penalties(0, 0.1), capacities={"fc0": (2, 10, 3)}, pins={INPUT: 1, "fc1": 2}
    )
    made = restructure(calibrated, options)
    assert set(made.owners(INPUT).tolist()) == {1}
    assert set(made.owners("fc1").tolist()) == {2}
    counts = np.bincount(made.owners("fc0"), minlength=3)
    assert (counts <= (2, 10, 3)).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"capacities": {"fc0": (4, 4, 3)}},
            (
                "perceptron: fc0: must have 3 capacities that sum up to 12 or more, not 4,4,3, "
                "which sum up to 11"
            ),
        ),
        (
            {"capacities": {"fc0": (6, 6)}},
            (
                "perceptron: fc0: must have 3 capacities that sum up to 12 or more, not 6,6, which "
                "sum up to 12"
            ),
        ),
        (
            {"workers": 7},
            (
                "perceptron: fc1: must have 7 or more neurons, heads or inputs for 7 workers, "
                "not 6, unless it is pinned to one worker"
            ),
        ),
        (
            {"pins": {"fc1": 3}},
            "perceptron: fc1: must be pinned to a worker from 0 to 2, not 3",
        ),
        (
            {"pins": {"fc0": 1}, "capacities": {"fc0": (4, 4, 4)}},
            "perceptron: fc0: must be pinned to one worker or have capacities, not both",
        ),
        (
            {"pins": {"fc2": 0}},
            "perceptron: must be a layer that is placed, such as input, fc0, fc1, not 'fc2'",
        ),
    ],
    ids=["sum", "count", "workers", "worker", "both", "layer"],
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any], message: str) -> None:
    calibrated, workers = case("perceptron")
    with pytest.raises(InputError) as error:
        restructure(calibrated, Options(**{"workers": workers, **changes}))
    assert str(error.value) == message
