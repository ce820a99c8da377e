"""Tests of perfmodel.repurpose.readers.onnx_attention."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from fred_hw.errors import InputError
from perfmodel.repurpose.operations import Attention
from perfmodel.repurpose.reader import read_network
from tests.perfmodel.repurpose.onnx_files import onnx_file

RNG = np.random.default_rng(1)

TOKENS, HEADS, SIZE = 5, 4, 3
WIDTH = HEADS * SIZE
_HEADS: dict[str, Any] = {"q_num_heads": HEADS, "kv_num_heads": HEADS, "is_causal": 1}


def _block(attention: list[Any], kv_width: int = WIDTH) -> tuple[list[Any], dict[str, Any]]:
    """Return nodes and tensors of a transformer block around nodes of attention, q, k, v to o."""
    shapes: dict[str, tuple[int, ...]] = {
        "wq": (WIDTH, WIDTH),
        "wk": (WIDTH, kv_width),
        "wv": (WIDTH, kv_width),
        "wo": (WIDTH, WIDTH),
        "up": (WIDTH, 20),
        "down": (20, WIDTH),
        "bq": (WIDTH,),
        "gain": (WIDTH,),
        "shift": (WIDTH,),
    }
    tensors: dict[str, Any] = {name: 0.5 * RNG.normal(size=size) for name, size in shapes.items()}
    tensors |= {
        "heads": np.array([0, TOKENS, HEADS, SIZE]),
        "joined": np.array([0, TOKENS, WIDTH]),
        "scale": np.array(1 / np.sqrt(SIZE)),
        "root": np.array([SIZE**-0.25]),
        "divisor": np.array(np.sqrt(SIZE)),
        "mask": np.triu(np.full((1, 1, TOKENS, TOKENS), -3.4e38), 1),
    }
    node = helper.make_node
    nodes = [
        node("LayerNormalization", ["x", "gain", "shift"], ["n"], name="norm"),
        *(node("MatMul", ["n", f"w{one}"], [f"p{one}"], name=f"{one}_proj") for one in "qkv"),
        node("Add", ["pq", "bq"], ["q"]),
        node("Identity", ["pk"], ["k"]),
        node("Identity", ["pv"], ["v"]),
        *attention,
        node("MatMul", ["o", "wo"], ["po"], name="o_proj"),
        node("Add", ["x", "po"], ["r"], name="residual"),
        node("MatMul", ["r", "up"], ["u"], name="up_proj"),
        node("Gelu", ["u"], ["g"], name="gelu"),
        node("MatMul", ["g", "down"], ["d"], name="down_proj"),
        node("Add", ["r", "d"], ["y"], name="second"),
    ]
    kinds: dict[str, Any] = dict.fromkeys(("heads", "joined"), np.int64)
    return nodes, {name: one.astype(kinds.get(name, np.float32)) for name, one in tensors.items()}


def _to_heads(key_axes: list[int] | None = None) -> list[Any]:
    node = helper.make_node
    found: list[Any] = []
    for one in "qkv":
        axes = [0, 2, 3, 1] if one == "k" and key_axes is None else [0, 2, 1, 3]
        found.append(node("Reshape", [one, "heads"], [f"{one}4"]))
        found.append(node("Transpose", [f"{one}4"], [f"{one}h"], perm=axes))
    if key_axes is not None:
        found.append(node("Transpose", ["kh"], ["kt"], perm=key_axes))
    return found


def _from_scores(scores: str) -> list[Any]:
    node = helper.make_node
    return [
        node("Softmax", [scores], ["shares"], axis=-1, name="attention"),
        node("MatMul", ["shares", "vh"], ["oh"]),
        node("Transpose", ["oh"], ["ot"], perm=[0, 2, 1, 3]),
        node("Reshape", ["ot", "joined"], ["o"]),
    ]


def _blocks_of_attention() -> dict[str, list[Any]]:
    node = helper.make_node
    return {
        "scaled scores": [
            *_to_heads(),
            node("MatMul", ["qh", "kh"], ["s"]),
            node("Mul", ["s", "scale"], ["t"]),
            *_from_scores("t"),
        ],
        "divided scores, causal": [
            *_to_heads(),
            node("MatMul", ["qh", "kh"], ["s"]),
            node("Div", ["s", "divisor"], ["t"]),
            node("Add", ["t", "mask"], ["m"]),
            *_from_scores("m"),
        ],
        "scaled queries and keys, key turned twice": [
            *_to_heads([0, 1, 3, 2]),
            node("Mul", ["qh", "root"], ["qs"]),
            node("Mul", ["root", "kt"], ["ks"]),
            node("MatMul", ["qs", "ks"], ["s"]),
            *_from_scores("s"),
        ],
        "one node": [
            node(
                "Attention",
                ["q", "k", "v"],
                ["o"],
                name="attention",
                q_num_heads=HEADS,
                kv_num_heads=HEADS,
                is_causal=1,
            )
        ],
    }


@pytest.mark.parametrize("name", list(_blocks_of_attention()))
def test_transformer_block_of_onnx_computes_the_same(name: str, tmp_path: Path) -> None:
    nodes, tensors = _block(_blocks_of_attention()[name])
    path = onnx_file(tmp_path / "m.onnx", nodes, tensors, [TOKENS, WIDTH], opset=23)
    network = read_network(path)
    (attention,) = (one for one in network.operations if isinstance(one, Attention))
    assert (attention.name, attention.heads, attention.kv_heads) == ("attention", HEADS, HEADS)
    x = RNG.normal(size=(3, TOKENS, WIDTH)).astype(np.float32)
    (want,) = ReferenceEvaluator(str(path)).run(None, {"x": x})  # type: ignore[misc]
    assert network.run(x.astype(float)) == pytest.approx(want, rel=1e-4, abs=1e-4)
    units = network.units(x.astype(float))
    assert {name: len(units.layers[name]) for name in ("q_proj", "up_proj")} == {
        "q_proj": HEADS,
        "up_proj": 20,
    }


def test_heads_of_onnx_may_share_keys(tmp_path: Path) -> None:
    given: dict[str, Any] = {"q_num_heads": HEADS, "kv_num_heads": 2}
    made = helper.make_node("Attention", ["q", "k", "v"], ["o"], name="attention", **given)
    nodes, tensors = _block([made], kv_width=2 * SIZE)
    path = onnx_file(tmp_path / "m.onnx", nodes, tensors, [TOKENS, WIDTH], opset=23)
    network = read_network(path)
    x = RNG.normal(size=(2, TOKENS, WIDTH)).astype(np.float32)
    (want,) = ReferenceEvaluator(str(path)).run(None, {"x": x})  # type: ignore[misc]
    assert network.run(x.astype(float)) == pytest.approx(want, rel=1e-4, abs=1e-4)


_LATER = np.triu(np.ones((1, 1, TOKENS, TOKENS)), 1) > 0


def _masked(path: Path, mask: Any) -> Path:
    """Write a block whose scores get a mask."""
    nodes, tensors = _block(_blocks_of_attention()["divided scores, causal"])
    given = {**tensors, "mask": np.asarray(mask)}
    return onnx_file(path, nodes, given, [TOKENS, WIDTH], opset=23)


@pytest.mark.parametrize(
    ("hidden", "causal"),
    [(-np.inf, True), (np.finfo(np.float32).min, True), (-1e4, True), (0.0, False)],
)
def test_masks_hide_all_later_tokens_or_none(hidden: float, causal: bool, tmp_path: Path) -> None:
    mask = np.where(_LATER, np.float32(hidden), np.float32(0))
    path = _masked(tmp_path / "m.onnx", mask)
    network = read_network(path)
    (attention,) = (one for one in network.operations if isinstance(one, Attention))
    assert attention.causal == causal
    x = RNG.normal(size=(3, TOKENS, WIDTH)).astype(np.float32)
    (want,) = ReferenceEvaluator(str(path)).run(None, {"x": x})  # type: ignore[misc]
    assert network.run(x.astype(float)) == pytest.approx(want, rel=1e-4, abs=1e-4)


def test_a_mask_of_zeros_may_have_any_shape(tmp_path: Path) -> None:
    network = read_network(_masked(tmp_path / "m.onnx", np.zeros((1, 1), dtype=np.float32)))
    (attention,) = (one for one in network.operations if isinstance(one, Attention))
    assert not attention.causal


@pytest.mark.parametrize(
    "mask",
    [
        np.where(np.eye(TOKENS) > 0, 0.0, -np.inf),
        np.where(_LATER, -5.0, 0.0),
        np.where(_LATER, np.inf, 0.0),
        np.where(_LATER, np.nan, 0.0),
        np.where(_LATER, -np.inf, np.nan),
        np.full((TOKENS, TOKENS), -np.inf),
        np.full((TOKENS, 1), -np.inf),
    ],
    ids=["others", "small", "infinite", "nan", "nan-before", "all", "shape"],
)
def test_other_masks_are_refused(mask: Any, tmp_path: Path) -> None:
    with pytest.raises(
        InputError,
        match=r"m\.onnx: mask: must be a mask of attention that hides all later tokens and",
    ):
        read_network(_masked(tmp_path / "m.onnx", mask.astype(np.float32)))


def _scaled(path: Path, kind: str, number: float, outside: bool, mask: Any) -> Path:
    """Write a block of attention whose scores have one factor, before or behind the mask."""
    node = helper.make_node
    adds = node("Add", ["t" if not outside else "s", "mask"], ["m"])
    factor = node(kind, ["m" if outside else "s", "number"], ["f" if outside else "t"])
    order = [adds, factor] if outside else [factor, adds]
    product = node("MatMul", ["qh", "kh"], ["s"])
    blocks = [*_to_heads(), product, *order, *_from_scores("f" if outside else "m")]
    nodes, tensors = _block(blocks)
    given = {**tensors, "mask": mask, "number": np.array(number, dtype=np.float32)}
    return onnx_file(path, nodes, given, [TOKENS, WIDTH], opset=23)


def test_a_factor_behind_the_mask_scales_scores_and_mask(tmp_path: Path) -> None:
    mask = np.where(_LATER, np.float32(-1e5), np.float32(0))
    path = _scaled(tmp_path / "m.onnx", "Div", SIZE**0.5, True, mask)
    network = read_network(path)
    (attention,) = (one for one in network.operations if isinstance(one, Attention))
    assert attention.causal
    x = RNG.normal(size=(3, TOKENS, WIDTH)).astype(np.float32)
    (want,) = ReferenceEvaluator(str(path)).run(None, {"x": x})  # type: ignore[misc]
    assert network.run(x.astype(float)) == pytest.approx(want, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize(("kind", "number"), [("Mul", 2.0), ("Mul", 0.0), ("Div", 0.0)])
def test_other_factors_of_scores_are_refused(
    kind: str, number: float, outside: bool, tmp_path: Path
) -> None:
    mask = np.where(_LATER, np.float32(-np.inf), np.float32(0))
    with pytest.raises(InputError, match="must"):
        read_network(_scaled(tmp_path / "m.onnx", kind, number, outside, mask))


def test_a_second_factor_behind_the_mask_is_refused(tmp_path: Path) -> None:
    node = helper.make_node
    blocks = _blocks_of_attention()["divided scores, causal"]
    (softmax,) = (one for one in blocks if one.op_type == "Softmax")
    softmax.input[0] = "f"
    blocks.insert(blocks.index(softmax), node("Mul", ["m", "divisor"], ["f"]))
    nodes, tensors = _block(blocks)
    path = onnx_file(tmp_path / "m.onnx", nodes, tensors, [TOKENS, WIDTH], opset=23)
    with pytest.raises(InputError, match="must be a Reshape of a sample"):
        read_network(path)


def test_a_factor_that_weakens_the_mask_is_refused(tmp_path: Path) -> None:
    mask = np.where(_LATER, np.float32(-1e4), np.float32(0))
    with pytest.raises(InputError, match="mask: must be a mask of attention that hides all later"):
        read_network(_scaled(tmp_path / "m.onnx", "Div", SIZE**0.5, True, mask))


def test_attention_without_its_scale_is_refused(tmp_path: Path) -> None:
    blocks = _blocks_of_attention()["divided scores, causal"]
    for one in blocks:
        if one.op_type == "Add":
            one.input[0] = "s"
    nodes, tensors = _block(blocks)
    path = onnx_file(tmp_path / "m.onnx", nodes, tensors, [TOKENS, WIDTH], opset=23)
    with pytest.raises(InputError, match="must be a Reshape of a sample"):
        read_network(path)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_finite_are_refused(number: float, tmp_path: Path) -> None:
    nodes, tensors = _block(_blocks_of_attention()["one node"])
    tensors["up"][0, 0] = number
    path = onnx_file(tmp_path / "m.onnx", nodes, tensors, [TOKENS, WIDTH], opset=23)
    with pytest.raises(InputError, match=r"m\.onnx: up: must have numbers of at most 1e\+60, not "):
        read_network(path)
