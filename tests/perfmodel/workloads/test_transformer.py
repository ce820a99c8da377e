"""Tests of perfmodel.workloads.transformer."""

from pathlib import Path

import pytest

from fred_hw.errors import InputError
from perfmodel.workloads.transformer import Form, transformer
from perfmodel.workloads.workload import load_workload, workload_path


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


def test_causal_attention_counts_all_pairs_of_tokens_or_those_that_are_not_masked() -> None:
    # h = 2, s = 3: 9 pairs, of which each token sees itself and those before it: 1 + 2 + 3.
    full, half = (
        transformer(1, 2, 1, 3, 5, form=Form(causal_half=skips)) for skips in (False, True)
    )
    found = [
        {one.name: one for one in network.layers[1].operators}["attention"]
        for network in (full, half)
    ]
    assert [one.flops for one in found] == [4 * 9 * 2, 4 * 6 * 2]
    assert found[0].moved_numbers == found[1].moved_numbers
    assert full.parameters == half.parameters
    assert full.forward_flops - half.forward_flops == 4 * 3 * 2


@pytest.mark.parametrize(("causal", "pairs"), [("full", 64), ("half", 36)])
def test_files_say_which_scores_are_computed(tmp_path: Path, causal: str, pairs: int) -> None:
    path = tmp_path / "causal.yaml"
    path.write_text(
        "kind: transformer\nlayers: 1\nhidden: 2\nheads: 1\nsequence: 8\nvocabulary: 5\n"
        "strategy: MP1-DP1-PP1\nmode: stationary\nmicrobatches: 1\nsamples_per_replica: 1\n"
        f"causal: {causal}\n"
    )
    layer = load_workload(str(path)).network.layers[1]
    (attention,) = (one for one in layer.operators if one.kind == "attention")
    assert attention.flops == 4 * pairs * 2


def test_grouped_queries_and_a_gate_worked_by_hand() -> None:
    # h = 4, two heads of queries and one of keys and values, so k = 2; s = 3, f = 5.
    tiny = transformer(1, 4, 2, 3, 7, key_value_heads=1, feed_forward=5, gated=True, tied=False)
    _, layer, head = tiny.layers
    found = {one.name: (one.flops, one.parameters, one.moved_numbers) for one in layer.operators}
    assert found["query, key, value"] == (2 * 3 * 4 * 8, 4 * 8 + 8, 3 * (4 + 8))
    assert found["attention"] == (4 * 9 * 4, 0, 3 * (4 + 2 + 2 + 4))
    assert found["feed-forward in"] == (2 * 3 * 4 * 10, 4 * 10 + 10, 3 * (4 + 10))
    assert found["gated activation"] == (9 * 3 * 5, 0, 3 * (10 + 5))
    assert found["feed-forward out"] == (2 * 3 * 5 * 4, 5 * 4 + 4, 3 * (5 + 4))
    # Norms 4 s h; attention s (7 h + 4 k) and 5 a s s of scores; gated s (3 h + 6 f) [B].
    stored = 4 * 3 * 4 + 3 * (7 * 4 + 4 * 2) + 5 * 2 * 9 + 3 * (3 * 4 + 6 * 5)
    assert 2 * layer.stored_numbers == pytest.approx(stored)
    assert head.parameters == 7 * 4


def test_keys_that_say_what_was_there_change_nothing() -> None:
    usual = transformer(2, 64, 4, 32, 100)
    said = {"key_value_heads": 4, "feed_forward": 256, "gated": False, "tied": True}
    assert transformer(2, 64, 4, 32, 100, **said) == usual


def test_parameters_are_those_published_of_a_grouped_and_gated_model() -> None:
    # Llama 2 70B has 68.98e9 (its files), no biases and no table of positions.
    network = load_workload("examples/llama-2-70b.yaml").network
    assert network.parameters == pytest.approx(68_976_648_192, rel=2e-3)


def test_heads_for_keys_and_values_divide_the_heads(tmp_path: Path) -> None:
    text = Path("examples/transformer-22b.yaml").read_text()
    (tmp_path / "odd.yaml").write_text(f"{text}key_value_heads: 3\n")
    message = r"key_value_heads: must be a divisor of heads, 64, not 3$"
    with pytest.raises(InputError, match=message):
        load_workload(str(tmp_path / "odd.yaml"))


def test_llama_has_neither_biases_nor_positions() -> None:
    # Llama 3 8B: 4096 wide, 1024 for keys and for values, 14336 inside, 128256 words.
    embedding, layer, *_, head = load_workload("llama-3-8b").network.layers
    assert embedding.parameters == 128256 * 4096
    matrices = 2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14336
    assert layer.parameters == matrices + 2 * 4096
    assert head.parameters == 128256 * 4096 + 4096


def test_experts_worked_by_hand() -> None:
    one = Form(biases=False, rms_norm=True)
    six = Form(biases=False, rms_norm=True, experts=6, experts_per_token=2)
    _, dense, _ = transformer(1, 4, 2, 3, 7, gated=True, feed_forward=5, form=one).layers
    _, layer, _ = transformer(1, 4, 2, 3, 7, gated=True, feed_forward=5, form=six).layers
    assert layer.shared_parameters == 6 * 3 * 4 * 5 and dense.shared_parameters == 0
    assert layer.parameters == dense.parameters + 5 * 3 * 4 * 5 + 4 * 6
    # A second expert of each token, and the router.
    assert layer.forward_flops == dense.forward_flops + 2 * 3 * 3 * 4 * 5 + 2 * 3 * 4 * 6
    assert (layer.all_to_alls, layer.all_to_all_numbers, layer.pieces) == (2, 2 * 3 * 4, 6)
    assert dense.all_to_alls == 0
    # Its input of 4 and 6 x 5 numbers of two bytes each for three tokens.
    assert 2 * (layer.stored_numbers - dense.stored_numbers) == 3 * (2 * 4 + 6 * 5)


def test_keys_and_values_are_what_context_parallelism_gathers() -> None:
    assert load_workload("llama-3-8b").network.layers[1].cp_numbers == 2 * 8192 * 1024
    assert load_workload("gpt-3").network.layers[1].cp_numbers == 2 * 2048 * 12288
    assert not load_workload("resnet-50").network.has_sequence


@pytest.mark.parametrize(
    ("experts", "chosen", "said"),
    [
        ("4", "5", r"experts_per_token: must be at most experts, which are 4, not 5"),
        (None, "2", r"experts_per_token: must be at most experts, which are 1, not 2"),
        ("1", "1", r"experts: must be an integer from 2 to 65536, not 1"),
        ("4", "0", r"experts_per_token: must be an integer from 1 to 65536, not 0"),
        ("many", "1", r"experts: must be an integer from 2 to 65536, not 'many'"),
    ],
)
def test_experts_that_do_not_go_together_are_refused(
    tmp_path: Path, experts: str | None, chosen: str, said: str
) -> None:
    path = tmp_path / "e.yaml"
    text = workload_path("gpt-3").read_text() + f"experts_per_token: {chosen}\n"
    path.write_text(text + (f"experts: {experts}\n" if experts else ""))
    with pytest.raises(InputError, match=rf"e\.yaml: {said}$"):
        load_workload(str(path))
