"""Small networks that are trained when they are needed, on the digits that scikit-learn ships."""

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from perfmodel.repurpose.network import INPUT, Network
from perfmodel.repurpose.operations import Conv, Flatten, Function, Linear, Operation, Pool

__all__ = ["TRAINED", "cnn", "digits", "mlp", "transformer"]

TRAINED = 1200
"""Digits that networks are trained on; the others test them."""

Floats = np.ndarray[Any, np.dtype[np.float64]]


@cache
def digits() -> tuple[Floats, np.ndarray[Any, np.dtype[np.intp]]]:
    """Return the images, 8 x 8 pixels from 0 to 1 in a row, and the digit of each."""
    found: Any = load_digits()
    return found.data / 16.0, found.target


@cache
def mlp(hidden: int = 64) -> Network:
    """Return a trained perceptron of two hidden layers."""
    images, labels = digits()
    rng = np.random.default_rng(1)
    sizes = (64, hidden, hidden, 10)
    layers = [_Dense(rng, *pair) for pair in pairwise(sizes)]
    _train([layers[0], _Relu(), layers[1], _Relu(), layers[2]], images, labels, 400)
    operations: list[Operation] = []
    value = INPUT
    for i, layer in enumerate(layers):
        operations.append(Linear(f"fc{i}", (value,), layer.weight, layer.bias))
        value = f"fc{i}"
        if i < 2:
            operations.append(Function(f"relu{i}", (value,), "relu"))
            value = f"relu{i}"
    return Network("mlp", tuple(operations))


@cache
def cnn() -> Network:
    """Return a trained network of two convolutions and two products."""
    images, labels = digits()
    rng = np.random.default_rng(1)
    first, second = _Convolution(rng, 1, 16), _Convolution(rng, 16, 32)
    third, fourth = _Dense(rng, 32 * 16, 32), _Dense(rng, 32, 10)
    layers = [first, _Relu(), _MaxPool(), second, _Relu(), _Flat(), third, _Relu(), fourth]
    _train(layers, images.reshape(-1, 1, 8, 8), labels, 100)
    around = (1, 1, 1, 1)
    shape = (3, 3)
    return Network(
        "cnn",
        (
            Conv(
                "conv0", (INPUT,), first.weight.reshape(16, 1, *shape), first.bias, (1, 1), around
            ),
            Function("relu0", ("conv0",), "relu"),
            Pool("pool", ("relu0",), (2, 2), (2, 2)),
            Conv(
                "conv1",
                ("pool",),
                second.weight.reshape(32, 16, *shape),
                second.bias,
                (1, 1),
                around,
            ),
            Function("relu1", ("conv1",), "relu"),
            Flatten("flat", ("relu1",)),
            Linear("fc0", ("flat",), third.weight, third.bias),
            Function("relu2", ("fc0",), "relu"),
            Linear("fc1", ("relu2",), fourth.weight, fourth.bias),
        ),
    )


class _Dense:
    def __init__(self, rng: np.random.Generator, inputs: int, outputs: int) -> None:
        self.weight = rng.normal(size=(outputs, inputs)) * np.sqrt(2 / inputs)
        self.bias = np.zeros(outputs)

    def forward(self, x: Floats) -> Floats:
        self._x = x
        return x @ self.weight.T + self.bias

    def backward(self, g: Floats) -> Floats:
        axes = tuple(range(g.ndim - 1))
        self.gradients = (np.tensordot(g, self._x, (axes, axes)), g.sum(axis=axes))
        return g @ self.weight


class _Convolution(_Dense):
    """3 x 3 with a zero on each side, as a product of windows."""

    def __init__(self, rng: np.random.Generator, inputs: int, outputs: int) -> None:
        super().__init__(rng, 9 * inputs, outputs)

    def forward(self, x: Floats) -> Floats:
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        self._shape = padded.shape
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        rows = windows.transpose(0, 2, 3, 1, 4, 5).reshape(*x.shape[:1], *x.shape[2:], -1)
        return super().forward(rows).transpose(0, 3, 1, 2)

    def backward(self, g: Floats) -> Floats:
        rows = super().backward(g.transpose(0, 2, 3, 1))
        rows = rows.reshape(*rows.shape[:3], -1, 3, 3)
        found = np.zeros(self._shape)
        height, width = rows.shape[1:3]
        for i in range(3):
            for j in range(3):
                found[:, :, i : i + height, j : j + width] += rows[..., i, j].transpose(0, 3, 1, 2)
        return found[:, :, 1:-1, 1:-1]


class _Relu:
    def forward(self, x: Floats) -> Floats:
        self._on = x > 0
        return x * self._on

    def backward(self, g: Floats) -> Floats:
        return g * self._on


class _MaxPool:
    def forward(self, x: Floats) -> Floats:
        windows = x.reshape(*x.shape[:2], x.shape[2] // 2, 2, x.shape[3] // 2, 2)
        found = windows.max(axis=(3, 5), keepdims=True)
        self._most = windows == found
        return found[:, :, :, 0, :, 0]

    def backward(self, g: Floats) -> Floats:
        spread = self._most * g[:, :, :, None, :, None]
        return spread.reshape(*g.shape[:2], 2 * g.shape[2], 2 * g.shape[3])


class _Flat:
    def forward(self, x: Floats) -> Floats:
        self._shape = x.shape
        return x.reshape(len(x), -1)

    def backward(self, g: Floats) -> Floats:
        return g.reshape(self._shape)


def _train(layers: list[Any], inputs: Floats, labels: np.ndarray[Any, Any], steps: int) -> None:
    """Train by Adam on the cross entropy, batches of 64."""
    rng = np.random.default_rng(2)
    dense = [layer for layer in layers if isinstance(layer, _Dense)]
    moments = [[np.zeros((2, *one.shape)) for one in (a.weight, a.bias)] for a in dense]
    for step in range(1, steps + 1):
        chosen = rng.integers(0, TRAINED, 64)
        x = inputs[chosen]
        for layer in layers:
            x = layer.forward(x)
        shares = np.exp(x - x.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        shares[np.arange(64), labels[chosen]] -= 1
        g = shares / 64
        for layer in reversed(layers):
            g = layer.backward(g)
        for layer, kept in zip(dense, moments, strict=True):
            for value, gradient, moment in zip(
                (layer.weight, layer.bias), layer.gradients, kept, strict=True
            ):
                moment[0] += 0.1 * (gradient - moment[0])
                moment[1] += 0.001 * (gradient**2 - moment[1])
                mean, square = moment[0] / (1 - 0.9**step), moment[1] / (1 - 0.999**step)
                value -= 0.003 * mean / (np.sqrt(square) + 1e-8)


def transformer(width: int = 16, heads: int = 4, kv_heads: int = 2) -> Network:
    """Return a block of a transformer with random weights, behind a product with the inputs."""
    from perfmodel.repurpose.architecture import Architecture, build

    rng = np.random.default_rng(3)
    size = width // heads * kv_heads

    def product(outputs: int, inputs: int) -> Floats:
        return rng.normal(size=(outputs, inputs)) / np.sqrt(inputs)

    tensors = {
        "embed.weight": product(width, 8),
        "embed.bias": rng.normal(size=width),
        **{f"norm{i}.weight": 1 + 0.1 * rng.normal(size=width) for i in range(2)},
        "norm0.bias": rng.normal(size=width),
        "q.weight": product(width, width),
        "k.weight": product(size, width),
        "v.weight": product(size, width),
        "o.weight": product(width, width),
        "gate.weight": product(4 * width, width),
        "up.weight": product(4 * width, width),
        "down.weight": product(width, 4 * width),
    }
    names = {"query": "q", "key": "k", "value": "v", "output": "o"}
    attention = {"kind": "attention", **names, "heads": heads, "kv_heads": kv_heads, "causal": True}
    gated = {"kind": "gated", "gate": "gate", "up": "up", "down": "down"}
    layers = [
        {"kind": "linear", "name": "embed"},
        {"kind": "residual", "layers": [{"kind": "layer_norm", "name": "norm0"}, attention]},
        {"kind": "residual", "layers": [{"kind": "rms_norm", "name": "norm1"}, gated]},
    ]
    return build(tensors, Architecture.model_validate({"layers": layers}), "transformer")
