"""Tests of perfmodel.networks.transformer."""

import pytest

from perfmodel.networks.transformer import Transformer
from perfmodel.workload import load_workload


@pytest.mark.parametrize(
    ("workload", "published"),
    [("transformer-17b", 17.2e9), ("gpt-3", 175e9), ("transformer-1t", 1.008e12)],
)
def test_parameters_are_the_published(workload: str, published: float) -> None:
    assert load_workload(workload).network.parameters == pytest.approx(published, rel=0.003)


def test_small_transformer_worked_by_hand() -> None:
    # h = 2, l = 1: attention 4*4 + 4*2, feed-forward 8*4 + 5*2, normalization 4*2; (V + s) h = 16.
    tiny = Transformer(layers=1, hidden=2, heads=1, sequence=3, vocabulary=5)
    assert tiny.parameters == 24 + 42 + 8 + 16
    # Three tokens: weights 2*12*4 each, scores and their sums 4*3*2 each, output 2*2*5 each.
    assert tiny.forward_flops == 3 * (96 + 24 + 20)


def test_operations_are_about_twice_the_parameters_per_token() -> None:
    network = load_workload("gpt-3").network
    assert network.forward_flops / 2048 == pytest.approx(2 * network.parameters, rel=0.05)
