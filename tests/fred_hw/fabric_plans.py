"""Waits between the links of a fabric, for tests of plans."""

from collections import defaultdict
from collections.abc import Iterable
from graphlib import TopologicalSorter
from itertools import pairwise, product
from typing import Any

from fred_hw.fabric_plan import End, FabricPlan

__all__ = ["links_in_order"]


def links_in_order(
    plan: FabricPlan[Any], choices: Iterable[bool] = (False,)
) -> list[tuple[End, int]]:
    """Return the virtual channels of links such that none precedes one that its packets wait for.

    Where sources choose routes, packets of all choices wait at once. One urgency class stands for
    all, since packets keep their class.

    Raises
    ------
    graphlib.CycleError
        Packets may wait for each other.
    """
    waits: dict[tuple[End, int], set[tuple[End, int]]] = defaultdict(set)
    addresses = range(plan.addresses)
    for source, destination, alternate in product(addresses, addresses, choices):
        for link, following in pairwise(plan.channels(source, destination, alternate=alternate)):
            waits[link].add(following)
    return list(TopologicalSorter(waits).static_order())
