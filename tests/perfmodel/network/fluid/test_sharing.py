"""Tests of perfmodel.network.fluid.sharing."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.clock import Clock
from perfmodel.network.fluid.sharing import SharedFlow, Sharing
from tests.examples import examples

Begun = tuple[int, SharedFlow, int]


def ends(*flows: Begun) -> list[int]:
    """Return when each flow ends that begins at a time with a priority [ns]."""
    clock, found = Clock(0), [-1] * len(flows)
    sharing = Sharing(clock)

    def ended(number: int) -> None:
        assert found[number] < 0
        found[number] = clock.now

    for number, (begin, flow, priority) in enumerate(flows):
        clock.at(begin, sharing.begin, flow, partial(ended, number), priority)
    clock.run()
    return found


def flow(time_ns: float, *links: str, share: float = 1.0, rate: float = 1.0) -> SharedFlow:
    return SharedFlow(time_ns, tuple((link, share) for link in links), rate)


def test_a_flow_alone_takes_its_time_rounded_up() -> None:
    assert ends((3, flow(10.2, "a"), 0), (3, SharedFlow(0.0), 0)) == [14, 3]


def test_flows_share_a_link_from_begin_to_end() -> None:
    # Alone to 10, at half speed to 30, and the rest of the second alone.
    assert ends((0, flow(20, "a"), 0), (10, flow(40, "a"), 0)) == [30, 60]


def test_a_flow_that_needs_less_has_all_it_needs() -> None:
    small = flow(10, "a", share=0.25, rate=0.25)
    assert ends((0, small, 0), (0, flow(10, "a"), 0)) == [10, 13]


def test_what_one_link_takes_from_a_flow_others_give_away() -> None:
    # Two on link a get half of it each, so the third has the other half of b, and then a third.
    across, alone, beside = flow(30, "a", "b"), flow(15, "a"), flow(30, "b")
    assert ends((0, across, 0), (0, alone, 0), (0, beside, 0)) == [60, 30, 60]
    assert ends((0, flow(30, "a", "b"), 0), (0, flow(30, "c"), 0)) == [30, 30]


def test_what_is_urgent_goes_first() -> None:
    late = flow(10, "a")
    assert ends((0, flow(20, "a"), 1), (5, late, 0)) == [30, 15]
    half = flow(10, "a", share=0.5, rate=0.5)
    assert ends((0, flow(20, "a"), 1), (0, half, 0)) == [25, 10]


FLOWS = st.lists(
    st.tuples(
        st.integers(0, 50),
        st.builds(
            lambda time, links, most: SharedFlow(
                time, tuple((one, most * (1 + i) / len(links)) for i, one in enumerate(links)), most
            ),
            st.floats(1, 100),
            st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True),
            st.floats(0.1, 1),
        ),
        st.integers(0, 2),
    ),
    min_size=1,
    max_size=7,
)


@examples(60)
@given(FLOWS)
def test_no_link_carries_more_than_it_can(flows: list[Begun]) -> None:
    found = ends(*flows)
    assert found == ends(*flows)
    for (begin, one, _), end in zip(flows, found, strict=True):
        assert end - begin >= one.time_ns - 1e-5
    for link in "abcd":
        # From any begin on, all that begins and ends since then has crossed the link.
        on = [
            (begin, end, one.time_ns * share)
            for (begin, one, _), end in zip(flows, found, strict=True)
            for name, share in one.loads
            if name == link
        ]
        for first, *_ in on:
            for _, last, _ in on:
                busy = sum(time for begin, end, time in on if first <= begin and end <= last)
                assert busy <= max(last - first, 0) + 1e-5


@examples(30)
@given(FLOWS)
def test_a_link_with_work_does_not_rest(flows: list[Begun]) -> None:
    """All on one link and from 0 on: the last ends when the link has carried all."""
    same = [(0, flow(one.time_ns, "a", rate=one.bytes_per_ns), prio) for _, one, prio in flows]
    total = sum(one.time_ns for _, one, _ in same)
    assert total - 1e-5 <= max(ends(*same)) <= total + len(flows) + 1


@pytest.mark.parametrize("count", [2, 5])
def test_equal_flows_end_together(count: int) -> None:
    assert {*ends(*[(0, flow(7, "a", "b"), 0)] * count)} == {7 * count}
