"""A network with its calibration results: second moments, error bounds and outputs."""

from dataclasses import dataclass
from math import prod

import numpy as np

from .arrays import Array
from .moments import Moments
from .network import INPUT, Network, Units
from .operations import Product

__all__ = ["Calibrated", "calibrate"]


@dataclass(frozen=True)
class Calibrated:
    """A network and its behaviour on calibration data.

    Parameters
    ----------
    network : Network
        The trained network.
    inputs, outputs : array
        Samples, and the outputs of the network for them.
    units : Units
        Channels that must be on the same worker.
    shapes : dict of str to tuple of int
        Shape of each value for one sample.
    moments : dict of str to Moments
        Moments of the input of each product, with a constant 1 at the end if it has a bias.
    lipschitz : dict of str to float or None
        Largest factor by which each other operation can amplify an error.
    """

    network: Network
    inputs: Array
    outputs: Array
    units: Units
    shapes: dict[str, tuple[int, ...]]
    moments: dict[str, Moments]
    lipschitz: dict[str, float | None]

    def positions(self, value: str) -> int:
        """Return the number of positions per channel of a value."""
        return prod(self.shapes[value]) // len(self.units.of[value])


def calibrate(network: Network, inputs: Array) -> Calibrated:
    """Run calibration data through a network, and return the results.

    Raises
    ------
    InputError
        The data do not fit the network, or its values are too large.
    """
    units = network.units(inputs[:1])
    shapes = {INPUT: inputs.shape[1:]}
    moments: dict[str, Moments] = {}
    lipschitz: dict[str, float | None] = {}
    outputs = inputs
    for one, taken, outputs in network.values(inputs):
        shapes[one.name] = outputs.shape[1:]
        if isinstance(one, Product):
            rows = one.rows(taken[0])
            if one.bias is not None:
                rows = np.concatenate([rows, np.ones((len(rows), 1))], axis=1)
            moments[one.name] = Moments.of(rows)
        elif len(one.inputs) == 1:
            lipschitz[one.name] = one.lipschitz(taken[0])
    return Calibrated(network, inputs, outputs, units, shapes, moments, lipschitz)
