"""A trained network: a sequence of operations from one input to one output."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fred_hw.errors import InputError
from perfmodel.topology.cuts import UnionFind, union_find

from .arrays import LARGEST, Array, Indices
from .operations import Attention, Conv, Flatten, Operation, Pool, Product

__all__ = ["INPUT", "Network", "Units"]

INPUT = "input"
"""Name of the network's input value."""


@dataclass(frozen=True)
class Units:
    """Channels of all values that must be on the same worker.

    Parameters
    ----------
    of : dict of str to array
        Unit of each channel of a value.
    layers : dict of str to array
        Units that are placed together, by the name of the first product that computes them; those
        of the network's input are under ``INPUT``.
    """

    of: dict[str, Indices]
    layers: dict[str, Indices]


@dataclass(frozen=True)
class Network:
    """A sequence of operations; the last one produces the output.

    Parameters
    ----------
    source : str
        File that the network is from, for error messages.
    operations : tuple of Operation
        Operations, each listed after those that compute its inputs.
    """

    source: str
    operations: tuple[Operation, ...]

    @property
    def output(self) -> str:
        """Name of the output value."""
        return self.operations[-1].name

    @property
    def products(self) -> list[Product]:
        """Operations that have neurons."""
        return [one for one in self.operations if isinstance(one, Product)]

    @cached_property
    def axes(self) -> dict[str, int]:
        """Channel axis of each value."""
        first = next(
            (one for one in self.operations if isinstance(one, Product | Pool | Flatten)), None
        )
        found = {INPUT: 1 if isinstance(first, Conv | Pool | Flatten) else -1}
        for one in self.operations:
            found[one.name] = one.axis(found[one.inputs[0]])
        return found

    def values(self, inputs: Array) -> Iterator[tuple[Operation, list[Array], Array]]:
        """Yield each operation with its inputs and its output.

        Raises
        ------
        InputError
            Inputs do not fit an operation, or make numbers that are too large.
        """
        last = {value: i for i, one in enumerate(self.operations) for value in one.inputs}
        known = {INPUT: np.asarray(inputs, dtype=np.float64)}
        for i, one in enumerate(self.operations):
            taken = [known[name] for name in one.inputs]
            try:
                made = one.forward(*taken)
            except (ValueError, IndexError) as error:
                raise InputError(self.source, one.name, self._misfit(one, taken)) from error
            if not (np.abs(made) <= LARGEST).all():
                message = f"must make numbers of at most {LARGEST:g}, not NaN or larger ones"
                raise InputError(self.source, one.name, message)
            known[one.name] = made
            yield one, taken, made
            for name in one.inputs:
                if last[name] == i:
                    known.pop(name, None)

    def _misfit(self, one: Operation, taken: list[Array]) -> str:
        shapes = " and ".join(str(value.shape[1:]) for value in taken)
        if isinstance(one, Product):
            wanted = one.weight.shape[1]
            return f"must have weights for inputs of shape {shapes}, not for {wanted} channels"
        return f"must fit values of shape {shapes}"

    def run(self, inputs: Array) -> Array:
        """Return the output for the given samples, in double precision."""
        return deque(self.values(inputs), maxlen=1)[0][2]

    def shapes(self, inputs: Array) -> dict[str, tuple[int, ...]]:
        """Return the shape of each value for the given samples."""
        found = {INPUT: inputs.shape}
        for one, _, made in self.values(inputs):
            found[one.name] = made.shape
        return found

    def units(self, inputs: Array) -> Units:
        """Return which channels must be on the same worker, determined by running samples."""
        shapes = self.shapes(inputs)
        first: dict[str, int] = {}
        total = 0
        for name, shape in shapes.items():
            first[name] = total
            total += shape[self.axes[name]]
        layers, ties = union_find(shapes), union_find(range(total))
        for one in self.operations:
            tied = one.channels([shapes[name] for name in one.inputs], self.axes[one.inputs[0]])
            for name, channels in zip(one.inputs, tied, strict=False):
                layers.union(name, one.name)
                for i, channel in enumerate(channels):
                    ties.union(first[name] + i, first[one.name] + int(channel))
            width = shapes[one.name][self.axes[one.name]]
            size = _block(one, shapes, width)
            for channel in range(width if size > 1 else 0):
                ties.union(first[one.name] + channel, first[one.name] + channel // size * size)
        parents = np.array([ties[i] for i in range(total)], dtype=np.intp)
        of = {
            name: parents[first[name] : first[name] + shape[self.axes[name]]]
            for name, shape in shapes.items()
        }
        numbers = {unit: i for i, unit in enumerate(dict.fromkeys(parents.tolist()))}
        of = {
            name: np.array([numbers[unit] for unit in units.tolist()], dtype=np.intp)
            for name, units in of.items()
        }
        return Units(of, self._layers(of, layers))

    def _layers(self, of: dict[str, Indices], layers: UnionFind) -> dict[str, Indices]:
        """Return the units of each layer, keyed by the product that first produces one of them."""
        names = {layers[INPUT]: INPUT}
        for one in self.products:
            names.setdefault(layers[one.name], one.name)
        found: dict[str, list[Indices]] = {}
        for value, units in of.items():
            found.setdefault(names[layers[value]], []).append(units)
        return {name: np.unique(np.concatenate(units)) for name, units in found.items()}


def _block(one: Operation, shapes: dict[str, tuple[int, ...]], width: int) -> int:
    """Return how many successive output channels must be on the same worker."""
    if isinstance(one, Flatten):
        return width // shapes[one.inputs[0]][1]
    return width // one.kv_heads if isinstance(one, Attention) else 1
