"""Operations of a network on multi-channel values.

The channels of a value are on its last axis, or on the second one of images (sample, channel, row,
column). Weights are double precision, so that a comparison sees what pruning changes and nothing
else.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod, sqrt
from typing import Self

import numpy as np

from .arrays import Array, Indices, extra_module

__all__ = [
    "FUNCTIONS",
    "Add",
    "Attention",
    "Conv",
    "Flatten",
    "Function",
    "Linear",
    "Multiply",
    "Normalize",
    "Operation",
    "Pool",
    "Product",
    "Scale",
    "Softmax",
]


def _gelu(x: Array) -> Array:
    return 0.5 * x * (1 + extra_module("scipy.special", "scipy").erf(x / sqrt(2)))


FUNCTIONS: Mapping[str, tuple[Callable[[Array], Array], float]] = {
    "relu": (lambda x: np.maximum(x, 0), 1.0),
    "gelu": (_gelu, 1.13),
    "silu": (lambda x: 0.5 * x * (1 + np.tanh(0.5 * x)), 1.1),
    "tanh": (np.tanh, 1.0),
    "sigmoid": (lambda x: 0.5 * (1 + np.tanh(0.5 * x)), 0.25),
}
"""Activation functions by name, with their Lipschitz constants."""


@dataclass(frozen=True, eq=False)
class Operation(ABC):
    """One operation of a network.

    Parameters
    ----------
    name : str
        Unique in its network; also of the value that it makes.
    inputs : tuple of str
        Values that it takes.
    """

    name: str
    inputs: tuple[str, ...]

    @abstractmethod
    def forward(self, *values: Array) -> Array:
        """Return the output of the operation."""

    def axis(self, before: int) -> int:
        """Return the channel axis of the output, given that of the first input."""
        return before

    def channels(self, shapes: Sequence[tuple[int, ...]], axis: int) -> list[Indices]:
        """Return, for each input, the output channel that each of its channels must be placed with.

        ``shapes`` are those of the inputs, with the samples first; ``axis`` is the channel axis.
        An operation that may take channels from other workers returns nothing.
        """
        return [np.arange(shape[axis]) for shape in shapes]

    def lipschitz(self, value: Array) -> float | None:
        """Return a bound of the error growth near a value; None if there is no bound."""
        raise NotImplementedError

    def permuted(self, inputs: Sequence[Indices], output: Indices) -> Self:
        """Return the operation on permuted channels; position i takes channel ``order[i]``."""
        del inputs, output
        return self

    @property
    def statistics(self) -> int:
        """Count of numbers that each worker sends to all others per position."""
        return 0


@dataclass(frozen=True, eq=False)
class Product(Operation):
    """A product with weights; each of its outputs is a neuron, which any worker can own.

    Parameters
    ----------
    weight : array
        Output channel x input channel, and the positions of a kernel.
    bias : array or None
        Bias of each output channel.
    """

    weight: Array
    bias: Array | None = None

    @abstractmethod
    def rows(self, value: Array) -> Array:
        """Return the operands of each product: a row per position, for all weights of an output."""

    @property
    def kernel(self) -> int:
        """Number of positions of a kernel."""
        return prod(self.weight.shape[2:])

    @property
    def matrix(self) -> Array:
        """Weights as a matrix: output channel x all weights of the channel."""
        return self.weight.reshape(len(self.weight), -1)

    def channels(self, shapes: Sequence[tuple[int, ...]], axis: int) -> list[Indices]:
        return []

    def with_weights(self, matrix: Array, bias: Array | None) -> Self:
        """Return the product with other weights."""
        return replace(self, weight=matrix.reshape(self.weight.shape), bias=bias)

    def permuted(self, inputs: Sequence[Indices], output: Indices) -> Self:
        weight = self.weight[output][:, inputs[0]]
        return replace(self, weight=weight, bias=None if self.bias is None else self.bias[output])

    def norm(self) -> float:
        """Return a bound of how much an error of the input can grow."""
        matrix = self.matrix
        square = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
        largest = float(np.linalg.eigvalsh(square)[-1])
        # Each input position takes part in at most as many products as the kernel has positions.
        return sqrt(max(0.0, largest) * self.kernel)


@dataclass(frozen=True, eq=False)
class Linear(Product):
    """A matrix product over the channels."""

    def forward(self, *values: Array) -> Array:
        found = values[0] @ self.weight.T
        return found if self.bias is None else found + self.bias

    def rows(self, value: Array) -> Array:
        return value.reshape(-1, value.shape[-1])

    def axis(self, before: int) -> int:
        return -1


@dataclass(frozen=True, eq=False)
class Conv(Product):
    """A convolution of images; its neurons are the output channels.

    Parameters
    ----------
    strides, padding : tuple of int
        Strides and padding by row and by column; padding also at the ends.
    """

    strides: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)

    def forward(self, *values: Array) -> Array:
        windows = self._windows(values[0])
        found = np.einsum("nchwij,ocij->nohw", windows, self.weight, optimize=True)
        return found if self.bias is None else found + self.bias[:, None, None]

    def rows(self, value: Array) -> Array:
        windows = self._windows(value).transpose(0, 2, 3, 1, 4, 5)
        return windows.reshape(-1, prod(windows.shape[3:]))

    def _windows(self, value: Array) -> Array:
        padded = _padded(value, self.padding, 0.0)
        return _windows(padded, (self.weight.shape[2], self.weight.shape[3]), self.strides)

    def axis(self, before: int) -> int:
        return 1


@dataclass(frozen=True, eq=False)
class Function(Operation):
    """An elementwise activation function.

    Parameters
    ----------
    function : str
        One of ``FUNCTIONS``.
    """

    function: str = "relu"

    def forward(self, *values: Array) -> Array:
        return FUNCTIONS[self.function][0](values[0])

    def lipschitz(self, value: Array) -> float | None:
        return FUNCTIONS[self.function][1]


@dataclass(frozen=True, eq=False)
class Scale(Operation):
    """A factor and an offset per channel, such as batch normalization at inference.

    Parameters
    ----------
    factor, summand : array
        Factor and summand of each channel.
    image : bool
        Whether the channels are those of an image.
    """

    factor: Array
    summand: Array
    image: bool = False

    def forward(self, *values: Array) -> Array:
        shape = (-1, 1, 1) if self.image else (-1,)
        return values[0] * self.factor.reshape(shape) + self.summand.reshape(shape)

    def lipschitz(self, value: Array) -> float | None:
        return float(np.abs(self.factor).max())

    def permuted(self, inputs: Sequence[Indices], output: Indices) -> Self:
        return replace(self, factor=self.factor[output], summand=self.summand[output])


@dataclass(frozen=True, eq=False)
class Add(Operation):
    """The sum of values, such as a residual connection."""

    def forward(self, *values: Array) -> Array:
        return values[0] + values[1]


@dataclass(frozen=True, eq=False)
class Multiply(Operation):
    """The elementwise product of values, such as a gate."""

    def forward(self, *values: Array) -> Array:
        return values[0] * values[1]

    def lipschitz(self, value: Array) -> float | None:
        return None


@dataclass(frozen=True, eq=False)
class Softmax(Operation):
    """Softmax over all channels; each worker sends its maximum and its sum to all others."""

    def forward(self, *values: Array) -> Array:
        powers = np.exp(values[0] - values[0].max(axis=-1, keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True)

    def lipschitz(self, value: Array) -> float | None:
        return 1.0

    @property
    def statistics(self) -> int:
        return 2


@dataclass(frozen=True, eq=False)
class Pool(Operation):
    """The maximum or the mean of each window of an image; size 0 means the whole image.

    Parameters
    ----------
    size, strides : tuple of int
        Size and strides by row and by column.
    padding : tuple of int
        Rows above, columns to the left, and those at the end.
    mean : bool
        Whether it is the mean.
    """

    size: tuple[int, int] = (0, 0)
    strides: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    mean: bool = False

    def forward(self, *values: Array) -> Array:
        if not self.size[0]:
            over = values[0].mean if self.mean else values[0].max
            return over(axis=(2, 3), keepdims=True)
        padded = _padded(values[0], self.padding, 0.0 if self.mean else -np.inf)
        windows = _windows(padded, self.size, self.strides)
        return windows.mean(axis=(4, 5)) if self.mean else windows.max(axis=(4, 5))

    def lipschitz(self, value: Array) -> float | None:
        # The largest number of windows that contain one number.
        windows = [-(-s // t) if s else 1 for s, t in zip(self.size, self.strides, strict=True)]
        return sqrt(prod(windows))


@dataclass(frozen=True, eq=False)
class Flatten(Operation):
    """All values of a sample as channels; those of one image channel are successive."""

    def forward(self, *values: Array) -> Array:
        return values[0].reshape(len(values[0]), -1)

    def axis(self, before: int) -> int:
        return -1

    def channels(self, shapes: Sequence[tuple[int, ...]], axis: int) -> list[Indices]:
        """Return, for each input channel, the first of its successive output channels."""
        shape = shapes[0]
        return [np.arange(shape[1]) * prod(shape[2:])]

    def lipschitz(self, value: Array) -> float | None:
        return 1.0


@dataclass(frozen=True, eq=False)
class Normalize(Operation):
    """Layer normalization over the channels, or RMS normalization without the mean.

    Every worker needs the sum and the sum of squares of all channels, so it sends its own.

    Parameters
    ----------
    factor, summand : array
        Factor and summand of each channel.
    centred : bool
        Whether the mean is subtracted.
    epsilon : float
        Added to the mean square.
    """

    factor: Array
    summand: Array
    centred: bool = True
    epsilon: float = 1e-5

    def forward(self, *values: Array) -> Array:
        value = self._centred(values[0])
        return value / self._scale(value) * self.factor + self.summand

    def _centred(self, value: Array) -> Array:
        return value - value.mean(axis=-1, keepdims=True) if self.centred else value

    def _scale(self, value: Array) -> Array:
        return np.sqrt(np.square(value).mean(axis=-1, keepdims=True) + self.epsilon)

    def lipschitz(self, value: Array) -> float | None:
        # |a/s - b/t| <= |a - b|/s + |b|/t |s - t|/s, and both norms are at most |a - b|.
        least = float(self._scale(self._centred(value)).min())
        return 2 * float(np.abs(self.factor).max()) / least

    def permuted(self, inputs: Sequence[Indices], output: Indices) -> Self:
        return replace(self, factor=self.factor[output], summand=self.summand[output])

    @property
    def statistics(self) -> int:
        return 2 if self.centred else 1


@dataclass(frozen=True, eq=False)
class Attention(Operation):
    """Attention heads, without the products before and after them.

    Values are sample x token x channel.

    Parameters
    ----------
    heads, kv_heads : int
        Heads of the queries, and of the keys and values; each of these serves as many queries.
    causal : bool
        Whether a token sees only those up to itself.
    """

    heads: int = 1
    kv_heads: int = 1
    causal: bool = False

    def forward(self, *values: Array) -> Array:
        query, key, value = values
        samples, tokens, width = query.shape
        size = width // self.heads
        query = query.reshape(samples, tokens, self.heads, size).transpose(0, 2, 1, 3)
        key, value = (
            np.repeat(
                one.reshape(samples, -1, self.kv_heads, size).transpose(0, 2, 1, 3),
                self.heads // self.kv_heads,
                axis=1,
            )
            for one in (key, value)
        )
        scores = query @ key.transpose(0, 1, 3, 2) / sqrt(size)
        if self.causal:
            future = np.triu(np.ones(scores.shape[-2:], dtype=bool), 1)
            scores = np.where(future, -np.inf, scores)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        return (shares @ value).transpose(0, 2, 1, 3).reshape(samples, tokens, width)

    def channels(self, shapes: Sequence[tuple[int, ...]], axis: int) -> list[Indices]:
        """Return, for each channel, the first output channel of heads that share its key head."""
        width = shapes[0][-1]
        group = width // self.kv_heads
        kept = shapes[1][-1] // self.kv_heads
        query = np.arange(width) // group * group
        return [query, *([np.arange(shapes[1][-1]) // kept * group] * 2)]

    def lipschitz(self, value: Array) -> float | None:
        return None


def _padded(value: Array, padding: tuple[int, int, int, int], fill: float) -> Array:
    if not any(padding):
        return value
    above, left, below, right = padding
    around = ((0, 0), (0, 0), (above, below), (left, right))
    return np.pad(value, around, constant_values=fill)


def _windows(value: Array, size: tuple[int, int], strides: tuple[int, int]) -> Array:
    """Return the windows of images: sample, channel, row, column, and position in the window."""
    found = np.lib.stride_tricks.sliding_window_view(value, size, axis=(2, 3))
    return found[:, :, :: strides[0], :: strides[1]]
