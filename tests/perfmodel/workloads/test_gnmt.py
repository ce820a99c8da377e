"""Tests of perfmodel.workloads.gnmt."""

import pytest

from perfmodel.workloads.gnmt import gnmt
from perfmodel.workloads.workload import load_workload


def test_small_model_worked_by_hand() -> None:
    network = gnmt(encoder=3, decoder=2, units=4, vocabulary=100, source=5, target=6)
    names = [layer.name for layer in network.layers]
    assert names == [
        "source embedding",
        "encoder 1",
        "encoder 2",
        "encoder 3",
        "target embedding",
        "attention",
        "decoder 1",
        "decoder 2",
        "logits",
    ]
    by_name = {layer.name: layer for layer in network.layers}
    one = 4 * 4 * (4 + 4 + 1)  # gates, units, inputs and state and bias
    wide = 4 * 4 * (8 + 4 + 1)
    assert [by_name[f"encoder {n}"].parameters for n in (1, 2, 3)] == [2 * one, wide, one]
    assert [by_name[f"decoder {n}"].parameters for n in (1, 2)] == [wide, wide]
    assert by_name["source embedding"].parameters == by_name["target embedding"].parameters == 400
    assert by_name["attention"].parameters == 4 * 4 + 4 * 4 + 4
    assert by_name["logits"].parameters == 500
    assert by_name["encoder 3"].forward_flops == 2 * 4 * 4 * (4 + 4) * 5
    assert by_name["decoder 1"].forward_flops == 2 * 4 * 4 * (8 + 4) * 6
    assert by_name["encoder 1"].output_numbers == 8 * 5
    assert [one.name for one in by_name["encoder 3"].operators][-1] == "residual"
    assert network.input_bytes == 4 * 11
    assert not (network.splits or network.shares or network.has_sequence)


def test_operations_for_each_token_are_near_the_published_ones() -> None:
    """Shazeer et al., arXiv 1701.06538, table 2: 214 million for each time step."""
    network = load_workload("gnmt").network
    products = sum(one.forward_flops for one in network.layers) / 2 / 32
    assert products == pytest.approx(214e6, rel=0.01)
