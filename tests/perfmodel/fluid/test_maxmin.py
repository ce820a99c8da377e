"""Tests of perfmodel.fluid.maxmin: allocations by hand, and what defines max-min fairness."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.fluid.maxmin import Demand, max_min_rates

NEAR = 1e-9


def on(*links: int, limit: float = float("inf"), priority: int = 0) -> Demand:
    return Demand(tuple((link, 1.0) for link in links), limit, priority)


@pytest.mark.parametrize(
    ("demands", "capacities", "rates"),
    [
        ([], [10.0], []),
        ([on(0)], [10.0], [10.0]),
        ([on(0, 1)], [10.0, 4.0], [4.0]),
        ([on(0), on(0)], [10.0], [5.0, 5.0]),
        # The second flow is held at 2 by link 1, so the first has 8 of link 0.
        ([on(0), on(0, 1), on(1)], [10.0, 4.0], [8.0, 2.0, 2.0]),
        # The long flow of a parking lot gets no less than the short ones.
        ([on(0, 1, 2), on(0), on(1), on(2)], [6.0, 6.0, 6.0], [3.0, 3.0, 3.0, 3.0]),
        # Link 1 fills at 1, then link 0 at (9 - 1)/2.
        ([on(0, 1), on(0), on(0), on(1), on(1)], [9.0, 3.0], [1.0, 4.0, 4.0, 1.0, 1.0]),
    ],
    ids=["none", "alone", "narrowest", "equal", "two links", "parking lot", "two levels"],
)
def test_links_are_shared(
    demands: list[Demand], capacities: list[float], rates: list[float]
) -> None:
    assert max_min_rates(demands, capacities) == pytest.approx(rates)


@pytest.mark.parametrize(
    ("demands", "rates"),
    [
        ([on(0, limit=1.0), on(0)], [1.0, 9.0]),
        ([on(0, limit=1.0), on(0), on(0)], [1.0, 4.5, 4.5]),
        ([on(0, limit=20.0), on(0)], [5.0, 5.0]),
        ([Demand((), limit=7.0), on(0)], [7.0, 10.0]),
    ],
    ids=["one", "one of three", "slack", "without links"],
)
def test_flow_stops_at_its_limit(demands: list[Demand], rates: list[float]) -> None:
    assert max_min_rates(demands, [10.0]) == pytest.approx(rates)


@pytest.mark.parametrize(
    ("loads", "rates"),
    [
        # Three equal flows as one, with another: each of the four has a quarter.
        ([3.0, 1.0], [2.5, 2.5]),
        ([0.5, 0.5], [10.0, 10.0]),
        ([2.0, 0.0], [5.0, 4.0]),
    ],
)
def test_load_is_bytes_on_the_link_for_each_byte_of_the_flow(
    loads: list[float], rates: list[float]
) -> None:
    demands = [Demand(((0, load), (1, 0.0)), limit=20.0) for load in loads]
    demands[-1] = Demand(demands[-1].loads, limit=4.0 if loads[-1] == 0 else 20.0)
    assert max_min_rates(demands, [10.0, 1.0]) == pytest.approx(rates)


@pytest.mark.parametrize(
    ("demands", "rates"),
    [
        ([on(0, priority=1), on(0)], [0.0, 10.0]),
        ([on(0, priority=1), on(0, limit=6.0)], [4.0, 6.0]),
        ([on(0, priority=2), on(0, limit=6.0), on(0, limit=3.0, priority=1)], [1.0, 6.0, 3.0]),
        ([on(0, limit=6.0), on(0, priority=1), on(0, priority=1)], [6.0, 2.0, 2.0]),
        # What the urgent flow leaves on link 0 holds the other, and frees link 1.
        ([on(0, limit=9.0), on(0, 1, priority=3), on(1, priority=3)], [9.0, 1.0, 9.0]),
    ],
    ids=["all", "rest", "three", "rest shared", "two links"],
)
def test_urgent_flows_are_served_first(demands: list[Demand], rates: list[float]) -> None:
    assert max_min_rates(demands, [10.0, 10.0]) == pytest.approx(rates)


def test_flow_that_nothing_holds_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^a flow must cross a link or have a limit$"):
        max_min_rates([on(0), Demand(())], [1.0])


LINKS = 5
rates_of = st.sampled_from([1.0, 2.0, 3.0, 7.5, 750e9, 3e12])
some_loads = st.dictionaries(
    st.integers(0, LINKS - 1), st.sampled_from([0.25, 1.0, 2.0, 19.0]), min_size=1
)
some_demands = st.lists(
    st.builds(
        Demand,
        some_loads.map(lambda loads: tuple(loads.items())),
        st.one_of(st.just(float("inf")), rates_of),
        st.integers(0, 2),
    ),
    max_size=12,
)


@given(some_demands, st.lists(rates_of, min_size=LINKS, max_size=LINKS))
def test_no_link_is_over_its_capacity_and_every_flow_is_held_by_one_or_by_its_limit(
    demands: list[Demand], capacities: list[float]
) -> None:
    rates = max_min_rates(demands, capacities)
    for link, capacity in enumerate(capacities):
        carried = sum(
            rate * load
            for demand, rate in zip(demands, rates, strict=True)
            for there, load in demand.loads
            if there == link
        )
        assert carried <= capacity * (1 + NEAR)
    for demand, rate in zip(demands, rates, strict=True):
        at_limit = rate >= demand.limit * (1 - NEAR)
        assert rate <= demand.limit * (1 + NEAR)
        assert at_limit or any(
            is_full_for(demand, rate, link, demands, rates, capacities[link])
            for link, _ in demand.loads
        )


def is_full_for(
    demand: Demand,
    rate: float,
    link: int,
    demands: list[Demand],
    rates: list[float],
    capacity: float,
) -> bool:
    """Return whether the flows as urgent fill a link, and none of the same priority has more."""
    carried, most = 0.0, 0.0
    for other, others_rate in zip(demands, rates, strict=True):
        load = dict(other.loads).get(link, 0.0)
        if load and other.priority <= demand.priority:
            carried += load * others_rate
        if load and other.priority == demand.priority:
            most = max(most, others_rate)
    return carried >= capacity * (1 - NEAR) and rate >= most - NEAR * capacity
