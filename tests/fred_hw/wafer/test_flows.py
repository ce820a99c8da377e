"""Tests of fred_hw.wafer.flows: parts of flows join what they say, in every chiplet."""

from collections.abc import Sequence

import pytest

from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy, phases, strategies
from fred_hw.wafer.flows import NoPathError, find_paths
from fred_hw.wafer.plane import Plane
from testbench.models.golden import walk
from testbench.models.golden_plane import walk_phase
from tests.fred_hw.wafer.test_plane import plane


def check(one: Plane, flows: Sequence[Flow]) -> None:
    """Follow flits through the configurations, and see that each NPU gets what it should."""
    paths = find_paths(one, flows)
    inputs = {npu: {npu: 1} for flow in flows for npu in flow.inputs}

    def add(a: dict[int, int], b: dict[int, int]) -> dict[int, int]:
        return {npu: a.get(npu, 0) + b.get(npu, 0) for npu in {*a, *b}}

    found = walk_phase(one, paths, inputs, lambda _, one, values: walk(one, values, add))
    wanted = {npu: dict.fromkeys(flow.inputs, 1) for flow in flows for npu in flow.outputs}
    assert found == wanted


@pytest.mark.parametrize("strategy", ["MP2-DP5-PP2", "MP3-DP3-PP2", "MP20-DP1-PP1", "MP4-DP1-PP5"])
def test_phases_of_published_strategies_join_their_members_alone(strategy: str) -> None:
    for flows in phases(Strategy.parse(strategy)).values():
        check(plane("wafer-20"), flows)


def test_flows_cross_three_levels() -> None:
    one = plane("three levels")
    check(one, [Flow(range(8), range(8))])
    check(one, [Flow([0, 2, 4], [1, 7]), Flow([6], [0, 2, 4]), Flow([5], [3])])


def test_all_but_four_strategies_of_twenty_npus_have_ways() -> None:
    """Five flows, of which each L1 has all but another one, cannot be halved at each L1."""
    refused = []
    for strategy in strategies(20):
        for flows in phases(strategy).values():
            try:
                find_paths(plane("wafer-20"), flows)
            except NoPathError:
                refused.append(str(strategy))
    assert refused == ["MP1-DP3-PP5", "MP1-DP4-PP5", "MP5-DP3-PP1", "MP5-DP4-PP1"]


def test_flows_that_do_not_fit_are_counted() -> None:
    one = plane("wafer-4")
    cross = [Flow([0], [2]), Flow([1], [3])]
    assert find_paths(one, cross)
    narrow = Plane(
        one.wafer.with_changes(
            switches=[
                {"name": "l2", "chiplets": 1, "ports": 2},
                *(
                    {
                        "name": f"l1_{n}",
                        "above": "l2",
                        "chiplets": 1,
                        "ports": 3,
                        "uplinks": 1,
                        "npus": [2 * n, 2 * n + 1],
                    }
                    for n in range(2)
                ),
            ]
        )
    )
    message = (
        "^must have at most 1 flows at once, as many as links and micro-switches carry, not 2$"
    )
    with pytest.raises(NoPathError, match=message):
        find_paths(narrow, cross)


def test_phases_of_a_circuit_take_links_that_others_leave() -> None:
    one, busy = plane("wafer-20"), dict[tuple[int, int], int]()
    flow = Flow(range(20), range(20))
    used = [
        {port for f in find_paths(one, [flow], busy).flows[2] for port in f.outputs if port > 3}
        for _ in range(5)
    ]
    assert len(set.union(*used[:4])) == 4
    assert used[4] == used[0]
