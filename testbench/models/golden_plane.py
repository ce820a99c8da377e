"""Golden model of a wafer plane: results of each NPU in a phase.

Chiplets forward the results of the golden model of the interconnect, so the order of reductions is
that of the whole tree, and floating-point results agree bit by bit.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from fred_hw.wafer.flows import PhasePaths
from fred_hw.wafer.plane import Plane

from .golden import walk

__all__ = ["walk_phase"]

T = TypeVar("T")


def walk_phase(
    plane: Plane, paths: PhasePaths, inputs: Mapping[int, T], reduce: Callable[[T, T], T]
) -> dict[int, T]:
    """Return what each NPU receives in a phase.

    Parameters
    ----------
    plane, paths : Plane, PhasePaths
        Positions of chiplets, and the configuration of each.
    inputs : mapping of int to T
        Data sent by each NPU.
    reduce : Callable
        Reduction of two, as for ``golden.walk``.
    """
    ends = {plane.homes[npu]: value for npu, value in inputs.items()}
    found: dict[int, T] = {}
    while True:
        before = len(ends)
        for chiplet, configuration in paths.configurations.items():
            one = plane.units[chiplet]
            values = [ends.get((chiplet, port)) for port in range(one.spec.ports)]
            for port, value in enumerate(walk(configuration, values, reduce)):
                end = one.ends[port]
                if value is None:
                    continue
                if end.kind == "unit":
                    ends.setdefault((end.number, end.port), value)
                else:
                    found[end.number] = value
        if len(ends) == before:
            return found
