"""Error versus crossings: curves over the penalties, and baselines at equal error."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from fred_hw.progress import track

from .arrays import Array
from .calibrated import Calibrated
from .crossings import crossings
from .pruning import Penalties
from .restructure import METHODS, Options, Restructured, restructure

__all__ = [
    "Point",
    "at_error",
    "baselines",
    "curve",
    "curves",
    "measure",
    "relative_error",
]

_STEPS = 12
"""Bisection steps of the penalty's logarithm in the search for an error."""

_LEAST, _MOST = 1e-6, 1e6
"""Range of penalties in the search for an error, relative to the mean energy of weights."""

_SPAN, _POINTS = (1e-2, 1e4), 16
"""Range of a curve's penalties, relative to the mean energy of weights, and number of points."""

_QUANTILES = np.linspace(0.1, 0.98, _POINTS)
"""Shares of weights that magnitude pruning drops along its curve."""


_BASELINES = tuple(name for name in METHODS if name != "repurpose")
"""Methods that RePurpose is compared with."""


@dataclass(frozen=True, slots=True)
class Point:
    """One placement on a curve.

    Parameters
    ----------
    method : str
        One of ``restructure.METHODS``.
    lam0, lam1 : float
        Penalties; of magnitude pruning ``lam0`` is the threshold of weights.
    error : float
        Root mean square of the change of the output, as a share of that of the output.
    activations : int
        Pairs of an activation and a worker that receives it.
    numbers : int
        Numbers that all workers receive for one sample.
    nonzeros : int
        Weights that are not 0.
    """

    method: str
    lam0: float
    lam1: float
    error: float
    activations: int
    numbers: int
    nonzeros: int


def relative_error(made: Array, right: Array) -> float:
    """Return the root mean square of ``made - right``, relative to that of ``right``."""
    size = float(np.square(right).sum())
    change = float(np.square(made - right).sum())
    return sqrt(change / size) if size else sqrt(change)


def measure(method: str, options: Options, made: Restructured) -> Point:
    """Return the point of a placement, with its error on the calibration data."""
    cross = crossings(made)
    calibrated = made.calibrated
    return Point(
        method,
        options.penalties.lam0,
        options.penalties.lam1,
        relative_error(made.network.run(calibrated.inputs), calibrated.outputs),
        sum(one.activations for one in cross),
        sum(one.numbers for one in cross),
        sum(layer.nonzeros for layer in made.layers),
    )


def curve(
    method: str, calibrated: Calibrated, options: Options, penalties: Iterable[Penalties]
) -> list[Point]:
    """Return the points of a method for the given penalties, in order."""
    return [_point(method, calibrated, options, one) for one in track([*penalties], "penalties")]


def curves(calibrated: Calibrated, options: Options) -> list[list[Point]]:
    """Return curves over the communication penalty: RePurpose at three ``lam0``, and baselines.

    Penalties are multiples of the mean energy of weights.
    """
    scale = _scale(calibrated)
    form, steps = options.penalties.form, np.geomspace(*_SPAN, _POINTS) * scale
    found = [
        curve("repurpose", calibrated, options, [Penalties(lam0, one, form) for one in steps])
        for lam0 in (0.0, 0.03 * scale, 0.3 * scale)
    ]
    lam0 = options.penalties.lam0
    for name in _BASELINES:
        if METHODS[name].magnitude:
            asked = [Penalties(one, 0.0, form) for one in _thresholds(calibrated)]
        else:
            asked = [Penalties(lam0, one, form) for one in steps]
        found.append(curve(name, calibrated, options, asked))
    return found


def _thresholds(calibrated: Calibrated) -> list[float]:
    """Return the thresholds of magnitude pruning along its curve."""
    sizes = [np.abs(one.weight).ravel() for one in calibrated.network.products]
    return np.quantile(np.concatenate(sizes), _QUANTILES).tolist()


def _point(method: str, calibrated: Calibrated, options: Options, penalties: Penalties) -> Point:
    asked = replace(options, penalties=penalties, method=METHODS[method])
    return measure(method, asked, restructure(calibrated, asked))


def at_error(method: str, calibrated: Calibrated, options: Options, error: float) -> Point:
    """Return the point of a method with the fewest crossings found within an error bound.

    The communication penalty is looked for, with the other one as in the options; of magnitude
    pruning the threshold.

    Parameters
    ----------
    method : str
        One of ``restructure.METHODS``.
    calibrated, options : Calibrated, Options
        See ``restructure``.
    error : float
        Root mean square of the change of the output, as a share.
    """
    magnitude = METHODS[method].magnitude
    lam0 = options.penalties.lam0

    def point(value: float) -> Point:
        pair = (value, 0.0) if magnitude else (lam0, value)
        asked = Penalties(*pair, options.penalties.form)
        return _point(method, calibrated, options, asked)

    scale = _scale(calibrated)
    low, high = np.log(_LEAST * scale), np.log(_MOST * scale)
    found = [point(0.0)]
    for _ in range(_STEPS):
        middle = (low + high) / 2
        found.append(point(float(np.exp(middle))))
        low, high = (low, middle) if found[-1].error > error else (middle, high)
    kept = [one for one in found if one.error <= error] or found[:1]
    return min(kept, key=lambda one: (one.activations, one.error))


def _scale(calibrated: Calibrated) -> float:
    """Return the mean energy of weights, to which penalties are relative."""
    found = [
        0.5 * float(np.mean(calibrated.moments[one.name].second)) * float(np.mean(one.weight**2))
        for one in calibrated.network.products
    ]
    return max(float(np.mean(found)), float(np.finfo(float).tiny) / _LEAST)


def baselines(calibrated: Calibrated, options: Options, error: float) -> list[Point]:
    """Return the points of the baselines at equal relative error, as for :func:`at_error`."""
    return [at_error(name, calibrated, options, error) for name in track(_BASELINES, "baselines")]
