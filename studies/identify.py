"""Compute times implied by the published speed-ups.

A figure is printed in a few digits, so a whole interval of compute gives it. What follows for
FRED-D follows over all of that interval, and where it reaches down to no compute at all, the figure
tells nothing of compute.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from perfmodel.published import SPEEDUP_C
from perfmodel.switch_timing.record import ProtocolModel
from perfmodel.topology.parse import BASELINE, shared_topology
from perfmodel.training.compute_model import compute_model
from perfmodel.training.compute_models.calibrated import Runs, calibrate

__all__ = ["Identified", "described", "identify"]

_POINTS = 9
_STEP = 0.005  # first step away from the solved scale
_LEAST = 1e-6  # of the solved scale: no compute


@dataclass(frozen=True, slots=True)
class Identified:
    """Interval of compute times that reproduce a published speed-up of FRED-C.

    Parameters
    ----------
    workload : str
        Its name.
    published : str
        The speed-up of FRED-C, as it is printed.
    compute_s : tuple of float
        Least and most compute of an NPU in an iteration [s], around the calibrated one, for which
        the speed-up rounds to that.
    scale : tuple of float
        The same, as what compute times of the roofline are multiplied by.
    speedup_d : tuple of float
        Least and greatest speed-up of FRED-D over that interval.
    identified : bool
        Whether the interval ends above no compute at all; else there is no calibrated value.
    """

    workload: str
    published: str
    compute_s: tuple[float, float]
    scale: tuple[float, float]
    speedup_d: tuple[float, float]
    identified: bool


@cache
def identify(name: str, protocol: ProtocolModel = "measured") -> Identified:
    """Return the compute times of a workload that its published speed-up of FRED-C implies.

    The interval is that around the calibrated scale, and speed-ups of FRED-D are those at several
    places in it.
    """
    figure, runs = SPEEDUP_C[name], Runs(name, protocol)
    found = calibrate(name, protocol)

    def gives(scale: float) -> bool:
        return figure.rounds(runs.speedup(scale))

    high = _edge(found.scale, gives, up=True)
    low = _edge(found.scale, gives, up=False) if found.identified else 0.0
    places = [low + (high - low) * i / (_POINTS - 1) for i in range(_POINTS)] + [found.scale]
    speedups = [runs.speedup(scale, "fred-d") for scale in places if gives(scale)]
    busy_s = runs.iteration("fred-d", found.scale).busy_s / found.scale
    return Identified(
        name,
        figure.printed,
        (low * busy_s, high * busy_s),
        (low, high),
        (min(speedups), max(speedups)),
        found.identified,
    )


def described(compute: str, name: str, protocol: ProtocolModel) -> str:
    """Return how a workload's figures that depend on a compute model are determined."""
    how = f"simulated, compute {compute}"
    told = compute_model(compute).identified(name, shared_topology(BASELINE, protocol))
    return how if told else f"{how}, which is not identified"


def _edge(start: float, gives: Callable[[float], bool], *, up: bool) -> float:
    """Return the extreme scale, upward or downward, that still reproduces the figure."""
    inside, step = start, _STEP
    while True:
        outside = start * (1 + step) if up else start / (1 + step)
        if not gives(outside):
            break
        inside, step = outside, 2 * step
        if inside < _LEAST * start:
            return 0.0
    for _ in range(12):
        middle = (inside * outside) ** 0.5
        if gives(middle):
            inside = middle
        else:
            outside = middle
    return inside
