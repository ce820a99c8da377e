"""Golden model of a wafer plane: results of each NPU in a phase.

Chiplets forward the results of the golden model of the interconnect, so the order of reductions is
that of the whole tree, and floating-point results agree bit by bit.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from fred_hw.compiler.configuration import Configuration
from fred_hw.spec import SwitchSpec
from fred_hw.wafer.flows import PhasePaths
from fred_hw.wafer.plane import Plane

from .golden import deliver

__all__ = ["walk_phase"]

T = TypeVar("T")
Cross = Callable[[SwitchSpec, Configuration, Sequence[Any]], Sequence[Any]]
"""Returns the outputs of a switch, given its specification, configuration and inputs."""


def walk_phase(
    plane: Plane, paths: PhasePaths, inputs: Mapping[int, T], cross: Cross = deliver
) -> dict[int, T]:
    """Return what each NPU receives in a phase.

    Parameters
    ----------
    plane, paths : Plane, PhasePaths
        Positions of chiplets, and the configuration of each.
    inputs : mapping of int to T
        Data sent by each NPU.
    cross : Callable
        Returns the outputs of a switch; by default those of raw numbers.
    """
    ends = {plane.homes[npu]: value for npu, value in inputs.items()}
    found: dict[int, T] = {}
    while True:
        before = len(ends)
        for chiplet, configuration in paths.configurations.items():
            one = plane.units[chiplet]
            values = [ends.get((chiplet, port)) for port in range(one.spec.ports)]
            for port, value in enumerate(cross(one.spec, configuration, values)):
                end = one.ends[port]
                if value is None:
                    continue
                if end.kind == "unit":
                    ends.setdefault((end.number, end.port), value)
                else:
                    found[end.number] = value
        if len(ends) == before:
            return found
