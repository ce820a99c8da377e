"""Networks in .onnx files: products, convolutions, attention, pooling and activation functions."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from fred_hw.errors import InputError
from fred_hw.reading import open_bytes
from perfmodel.repurpose.arrays import Array, extra_module
from perfmodel.repurpose.network import INPUT, Network
from perfmodel.repurpose.operations import (
    Add,
    Attention,
    Conv,
    Flatten,
    Function,
    Linear,
    Multiply,
    Normalize,
    Operation,
    Pool,
    Scale,
    Softmax,
)
from perfmodel.repurpose.reader import READERS, Reader, finite, numbers

from .onnx_attention import with_attention

__all__ = ["read_onnx"]

_FUNCTIONS = {"Relu": "relu", "Gelu": "gelu", "Tanh": "tanh", "Sigmoid": "sigmoid"}


def read_onnx(path: Path) -> Network:
    """Return the network in a file.

    Raises
    ------
    InputError
        The package is not installed, the file has another format, or it has an operation or an
        attribute that is not supported.
    """
    onnx: Any = extra_module("onnx", "onnx")
    source = str(path)
    with open_bytes(path) as file:
        data = file.read()
    try:
        graph = onnx.load_model_from_string(data).graph
    except (DecodeError, ValueError, TypeError):
        raise InputError(source, "", "must be an .onnx file") from None
    return _Graph(onnx, graph, source).network()


class _Node:
    """A node of a graph with its attributes.

    Parameters
    ----------
    onnx, node : object
        The library, and its node.
    source, name : str
        Names of the file and of the created operation.
    """

    def __init__(self, onnx: Any, node: Any, source: str, name: str) -> None:
        self.kind: str = node.op_type
        self.inputs: list[str] = list(node.input)
        self.outputs: list[str] = list(node.output)
        self.source, self.name = source, name
        self._given: dict[str, Any] = {
            one.name: onnx.helper.get_attribute_value(one) for one in node.attribute
        }

    def take(self, name: str, default: Any) -> Any:
        """Return an attribute, or its default value."""
        found = self._given.get(name, default)
        if isinstance(found, bytes):
            return found.decode("utf-8", "replace")
        return list(found) if isinstance(default, list) else found

    def require(self, **wanted: Any) -> None:
        """Fail if an attribute has a value other than the required one."""
        for name, value in wanted.items():
            given = self.take(name, value)
            if given != value:
                message = f"must have {name} {value} in {self.kind}, not {given}"
                raise InputError(self.source, self.name, message)

    def pair(self, name: str, default: int = 1) -> tuple[int, int]:
        """Return a two-valued attribute: rows and columns."""
        return self._numbers(name, [default] * 2)

    def pads(self) -> tuple[int, int, int, int]:
        """Return the padding of a node."""
        self.require(auto_pad="NOTSET")
        return self._numbers("pads", [0] * 4)

    def _numbers(self, name: str, default: list[int]) -> Any:
        given = self.take(name, default)
        if len(given) != len(default) or min(given) < min(*default, 1):
            message = f"must have {name} of {len(default)} numbers in {self.kind}, not {given}"
            raise InputError(self.source, self.name, message)
        return tuple(given)


class _Graph:
    """Builder of the operations of a graph."""

    def __init__(self, onnx: Any, graph: Any, source: str) -> None:
        self._onnx, self._graph, self._source = onnx, graph, source
        self._constants: dict[str, Array] = {}
        self._value: dict[str, str] = {}
        self._images: set[str] = set()
        self._uses: dict[str, int] = {}
        self._operations: list[Operation] = []

    def network(self) -> Network:
        """Return the network of all operations."""
        for one in self._graph.initializer:
            self._constants[one.name] = self._array(one, one.name)
        inputs = [one.name for one in self._graph.input if one.name not in self._constants]
        if len(inputs) != 1 or len(self._graph.output) != 1:
            counts = f"{len(inputs)} and {len(self._graph.output)}"
            raise InputError(self._source, "", f"must have one input and one output, not {counts}")
        self._value[inputs[0]] = INPUT
        for node in self._graph.node:
            if node.op_type == "Constant":
                self.hold(_Node(self._onnx, node, self._source, node.name or node.output[0]))
        nodes = with_attention(self._onnx, self._graph.node, self._constants, self._source)
        for node in nodes:
            for name in node.input:
                self._uses[name] = self._uses.get(name, 0) + 1
        for node in nodes:
            name = node.name or (node.output[0] if node.output else node.op_type)
            self._add(_Node(self._onnx, node, self._source, name))
        last = self._value.get(self._graph.output[0].name)
        if not self._operations or last != self._operations[-1].name:
            raise InputError(self._source, "", "must have an output that the last node makes")
        return Network(self._source, tuple(self._operations))

    def _array(self, one: Any, name: str) -> Array:
        if one.data_location == self._onnx.TensorProto.EXTERNAL:
            raise InputError(self._source, name, "must be in the file itself, not in another one")
        try:
            found = self._onnx.numpy_helper.to_array(one)
        except (ValueError, TypeError, KeyError, AttributeError, NotImplementedError):
            raise InputError(self._source, name, "must be a tensor of numbers") from None
        return numbers(found, self._source, name)

    def _add(self, node: _Node) -> None:
        make = _MAKERS.get(node.kind)
        if make is None:
            allowed = ", ".join(sorted(_MAKERS))
            message = f"must not have a {node.kind}; supported are {allowed}"
            raise InputError(self._source, node.name, message)
        for name in node.inputs:
            if name and name not in self._value and name not in self._constants:
                message = f"must take a value that an earlier node makes, not {name!r}"
                raise InputError(self._source, node.name, message)
        made = make(self, node)
        if made is None:
            return
        if made.name in {one.name for one in self._operations} | {INPUT}:
            raise InputError(self._source, made.name, "must be the name of one node, not of two")
        self._operations.append(made)
        self._value[node.outputs[0]] = made.name
        before = any(name in self._images for name in made.inputs)
        if isinstance(made, Conv | Pool) or (before and not isinstance(made, Flatten)):
            self._images.add(made.name)

    def value(self, node: _Node, place: int = 0) -> str:
        """Return the name of an input value of a node."""
        name = node.inputs[place] if place < len(node.inputs) else ""
        if name not in self._value:
            raise InputError(self._source, node.name, f"must have a value as input {place}")
        return self._value[name]

    def is_constant(self, node: _Node, place: int) -> bool:
        """Return whether an input of a node is a constant tensor."""
        return place < len(node.inputs) and node.inputs[place] in self._constants

    def constant(self, node: _Node, place: int, axes: int | None = 1, size: int = 0) -> Array:
        """Return a constant tensor that a node takes.

        Parameters
        ----------
        node, place : _Node, int
            The node, and which of its inputs it is.
        axes, size : int
            Required number of axes, any number if None, and length of the first axis, if not 0.
        """
        if not self.is_constant(node, place):
            message = f"must have a tensor of the file as input {place} of {node.kind}"
            raise InputError(self._source, node.name, message)
        found = self._constants[node.inputs[place]]
        if axes not in (None, found.ndim) or not found.size or (size and len(found) != size):
            wanted = f"{axes} axes" + (f", the first of {size}" if size else "")
            message = f"must be a tensor of {wanted}, not of shape {found.shape}"
            raise InputError(self._source, node.inputs[place], message)
        return finite(found, self._source, node.inputs[place])

    def optional(self, node: _Node, place: int, size: int) -> Array | None:
        """Return an optional one-axis tensor of a node; None if absent."""
        given = place < len(node.inputs) and node.inputs[place]
        return self.constant(node, place, 1, size) if given else None

    def hold(self, node: _Node) -> None:
        """Store the tensor of a ``Constant`` node."""
        self._constants[node.outputs[0]] = self._array(node.take("value", None), node.name)

    def skip(self, node: _Node) -> None:
        """Use the input of a node as its output."""
        self._value[node.outputs[0]] = self.value(node)

    def is_image(self, value: str) -> bool:
        """Return whether a value has rows and columns."""
        return value in self._images

    def bias_of(self, node: _Node, value: str, bias: Array) -> bool:
        """Fold an addition into the preceding product's bias, if the product has no other user."""
        last = self._operations[-1] if self._operations else None
        used = max(self._uses.get(name, 0) for name, one in self._value.items() if one == value)
        fits = isinstance(last, Linear) and bias.shape == (len(last.weight),)
        if not isinstance(last, Linear) or last.name != value or last.bias is not None or used > 1:
            return False
        if fits:
            self._operations[-1] = last.with_weights(last.weight, bias)
            self._value[node.outputs[0]] = value
        return fits


def _gemm(graph: _Graph, node: _Node) -> Operation:
    node.require(alpha=1.0, beta=1.0, transA=0)
    weight = graph.constant(node, 1, 2)
    weight = weight if node.take("transB", 0) else weight.T
    return Linear(node.name, (graph.value(node),), weight, graph.optional(node, 2, len(weight)))


def _matmul(graph: _Graph, node: _Node) -> Operation:
    return Linear(node.name, (graph.value(node),), graph.constant(node, 1, 2).T)


def _conv(graph: _Graph, node: _Node) -> Operation:
    node.require(group=1, dilations=[1, 1])
    weight = graph.constant(node, 1, 4)
    bias = graph.optional(node, 2, len(weight))
    return Conv(node.name, (graph.value(node),), weight, bias, node.pair("strides"), node.pads())


def _function(graph: _Graph, node: _Node) -> Operation:
    node.require(approximate="none")
    return Function(node.name, (graph.value(node),), _FUNCTIONS[node.kind])


def _two(
    graph: _Graph, node: _Node, whole: type[Add | Multiply], neutral: float, *, factor: bool
) -> Operation | None:
    """Return a sum or a product of two values, or of a value and one number per channel."""
    first = graph.is_constant(node, 0)
    if not first and not graph.is_constant(node, 1):
        return whole(node.name, (graph.value(node, 0), graph.value(node, 1)))
    value, place = graph.value(node, int(first)), 1 - int(first)
    found = np.squeeze(graph.constant(node, place, axes=None))
    image = graph.is_image(value)
    if found.ndim != 1:
        message = f"must be one number for each channel, not of shape {found.shape}"
        raise InputError(node.source, node.inputs[place], message)
    if not factor and graph.bias_of(node, value, found):
        return None
    other = np.full_like(found, neutral)
    pair = (found, other) if factor else (other, found)
    return Scale(node.name, (value,), *pair, image)


def _add(graph: _Graph, node: _Node) -> Operation | None:
    return _two(graph, node, Add, 1.0, factor=False)


def _mul(graph: _Graph, node: _Node) -> Operation | None:
    return _two(graph, node, Multiply, 0.0, factor=True)


def _batch_norm(graph: _Graph, node: _Node) -> Operation:
    node.require(training_mode=0)
    factor = graph.constant(node, 1)
    summand, mean, variance = (graph.constant(node, i, 1, len(factor)) for i in (2, 3, 4))
    if (variance < 0).any():
        raise InputError(node.source, node.inputs[4], "must be 0 or more")
    factor = factor / np.sqrt(variance + node.take("epsilon", 1e-5))
    value = graph.value(node)
    return Scale(node.name, (value,), factor, summand - mean * factor, graph.is_image(value))


def _layer_norm(graph: _Graph, node: _Node) -> Operation:
    node.require(axis=-1)
    factor = graph.constant(node, 1)
    summand = graph.optional(node, 2, len(factor))
    summand = np.zeros_like(factor) if summand is None else summand
    epsilon = node.take("epsilon", 1e-5)
    return Normalize(node.name, (graph.value(node),), factor, summand, epsilon=epsilon)


def _pool(graph: _Graph, node: _Node) -> Operation:
    node.require(ceil_mode=0, dilations=[1, 1])
    mean, pads = node.kind == "AveragePool", node.pads()
    if mean and any(pads):
        node.require(count_include_pad=1)
        if not node.take("count_include_pad", 0):
            raise InputError(node.source, node.name, "must count the padding of an AveragePool")
    sizes = node.pair("kernel_shape"), node.pair("strides")
    return Pool(node.name, (graph.value(node),), *sizes, pads, mean)


def _global_pool(graph: _Graph, node: _Node) -> Operation:
    return Pool(node.name, (graph.value(node),), mean=node.kind == "GlobalAveragePool")


def _flatten(graph: _Graph, node: _Node) -> Operation | None:
    if node.kind == "Flatten":
        node.require(axis=1)
    elif graph.constant(node, 1).size != 2:
        raise InputError(node.source, node.name, "must be a Reshape of a sample to one axis")
    return Flatten(node.name, (graph.value(node),))


def _attention(graph: _Graph, node: _Node) -> Operation:
    node.require(softcap=0.0)
    heads = node.take("q_num_heads", 0)
    kv_heads = node.take("kv_num_heads", 0)
    if heads < 1 or kv_heads < 1 or heads % kv_heads:
        message = "must have q_num_heads and kv_num_heads that divides it in Attention"
        raise InputError(node.source, node.name, f"{message}, not {heads} and {kv_heads}")
    if any(node.inputs[3:]) or any(node.outputs[1:]) or node.take("scale", None) is not None:
        message = "must have three inputs and one output in Attention, and no scale of its own"
        raise InputError(node.source, node.name, message)
    values = (graph.value(node, 0), graph.value(node, 1), graph.value(node, 2))
    return Attention(node.name, values, heads, kv_heads, bool(node.take("is_causal", 0)))


def _softmax(graph: _Graph, node: _Node) -> Operation:
    node.require(axis=-1)
    return Softmax(node.name, (graph.value(node),))


_MAKERS: Mapping[str, Callable[[_Graph, _Node], Operation | None]] = {
    "Gemm": _gemm,
    "MatMul": _matmul,
    "Conv": _conv,
    **dict.fromkeys(_FUNCTIONS, _function),
    "Add": _add,
    "Mul": _mul,
    "BatchNormalization": _batch_norm,
    "LayerNormalization": _layer_norm,
    **dict.fromkeys(("MaxPool", "AveragePool"), _pool),
    **dict.fromkeys(("GlobalMaxPool", "GlobalAveragePool"), _global_pool),
    **dict.fromkeys(("Flatten", "Reshape"), _flatten),
    "Attention": _attention,
    "Softmax": _softmax,
    **dict.fromkeys(("Identity", "Dropout"), _Graph.skip),
    "Constant": lambda _graph, _node: None,  # constants are stored before the other nodes are read
}

READERS.add("onnx", Reader(network=read_onnx), rank=2)
