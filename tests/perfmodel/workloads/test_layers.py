"""Tests of perfmodel.workloads.layers, and of the totals published for the shipped networks."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.constants import NUMBER_BYTES
from perfmodel.published import PARAMETERS
from perfmodel.workloads.layers import KINDS, Kind, Layer, Network, Operator
from perfmodel.workloads.resnet import resnet
from perfmodel.workloads.transformer import transformer
from perfmodel.workloads.workload import WORKLOADS, load_workload

SHAPES = {  # l, h, a, s, V of the sources named in the workload files
    "transformer-17b": (78, 4256, 28, 1024, 50257),
    "gpt-3": (96, 12288, 96, 2048, 50257),
    "transformer-1t": (128, 25600, 160, 2048, 51200),
}


def operator(kind: Kind, flops: float = 1.0, parameters: int = 0) -> Operator:
    return Operator(kind, kind, flops, parameters, 1.0)


def test_layer_counts_the_operations_of_products_only() -> None:
    one = Layer("all", tuple(operator(kind, 2.0**i, i) for i, kind in enumerate(KINDS)), 1, 1.0)
    counted = ("matmul", "attention", "convolution")
    assert one.forward_flops == sum(2.0**i for i, kind in enumerate(KINDS) if kind in counted)
    assert one.parameters == 0 + 1 + 2 + 3 + 4 + 5


def test_network_counts_a_layer_as_often_as_it_has_it() -> None:
    small = Layer("small", (operator("matmul", 3.0, 5),), 1, 1.0)
    large = Layer("large", (operator("convolution", 7.0, 11),), 1, 1.0)
    network = Network((small, large, small), input_bytes=1)
    assert (network.parameters, network.forward_flops) == (5 + 11 + 5, 3.0 + 7.0 + 3.0)


@pytest.mark.parametrize("shared", [(), (0,), (1,), (0, 1)])
def test_network_splits_if_any_layer_does(shared: tuple[int, ...]) -> None:
    layers = [Layer(f"{i}", (), 1, 1.0, splits=i in shared) for i in range(2)]
    assert Network(tuple(layers), input_bytes=1).splits == bool(shared)


def test_equal_layers_are_one_key() -> None:
    first, second = (load_workload("gpt-3").network.layers[1] for _ in range(2))
    assert first is not second
    assert first == second and len({first, second}) == 1


@pytest.mark.parametrize("workload", WORKLOADS)
def test_parameters_of_every_shipped_workload_round_to_the_published(workload: str) -> None:
    published, ours = PARAMETERS[workload], load_workload(workload).network.parameters
    if published.about:  # of other sizes of vocabulary or attention, which are not printed
        assert ours == pytest.approx(published.value, rel=0.011)
    else:
        assert published.rounds(ours)


def test_multiply_adds_of_resnet_152_are_the_published() -> None:
    # He et al., arXiv 1512.03385, table 1: 11.3e9 without the projections' and pooling's.
    macs = load_workload("resnet-152").network.forward_flops / 2
    assert macs == pytest.approx(11.3e9, rel=0.02)


@pytest.mark.parametrize("workload", SHAPES)
def test_operations_of_a_transformer_are_the_published_formula(workload: str) -> None:
    l, h, _, s, v = SHAPES[workload]  # noqa: E741
    expected = 24 * l * s * h**2 * (1 + s / (6 * h)) + 2 * s * h * v
    assert load_workload(workload).network.forward_flops == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("workload", SHAPES)
def test_stored_bytes_of_every_layer_are_the_published_formula(workload: str) -> None:
    l, h, a, s, _ = SHAPES[workload]  # noqa: E741
    layers = load_workload(workload).network.layers[1:-1]
    assert len(layers) == l
    for one in layers:
        stored = NUMBER_BYTES * one.stored_numbers
        assert stored == pytest.approx(s * h * (34 + 5 * a * s / h), rel=1e-12)


@given(st.integers(1, 40), st.integers(1, 32), st.integers(1, 16), st.integers(1, 64))
def test_layers_and_words_add_to_the_parameters(l: int, width: int, a: int, v: int) -> None:  # noqa: E741
    h, s = width * a, 8
    network = transformer(l, h, a, s, v)
    assert network.parameters == 12 * l * h**2 + 13 * l * h + (v + s) * h


def test_heads_change_only_what_is_stored() -> None:
    few, many = (transformer(2, 64, heads, 16, 100) for heads in (2, 8))
    assert (few.parameters, few.forward_flops) == (many.parameters, many.forward_flops)
    more = many.layers[1].stored_numbers - few.layers[1].stored_numbers
    assert more == pytest.approx(5 * (8 - 2) * 16**2 / 2)


@pytest.mark.parametrize("blocks", [(1, 1, 1, 1), (3, 4, 6, 3), (3, 8, 36, 3)])
def test_block_reads_what_the_block_before_it_gives(blocks: tuple[int, ...]) -> None:
    layers = resnet(blocks, image=224, classes=1000).layers
    for before, block in pairwise(layers[:-1]):
        reads = [
            product.moved_numbers - norm.moved_numbers / 2
            for product, norm in pairwise(block.operators)
            if product.name in ("reduce", "projection")
        ]
        assert reads == [before.output_numbers] * len(reads) and reads


def test_first_block_of_a_stage_worked_by_hand() -> None:
    # Stage 2: 256 channels of 56 x 56 in, 128 inside, 512 channels of 28 x 28 out.
    block = resnet((3, 8, 36, 3), image=224, classes=1000).layers[4]
    assert block.name == "block 2.1"
    weights = 256 * 128 + 9 * 128 * 128 + 128 * 512 + 256 * 512
    assert block.parameters == weights + 2 * (128 + 128 + 512 + 512)
    assert block.forward_flops == 2 * 28 * 28 * weights
    assert block.output_numbers == 512 * 28 * 28
