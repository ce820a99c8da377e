"""Files of onnx for tests."""

from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["onnx_file"]


def onnx_file(
    path: Path,
    nodes: list[Any],
    tensors: dict[str, Any],
    shape: list[Any],
    outputs: int = 1,
    opset: int = 20,
) -> Path:
    """Return a file with a graph from ``x`` to ``y``."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", *shape])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)] * outputs,
        [numpy_helper.from_array(value, name) for name, value in tensors.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]), path)
    return path
