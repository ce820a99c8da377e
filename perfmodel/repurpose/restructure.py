"""Placement and pruning of a whole network, layer by layer from input to output."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Literal

import numpy as np

from fred_hw.errors import InputError

from .arrays import Array, Indices, Mask
from .calibrated import Calibrated
from .moments import refit
from .network import INPUT, Network
from .operations import Add, Operation, Product
from .placement import contiguous, energies, equal_capacities
from .pruning import Penalties, keep_weights, place_layer

__all__ = ["METHODS", "Layer", "Method", "Options", "Restructured", "restructure"]


@dataclass(frozen=True, slots=True)
class Method:
    """How neurons are placed and how weights are pruned.

    Parameters
    ----------
    placement : str
        ``assigned`` by cost, ``contiguous`` parts in the given order, or ``random``.
    magnitude : bool
        Whether weights are pruned by their magnitude instead of by penalties.
    """

    placement: Literal["assigned", "contiguous", "random"] = "assigned"
    magnitude: bool = False


METHODS: Mapping[str, Method] = {
    "repurpose": Method(),
    "contiguous": Method("contiguous"),
    "random": Method("random"),
    "magnitude": Method("contiguous", magnitude=True),
}
"""RePurpose, and the baselines it is compared with."""

_SEED = 1
"""Random seed of random placements."""


@dataclass(frozen=True)
class Options:
    """Options of a placement.

    Parameters
    ----------
    workers : int
        Workers, 1 or more.
    penalties : Penalties
        Costs of kept weights.
    capacities : mapping
        Most units of each worker, by layer; equal parts for other layers.
    pins : mapping
        Worker with all units of a layer, by layer; ``INPUT`` is the network's input, which is
        otherwise split into contiguous parts.
    refit : bool
        Whether kept weights and biases are refitted on calibration data.
    method : Method
        How neurons are placed and weights are pruned.
    """

    workers: int
    penalties: Penalties = field(default_factory=Penalties)
    capacities: Mapping[str, Sequence[int]] = field(default_factory=dict[str, tuple[int, ...]])
    pins: Mapping[str, int] = field(default_factory=dict[str, int])
    refit: bool = True
    method: Method = field(default_factory=Method)


@dataclass(frozen=True)
class Layer:
    """Result of pruning one product.

    Parameters
    ----------
    name : str
        Name of the product.
    weights, nonzeros : int
        Weights that are not 0, before and after pruning.
    dropped_share : float
        Energy of the dropped weights, as a share of that of all.
    error : float
        Root mean square of the change of its outputs for correct inputs, as a sum over a sample.
    """

    name: str
    weights: int
    nonzeros: int
    dropped_share: float
    error: float


@dataclass(frozen=True)
class Restructured:
    """A placed and pruned network, with channels in their original order.

    Parameters
    ----------
    calibrated : Calibrated
        Original network with its calibration data.
    network : Network
        Network with pruned weights.
    workers : int
        Workers.
    worker_of_unit : array
        Worker of each unit.
    layers : tuple of Layer
        Each product, in order.
    error_bound : float or None
        Root mean square of the change of the network's output on calibration data, at most; None
        if an operation has no Lipschitz constant.
    """

    calibrated: Calibrated
    network: Network
    workers: int
    worker_of_unit: Indices
    layers: tuple[Layer, ...]
    error_bound: float | None

    def owners(self, value: str) -> Indices:
        """Return the worker of each channel of a value."""
        return self.worker_of_unit[self.calibrated.units.of[value]]

    def orders(self) -> dict[str, Indices]:
        """Return the channels of each value, ordered by worker.

        The order of the input and of the output is kept, as users of the network expect.
        """
        units = self.calibrated.units
        rank = np.arange(len(self.worker_of_unit))
        for name, layer in units.layers.items():
            kept = name == INPUT or np.isin(units.of[self.network.output], layer).any()
            if not kept:
                rank[layer[np.argsort(self.worker_of_unit[layer], kind="stable")]] = layer
        return {name: np.argsort(rank[of], kind="stable") for name, of in units.of.items()}

    def permuted(self, network: Network) -> Network:
        """Return an equally structured network with channels ordered by worker."""
        orders = self.orders()
        operations = tuple(
            one.permuted([orders[name] for name in one.inputs], orders[one.name])
            for one in network.operations
        )
        return replace(network, operations=operations)


def restructure(calibrated: Calibrated, options: Options) -> Restructured:
    """Place the neurons of a network on workers, and prune its weights.

    Raises
    ------
    InputError
        A layer has fewer units than workers, capacities do not sum up, or a layer does not exist.
    """
    run = _Run(calibrated, options)
    for one in calibrated.network.operations:
        run.take(one)
    network = replace(calibrated.network, operations=tuple(run.operations))
    bound = run.errors[network.output]
    return Restructured(calibrated, network, options.workers, run.workers, tuple(run.layers), bound)


class _Run:
    """State while a network is placed."""

    def __init__(self, calibrated: Calibrated, options: Options) -> None:
        self._calibrated, self._options = calibrated, options
        _check_names(calibrated, options)
        units = calibrated.units
        self._layer_of = {
            unit: name for name, layer in units.layers.items() for unit in layer.tolist()
        }
        self.workers = np.full(len(self._layer_of), -1, dtype=np.intp)
        self._rng = np.random.default_rng(_SEED)
        self.operations: list[Operation] = []
        self.layers: list[Layer] = []
        self.errors: dict[str, float | None] = {INPUT: 0.0}
        self._placed: dict[str, tuple[Mask, Array]] = {}
        """Kept weights and energies of products that are placed but not yet pruned."""
        own = units.layers[INPUT]
        pin = options.pins.get(INPUT)
        if pin is None:
            self.workers[own] = contiguous(len(own), self._capacities(INPUT, len(own)))
        else:
            self.workers[own] = pin

    def take(self, one: Operation) -> None:
        """Place and prune an operation; all preceding operations have been processed."""
        before = [self.errors[name] for name in one.inputs]
        known = [error for error in before if error is not None]
        if isinstance(one, Product):
            if one.name not in self._placed:
                self._place(one)
            self.operations.append(self._pruned(one, *self._placed.pop(one.name), before[0]))
            return
        self.operations.append(one)
        if len(known) < len(before):
            error = None
        elif isinstance(one, Add) or not any(known):
            error = sum(known)
        else:
            factor = self._calibrated.lipschitz.get(one.name)
            error = None if factor is None else factor * known[0]
        self.errors[one.name] = error

    def _capacities(self, layer: str, units: int) -> Sequence[int]:
        """Return how many units of a layer each worker takes."""
        workers = self._options.workers
        source = self._calibrated.network.source
        given = self._options.capacities.get(layer)
        if given is None:
            if units < workers:
                message = (
                    f"must have {workers} or more neurons, heads or inputs for {workers} workers, "
                    f"not {units}, unless it is pinned to one worker"
                )
                raise InputError(source, layer, message)
            return equal_capacities(units, workers)
        if len(given) != workers or sum(given) < units or min(given) < 0:
            message = (
                f"must have {workers} capacities that sum up to {units} or more, not "
                f"{','.join(map(str, given))}, which sum up to {sum(given)}"
            )
            raise InputError(source, layer, message)
        return given

    def _place(self, first: Product) -> None:
        """Place a layer, given its first product and products of the layer with the same input."""
        units, value = self._calibrated.units, first.inputs[0]
        layer = self._layer_of[int(units.of[first.name][0])]
        alike = [
            one
            for one in self._calibrated.network.products
            if one.inputs[0] == value
            and one.weight.shape[1:] == first.weight.shape[1:]
            and self._layer_of[int(units.of[one.name][0])] == layer
        ]
        parts = [self._energy(one) for one in alike]
        energy = np.concatenate(parts)
        members = units.layers[layer]
        rows = np.searchsorted(members, np.concatenate([units.of[one.name] for one in alike]))
        owner = self.workers[units.of[value]]
        keep = self._keep_of(layer, members, rows, energy, owner, alike)
        start = 0
        for one, part in zip(alike, parts, strict=True):
            self._placed[one.name] = keep[start : start + len(part)], part
            start += len(part)

    def _keep_of(
        self,
        layer: str,
        members: Indices,
        rows: Indices,
        energy: Array,
        owner: Indices,
        alike: Sequence[Product],
    ) -> Mask:
        """Place a layer unless it is already placed, and return the weights it keeps."""
        options, method = self._options, self._options.method
        if self.workers[members[0]] < 0:
            pin = options.pins.get(layer)
            if pin is not None:
                self.workers[members] = pin
            else:
                capacities = self._capacities(layer, len(members))
                if method.placement == "assigned":
                    placed = place_layer(energy, owner, rows, capacities, options.penalties)
                    self.workers[members] = placed.workers
                    return placed.keep
                order = np.arange(len(members))
                if method.placement == "random":
                    order = self._rng.permutation(len(members))
                self.workers[members[order]] = contiguous(len(members), capacities)
        if method.magnitude:
            norms = [np.sqrt(energies(one.weight, np.array(2.0))) for one in alike]
            return np.concatenate(norms) >= options.penalties.lam0
        return keep_weights(energy, owner, self.workers[members][rows], options.penalties)

    def _energy(self, one: Product) -> Array:
        """Return the energy of each weight or kernel, as output channel x input channel."""
        second = self._calibrated.moments[one.name].second[: one.matrix.shape[1]].astype(np.float64)
        terms = energies(one.matrix, second)
        return terms.reshape(len(terms), -1, one.kernel).sum(axis=2)

    def _pruned(self, one: Product, keep: Mask, energy: Array, before: float | None) -> Product:
        """Return a product with pruned weights; record its layer result and its error."""
        weights, bias = one.matrix, one.bias
        all_energy = float(energy.sum())
        dropped = float(energy.sum(where=~keep))
        mask = np.repeat(keep, one.kernel, axis=1) & (weights != 0)
        if bias is not None:
            weights = np.concatenate([weights, bias[:, None]], axis=1)
            mask = np.concatenate([mask, np.ones((len(mask), 1), dtype=bool)], axis=1)
        moments = self._calibrated.moments[one.name]
        found = np.where(mask, weights, 0.0)
        if self._options.refit:
            workers = self.workers[self._calibrated.units.of[one.name]]
            found = refit(weights, mask, moments, workers)
        positions = self._calibrated.positions(one.name)
        error = sqrt(positions * moments.error(weights - found))
        width = one.matrix.shape[1]
        made = one.with_weights(found[:, :width], None if bias is None else found[:, width])
        self.layers.append(
            Layer(
                one.name,
                int(np.count_nonzero(one.weight)),
                int(np.count_nonzero(made.weight)),
                dropped / all_energy if all_energy else 0.0,
                error,
            )
        )
        grown = 0.0 if not before else made.norm() * before
        self.errors[one.name] = None if before is None else error + grown
        return made


def _check_names(calibrated: Calibrated, options: Options) -> None:
    """Fail if capacities or pins name layers or workers that do not exist."""
    layers = calibrated.units.layers
    source = calibrated.network.source
    for name in (*options.capacities, *options.pins):
        if name not in layers:
            message = f"must be a layer that is placed, such as {', '.join(layers)}, not {name!r}"
            raise InputError(source, "", message)
    for name in options.capacities.keys() & options.pins.keys():
        message = "must be pinned to one worker or have capacities, not both"
        raise InputError(source, name, message)
    for name, worker in options.pins.items():
        if not 0 <= worker < options.workers:
            message = f"must be pinned to a worker from 0 to {options.workers - 1}, not {worker}"
            raise InputError(source, name, message)
