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
        "hole": np.where(np.eye(TOKENS) > 0, 0.0, -1e9),
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


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (["t"], ["s"], "must be a Reshape of a sample"),
        (["mask"], ["hole"], "must be a Reshape of a sample"),
    ],
    ids=["scale", "mask"],
)
def test_attention_of_another_kind_is_refused(
    old: list[str], new: list[str], message: str, tmp_path: Path
) -> None:
    blocks = _blocks_of_attention()["divided scores, causal"]
    for one in blocks:
        if one.op_type == "Add":
            names = [new[0] if name == old[0] else name for name in one.input]
            del one.input[:]
            one.input.extend(names)
    nodes, tensors = _block(blocks)
    path = onnx_file(tmp_path / "m.onnx", nodes, tensors, [TOKENS, WIDTH], opset=23)
    with pytest.raises(InputError, match=message):
        read_network(path)
