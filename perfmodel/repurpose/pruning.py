"""Joint placement and pruning of one layer, in the edge form or the activation form.

The edge form counts every weight whose input is on another worker, and its placement is the exact
optimum. The activation form counts each pair of a worker and a remote input once, as in the real
traffic: an activation is sent once to each worker that needs it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .arrays import Array, Indices, Mask
from .placement import assign, contiguous, worker_costs

__all__ = ["FORMS", "Penalties", "Placed", "keep_weights", "objective", "place_layer"]

FORMS = ("edge", "activation")

_ROUNDS = 5
"""Placements to try from each start of the activation form, which rarely needs more than four."""


@dataclass(frozen=True, slots=True)
class Penalties:
    """Costs of kept weights, in units of half the squared output of a layer.

    Parameters
    ----------
    lam0 : float
        Cost of a kept weight; 0 keeps all weights that no other rule drops.
    lam1 : float
        Cost of a weight whose input is on another worker (edge form), or of an activation that is
        sent to another worker (activation form).
    form : str
        One of ``FORMS``.
    """

    lam0: float = 0.0
    lam1: float = 0.0
    form: Literal["edge", "activation"] = "activation"


@dataclass(frozen=True)
class Placed:
    """Placement of one layer, and the weights it keeps.

    Parameters
    ----------
    workers : array
        Worker of each unit: a neuron, or neurons that belong together.
    keep : array
        Whether each weight is kept, as row x input.
    """

    workers: Indices
    keep: Mask


def keep_weights(energy: Array, owner: Indices, rows: Indices, penalties: Penalties) -> Mask:
    """Return the optimal set of weights to keep for a placement, in either form.

    Parameters
    ----------
    energy : array
        Cost of dropping each weight, as row x input.
    owner, rows : array
        Worker of each input, and of each row.
    penalties : Penalties
        Costs of kept weights.
    """
    lam0, lam1 = penalties.lam0, penalties.lam1
    if penalties.form == "edge":
        remote = owner[None, :] != rows[:, None]
        penalty = np.where(remote, lam0 + lam1, lam0)
        return (energy > penalty) | (penalty == 0)
    # Without a penalty a weight is kept even if its input is 0 in all calibration data.
    keep = (energy > lam0) | (lam0 == 0)
    if lam1 == 0:
        return keep
    for worker in np.unique(rows):
        own = rows == worker
        gain = np.maximum(energy[own] - lam0, 0).sum(axis=0)
        keep[np.ix_(own, (owner != worker) & (gain <= lam1))] = False
    return keep


def objective(
    energy: Array, owner: Indices, rows: Indices, keep: Mask, penalties: Penalties
) -> float:
    """Return the cost of a placement and its weights: dropped energy plus penalties."""
    dropped = float(energy.sum(where=~keep, dtype=np.float64))
    if penalties.form == "edge":
        crossing = np.count_nonzero(keep & (owner[None, :] != rows[:, None]))
    else:
        crossing = np.count_nonzero(_remote_uses(owner, rows, keep, int(max(*owner, *rows)) + 1))
    return dropped + penalties.lam0 * np.count_nonzero(keep) + penalties.lam1 * crossing


def place_layer(
    energy: Array,
    owner: Indices,
    unit_of_row: Indices,
    capacities: Sequence[int],
    penalties: Penalties,
) -> Placed:
    """Return the placement of a layer with the lowest objective found.

    In the edge form that is the optimum. In the activation form the cost ``lam1`` of an activation
    is divided among the rows of a worker that use it, and placement and pruning repeat until
    nothing changes. The best of all placements encountered, including the contiguous split, is
    returned.

    Parameters
    ----------
    energy, owner : array
        Cost of each dropped weight, as row x input, and worker of each input.
    unit_of_row : array
        Unit that each row belongs to; all rows of a unit are on the same worker.
    capacities : sequence of int
        Units that each worker takes at most.
    penalties : Penalties
        Costs of kept weights.
    """
    units, workers = int(unit_of_row.max()) + 1, len(capacities)
    remote = np.ones((len(owner), workers))
    remote[np.arange(len(owner)), owner] = 0.0

    def placed(shares: Array | float) -> Indices:
        costs = worker_costs(energy, penalties.lam1 * shares * remote, penalties.lam0)
        summed = np.zeros((units, workers))
        np.add.at(summed, unit_of_row, costs)
        return assign(summed, capacities)

    if penalties.form == "edge":
        found = placed(1.0)
        return Placed(found, keep_weights(energy, owner, found[unit_of_row], penalties))
    best: tuple[float, Placed] | None = None
    starts = [contiguous(units, capacities)]
    if penalties.lam1:
        starts += [placed(1.0), placed(workers / units)]
    for start in starts:
        found, seen = start, set[bytes]()
        while len(seen) < _ROUNDS and found.tobytes() not in seen:
            seen.add(found.tobytes())
            rows = found[unit_of_row]
            keep = keep_weights(energy, owner, rows, penalties)
            value = objective(energy, owner, rows, keep, penalties)
            if best is None or value < best[0]:
                best = value, Placed(found, keep)
            elif start is not found and value > best[0]:
                break
            if not penalties.lam1:
                break
            found = placed(1 / np.maximum(_remote_uses(owner, rows, keep, workers), 1))
    assert best is not None
    return best[1]


def _remote_uses(owner: Indices, rows: Indices, keep: Mask, workers: int) -> Array:
    """Return how many rows of each worker use each input owned by another: input x worker."""
    found = np.zeros((len(owner), workers))
    for worker in np.unique(rows):
        found[:, worker] = keep[rows == worker].sum(axis=0)
    found[np.arange(len(owner)), owner] = 0.0
    return found
