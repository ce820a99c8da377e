"""Tests of clustermodel.model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clustermodel.model import Transformer, load_transformer
from docs.generate.reference import EXAMPLES
from fred_hw.errors import InputError
from perfmodel.workloads.workload import load_workload

LLAMA = str(EXAMPLES / "llama-2-70b.yaml")


def test_sizes_are_those_of_the_workload() -> None:
    one = load_transformer("transformer-1t")
    assert (one.layers, one.hidden, one.heads, one.sequence) == (128, 25600, 160, 2048)
    assert one.parameters == load_workload("transformer-1t").network.parameters
    assert one.parameters == pytest.approx(1.008e12, rel=1e-3)


def test_grouped_queries_and_a_gate_change_the_products() -> None:
    one = load_transformer(LLAMA)
    products = [(p.m, p.k, p.n) for p in one.products(1, 2)]
    assert products == [
        (4096, 8192, (8192 + 2 * 1024) / 2),
        (4096, 4096, 8192),
        (4096, 8192, 28672),
        (4096, 14336, 8192),
    ]


@given(
    st.sampled_from(["gpt-3", LLAMA, "mixtral-8x7b"]),
    st.sampled_from([1, 2, 8]),
    st.sampled_from([1, 2, 8]),
)
def test_products_are_those_of_the_layer(name: str, mp: int, ep: int) -> None:
    one, layer = load_transformer(name), load_workload(name).network.layers[1]
    products = [*one.products(3, mp, ep), *one.attention(3, mp)]
    flops = sum(2 * p.m * p.k * p.n * p.count for p in products)
    assert flops == pytest.approx(3 * layer.forward_flops / mp)


@given(st.sampled_from(["gpt-3", LLAMA, "mixtral-8x7b"]))
def test_what_one_npu_stores_is_what_the_layer_does(name: str) -> None:
    one, layer = load_transformer(name), load_workload(name).network.layers[1]
    stored = one.stored_bytes(2, 1, scores=True, sequence=False)
    assert stored == pytest.approx(2 * 2 * layer.stored_numbers)


def test_sequence_parallelism_divides_all_that_is_stored() -> None:
    one: Transformer = load_transformer("gpt-3")
    whole = one.stored_bytes(1, 1, scores=True, sequence=False)
    assert one.stored_bytes(1, 8, scores=True, sequence=True) == pytest.approx(whole / 8)
    part = one.stored_bytes(1, 8, scores=False, sequence=False)
    assert part == pytest.approx(2048 * 12288 * (10 + 24 / 8))


def test_another_kind_of_network_is_refused() -> None:
    with pytest.raises(InputError, match=r"kind: must be transformer for a cluster, not 'resnet'$"):
        load_transformer("resnet-152")


def test_experts_are_products_of_fewer_tokens_each() -> None:
    one = load_transformer("mixtral-8x7b")
    assert (one.experts, one.experts_per_token) == (8, 2)
    assert one.expert_parameters == 32 * 8 * 3 * 4096 * 14336
    router, *experts = [(p.m, p.k, p.n, p.count) for p in one.products(1, 2, 4)][2:]
    assert router == (4096, 4096, 4, 1)
    # Each of 2 experts here has a quarter of what 4 NPUs send to 2 of 8 experts.
    assert experts == [(4096, 4096, 14336, 2), (4096, 7168, 4096, 2)]
    assert one.exchanged_bytes(3, 2) == 2 * 2 * 3 * 4096 * 4096 / 2
