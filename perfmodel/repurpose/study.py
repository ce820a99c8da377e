"""Placement, pruning, checks, errors and traffic of one network in one result."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from perfmodel.topology.graph import Topology

from .arrays import Array
from .calibrated import Calibrated
from .crossings import Crossing, crossings, run_by_workers
from .latency import Latency, latency
from .pruning import Penalties
from .restructure import METHODS, Options, Restructured, restructure
from .tradeoff import at_error, relative_error

__all__ = ["Answer", "Comparison", "answer", "compare_latency", "split"]

_ROUNDING = 1e-6
"""Relative change of outputs that rounding may cause."""


@dataclass(frozen=True)
class Answer:
    """A placed and pruned network, compared with the original.

    Parameters
    ----------
    options : Options
        Options of the placement.
    made : Restructured
        The network.
    reordering_error, partition_error : float
        Largest change of an output, as a share of the largest output: where neurons are reordered
        and no weight is changed, and where each worker computes from what it has and receives.
    error : float
        Root mean square of the change of the output on calibration data, as a share.
    """

    options: Options
    made: Restructured
    reordering_error: float
    partition_error: float
    error: float

    @cached_property
    def crossings(self) -> tuple[Crossing, ...]:
        """Activations that cross between workers."""
        return crossings(self.made)

    @property
    def error_bound(self) -> float | None:
        """Bound of the error relative to the outputs; None without a bound."""
        outputs = self.made.calibrated.outputs
        size = float(np.sqrt(np.square(outputs).sum() / len(outputs)))
        bound = self.made.error_bound
        return None if bound is None or not size else bound / size


def answer(calibrated: Calibrated, options: Options, max_error: float | None = None) -> Answer:
    """Place and prune a network, and verify its function.

    Parameters
    ----------
    calibrated, options : Calibrated, Options
        See ``restructure``.
    max_error : float or None
        If given, the communication penalty is the largest found that keeps to this error.

    Raises
    ------
    InputError
        See ``restructure``.
    ArithmeticError
        Reordered neurons or workers compute another output, which only a bug can cause.
    """
    if max_error is not None:
        found = at_error("repurpose", calibrated, options, max_error)
        penalties = replace(options.penalties, lam1=found.lam1)
        options = replace(options, penalties=penalties)
    made = restructure(calibrated, options)
    inputs, network = calibrated.inputs, calibrated.network
    reordered = made.permuted(network).run(inputs)
    pruned = made.network.run(inputs)
    result = Answer(
        options,
        made,
        _largest_change(reordered, calibrated.outputs),
        _largest_change(run_by_workers(made, inputs), pruned),
        relative_error(pruned, calibrated.outputs),
    )
    for what in ("reordering_error", "partition_error"):
        if getattr(result, what) > _ROUNDING:
            raise ArithmeticError(f"{what} must be rounding, not {getattr(result, what):.2g}")
    return result


def split(calibrated: Calibrated, options: Options) -> Restructured:
    """Return the unpruned network, with its neurons split in order."""
    return restructure(
        calibrated, replace(options, penalties=Penalties(), method=METHODS["contiguous"])
    )


def _largest_change(made: Array, right: Array) -> float:
    return float(np.abs(made - right).max()) / max(float(np.abs(right).max()), 1e-300)


@dataclass(frozen=True)
class Comparison:
    """Latency on one topology.

    Parameters
    ----------
    placed, contiguous : Latency
        Latency of the placed and pruned network, and of the unchanged network, split in its order.
    """

    placed: Latency
    contiguous: Latency

    @property
    def speedup(self) -> float:
        """Speed-up of the placed network."""
        return self.contiguous.time_s / self.placed.time_s


def compare_latency(
    found: Answer, as_it_is: Restructured, topologies: Sequence[Topology]
) -> list[Comparison]:
    """Return the latency on each topology; on meshes also with trees of MultiTree."""
    return [
        Comparison(latency(found.made, one, trees), latency(as_it_is, one, trees))
        for one in topologies
        for trees in (("topology", "multitree") if one.grid else ("topology",))
    ]
