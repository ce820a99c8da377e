"""Golden model of a fabric of switches: results of each NPU in a phase.

Switches forward the results of the golden model of the interconnect, so the order of reductions is
that of the whole tree, and floating-point results agree bit by bit.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from fred_hw.fabric_plan import FabricPlan
from fred_hw.spec import SwitchSpec
from fred_hw.wafer.flows import PhasePaths
from fred_hw.wafer.plane import Plane

from .golden import AnyConfiguration, deliver

__all__ = ["walk_phase", "walk_units"]

T = TypeVar("T")
Cross = Callable[[SwitchSpec, AnyConfiguration, Sequence[Any]], Sequence[Any]]
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
    return walk_units(plane, paths.configurations, inputs, cross)


def walk_units(
    plan: FabricPlan[Any],
    configurations: Mapping[int, AnyConfiguration],
    inputs: Mapping[int, T],
    cross: Cross = deliver,
) -> dict[int, T]:
    """Return what each NPU receives, given the configuration of each switch of a fabric.

    Parameters
    ----------
    plan : FabricPlan
        Positions of switches.
    configurations : mapping of int to configuration
        Configurations of switches, by number of the unit.
    inputs, cross : mapping of int to T, Callable
        As for :func:`walk_phase`.
    """
    ends = {plan.homes[npu]: value for npu, value in inputs.items()}
    found: dict[int, T] = {}
    while True:
        before = len(ends)
        for unit, configuration in configurations.items():
            one = plan.units[unit]
            values = [ends.get((unit, port)) for port in range(len(one.ends))]
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
