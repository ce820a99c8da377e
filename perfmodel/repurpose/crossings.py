"""Activations that cross between workers, and execution of the network by the workers alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .arrays import Array, Indices, Mask
from .network import INPUT
from .operations import Product
from .restructure import Restructured

__all__ = ["Crossing", "Multicast", "crossings", "run_by_workers"]


@dataclass(frozen=True, slots=True)
class Multicast:
    """Numbers that a worker sends to the same set of other workers.

    Parameters
    ----------
    source : int
        Worker that sends.
    targets : tuple of int
        Workers that receive.
    channels : tuple of int
        Channels of the value; none if the worker sends statistics of its channels.
    numbers : int
        Numbers that are sent for one sample.
    """

    source: int
    targets: tuple[int, ...]
    channels: tuple[int, ...]
    numbers: int


@dataclass(frozen=True)
class Crossing:
    """Activations of one value that cross for one sample, before the products that use them.

    Parameters
    ----------
    value : str
        The value.
    before : str
        Operation that waits for it: the first one that uses it.
    needs : array
        Whether a worker uses a channel of another worker, as channel x worker.
    positions : int
        Numbers in a channel.
    edges : int
        Number of weights that use channels of other workers.
    multicasts : tuple of Multicast
        Multicasts to be sent.
    """

    value: str
    before: str
    needs: Mask
    positions: int
    edges: int
    multicasts: tuple[Multicast, ...]

    @cached_property
    def activations(self) -> int:
        """Number of (channel, receiving worker) pairs."""
        return int(np.count_nonzero(self.needs))

    @property
    def numbers(self) -> int:
        """Total count of numbers received by all workers."""
        return sum(one.numbers * len(one.targets) for one in self.multicasts)


def crossings(made: Restructured) -> tuple[Crossing, ...]:
    """Return the crossing activations of each value, in the order of use."""
    needs: dict[str, Mask] = {}
    edges: dict[str, int] = {}
    found: dict[str, tuple[str, int]] = {}
    for one in made.network.operations:
        if isinstance(one, Product):
            value, owner = one.inputs[0], made.owners(one.inputs[0])
            used = _used(made, one)
            remote = np.arange(made.workers)[None, :] != owner[:, None]
            found.setdefault(value, (one.name, 0))
            needs[value] = needs.get(value, np.zeros_like(remote)) | ((used > 0) & remote)
            edges[value] = edges.get(value, 0) + int(used[remote].sum())
        elif one.statistics:
            value = one.inputs[0]
            statistics = max(found.get(value, ("", 0))[1], one.statistics)
            found[value] = (found.get(value, (one.name, 0))[0], statistics)
    return tuple(
        _crossing(made, value, before, statistics, needs, edges.get(value, 0))
        for value, (before, statistics) in found.items()
    )


def _used(made: Restructured, one: Product) -> Indices:
    """Return how many weights of each worker use each input channel, as channel x worker."""
    rows = made.owners(one.name)
    nonzero = (one.weight != 0).reshape(*one.weight.shape[:2], -1).sum(axis=2)
    found = np.zeros((one.weight.shape[1], made.workers), dtype=np.intp)
    for worker in np.unique(rows):
        found[:, worker] = nonzero[rows == worker].sum(axis=0)
    return found


def _crossing(
    made: Restructured,
    value: str,
    before: str,
    statistics: int,
    needs: Mapping[str, Mask],
    edges: int,
) -> Crossing:
    owner, positions = made.owners(value), made.calibrated.positions(value)
    need = needs.get(value, np.zeros((len(owner), made.workers), dtype=bool))
    groups: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for channel in np.flatnonzero(need.any(axis=1)).tolist():
        key = int(owner[channel]), tuple(np.flatnonzero(need[channel]).tolist())
        groups.setdefault(key, []).append(channel)
    sent = [
        Multicast(source, targets, tuple(channels), len(channels) * positions)
        for (source, targets), channels in sorted(groups.items())
    ]
    workers = np.unique(owner).tolist()
    if statistics and len(workers) > 1:
        sent += [
            Multicast(one, tuple(w for w in workers if w != one), (), statistics * positions)
            for one in workers
        ]
    return Crossing(value, before, need, positions, edges, tuple(sent))


def run_by_workers(made: Restructured, inputs: Array) -> Array:
    """Return a network's output if workers use only the activations they own or receive.

    Each worker computes its own rows from its own channels and from those that are sent to it.
    """
    sent = {one.value: one.needs for one in crossings(made)}
    values = {INPUT: np.asarray(inputs, dtype=np.float64)}
    axes = made.network.axes
    output = values[INPUT]
    for one in made.network.operations:
        if isinstance(one, Product):
            (name,) = one.inputs
            owner, rows = made.owners(name), made.owners(one.name)
            parts: list[Array] = []
            for worker in np.unique(rows).tolist():
                has = np.flatnonzero((owner == worker) | sent[name][:, worker])
                part = one.permuted([has], np.flatnonzero(rows == worker))
                parts.append(part.forward(values[name].take(has, axis=axes[name])))
            joined = np.concatenate(parts, axis=axes[one.name])
            output = joined.take(np.argsort(np.argsort(rows, kind="stable")), axes[one.name])
        else:
            output = one.forward(*(values[name] for name in one.inputs))
        values[one.name] = output
    return output
