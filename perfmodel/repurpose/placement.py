"""Placement of one layer's neurons: costs per worker, and the assignment of least cost.

The equations of RePurpose (arXiv 2008.08289) were not available. This is a reconstruction: a
layer computes ``y = W x``, and each input has an owner, the worker that has its activation.
Weights are kept or dropped. A dropped weight costs the energy ``h_k W_ik^2 / 2``, where ``h_k`` is
the second moment of input k; a kept weight costs ``lam0``, and ``lam1`` more if the worker of the
neuron does not own the input.
"""

from collections.abc import Sequence

import numpy as np

from .arrays import Array, Indices, extra_module

__all__ = ["assign", "contiguous", "energies", "equal_capacities", "worker_costs"]


def energies(weights: Array, second_moment: Array) -> Array:
    """Return the energy of each weight, or of each convolution kernel, as neuron x input.

    Parameters
    ----------
    weights : array
        Neuron x input, with the positions of a kernel as further axes.
    second_moment : array
        Mean square of each input.
    """
    squares = np.square(weights)
    norms = squares.sum(axis=tuple(range(2, squares.ndim))) if squares.ndim > 2 else squares
    return 0.5 * second_moment * norms


def worker_costs(energy: Array, penalty: Array, lam0: float) -> Array:
    """Return the cost of each neuron on each worker if each weight takes its cheaper option.

    A weight is kept or dropped, whichever costs less.

    Parameters
    ----------
    energy : array
        Cost of dropping a weight, as neuron x input.
    penalty : array
        Cost of keeping a weight in addition to ``lam0``, as input x worker.
    lam0 : float
        Cost of every kept weight.
    """
    least = np.empty_like(energy)
    found = np.empty((energy.shape[0], penalty.shape[1]))
    for worker in range(penalty.shape[1]):
        kept = (lam0 + penalty[:, worker]).astype(energy.dtype)
        np.minimum(energy, kept, out=least)
        found[:, worker] = least.sum(axis=1)
    return found


def assign(cost: Array, capacities: Sequence[int]) -> Indices:
    """Return the worker of each neuron at the least total cost (Munkres, exact).

    Parameters
    ----------
    cost : array
        Neuron x worker.
    capacities : sequence of int
        Neurons that each worker takes at most; together at least as many as there are neurons.

    Raises
    ------
    ValueError
        The capacities are too small.
    InputError
        SciPy is not installed.
    """
    if sum(capacities) < len(cost):
        raise ValueError(f"capacities must sum up to {len(cost)} or more, not {sum(capacities)}")
    optimize = extra_module("scipy.optimize", "scipy")
    # A worker can take no more neurons than there are.
    seats = np.repeat(np.arange(len(capacities)), np.minimum(capacities, len(cost)))
    rows, places = optimize.linear_sum_assignment(cost[:, seats])
    found = np.empty(len(cost), dtype=np.intp)
    found[rows] = seats[places]
    return found


def equal_capacities(neurons: int, workers: int) -> tuple[int, ...]:
    """Return equal parts of the neurons; the first parts are larger by one if necessary."""
    return tuple((neurons + worker) // workers for worker in reversed(range(workers)))


def contiguous(neurons: int, capacities: Sequence[int]) -> Indices:
    """Return the worker of each neuron if workers take successive neurons in order.

    If there is more space than neurons, each worker takes a proportional share.
    """
    ends = np.cumsum(capacities) * neurons / max(1, sum(capacities))
    places = np.searchsorted(np.round(ends), np.arange(neurons), side="right")
    return places.astype(np.intp)
