"""Tests of the double binary tree: its trees, and steps and bytes by hand."""

from math import floor, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.collectives.algorithms.tree import binary_tree
from perfmodel.collectives.select import build_schedule
from perfmodel.network.run import run_collective
from perfmodel.topology.parse import parse_topology


@given(st.integers(1, 300))
def test_binary_tree_is_one(count: int) -> None:
    parents = binary_tree(count)
    assert parents.count(None) == 1
    children = [parents.count(place) for place in range(count)]
    assert max(children) <= 2

    def depth(place: int | None) -> int:
        return -1 if place is None else 1 + depth(parents[place])

    assert max(depth(place) for place in range(count)) <= floor(log2(count))


@given(st.integers(2, 100))
def test_leaves_of_one_tree_have_children_in_the_other(half: int) -> None:
    count = 2 * half
    parents = binary_tree(count)
    works = {place for place in range(count) if place in parents}
    mirrored = {count - 1 - place for place in works}
    assert not works & mirrored


@pytest.mark.parametrize(
    ("pattern", "steps", "sent"),
    [
        # Trees of four are 3 over 1 over 0 and 2, and 0 over 2 over 3 and 1; each has half.
        ("all_reduce", 4, [1.0, 2.0, 2.0, 1.0]),
        # The first feeds trees of the others: 2 over 1 and 3, and 3 over 2 and 1.
        ("broadcast", 2, [1.0, 0.0, 1.0, 1.0]),
    ],
)
def test_steps_and_bytes_of_four_members(pattern: str, steps: int, sent: list[float]) -> None:
    fabric = parse_topology("fred-c", "ideal")
    found = build_schedule(fabric, pattern, [range(4)], 1.0, "double_binary_tree")
    ends, bytes_of = list[int](), dict.fromkeys(range(4), 0.0)
    for one in found.transfers:
        ends.append(1 + max((ends[before] for before in one.after), default=0))
        bytes_of[one.sources[0]] += one.payload_bytes
    assert max(ends) == steps
    assert list(bytes_of.values()) == pytest.approx(sent)


def test_double_binary_tree_uses_both_directions_of_all_npus() -> None:
    tree, chain = (
        run_collective(parse_topology("fred-d", "ideal"), "broadcast", 2.0**30, algorithm=name)
        for name in ("double_binary_tree", "direct")
    )
    assert tree.time_s < chain.time_s / 10
