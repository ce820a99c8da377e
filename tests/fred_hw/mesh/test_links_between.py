"""Tests of fred_hw.mesh.links_between."""

from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise, product

import pytest

from fred_hw.mesh.links_between import Link, link_loads, links_between
from fred_hw.mesh.routing import ROUTINGS, Fork
from fred_hw.mesh.routings.xy import Xy
from fred_hw.mesh.spec import DIRECTIONS, MeshSpec
from fred_hw.mesh.way import Way
from tests.fred_hw.simulation import trace


def choices(routing: str) -> tuple[bool, ...]:
    """Return what a source may say of its way."""
    return (False, True) if ROUTINGS[routing].chooses else (False,)


BOTH = [(routing, turned) for routing in ROUTINGS for turned in choices(routing)]


@pytest.mark.parametrize(("routing", "turned"), BOTH)
def test_ways_are_those_of_the_routers(routing: str, turned: bool) -> None:
    mesh = MeshSpec(width=4, height=3, lanes=1, controllers=False, routing=routing)
    asked, wanted = [], []
    for source, destination in product(range(mesh.routers), repeat=2):
        first, *others = links_between(mesh, source, destination, turned=turned)
        assert first == (source % 4, source // 4, "in")
        assert others[-1] == (destination % 4, destination // 4, "local")
        for x, y, direction in others:
            asked.append({"source": source, "destination": destination, "here.x": x, "here.y": y})
            asked[-1] |= {"turned": 1} if turned else {}
            wanted.append((DIRECTIONS.index(direction), 0))
    assert trace(Way(mesh=mesh, directions=DIRECTIONS), asked, ["exit", "astray"]) == wanted


class EitherWay(Xy):
    """All turns, which no mesh can have."""

    def port(self, fork: Fork) -> str:
        return fork.across if sum(fork.ends) % 2 else fork.along


def in_order(routing: str) -> Iterator[Link]:
    """Yield the links of a mesh such that none comes before one that packets wait for on it.

    Where sources choose ways, packets of all choices wait at once.
    """
    mesh = MeshSpec(width=5, height=4, lanes=1, controllers=False, routing=routing)
    waits: dict[Link, set[Link]] = defaultdict(set)
    ends = range(mesh.routers)
    for source, destination, turned in product(ends, ends, choices(routing)):
        for link, following in pairwise(links_between(mesh, source, destination, turned=turned)):
            waits[link].add(following)
    yield from TopologicalSorter(waits).static_order()


@pytest.mark.parametrize("routing", ROUTINGS)
def test_no_circle_of_links_waits_for_itself(routing: str) -> None:
    assert len(list(in_order(routing))) > 5 * 4


def test_a_circle_is_seen() -> None:
    with ROUTINGS.lending("either", EitherWay()), pytest.raises(CycleError):
        list(in_order("either"))


def test_flits_of_all_pairs_add_up_on_each_link() -> None:
    loads = link_loads(MeshSpec(width=3, height=1, lanes=1), {(0, 2): 5, (1, 2): 3, (2, 0): 2})
    assert loads == {
        (0, 0, "in"): 5,
        (1, 0, "in"): 3,
        (2, 0, "in"): 2,
        (0, 0, "east"): 5,
        (1, 0, "east"): 8,
        (2, 0, "west"): 2,
        (1, 0, "west"): 2,
        (2, 0, "local"): 8,
        (0, 0, "local"): 2,
    }


def test_a_choice_leads_elsewhere_for_most_pairs_across_and_is_no_longer() -> None:
    mesh = MeshSpec(width=4, height=4, lanes=1, controllers=False, routing="odd_even_adaptive")
    pairs = list(product(range(16), repeat=2))
    ways = [
        [links_between(mesh, *pair, turned=turned) for turned in (False, True)] for pair in pairs
    ]
    assert all(len(named) == len(other) for named, other in ways)
    across = sum(a % 4 != b % 4 and a // 4 != b // 4 for a, b in pairs)
    apart = sum(named != other for named, other in ways)
    # None from column 1 to those beside it, nor from 3 to 2: a packet may turn in one alone.
    assert (across, apart) == (144, 144 * 9 // 12)
    # Without a choice they are those of odd-even.
    fixed = mesh.with_changes(routing="odd_even")
    assert [named for named, _ in ways] == [links_between(fixed, *pair) for pair in pairs]
