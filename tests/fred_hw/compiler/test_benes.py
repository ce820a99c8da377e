"""Tests of fred_hw.compiler.benes: what it routes arrives, and what it refuses cannot be routed."""

import random
from itertools import combinations, product

import pytest

from fred_hw.compiler.benes import BenesConfiguration, nodes, route_benes, switch_count
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route
from testbench.models.golden import walk
from testbench.stimulus.traffic import random_flows


def union(a: frozenset[int], b: frozenset[int]) -> frozenset[int]:
    assert not a & b, "a contribution came twice"
    return a | b


def delivered(configuration: BenesConfiguration) -> list[frozenset[int] | None]:
    return walk(configuration, [frozenset([k]) for k in range(configuration.ports)], union)


def wanted(flows: list[Flow], ports: int) -> list[frozenset[int] | None]:
    found = {port: frozenset(flow.inputs) for flow in flows for port in flow.outputs}
    return [found.get(port) for port in range(ports)]


@pytest.mark.parametrize("ports", [2, 4, 8, 16])
def test_routed_flows_deliver_the_union_of_their_inputs(ports: int) -> None:
    rng, routed = random.Random(ports), 0
    for _ in range(15):
        flows = random_flows(rng, ports)
        _, configuration = route_benes(flows, ports)
        if configuration is not None:
            routed += 1
            assert delivered(configuration) == wanted(flows, ports)
    assert routed >= 8


def test_what_fred_2_routes_a_benes_network_routes() -> None:
    """Its micro-switches are those of FRED_2 and more, on the same wires."""
    rng = random.Random(7)
    for _ in range(60):
        flows = random_flows(rng, 8)
        if route(flows, 8, 2).status == "routed":
            assert route_benes(flows, 8)[0] == "routed"


def reachable(ports: int) -> set[tuple[frozenset[int] | None, ...]]:
    """Return what the outputs can receive, over all settings of all micro-switches."""
    network, ends = nodes(ports)
    live = list(range(ports))
    states: set[tuple[frozenset[int] | None, ...]] = {tuple(frozenset([k]) for k in live)}
    for node in network:
        a, b = (live.index(wire) for wire in node.inputs)
        rest = [k for k in range(len(live)) if k not in (a, b)]
        found = set()
        for state, codes in product(states, product(range(4), repeat=2)):
            x, y = state[a], state[b]
            both = None if x is None or y is None or x & y else x | y
            choices = (None, None, None, both) if 3 in codes else (None, x, y, None)
            found.add((*(state[k] for k in rest), *(choices[code] for code in codes)))
        states, live = found, [*(live[k] for k in rest), *node.outputs]
    order = [live.index(wire) for wire in ends]
    return {tuple(state[k] for k in order) for state in states}


def test_flow_sets_of_four_ports_conflict_exactly_if_no_setting_delivers_them() -> None:
    reached, sets = reachable(4), set[tuple[Flow, ...]]()
    for ins, outs in product(product(range(5), repeat=4), repeat=2):
        if (groups := {*ins} - {0}) == {*outs} - {0}:
            sides = [[[k for k in range(4) if one[k] == g] for one in (ins, outs)] for g in groups]
            sets.add(tuple(sorted(Flow(*side) for side in sides)))
    routed = {flows for flows in sets if route_benes(flows, 4)[0] == "routed"}
    assert routed == {flows for flows in sets if tuple(wanted(list(flows), 4)) in reached}
    assert (len(sets), len(sets - routed)) == (2100, 64)


def test_three_flows_that_block_each_other_conflict() -> None:
    """Each pair shares a micro-switch at the inputs or the outputs; FRED_3 has a third network."""
    flows = [Flow([1, 3], [3]), Flow([0, 4], [2, 6]), Flow([2], [5, 7])]
    assert route_benes(flows, 8) == ("conflict", None)
    assert route(flows, 8, 3).status == "routed"
    for pair in combinations(flows, 2):
        _, configuration = route_benes(pair, 8)
        assert configuration is not None
        assert delivered(configuration) == wanted(list(pair), 8)


def test_a_search_without_effort_is_undecided() -> None:
    assert route_benes([Flow([0], [1])], 8, max_conflicts=0) == ("unknown", None)


@pytest.mark.parametrize("ports", [2, 4, 8, 64])
def test_micro_switches_are_counted(ports: int) -> None:
    network, ends = nodes(ports)
    assert (len(network), len(ends)) == (switch_count(ports), ports)


@pytest.mark.parametrize("ports", [0, 1, 3, 12])
def test_other_ports_are_refused(ports: int) -> None:
    with pytest.raises(ValueError, match=rf"^Benes ports must be a power of two, not {ports}$"):
        nodes(ports)


def test_configurations_of_wrong_size_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^BenesConfiguration selections must be 6, not 1$"):
        BenesConfiguration(4, ((0, 0),))
    with pytest.raises(ValueError, match=r"^BenesConfiguration selection must be .* not 4$"):
        BenesConfiguration(2, ((0, 4),))
