"""Tests of perfmodel.topology.switch_tree."""

import pytest

from perfmodel.topology.switch_tree import SwitchTree

# 6 is above 4 and 5; 4 is above 0, 1 and 2; 5 is above 3.
TREE = SwitchTree({0: 4, 1: 4, 2: 4, 3: 5, 4: 6, 5: 6}, {}, {})


@pytest.mark.parametrize(
    ("source", "target", "path"),
    [(0, 0, [0]), (0, 2, [0, 4, 2]), (0, 3, [0, 4, 6, 5, 3]), (4, 1, [4, 1]), (3, 6, [3, 5, 6])],
)
def test_path_rises_no_higher_than_it_must(source: int, target: int, path: list[int]) -> None:
    assert list(TREE.path(source, target)) == path
    assert list(TREE.path(target, source)) == path[::-1]


@pytest.mark.parametrize(
    ("sources", "targets", "meeting"),
    [
        ([0, 1], [0, 1], 4),
        ([0, 1, 3], [0, 1, 3], 6),
        ([0, 3], [0], 0),
        ([0], [0, 3], 0),
        ([0, 1, 3], [0, 2], 4),
        ([0, 2], [1, 3], 4),
        ([0], [1], 0),
    ],
)
def test_flow_meets_as_low_as_its_ends_allow(
    sources: list[int], targets: list[int], meeting: int
) -> None:
    assert TREE.meeting(sources, targets) == meeting
