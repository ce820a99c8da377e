"""Tests of the readers of trained networks, and of the files that are written."""

import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator
from safetensors.numpy import save_file

from fred_hw.errors import InputError
from perfmodel.repurpose.architecture import Architecture, build, load_architecture
from perfmodel.repurpose.network import INPUT
from perfmodel.repurpose.operations import (
    Add,
    Conv,
    Flatten,
    Function,
    Linear,
    Normalize,
    Pool,
    Scale,
    Softmax,
)
from perfmodel.repurpose.reader import read_network
from perfmodel.repurpose.weights_file import weights_bytes
from tests.perfmodel.repurpose.onnx_files import onnx_file

RNG = np.random.default_rng(1)


def chain(**changes: Any) -> dict[str, Any]:
    """Return the tensors of a perceptron, in an order that is not that of its products."""
    made = {
        "fc10.weight": RNG.normal(size=(3, 6)),
        "fc2.weight": RNG.normal(size=(6, 4)),
        "fc2.bias": RNG.normal(size=6),
        "fc10.bias": RNG.normal(size=3),
    }
    made = {name: value.astype(np.float32) for name, value in made.items()}
    return {name: one for name, one in {**made, **changes}.items() if one is not None}


def saved(path: Path, tensors: dict[str, Any]) -> Path:
    """Return a file with tensors in the format of its name."""
    if path.suffix == ".npz":
        np.savez(path, allow_pickle=True, **tensors)
    else:
        save_file(tensors, path)
    return path


@pytest.mark.parametrize("ending", [".npz", ".safetensors"])
def test_products_of_tensors_alone_stand_in_the_order_of_their_numbers(
    ending: str, tmp_path: Path
) -> None:
    tensors = chain()
    network = read_network(saved(tmp_path / f"m{ending}", tensors))
    assert [one.name for one in network.products] == ["fc2", "fc10"]
    x = RNG.normal(size=(5, 4))
    hidden = np.maximum(x @ tensors["fc2.weight"].T + tensors["fc2.bias"], 0)
    want = hidden @ tensors["fc10.weight"].T + tensors["fc10.bias"]
    assert network.run(x) == pytest.approx(want)


IMAGES = {
    "layers": [
        {"kind": "conv", "name": "c", "padding": 1, "stride": 2},
        {"kind": "batch_norm", "name": "bn"},
        {"kind": "relu"},
        {"kind": "max_pool", "size": 2},
        {"kind": "flatten"},
        {"kind": "residual", "layers": [{"kind": "layer_norm", "name": "ln"}, {"kind": "gelu"}]},
        {"kind": "linear", "name": "fc"},
    ]
}


def image_tensors() -> dict[str, Any]:
    """Return the tensors of ``IMAGES``."""
    named = {
        "c.weight": RNG.normal(size=(4, 2, 3, 3)),
        "bn.weight": RNG.normal(size=4),
        "bn.bias": RNG.normal(size=4),
        "bn.running_mean": RNG.normal(size=4),
        "bn.running_var": RNG.uniform(0.5, 2, size=4),
        "ln.weight": RNG.normal(size=16),
        "ln.bias": RNG.normal(size=16),
        "fc.weight": RNG.normal(size=(3, 16)),
    }
    return {name: value.astype(np.float32) for name, value in named.items()}


@pytest.mark.parametrize("ending", [".npz", ".safetensors"])
def test_what_is_written_is_read_as_the_same_network(ending: str, tmp_path: Path) -> None:
    architecture = Architecture.model_validate(IMAGES)
    network = read_network(saved(tmp_path / f"m{ending}", image_tensors()), architecture)
    x = RNG.normal(size=(5, 2, 8, 8))
    path = tmp_path / f"out{ending}"
    path.write_bytes(weights_bytes(network, path))
    again = read_network(path, architecture)
    assert again.run(x) == pytest.approx(network.run(x), rel=1e-4, abs=1e-5)
    tensors = image_tensors()
    assert set(tensors) - {"bn.running_mean", "bn.running_var"} == {
        f"{one.name}.{part}"
        for one in network.operations
        if isinstance(one, Conv | Linear | Scale | Normalize)
        for part in ("weight", "bias")
        if f"{one.name}.{part}" in tensors
    }


@pytest.mark.parametrize("kind", [np.float16, np.int8, ml_dtypes.bfloat16])
def test_numbers_of_few_bits_are_read(kind: Any, tmp_path: Path) -> None:
    tensors = {"fc.weight": np.array([[1.5, -3.0], [0.0, 64.0]]).astype(kind)}
    network = read_network(saved(tmp_path / "m.safetensors", tensors))
    assert (network.products[0].weight == tensors["fc.weight"].astype(float)).all()


def test_numbers_of_other_types_are_refused(tmp_path: Path) -> None:
    tensors = {"fc.weight": np.ones((2, 2)).astype(ml_dtypes.float8_e4m3fn)}
    path = saved(tmp_path / "m.safetensors", tensors)
    with pytest.raises(
        InputError, match=r"fc\.weight: must be a tensor of F64, .*, not of F8_E4M3$"
    ):
        read_network(path)


def test_architecture_is_read_from_yaml(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("layers:\n- {kind: linear, name: fc}\n- {kind: relu}\n")
    assert len(load_architecture(path).layers) == 2
    path.write_text("layers:\n- {kind: linear, name: fc, size: 2}\n")
    with pytest.raises(InputError, match=r"a\.yaml: layers\.0\.linear\.size: unknown key"):
        load_architecture(path)


NAN = np.full((6, 4), np.nan, dtype=np.float32)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        (
            {"fc2.weight": NAN},
            "fc2.weight: must have numbers of at most 1e+60, not NaN, infinity or larger ones",
        ),
        (
            {"fc2.weight": np.zeros((6, 4, 1), dtype=np.float32)},
            "fc2.weight: must be the weight (two axes) or the bias of a product, or its file be ",
        ),
        ({"fc2.weight": None}, "fc2.bias: must be the weight (two axes) or the bias of a product"),
        (
            {"fc2.bias": np.zeros(5, dtype=np.float32)},
            "fc2.bias: must be a tensor of shape (6,), not of shape (5,)",
        ),
        (
            {"fc2.weight": np.zeros((0, 4), dtype=np.float32), "fc2.bias": None},
            "fc2.weight: must be a tensor of 2 axes, none of them empty, not of shape (0, 4)",
        ),
    ],
    ids=["nan", "axes", "missing", "bias", "empty"],
)
@pytest.mark.parametrize("ending", [".npz", ".safetensors"])
def test_bad_tensors_are_refused(
    ending: str, tensors: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = saved(tmp_path / f"m{ending}", chain(**tensors))
    with pytest.raises(InputError) as error:
        read_network(path)
    assert str(error.value).startswith(f"{path}: {message}"[: len(str(error.value))])


def test_missing_tensor_of_an_architecture_is_refused(tmp_path: Path) -> None:
    tensors = image_tensors()
    del tensors["fc.weight"]
    path = saved(tmp_path / "m.npz", tensors)
    with pytest.raises(InputError, match=r"fc\.weight: must be a tensor of the file, not missing$"):
        read_network(path, Architecture.model_validate(IMAGES))


def test_inputs_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    network = read_network(saved(tmp_path / "m.npz", chain()))
    with pytest.raises(InputError, match=r"fc2: must have weights for inputs of shape \(5,\), not"):
        network.run(np.zeros((2, 5)))


def _zip(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return file.getvalue()


def _huge() -> bytes:
    file = io.BytesIO()
    head = {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)}
    np.lib.format.write_array_header_1_0(file, head)
    return _zip(a=file.getvalue())


def _pickled() -> bytes:
    file = io.BytesIO()
    np.savez(file, allow_pickle=True, a=np.array([{}], dtype=object))
    return file.getvalue()


@pytest.mark.parametrize(
    ("ending", "data", "message"),
    [
        (".npz", b"PK", "must be a .npz file of NumPy"),
        (".npz", _zip(a=b"x"), "a: must be an array of NumPy without pickled objects"),
        (".npz", _huge(), "a: must be an array of NumPy without pickled objects"),
        (".npz", _pickled(), "a: must be an array of NumPy without pickled objects"),
        (".npz", _zip(), "must have one product or more"),
        (".safetensors", b"\xff" * 20, "must be a .safetensors file"),
        (".safetensors", b"", "must be a .safetensors file"),
        (".onnx", b"\xff" * 20, "must be an .onnx file"),
        (".onnx", b"", "must have one input and one output, not 0 and 0"),
        (".pt", b"", "must have a name that ends in .npz, .safetensors, .onnx, not 'pt'"),
    ],
    ids=[
        *("zip", "npy", "huge", "pickle", "nothing", "safetensors", "no_safetensors"),
        *("onnx", "no_onnx", "ending"),
    ],
)
def test_what_is_no_model_is_refused(
    ending: str, data: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / f"m{ending}"
    path.write_bytes(data)
    with pytest.raises(InputError) as error:
        read_network(path)
    assert str(error.value) == f"{path}: {message}"


@pytest.mark.parametrize(
    ("ending", "module", "package"),
    [(".safetensors", "safetensors", "safetensors"), (".onnx", "onnx", "onnx")],
)
def test_without_its_package_the_extra_is_named(
    ending: str, module: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / f"m{ending}"
    path.write_bytes(b"")
    with pytest.raises(InputError) as error:
        read_network(path)
    assert str(error.value).startswith(
        f"{package}: must be installed for fred repurpose: pip install 'fred-hw[repur"
    )


def test_onnx_graph_computes_the_same(tmp_path: Path) -> None:
    tensors = {
        "w0": RNG.normal(size=(4, 2, 3, 3)),
        "b0": RNG.normal(size=4),
        "s": RNG.uniform(0.5, 1, size=4),
        "o": RNG.normal(size=4),
        "m": RNG.normal(size=4),
        "v": RNG.uniform(0.5, 1, size=4),
        "w1": RNG.normal(size=(4, 4, 1, 1)),
        "w2": RNG.normal(size=(16, 5)),
        "b2": RNG.normal(size=5),
        "w3": RNG.normal(size=(3, 5)),
        "b3": RNG.normal(size=3),
        "half": np.array(RNG.normal(size=(1, 4, 1, 1))),
    }
    single = {name: value.astype(np.float32) for name, value in tensors.items()}
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w0", "b0"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("BatchNormalization", ["c", "s", "o", "m", "v"], ["n"]),
        node("Relu", ["n"], ["r"]),
        node("Conv", ["r", "w1"], ["c1"]),
        node("Add", ["r", "c1"], ["sum"]),
        node("Mul", ["sum", "half"], ["scaled"]),
        node("MaxPool", ["scaled"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", ["p"], ["f"]),
        node("MatMul", ["f", "w2"], ["m2"]),
        node("Add", ["b2", "m2"], ["h"]),
        node("Identity", ["h"], ["same"]),
        node("Sigmoid", ["same"], ["a"]),
        node("Gemm", ["a", "w3", "b3"], ["g"], transB=1),
        node("Softmax", ["g"], ["y"]),
    ]
    network = read_network(onnx_file(tmp_path / "m.onnx", nodes, single, [2, 8, 8]))
    kinds = [Conv, Scale, Function, Conv, Add, Scale, Pool, Flatten, Linear, Function, Linear]
    assert [type(one) for one in network.operations] == [*kinds, Softmax]
    assert network.products[2].bias is not None
    x = RNG.normal(size=(3, 2, 8, 8)).astype(np.float32)
    runtime: Any = ReferenceEvaluator(str(tmp_path / "m.onnx"))
    (want,) = runtime.run(None, {"x": x})
    assert network.run(x.astype(float)) == pytest.approx(want, rel=1e-4, abs=1e-5)


WEIGHT = {"w": np.ones((4, 4), dtype=np.float32)}


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([("Sin", ["x"], ["y"], {})], "y: must not have a Sin; supported are Add, Att"),
        ([("Gemm", ["x", "w"], ["y"], {"alpha": 2.0})], "y: must have alpha 1.0 in Gemm, not 2.0"),
        ([("MatMul", ["x", "z"], ["y"], {})], "y: must take a value that an earlier node makes"),
        ([("MatMul", ["x", "x"], ["y"], {})], "y: must have a tensor of the file as input 1 of"),
        ([("Conv", ["x", "w"], ["y"], {})], "w: must be a tensor of 4 axes, not of shape (4, 4)"),
        ([("MatMul", ["x", "w"], ["z"], {})], "must have an output that the last node makes"),
    ],
    ids=["operation", "attribute", "order", "weights", "shape", "output"],
)
def test_what_an_onnx_graph_may_not_have_is_refused(
    nodes: list[Any], message: str, tmp_path: Path
) -> None:
    made = [helper.make_node(*one[:3], **one[3]) for one in nodes]
    path = onnx_file(tmp_path / "m.onnx", made, WEIGHT, [4])
    with pytest.raises(InputError) as error:
        read_network(path)
    assert str(error.value).startswith(f"{path}: {message}")


def test_names_of_values_do_not_clash() -> None:
    """A product may not be called like the input of a network."""
    with pytest.raises(InputError, match="must be the name of one layer, not of several"):
        build({f"{INPUT}.weight": np.ones((2, 2))}, None, "m")
