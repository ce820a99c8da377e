"""Tests of tracemodel.chakra.feeder."""

import random
import tracemalloc
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fred_hw.errors import InputError
from tests.examples import examples
from tracemodel.chakra import feeder
from tracemodel.chakra.feeder import Feeder
from tracemodel.chakra.files import read
from tracemodel.chakra.node import Node

from .golden import LLAMA


def node(number: int, *parents: int) -> Node:
    return Node(number, data_deps=parents)


def drain(found: Feeder) -> Iterator[int]:
    """Yield what is ready, each ended before the next is asked for."""
    while (one := found.ready()) is not None:
        yield one.id
        found.finish(one.id)


@st.composite
def graphs(draw: st.DrawFn) -> list[Node]:
    """Draw nodes that depend on nodes of no circle, in any order, with ids that leave gaps."""
    ids = draw(st.lists(st.integers(0, 400), unique=True, max_size=40))
    nodes = [
        node(
            one, *draw(st.lists(st.sampled_from(ids[:place]), max_size=4) if place else st.just([]))
        )
        for place, one in enumerate(ids)
    ]
    return draw(st.permutations(nodes))


@examples(200)
@given(nodes=graphs(), window=st.integers(1, 50), seed=st.integers(0, 9))
def test_every_node_comes_once_and_after_its_parents(
    nodes: list[Node], window: int, seed: int
) -> None:
    found, rng = Feeder(iter(nodes), window=window), random.Random(seed)
    parents = {one.id: one.data_deps for one in nodes}
    under_way: list[int] = []
    ended: list[int] = []
    while not found.done:
        while (one := found.ready()) is not None:
            assert set(parents[one.id]) <= set(ended)
            under_way.append(one.id)
        assert under_way
        number = under_way.pop(rng.randrange(len(under_way)))
        if rng.random() < 0.2:
            found.put_back(number)
        else:
            found.finish(number)
            ended.append(number)
    assert sorted(ended) == sorted(parents)
    assert found.ready() is None


@examples(100)
@given(nodes=graphs())
def test_the_lowest_id_that_is_ready_comes_first(nodes: list[Node]) -> None:
    left = {one.id: set(one.data_deps) for one in nodes}
    expected: list[int] = []
    while left:
        number = min(one for one, waits in left.items() if not waits)
        expected.append(number)
        del left[number]
        for waits in left.values():
            waits.discard(number)
    assert list(drain(Feeder(nodes))) == expected


def test_real_trace_is_handed_out_whole() -> None:
    for rank in range(4):
        nodes = list(read(f"{LLAMA}.{rank}.et.gz"))
        order = list(drain(Feeder(nodes)))
        assert sorted(order) == sorted(one.id for one in nodes)
        place = {number: index for index, number in enumerate(order)}
        assert all(place[parent] < place[one.id] for one in nodes for parent in one.data_deps)


def test_control_dependencies_count_unless_they_are_ignored() -> None:
    nodes = [Node(0, ctrl_deps=(1,)), Node(1)]
    assert list(drain(Feeder(nodes))) == [1, 0]
    assert list(drain(Feeder(nodes, control=False))) == [0, 1]


def test_control_dependency_that_does_not_exist_is_named() -> None:
    nodes = [Node(0, ctrl_deps=(7,)), Node(1)]
    message = r"^w: node 0: must depend on nodes of the trace, not on 7$"
    with pytest.raises(InputError, match=message):
        Feeder(nodes, "w")
    assert list(drain(Feeder(nodes, "w", control=False))) == [0, 1]


def test_memory_follows_the_window() -> None:
    def chain(count: int) -> Iterable[Node]:
        return (node(number, *([number - 1] if number else [])) for number in range(count))

    peaks: list[int] = []
    for count in (1000, 20_000):
        tracemalloc.start()
        found = Feeder(chain(count), window=16)
        held = 0
        for _ in drain(found):
            held = max(held, found.held)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert held <= 16
    assert peaks[1] < peaks[0] + 4096


def test_ids_of_ended_nodes_with_gaps_in_any_order_take_few_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kind, steps = feeder._Ids, 0  # pyright: ignore[reportPrivateUsage]
    fold = kind._fold  # pyright: ignore[reportPrivateUsage]

    def counted(ids: feeder._Ids) -> None:  # pyright: ignore[reportPrivateUsage]
        nonlocal steps
        fold(ids)
        steps += len(ids._starts)  # pyright: ignore[reportPrivateUsage]

    monkeypatch.setattr(kind, "_fold", counted)
    ids, rng = kind(), random.Random(1)
    odd = list(range(1, 40_000, 2))
    rng.shuffle(odd)
    for number in odd:
        assert number not in ids
        ids.add(number)
    assert all(number in ids for number in odd)
    assert not any(number + 1 in ids for number in odd)
    assert 0 < steps < 8 * len(odd)


def test_parent_far_behind_is_read_up_to() -> None:
    nodes = [node(0, 500), *(node(number) for number in range(1, 501))]
    found = Feeder(iter(nodes), window=4)
    assert found.held == 501
    assert list(drain(found)) == [*range(1, 501), 0]


@pytest.mark.parametrize(
    ("nodes", "line"),
    [
        ([node(1, 1)], r"a\.et: node: must not depend on itself: 1 -> 1"),
        (
            [node(9), node(5, 2, 9), node(2, 7), node(7, 5), node(8, 5)],
            r"a\.et: node: must not depend on itself: 2 -> 7 -> 5 -> 2",
        ),
        (
            [node(1, 4, 5), node(2, 4), node(3)],
            r"a\.et: node 1, 2: must depend on nodes of the trace, not on 4, 5",
        ),
        (
            [node(1, *range(10, 30))],
            r"a\.et: node 1: must depend on nodes of the trace, not on 10, 11, .*, 15 and 14 more",
        ),
        ([node(1), node(1)], r"a\.et: node 1: must occur once, not again"),
    ],
    ids=["itself", "cycle", "unknown", "many unknown", "twice"],
)
def test_what_can_never_run_is_named(nodes: list[Node], line: str) -> None:
    with pytest.raises(InputError, match=f"^{line}$"):
        list(drain(Feeder(nodes, "a.et")))


def test_id_of_an_ended_node_is_refused_too() -> None:
    with pytest.raises(InputError, match=r"^node 1: must occur once, not again$"):
        list(drain(Feeder([node(1), node(2), node(1)], window=1)))


def test_search_for_a_parent_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeder, "MAX_WINDOW", 100)
    nodes = (node(number, 10**6) for number in range(10**9))
    message = "^a: node 1000000: must come within 100 nodes of node 0, which depends on it$"
    with pytest.raises(InputError, match=message):
        Feeder(nodes, "a", window=1)


def test_node_that_is_not_under_way_cannot_end() -> None:
    found = Feeder([node(1), node(2, 1)])
    for wrong in (found.finish, found.put_back):
        with pytest.raises(ValueError, match=r"^node 1 must be one that ready\(\) gave"):
            wrong(1)
    assert found.node(2).data_deps == (1,)
    one = found.ready()
    assert one is not None
    assert found.ready() is None
    found.finish(one.id)
    with pytest.raises(KeyError):
        found.node(1)


def test_window_has_a_range() -> None:
    with pytest.raises(ValueError, match=r"^window must be an integer from 1 to 1048576, not 0$"):
        Feeder([], window=0)
