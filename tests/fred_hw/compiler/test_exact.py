"""Tests of fred_hw.compiler.exact, through routing: against trying every path."""

import random
from collections.abc import Sequence
from functools import cache
from itertools import combinations, product

import pytest

from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route
from fred_hw.compiler.tracing import arriving


@cache
def shared_level(a: Flow, b: Flow, levels: int) -> int | None:
    for level in range(1, levels + 1):
        for ours, theirs in ((a.inputs, b.inputs), (a.outputs, b.outputs)):
            if {port >> level for port in ours} & {port >> level for port in theirs}:
                return level
    return None


def routable(flows: Sequence[Flow], levels: int, middle_switches: int) -> bool:
    """Try every path of every flow, one flow after the other."""
    every = list(product(range(middle_switches), repeat=levels))
    placed: list[tuple[Flow, tuple[int, ...]]] = []

    def place(rest: Sequence[Flow]) -> bool:
        if not rest:
            return True
        levels_shared = [(shared_level(rest[0], flow, levels), other) for flow, other in placed]
        for path in every:
            if all(
                level is None or path[:level] != other[:level] for level, other in levels_shared
            ):
                placed.append((rest[0], path))
                if place(rest[1:]):
                    return True
                placed.pop()
        return False

    return place(list(flows))


def random_flows(
    rng: random.Random, ports: int, sizes: Sequence[int] = (1, 1, 2, 2, 3)
) -> list[Flow]:
    inputs, outputs = (rng.sample(range(ports), ports) for _ in range(2))
    flows = []
    while inputs and outputs:
        sides = []
        for free in (inputs, outputs):
            size = min(len(free), rng.choice(sizes))
            sides.append([free.pop() for _ in range(size)])
        flows.append(Flow(*sides))
    return flows


@pytest.mark.parametrize(
    ("ports", "middle_switches", "seeds"),
    [(4, 2, 100), (5, 2, 100), (7, 2, 100), (8, 2, 150), (8, 3, 30)],
)
def test_status_and_smallest_conflict_are_those_of_trying_everything(
    ports: int, middle_switches: int, seeds: int
) -> None:
    statuses = set()
    levels = {4: 1, 5: 2, 7: 2, 8: 2}[ports]
    for seed in range(seeds):
        flows = random_flows(random.Random(seed), ports)
        result = route(flows, ports, middle_switches)
        statuses.add(result.status)
        assert result.status == (
            "routed" if routable(flows, levels, middle_switches) else "conflict"
        )
        if result.status == "conflict":
            size = len(result.conflict)
            assert result.smallest
            assert not routable([flows[n] for n in result.conflict], levels, middle_switches)
            assert all(
                routable(part, levels, middle_switches) for part in combinations(flows, size - 1)
            )
    assert statuses == {"routed", "conflict"} or (middle_switches, statuses) == (3, {"routed"})


def long_conflict() -> list[Flow]:
    """Five flows in a circle: an odd circle without a triangle, which two colours cannot do."""
    return [Flow((2 * k, (2 * k + 3) % 10), (2 * k,)) for k in range(5)]


def test_a_circle_of_five_is_found_whole() -> None:
    flows = [*long_conflict(), Flow((10,), (10,)), Flow((11,), (12,))]
    result = route(flows, 16, 2)
    assert (result.status, result.conflict, result.smallest) == ("conflict", (0, 1, 2, 3, 4), True)
    assert route(flows, 16, 3).status == "routed"


def test_effort_used_up_is_no_conflict() -> None:
    result = route(long_conflict(), 16, 2, max_conflicts=0)
    assert (result.status, result.conflict, result.smallest) == ("unknown", (), False)
    assert result.configuration is None


def test_effort_that_suffices_for_the_conflict_alone_leaves_it_unproven() -> None:
    flows = [*long_conflict(), *(Flow((10 + k,), (11 + k,)) for k in range(5))]
    found = [route(flows, 16, 2, max_conflicts=bound) for bound in range(1, 200)]
    statuses = [(result.status, result.smallest) for result in found]
    assert ("conflict", False) in statuses and statuses[-1] == ("conflict", True)
    assert (
        sorted(statuses, key=[("unknown", False), ("conflict", False), ("conflict", True)].index)
        == statuses
    )
    assert set(found[-1].conflict) <= set(range(5))


def circle(size: int, first: int) -> list[Flow]:
    """Return flows in a circle, each sharing an input micro-switch with the next."""
    inputs = [(first + 2 * k, first + (2 * k + 3) % (2 * size)) for k in range(size)]
    return [Flow(pair, (pair[0],)) for pair in inputs]


@pytest.mark.parametrize(("five", "seven"), [(0, 10), (14, 0)])
def test_the_smaller_of_two_irreducible_conflicts_is_found(five: int, seven: int) -> None:
    flows = [*circle(5, five), *circle(7, seven)]
    result = route(flows, 32, 2)
    assert (result.status, result.conflict, result.smallest) == ("conflict", (0, 1, 2, 3, 4), True)
    assert all(routable(part, 4, 2) for part in combinations(flows, 4))


@pytest.mark.slow
def test_conflicts_across_levels_are_smallest_too() -> None:
    deep = 0
    for seed in range(600):
        flows = random_flows(random.Random(seed), 16)
        result = route(flows, 16, 2)
        if len(result.conflict) > 3:  # three are a clique, found without the solver
            deep += 1
            assert result.smallest and not routable([flows[n] for n in result.conflict], 3, 2)
            smaller = combinations(flows, len(result.conflict) - 1)
            assert all(routable(part, 3, 2) for part in smaller)
    assert deep > 50


@pytest.mark.parametrize(
    ("ports", "sizes", "seed"),
    [
        (24, (1, 2, 3), 43),  # one flow comes off before the solver is asked
        (32, (1, 2, 3), 4),
        (48, (2, 2), 0),
        (48, (1, 2, 3), 24),
        (64, (1, 2, 3), 19),
    ],
)
def test_dense_flows_that_only_the_solver_routes_arrive(
    ports: int, sizes: tuple[int, ...], seed: int
) -> None:
    flows = random_flows(random.Random(seed), ports, sizes)
    assert (
        route(flows, ports, 3, max_conflicts=0).status == "unknown"
    )  # the quick searches are stuck
    result = route(flows, ports, 3)
    assert result.configuration is not None
    want = {port: frozenset(flow.inputs) for flow in flows for port in flow.outputs}
    found = arriving(result.configuration, range(ports))
    assert found == [want.get(port, frozenset()) for port in range(ports)]
