"""Rounding error of sums in a number format: routed tree and ring order, against the exact sum.

Sums are those of the golden models, which agree with the RTL bit by bit.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fred_hw.compiler.flows import Flow
from fred_hw.formats.number_format import FloatFormat, wider_formats
from fred_hw.formats.values import Words, encoded, numbers_of, stored, values_of
from fred_hw.networks.network import NETWORKS
from fred_hw.spec import SwitchSpec
from fred_hw.wafer.flows import find_paths
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.spec import WaferSpec

from .arithmetic import combine
from .golden import deliver
from .golden_plane import walk_phase
from .golden_ring import all_reduce

__all__ = ["DISTRIBUTIONS", "Error", "Numerics", "compare_sums", "inputs_of", "tree_sum"]

Values = NDArray[np.float64]

DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, tuple[int, int]], Values]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "uniform": lambda rng, shape: rng.uniform(-1.0, 1.0, shape),
    "positive": lambda rng, shape: rng.uniform(0.0, 1.0, shape),
    "lognormal": lambda rng, shape: rng.lognormal(0.0, 2.0, shape),
}
"""Distributions of operands: standard normal, uniform from -1 to 1 and from 0 to 1, and log-normal
with a standard deviation of the logarithm of 2."""


@dataclass(frozen=True)
class Error:
    """Errors of finite sums against the exact sum of the same encoded operands.

    Parameters
    ----------
    max_relative, mean_relative, rms_relative : float
        Relative errors, of sums that are not exactly 0.
    max_ulps, mean_ulps, rms_ulps : float
        Errors in units in the last place of the exact sum.
    rounded : float
        Share of sums that are the exact sum, rounded once.
    not_finite : int
        Sums that are an infinity or a NaN, and count in none of the above.
    """

    max_relative: float
    mean_relative: float
    rms_relative: float
    max_ulps: float
    mean_ulps: float
    rms_ulps: float
    rounded: float
    not_finite: int


@dataclass(frozen=True)
class Numerics:
    """Errors of a format.

    Parameters
    ----------
    format : str
        Its name.
    operands, elements : int
        Operands of a sum, and sums.
    tree, ring : Error
        Errors of the routed tree and of the ring order.
    equal : float
        Share of sums that are the same in both.
    accumulation : str or None
        Wider format of the sums inside each switch, if any.
    accumulated : Error or None
        Errors of the routed tree with such sums.
    """

    format: str
    operands: int
    elements: int
    tree: Error
    ring: Error
    equal: float
    accumulation: str | None = None
    accumulated: Error | None = None


def inputs_of(distribution: str, operands: int, elements: int, seed: int) -> Values:
    """Return random operands, shape (operands, elements)."""
    return DISTRIBUTIONS[distribution](np.random.default_rng(seed), (operands, elements))


def tree_sum(spec: SwitchSpec | WaferSpec, values: Sequence[Words]) -> Words:
    """Return the sum of an all-reduce over all ports of a switch, or all NPUs of a wafer.

    Operands and sum are storage words of the format of ``spec``.

    Raises
    ------
    ValueError
        Their number is not that of the arrays.
    """
    ends = range(spec.npus if isinstance(spec, WaferSpec) else spec.ports)
    if len(ends) != len(values):
        raise ValueError(f"must have {len(ends)} rows, not {len(values)}")
    flow = Flow(ends, ends)
    if isinstance(spec, WaferSpec):
        plane = Plane(spec)
        return walk_phase(plane, find_paths(plane, [flow]), dict(enumerate(values)))[0]
    configuration = NETWORKS[spec.network].route([flow], spec).configuration
    assert configuration is not None
    total = deliver(spec, configuration, values)[0]
    assert total is not None
    return total


def compare_sums(spec: SwitchSpec | WaferSpec, values: Values, form: FloatFormat) -> Numerics:
    """Return the errors of both orders, for operands of shape (operands, elements).

    Operands are first rounded to the format; sums are exact for these. If the specification has a
    format of accumulation that contains ``form``, the errors of such sums are among the results.

    Raises
    ------
    ValueError
        An operand is not finite in the format, or their number is not that of the fabric.
    """
    words = stored(encoded(values, form), form)
    operands = values_of(numbers_of(words, form), form)
    if not np.isfinite(operands).all():
        largest = float(values_of(np.array([form.largest], np.uint64), form)[0])
        raise ValueError(
            f"must be at most {largest:g} for {form.name}, not {np.abs(values).max():g}"
        )
    reduce = partial(combine, number_format=form, operation="sum")
    plain = spec.with_changes(format=form.name, operation="sum", accumulation=None)
    tree = tree_sum(plain, [*words])
    ring = all_reduce([[one[:, None] for one in words]], reduce)[:, 0]
    exact = np.array([math.fsum(column) for column in operands.T])
    inside, accumulated = spec.accumulation, None
    if inside is not None and inside in wider_formats(form):
        sums = tree_sum(plain.with_changes(accumulation=inside), [*words])
        accumulated = _error(sums, exact, form)
    return Numerics(
        format=form.name,
        operands=len(values),
        elements=len(exact),
        tree=_error(tree, exact, form),
        ring=_error(ring, exact, form),
        equal=float((tree == ring).mean()),
        accumulation=inside if accumulated else None,
        accumulated=accumulated,
    )


def _error(sums: Words, exact: Values, form: FloatFormat) -> Error:
    got = values_of(numbers_of(sums, form), form)
    finite = np.isfinite(got)
    off, true = np.abs(got - exact)[finite], np.abs(exact)[finite]
    _, exponents = np.frexp(true)
    ulps = off / 2.0 ** (np.maximum(exponents - 1, 1 - form.bias) - form.fraction_bits)
    relative = off[true > 0] / true[true > 0]
    rounded = stored(encoded(exact, form), form) == sums
    return Error(
        *_summary(relative),
        *_summary(ulps),
        rounded=float(rounded[finite].mean()) if finite.any() else 0.0,
        not_finite=int((~finite).sum()),
    )


def _summary(errors: Values) -> tuple[float, float, float]:
    """Return the largest, the mean and the root of the mean square; 0 without errors."""
    if not errors.size:
        return 0.0, 0.0, 0.0
    return float(errors.max()), float(errors.mean()), float(np.sqrt(np.square(errors).mean()))
