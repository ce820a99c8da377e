"""Phases between I/O controllers and NPUs: weights, input and gradients.

Groups are those of the model (``perfmodel/training/operations.py``): all NPUs with the same weights
receive them together, and their stores are reduced; an MP group of the first stage receives the
samples of its replica. The model gives each controller a share of each group. Here a group has one
controller, which its NPUs' links can use as fast as several: a controller's link is as wide as
theirs.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy, dp_groups, expert_dp_groups, mp_groups

from .plane import Plane

__all__ = ["controllers_of", "storage_ends", "storage_phases"]

Group = tuple[int, ...]


def storage_phases(plane: Plane, strategy: Strategy) -> dict[str, tuple[Flow, ...]]:
    """Return the flows of loads and stores between controllers and NPUs, keyed by name.

    In ``load_<r>`` a controller multicasts weights to the NPUs that hold them, in ``store_<r>`` it
    receives the sum of their gradients, and in ``input_<r>`` it sends samples to an MP group of the
    first stage. r counts rounds: if there are more groups than controllers, a controller serves one
    group in each round. With EP the weights of experts have separate phases, ``expert_load_<r>``
    and ``expert_store_<r>``. Empty without endpoints at controllers.

    Parameters
    ----------
    plane : Plane
        The plane.
    strategy : Strategy
        Strategy of the training iteration; worker n is NPU n.
    """
    if plane.wafer.endpoints == plane.wafer.npus:
        return {}
    weights = [("", dp_groups(strategy))]
    if strategy.ep > 1:
        weights.append(("expert_", expert_dp_groups(strategy)))
    first = {strategy.port(0, dp, 0, cp) for dp in range(strategy.dp) for cp in range(strategy.cp)}
    samples = [group for group in mp_groups(strategy) if group[0] in first]
    found: dict[str, tuple[Flow, ...]] = {}
    uses: Counter[int] = Counter()
    for prefix, groups in weights:
        rounds = list(_rounds(plane, groups, uses))
        for number, pairs in enumerate(rounds):
            loads = tuple(Flow((controller,), group) for controller, group in pairs)
            found[f"{prefix}load_{number}"] = loads
        for number, pairs in enumerate(rounds):
            stores = tuple(Flow(group, (controller,)) for controller, group in pairs)
            found[f"{prefix}store_{number}"] = stores
    for number, pairs in enumerate(_rounds(plane, samples, uses)):
        found[f"input_{number}"] = tuple(Flow((controller,), group) for controller, group in pairs)
    return found


def storage_ends(
    plane: Plane, strategy: Strategy, *, weights: bool
) -> dict[tuple[str, Group], int]:
    """Return the controller of each group of NPUs for an iteration.

    Keys are what a group has there, "load", "store" or "input", and its NPUs in ascending order.

    Parameters
    ----------
    plane, strategy : Plane, Strategy
        See ``storage_phases``.
    weights : bool
        Whether weights are loaded and gradients stored.

    Raises
    ------
    ValueError
        Weights are loaded in rounds. A controller with two groups would execute the stores of two
        phases in one order and a switch those of its NPUs in another, so neither would end.
    """
    phases, groups = storage_phases(plane, strategy), len(dp_groups(strategy))
    if weights and "load_1" in phases:
        raise ValueError(
            f"strategy must have at most as many groups of the same weights as there are "
            f"controllers ({plane.addresses - plane.wafer.npus}), not {groups} as {strategy}"
        )
    found: dict[tuple[str, Group], int] = {}
    for name, flows in phases.items():
        kind = name.rsplit("_", 1)[0]
        for flow in flows:
            stores = "store" in kind
            ends, npus = (flow.outputs, flow.inputs) if stores else (flow.inputs, flow.outputs)
            found[kind, npus] = ends[0]
    return found


def _rounds(
    plane: Plane, groups: Sequence[Group], uses: Counter[int]
) -> Iterator[list[tuple[int, Group]]]:
    """Yield groups that are served together, each with its controller; count controllers' uses."""
    space = plane.addresses - plane.wafer.npus
    for begin in range(0, len(groups), space):
        own = groups[begin : begin + space]
        controllers = controllers_of(plane, own, uses)
        uses.update(controllers)
        yield list(zip(controllers, own, strict=True))


def controllers_of(plane: Plane, groups: Sequence[Group], uses: Mapping[int, int]) -> list[int]:
    """Return the controller address of each group; each controller at most once.

    It is on the switch that has most NPUs of the group, of those that have a controller left. Of
    several it is the one that others use least, and then on the switch with the smallest share of
    its controllers taken, so that loads come from all over the wafer.

    Parameters
    ----------
    plane : Plane
        The plane.
    groups : sequence of tuple of int
        NPUs of each group, at most as many groups as there are controllers.
    uses : mapping of int to int
        Number of other groups that each controller serves.
    """
    homes = [plane.homes[address][0] for address in range(plane.addresses)]
    free = list(range(plane.wafer.npus, plane.addresses))
    every = [homes[one] for one in free]
    found: list[int] = []
    for group in groups:
        near = [homes[npu] for npu in group]
        taken = [homes[one] for one in found]

        costs: list[tuple[int, int, float, int]] = []
        for one in free:
            home = homes[one]
            share = taken.count(home) / every.count(home)
            costs.append((-near.count(home), uses.get(one, 0), share, one))
        found.append(min(costs)[-1])
        free.remove(found[-1])
    return found
