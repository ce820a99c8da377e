"""Flows between NPUs as flows of routers: X-Y routes to a root, reduced, and X-Y routes back.

Routes to one router join and never part, so that they form a tree; so do the routes from it. Both
trees of a flow use no link in the same direction: routes to the root approach its column and then
its row, and routes from the root leave its row and then its column.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fred_hw.compiler.flows import Flow
from fred_hw.fabric_plan import End
from fred_hw.networks.network import NETWORKS

from .plan import ReducingMesh

__all__ = ["RouterPaths", "Tree", "find_trees", "router_paths", "tree_of"]


@dataclass(frozen=True)
class Tree:
    """The part of each router in a flow between NPUs.

    Parameters
    ----------
    root : int
        The router where all inputs meet.
    flows : dict of int to tuple of Flow
        Flows of each router on the tree, by its number: to the root, and from the root.
    """

    root: int
    flows: Mapping[int, tuple[Flow, ...]]

    def links(self, mesh: ReducingMesh) -> frozenset[End]:
        """Return the links between routers that the tree uses, each by its sender."""
        return frozenset(
            End("unit", unit, port)
            for unit, own in self.flows.items()
            for flow in own
            for port in flow.outputs
            if mesh.units[unit].ends[port].kind == "unit"
        )


def tree_of(mesh: ReducingMesh, flow: Flow, root: int) -> Tree:
    """Return the tree of a flow between addresses, reduced at a router."""
    into: dict[int, set[int]] = defaultdict(set)  # inputs on the way to the root
    out: dict[int, set[int]] = defaultdict(set)  # outputs on the way from the root
    up: dict[int, int] = {}
    down: dict[int, int] = {}
    for source in flow.inputs:
        unit, port = mesh.homes[source]
        into[unit].add(port)
        while unit != root:
            up[unit] = mesh.port_for(unit, root)  # the NPU of a router has its number
            end = mesh.units[unit].ends[up[unit]]
            unit = end.number
            into[unit].add(end.port)
    for destination in flow.outputs:
        unit, (home, port) = root, mesh.homes[destination]
        while unit != home:
            link = mesh.port_for(unit, destination)
            out[unit].add(link)
            end = mesh.units[unit].ends[link]
            unit = end.number
            down[unit] = end.port
        out[home].add(port)
    flows: dict[int, list[Flow]] = defaultdict(list)
    flows[root].append(Flow(into[root], out[root]))
    for unit, port in up.items():
        flows[unit].append(Flow(into[unit], (port,)))
    for unit, port in down.items():
        flows[unit].append(Flow((port,), out[unit]))
    return Tree(root, {unit: tuple(own) for unit, own in sorted(flows.items())})


def find_trees(mesh: ReducingMesh, flows: Sequence[Flow]) -> tuple[Tree, ...] | None:
    """Return a tree for each flow such that no two share a link in one direction.

    The search tries all roots, so None means that there are no such trees on X-Y routes.

    Parameters
    ----------
    mesh : ReducingMesh
        The mesh.
    flows : sequence of Flow
        Flows whose ports are addresses, disjoint in inputs and in outputs.
    """
    numbers: dict[End, int] = {}
    choices: dict[int, list[_Choice]] = {}
    for number, flow in enumerate(flows):
        trees = (tree_of(mesh, flow, root) for root in range(mesh.npus))
        choices[number] = _smallest(_choice(mesh, tree, numbers) for tree in trees)
    found = _disjoint(choices)
    return None if found is None else tuple(found[number] for number in range(len(flows)))


@dataclass(frozen=True)
class _Choice:
    """A tree, and the set of its links as bits."""

    links: int
    tree: Tree


def _choice(mesh: ReducingMesh, tree: Tree, numbers: dict[End, int]) -> _Choice:
    bits = (numbers.setdefault(link, len(numbers)) for link in tree.links(mesh))
    return _Choice(sum(1 << bit for bit in bits), tree)


def _smallest(choices: Iterator[_Choice]) -> list[_Choice]:
    """Return the choices whose links include those of no other one, fewest links first."""
    kept: list[_Choice] = []
    for one in sorted(choices, key=lambda one: one.links.bit_count()):
        if not any(one.links & other.links == other.links for other in kept):
            kept.append(one)
    return kept


def _disjoint(choices: Mapping[int, list[_Choice]]) -> dict[int, Tree] | None:
    """Return one tree of each flow without common links; flows with few choices come first."""
    if not choices:
        return {}
    number = min(choices, key=lambda one: len(choices[one]))
    others = {one: own for one, own in choices.items() if one != number}
    for choice in choices[number]:
        left = {
            one: [other for other in own if not other.links & choice.links]
            for one, own in others.items()
        }
        if all(left.values()) and (found := _disjoint(left)) is not None:
            return {number: choice.tree, **found}
    return None


@dataclass(frozen=True)
class RouterPaths:
    """Flows of each router in a phase, and the configuration of its crossbar.

    Parameters
    ----------
    mesh : ReducingMesh
        The mesh.
    flows : dict of int to tuple of Flow
        Flows of each router that takes part, by its number.
    """

    mesh: ReducingMesh
    flows: Mapping[int, tuple[Flow, ...]]

    @cached_property
    def configurations(self) -> dict[int, Any]:
        """Configuration of each router."""
        found: dict[int, Any] = {}
        for unit, own in self.flows.items():
            spec = self.mesh.units[unit].spec
            found[unit] = NETWORKS[spec.network].route(own, spec).configuration
        return found


def router_paths(mesh: ReducingMesh, trees: Sequence[Tree]) -> RouterPaths:
    """Return what trees without common links make of each router."""
    flows: dict[int, tuple[Flow, ...]] = {}
    for tree in trees:
        for unit, own in tree.flows.items():
            flows[unit] = (*flows.get(unit, ()), *own)
    return RouterPaths(mesh, dict(sorted(flows.items())))
