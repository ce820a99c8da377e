"""How switches are joined, and what they do for a flow."""

import pytest

from fred_hw.compiler.flows import Flow
from testbench.volume.fabric import one_level, two_levels

TWO = two_levels(3)  # NPU k is at port k % 2 of switch k // 2


def test_all_ports_are_joined_once_and_both_ways() -> None:
    peers = TWO.peers(3)
    assert peers == [0, 1, 15, 2, 3, 16, 4, 5, 17, 8, 11, 14]
    for port, peer in enumerate(peers):
        assert peer < 6 or peers[peer - 6] == port + 6
    assert one_level(3).peers(3) == [0, 1, 2]


def test_unicasts_go_up_unless_they_are_there() -> None:
    assert [[TWO.port_toward(switch, npu) for npu in range(6)] for switch in (0, 2, 3)] == [
        [0, 1, 2, 2, 2, 2],
        [2, 2, 2, 2, 0, 1],
        [0, 0, 1, 1, 2, 2],
    ]
    assert [one_level(3).port_toward(0, npu) for npu in range(3)] == [0, 1, 2]


def test_an_all_reduce_goes_up_through_both_levels_and_down() -> None:
    everyone = Flow(tuple(range(6)), tuple(range(6)))
    leaf = [Flow((0, 1), (2,)), Flow((2,), (0, 1))]
    assert TWO.parts(everyone) == {0: leaf, 1: leaf, 2: leaf, 3: [Flow((0, 1, 2), (0, 1, 2))]}
    assert TWO.links(everyone) == {(k, side) for k in range(3) for side in ("up", "down")}


@pytest.mark.parametrize(
    ("flow", "parts", "links"),
    [
        (Flow((2, 3), (3,)), {1: [Flow((0, 1), (1,))]}, set()),
        (
            Flow((0,), (1, 4)),
            {
                0: [Flow((0,), (2,)), Flow((2,), (1,))],
                3: [Flow((0,), (0, 2))],
                2: [Flow((2,), (0,))],
            },
            {(0, "up"), (0, "down"), (2, "down")},
        ),
    ],
    ids=["of one switch", "multicast"],
)
def test_a_flow_takes_no_more_switches_than_it_must(
    flow: Flow, parts: dict[int, list[Flow]], links: set[tuple[int, str]]
) -> None:
    assert TWO.parts(flow) == parts
    assert TWO.links(flow) == links
    assert one_level(6).links(flow) == set()
