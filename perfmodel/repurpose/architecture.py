"""Architectures from YAML: the operations of a network whose file contains only tensors."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from fred_hw.errors import InputError
from fred_hw.file_kinds import ARCHITECTURE
from fred_hw.files import FileModel, int_range, load_model, number_range, one_of

from .arrays import Array
from .network import INPUT, Network
from .operations import (
    FUNCTIONS,
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
)

__all__ = ["Architecture", "build", "load_architecture"]

_Size = Annotated[int, int_range(1, 1 << 16)]
_Padding = Annotated[int, int_range(0, 1 << 16)]
_Epsilon = Annotated[float, number_range(1e-12, 1.0)]


class LinearEntry(FileModel):
    """A matrix product with NAME.weight of output x input, and NAME.bias if it exists.

    Parameters
    ----------
    kind : str
        linear.
    name : str
        Name of its tensors, without the last part.
    """

    kind: Literal["linear"]
    name: str


class ConvEntry(FileModel):
    """A convolution with NAME.weight of output x input x rows x columns, and NAME.bias.

    Parameters
    ----------
    kind : str
        conv.
    name : str
        Name of its tensors, without the last part.
    stride : int
        Distance between windows.
    padding : int
        Zeros on each side.
    """

    kind: Literal["conv"]
    name: str
    stride: _Size = 1
    padding: _Padding = 0


class FunctionEntry(FileModel):
    """An elementwise activation function.

    Parameters
    ----------
    kind : str
        Its name.
    """

    kind: Literal["relu", "gelu", "silu", "tanh", "sigmoid"]


class PoolEntry(FileModel):
    """The maximum or the mean of the windows of an image.

    Parameters
    ----------
    kind : str
        max_pool or mean_pool.
    size : int
        Rows and columns of a window; of the whole image by default.
    stride : int
        Distance of the windows; their size by default.
    """

    kind: Literal["max_pool", "mean_pool"]
    size: Annotated[_Size | None, Field(examples=[2])] = None
    stride: Annotated[_Size | None, Field(examples=[2])] = None


class FlattenEntry(FileModel):
    """All values of an image as channels.

    Parameters
    ----------
    kind : str
        flatten.
    """

    kind: Literal["flatten"]


class NormEntry(FileModel):
    """A normalization with NAME.weight and NAME.bias.

    Parameters
    ----------
    kind : str
        layer_norm or rms_norm over the channels; batch_norm with NAME.running_mean and
        NAME.running_var, or with neither where these are part of weight and bias.
    name : str
        Name of its tensors, without the last part.
    epsilon : float
        Added to the mean square.
    """

    kind: Literal["layer_norm", "rms_norm", "batch_norm"]
    name: str
    epsilon: _Epsilon = 1e-5


class AttentionEntry(FileModel):
    """Self-attention: four products, of which the first three have rows for each head.

    Parameters
    ----------
    kind : str
        attention.
    query, key, value, output : str
        Names of the products.
    heads : int
        Heads of the queries.
    kv_heads : int
        Heads of keys and values; as many as of the queries by default.
    causal : bool
        Whether a token sees only those up to itself.
    """

    kind: Literal["attention"]
    query: str
    key: str
    value: str
    output: str
    heads: _Size
    kv_heads: Annotated[_Size | None, Field(examples=[4])] = None
    causal: bool = False


class GatedEntry(FileModel):
    """A gated block: ``down(function(gate(x)) * up(x))``.

    Parameters
    ----------
    kind : str
        gated.
    gate, up, down : str
        Names of the products.
    function : str
        Activation function of the gate.
    """

    kind: Literal["gated"]
    gate: str
    up: str
    down: str
    function: Annotated[str, one_of(*FUNCTIONS)] = "silu"


class ResidualEntry(FileModel):
    """The sum of a value and the result of some operations on it.

    Parameters
    ----------
    kind : str
        residual.
    layers : list
        The operations.
    """

    kind: Literal["residual"]
    layers: "list[Entry]"


Entry = Annotated[
    LinearEntry
    | ConvEntry
    | FunctionEntry
    | PoolEntry
    | FlattenEntry
    | NormEntry
    | AttentionEntry
    | GatedEntry
    | ResidualEntry,
    Field(discriminator="kind"),
]


class Architecture(FileModel):
    """Operations of a network in order.

    Parameters
    ----------
    layers : list
        The operations.
    """

    file_kind = ARCHITECTURE

    layers: list[Entry]


def load_architecture(path: Path) -> Architecture:
    """Return the architecture in a YAML file.

    Raises
    ------
    InputError
        The file cannot be read, or has a key or a value that is not allowed.
    """
    return load_model(Architecture, path)


def build(tensors: Mapping[str, Array], architecture: Architecture | None, source: str) -> Network:
    """Return the network of an architecture and tensors.

    Parameters
    ----------
    tensors : mapping
        Tensors by name.
    architecture : Architecture or None
        Operations; if None, products in the order of their names with ReLU between them.
    source : str
        File, for error messages.

    Raises
    ------
    InputError
        A tensor is missing or has a wrong shape.
    """
    layers = _chain(tensors, source) if architecture is None else architecture.layers
    builder = _Builder(tensors, source)
    builder.add(layers)
    if not any(isinstance(one, Linear | Conv) for one in builder.operations):
        raise InputError(source, "", "must have one product or more")
    return Network(source, tuple(builder.operations))


def _chain(tensors: Mapping[str, Array], source: str) -> "list[Entry]":
    """Return matrix products with ReLU between them."""
    names = [name.removesuffix(".weight") for name in tensors if name.endswith(".weight")]
    for name, value in tensors.items():
        stem, _, kind = name.rpartition(".")
        if stem not in names or (kind == "weight") != (value.ndim == 2) or kind == "running_mean":
            message = (
                "must be the weight (two axes) or the bias of a product, or its file be given with "
                "an architecture"
            )
            raise InputError(source, name, message)
    found: list[Entry] = []
    for name in sorted(names, key=_natural):
        found += [LinearEntry(kind="linear", name=name), FunctionEntry(kind="relu")]
    return found[:-1]


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key that orders numbers in names by value."""
    return [
        (int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)
    ]


class _Builder:
    """Builder of operations from tensors."""

    def __init__(self, tensors: Mapping[str, Array], source: str) -> None:
        self._tensors, self._source = tensors, source
        self.operations: list[Operation] = []
        self._value = INPUT
        self._image = False
        self._names = {INPUT}

    def add(self, layers: "Sequence[Entry]") -> None:
        """Append operations to the existing ones."""
        for one in layers:
            match one:
                case LinearEntry():
                    self._linear(one.name)
                case ConvEntry():
                    self._conv(one)
                case FunctionEntry():
                    self._put(Function(self._name(one.kind), (self._value,), one.kind))
                case PoolEntry():
                    self._pool(one)
                case FlattenEntry():
                    self._image = False
                    self._put(Flatten(self._name("flatten"), (self._value,)))
                case NormEntry():
                    self._norm(one)
                case AttentionEntry():
                    self._attention(one)
                case GatedEntry():
                    self._gated(one)
                case ResidualEntry():
                    before = self._value
                    self.add(one.layers)
                    self._put(Add(self._name("add"), (before, self._value)))

    def _name(self, name: str) -> str:
        """Return a new name for an operation without tensors."""
        count = sum(one.name.rpartition("_")[0] == name for one in self.operations)
        return f"{name}_{count}"

    def _put(self, one: Operation) -> str:
        """Append an operation; return its output value, which the next operation takes."""
        if one.name in self._names:
            raise InputError(
                self._source, one.name, "must be the name of one layer, not of several"
            )
        self._names.add(one.name)
        self.operations.append(one)
        self._value = one.name
        return one.name

    def _tensor(self, name: str, axes: int, shape: tuple[int, ...] | None = None) -> Array:
        if name not in self._tensors:
            raise InputError(self._source, name, "must be a tensor of the file, not missing")
        found = self._tensors[name]
        if found.ndim != axes or found.size == 0 or (shape and found.shape != shape):
            wanted = f"shape {shape}" if shape else f"{axes} axes, none of them empty"
            message = f"must be a tensor of {wanted}, not of shape {found.shape}"
            raise InputError(self._source, name, message)
        return found

    def _weights(self, name: str, axes: int) -> tuple[Array, Array | None]:
        weight = self._tensor(f"{name}.weight", axes)
        has_bias = f"{name}.bias" in self._tensors
        return weight, self._tensor(f"{name}.bias", 1, weight.shape[:1]) if has_bias else None

    def _linear(self, name: str, taken: str | None = None) -> str:
        weight, bias = self._weights(name, 2)
        return self._put(Linear(name, (taken or self._value,), weight, bias))

    def _conv(self, one: ConvEntry) -> None:
        weight, bias = self._weights(one.name, 4)
        strides, padding = (
            (one.stride, one.stride),
            (one.padding, one.padding, one.padding, one.padding),
        )
        self._image = True
        self._put(Conv(one.name, (self._value,), weight, bias, strides, padding))

    def _pool(self, one: PoolEntry) -> None:
        size = one.size or 0
        stride = one.stride or one.size or 1
        mean = one.kind == "mean_pool"
        pair = (size, size), (stride, stride)
        self._put(Pool(self._name(one.kind), (self._value,), *pair, mean=mean))

    def _norm(self, one: NormEntry) -> None:
        factor = self._tensor(f"{one.name}.weight", 1)
        bias = f"{one.name}.bias"
        summand = np.zeros_like(factor)
        if bias in self._tensors:
            summand = self._tensor(bias, 1, factor.shape)
        ends = one.name, (self._value,)
        if one.kind != "batch_norm":
            centred = one.kind == "layer_norm"
            self._put(Normalize(*ends, factor, summand, centred, one.epsilon))
            return
        if f"{one.name}.running_mean" in self._tensors:
            mean, variance = (
                self._tensor(f"{one.name}.running_{part}", 1, factor.shape)
                for part in ("mean", "var")
            )
            if (variance < 0).any():
                raise InputError(self._source, f"{one.name}.running_var", "must be 0 or more")
            factor = factor / np.sqrt(variance + one.epsilon)
            summand = summand - mean * factor
        self._put(Scale(*ends, factor, summand, self._image))

    def _attention(self, one: AttentionEntry) -> None:
        kv_heads = one.kv_heads or one.heads
        if one.heads % kv_heads:
            message = f"must be a divisor of {one.heads} heads, not {kv_heads}"
            raise InputError(self._source, f"{one.query}: kv_heads", message)
        taken = self._value
        query, key, value = (self._linear(name, taken) for name in (one.query, one.key, one.value))
        widths = [len(self._tensors[f"{name}.weight"]) for name in (one.query, one.key, one.value)]
        size = widths[0] // one.heads
        wanted = [size * one.heads, size * kv_heads, size * kv_heads]
        for name, width, right in zip((one.query, one.key, one.value), widths, wanted, strict=True):
            if width != right or not right:
                message = (
                    f"must have {right} rows for {one.heads} and {kv_heads} heads, not {width}"
                )
                raise InputError(self._source, f"{name}.weight", message)
        name = self._name("attention")
        made = Attention(name, (query, key, value), one.heads, kv_heads, one.causal)
        self._linear(one.output, self._put(made))

    def _gated(self, one: GatedEntry) -> None:
        taken = self._value
        gate = self._linear(one.gate, taken)
        gate = self._put(Function(self._name(one.function), (gate,), one.function))
        up = self._linear(one.up, taken)
        self._linear(one.down, self._put(Multiply(self._name("multiply"), (gate, up))))
