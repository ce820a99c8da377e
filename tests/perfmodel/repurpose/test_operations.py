"""Tests of perfmodel.repurpose.operations."""

from math import erf, sqrt

import numpy as np
import pytest

from perfmodel.repurpose.network import INPUT
from perfmodel.repurpose.operations import (
    FUNCTIONS,
    Attention,
    Conv,
    Function,
    Linear,
    Normalize,
    Operation,
    Pool,
    Softmax,
)
from tests.documented import documented_keys, read_keys

RNG = np.random.default_rng(1)
IMAGE = RNG.normal(size=(2, 3, 7, 6))


def test_convolution_is_the_sum_over_its_windows() -> None:
    weight, bias = RNG.normal(size=(4, 3, 3, 2)), RNG.normal(size=4)
    one = Conv("c", (INPUT,), weight, bias, (2, 1), (1, 0, 0, 1))
    found = one.forward(IMAGE)
    padded = np.pad(IMAGE, ((0, 0), (0, 0), (1, 0), (0, 1)))
    assert found.shape == (2, 4, 3, 6)
    for row, column in ((0, 0), (2, 5), (1, 3)):
        window = padded[1, :, 2 * row : 2 * row + 3, column : column + 2]
        want = (window * weight[2]).sum() + bias[2]
        assert found[1, 2, row, column] == pytest.approx(want)
    rows = one.rows(IMAGE)
    assert rows @ one.matrix.T + bias == pytest.approx(found.transpose(0, 2, 3, 1).reshape(-1, 4))


def test_pooling_takes_the_maximum_or_the_mean() -> None:
    window = IMAGE[0, 1, 2:4, 2:4]
    most = Pool("p", (INPUT,), (2, 2), (2, 2)).forward(IMAGE)
    mean = Pool("p", (INPUT,), (2, 2), (2, 2), mean=True).forward(IMAGE)
    assert most[0, 1, 1, 1] == window.max()
    assert mean[0, 1, 1, 1] == pytest.approx(window.mean())
    whole = Pool("p", (INPUT,), mean=True).forward(IMAGE)
    assert whole[1, 2, 0, 0] == pytest.approx(IMAGE[1, 2].mean())


def test_gelu_has_the_error_function() -> None:
    x = np.linspace(-6, 6, 101)
    want = [0.5 * one * (1 + erf(one / sqrt(2))) for one in x]
    assert FUNCTIONS["gelu"][0](x) == pytest.approx(want, rel=1e-12, abs=1e-15)


def test_attention_of_one_head_for_all_queries_is_the_formula() -> None:
    query, key, value = (RNG.normal(size=(2, 5, width)) for width in (8, 4, 4))
    found = Attention("a", ("q", "k", "v"), 2, 1, causal=True).forward(query, key, value)
    scores = query[1, 3, 4:] @ key[1, :4].T / 2
    shares = np.exp(scores) / np.exp(scores).sum()
    assert found[1, 3, 4:] == pytest.approx(shares @ value[1, :4])


@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_functions_grow_no_faster_than_their_constant(name: str) -> None:
    x = np.linspace(-20, 20, 20_001)
    function, constant = FUNCTIONS[name]
    slopes = np.abs(np.diff(function(x)) / np.diff(x))
    assert 0.85 * constant < slopes.max() <= constant + 1e-3


_NORM = (RNG.uniform(0.5, 2, size=6), RNG.normal(size=6))


@pytest.mark.parametrize(
    "one",
    [
        Function("f", (INPUT,), "gelu"),
        Pool("p", (INPUT,), (3, 3), (1, 1)),
        Pool("p", (INPUT,), (2, 2), (2, 2), mean=True),
        Normalize("n", (INPUT,), *_NORM),
        Normalize("n", (INPUT,), *_NORM, centred=False),
        Softmax("s", (INPUT,)),
    ],
    ids=["gelu", "max_pool", "mean_pool", "layer_norm", "rms_norm", "softmax"],
)
def test_errors_grow_no_more_than_the_constant_says(one: Operation) -> None:
    constant = one.lipschitz(IMAGE)
    assert constant is not None
    for scale in (1e-3, 0.1, 1.0, 10.0):
        change = scale * RNG.normal(size=IMAGE.shape)
        grown = np.linalg.norm(one.forward(IMAGE + change) - one.forward(IMAGE))
        assert grown <= constant * np.linalg.norm(change)


@pytest.mark.parametrize(
    "one",
    [
        Linear("l", (INPUT,), RNG.normal(size=(4, 6))),
        Conv("c", (INPUT,), RNG.normal(size=(4, 3, 3, 3)), None, (1, 1), (1, 1, 1, 1)),
    ],
    ids=["linear", "conv"],
)
def test_norm_of_a_product_bounds_what_it_makes(one: Linear | Conv) -> None:
    for _ in range(20):
        change = RNG.normal(size=IMAGE.shape)
        assert np.linalg.norm(one.forward(change)) <= one.norm() * np.linalg.norm(change)


def test_ranges_and_defaults_are_those_of_the_reference() -> None:
    assert read_keys("architecture") == documented_keys("architecture") != []
