"""Tests of perfmodel.workloads.transformer."""

import pytest

from perfmodel.workloads.transformer import transformer
from perfmodel.workloads.workload import load_workload


def test_small_transformer_worked_by_hand() -> None:
    # h = 2, l = 1: attention 4*4 + 4*2, feed-forward 8*4 + 5*2, normalization 4*2; (V + s) h = 16.
    tiny = transformer(layers=1, hidden=2, heads=1, sequence=3, vocabulary=5)
    assert tiny.parameters == 24 + 42 + 8 + 16
    # Three tokens: weights 2*12*4 each, scores and their sums 4*3*2 each, output 2*2*5 each.
    assert tiny.forward_flops == 3 * (96 + 24 + 20)


@pytest.mark.parametrize(
    ("l", "h", "a", "s", "v"), [(3, 64, 4, 32, 100), (96, 12288, 96, 2048, 50257)]
)
def test_totals_are_the_closed_forms(l: int, h: int, a: int, s: int, v: int) -> None:  # noqa: E741
    network = transformer(l, h, a, s, v)
    assert network.parameters == pytest.approx(12 * l * h**2 * (1 + 13 / (12 * h)) + (v + s) * h)
    expected = 24 * l * s * h**2 * (1 + s / (6 * h)) + 2 * s * h * v
    assert network.forward_flops == pytest.approx(expected)


def test_stored_activations_are_the_published_formula() -> None:
    s, h, a = 2048, 12288, 96
    layer = load_workload("gpt-3").network.layers[1]
    assert 2 * layer.stored_numbers == pytest.approx(s * h * (34 + 5 * a * s / h))


def test_layers_split_with_two_all_reduces_of_their_output() -> None:
    network = load_workload("gpt-3").network
    assert len(network.layers) == 98 and network.splits
    layer = network.layers[40]
    assert layer is network.layers[1]
    assert (layer.mp_reductions, layer.mp_reduced_numbers) == (2, 2048 * 12288)
    assert layer.output_numbers == 2048 * 12288
    assert network.input_bytes == 4 * 2048


def test_operations_are_about_twice_the_parameters_per_token() -> None:
    network = load_workload("gpt-3").network
    assert network.forward_flops / 2048 == pytest.approx(2 * network.parameters, rel=0.05)


def test_operators_of_a_layer_worked_by_hand() -> None:
    # h = 2, s = 3: s h = 6 activations, weights of 4 h h = 16 per feed-forward matrix.
    layer = transformer(layers=1, hidden=2, heads=1, sequence=3, vocabulary=5).layers[1]
    found = {one.name: (one.flops, one.parameters, one.moved_numbers) for one in layer.operators}
    assert found == {
        "attention norm": (30, 4, 12),
        "query, key, value": (2 * 3 * 12, 12 + 6, 6 + 18),
        "attention": (2 * 2 * 3 * 3 * 2, 0, 18 + 6),
        "attention output": (2 * 3 * 4, 4 + 2, 6 + 6),
        "attention residual": (12, 0, 6 + 6 + 6),
        "feed-forward norm": (30, 4, 12),
        "feed-forward in": (2 * 3 * 16, 16 + 8, 6 + 24),
        "GELU": (8 * 24, 0, 24 + 24),
        "feed-forward out": (2 * 3 * 16, 16 + 2, 24 + 6),
        "feed-forward residual": (12, 0, 6 + 6 + 6),
    }
