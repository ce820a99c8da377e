"""Tests of perfmodel.topology.links."""

from pathlib import Path
from typing import Any

import pytest

from fred_hw.errors import InputError
from perfmodel.collectives.algorithm import ALGORITHMS
from perfmodel.network.run import run_collective
from perfmodel.topology.files import build_topology, load_topology
from perfmodel.topology.graph import Topology

EXAMPLE = Path(__file__).parents[3] / "examples" / "links-6.yaml"


def network(*links: Any, npus: int = 3, switches: int = 1, **more: Any) -> Topology:
    found = [one if isinstance(one, dict) else {"ends": one} for one in links]
    data = {"kind": "links", "npus": npus, "switches": switches, "links": found}
    return build_topology({**data, "bytes_per_s": 1e12, "latency_s": 1e-8, **more}, "n.yaml")


STAR = [["npu_0", "switch_0"], ["npu_1", "switch_0"], ["npu_2", "switch_0"]]


def path(topology: Topology, source: int, target: int) -> list[str]:
    hops = topology.hops((source,), (target,))
    assert [before for _, before in hops] == [(), *((i,) for i in range(len(hops) - 1))]
    nodes = [topology.links[link].target for link, _ in hops]
    return [topology.nodes[node].name for node in nodes]


def test_messages_take_the_fewest_links() -> None:
    six = load_topology(EXAMPLE)
    assert path(six, 0, 2) == ["npu_1", "npu_2"]
    assert path(network(*STAR), 0, 2) == ["switch_0", "npu_2"]


def test_each_link_has_its_own_bandwidth_and_latency() -> None:
    ends = {"ends": STAR[0], "bytes_per_s": 2e12, "latency_s": 3e-8}
    found = network(ends, *STAR[1:]).links
    assert [(one.bytes_per_s, one.latency_s) for one in found[:3]] == [
        (2e12, 3e-8),
        (2e12, 3e-8),
        (1e12, 1e-8),
    ]


def test_a_link_may_lead_one_way_alone() -> None:
    around = [{"ends": [f"npu_{i}", f"npu_{(i + 1) % 3}"], "one_way": True} for i in range(3)]
    found = network(*around, switches=0)
    assert path(found, 0, 2) == ["npu_1", "npu_2"]
    assert path(found, 2, 0) == ["npu_0"]


def test_bisection_is_the_least_cut_of_the_halves() -> None:
    assert load_topology(EXAMPLE).bisection_bytes_per_s() == 2 * 750e9 + 250e9


def test_messages_do_not_fork() -> None:
    with pytest.raises(ValueError, match=r"^n\.yaml has no in-network collectives$"):
        network(*STAR).hops((0,), (1, 2))


def test_all_nodes_are_drawn_apart() -> None:
    six = load_topology(EXAMPLE)
    places = six.layout()
    assert len(set(places.values())) == len(six.nodes) == len(places)


@pytest.mark.parametrize("name", [n for n, a in ALGORITHMS.items() if "all_reduce" in a.patterns])
def test_algorithms_that_fit_run(name: str) -> None:
    six = load_topology(EXAMPLE)
    if ALGORITHMS[name].fits(six, range(6)):
        assert run_collective(six, "all_reduce", 1e6, algorithm=name).time_s > 1e6 / 3.5e12


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ([["npu_0", "npu_3"]], r"links\.0\.ends: must be npu_0 to npu_2 or switch_0 to switch_0, "),
        ([["npu_0", "npu_0"]], r"links\.0\.ends: must be two nodes, not npu_0 twice"),
        (
            [*STAR, ["switch_0", "npu_1"]],
            r"links\.3\.ends: must join nodes that no other link joins, not switch_0 to npu_1 ",
        ),
        (
            [STAR[0], STAR[1], {"ends": STAR[2], "one_way": True}],
            r"links: must connect every NPU with every other in both .*; no .* npu_0 to npu_2$",
        ),
        (
            [STAR[0], STAR[1], {"ends": STAR[2][::-1], "one_way": True}],
            r"links: must .*; no path leads from npu_2 to npu_0$",
        ),
        (STAR[:1], r"links: must .*; no path leads from npu_0 to npu_1, npu_2$"),
    ],
)
def test_impossible_links_are_refused(links: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=rf"^n\.yaml: {message}"):
        network(*links)
