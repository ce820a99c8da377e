"""Tests of perfmodel.clock: events in the order of their times."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.clock import ROUNDING_CYCLES, Clock


def test_in_the_order_of_times_and_of_asking() -> None:
    clock, called = Clock(100), list[tuple[int, str]]()

    def note(name: str) -> None:
        called.append((clock.now, name))
        if name == "first":
            clock.after(0, note, "now")
            clock.after(5, note, "later")

    clock.at(103, note, "first")
    clock.at(105, note, "second")
    clock.after(3, note, "third")
    assert [(time, given) for time, _, given in clock.pending()] == [
        (103, ("first",)),
        (103, ("third",)),
        (105, ("second",)),
    ]
    clock.run()
    assert called == [(103, "first"), (103, "third"), (103, "now"), (105, "second"), (108, "later")]
    assert not clock.pending()


def test_next_time_is_that_of_the_earliest_call() -> None:
    clock, seen = Clock(0.0), list[float]()
    assert clock.next_time == inf
    for time in (7.0, 2.5, 4.0):
        clock.at(time, int)
    assert clock.next_time == 2.5
    clock.run(lambda: seen.append(clock.next_time))
    assert seen == [4.0, 7.0, inf]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=20))
def test_simultaneous_calls_run_in_the_order_of_request(calls: list[tuple[bool, int]]) -> None:
    clock, ran = Clock(0), list[tuple[int, int]]()
    for number, (at, time) in enumerate(calls):
        ask = clock.at if at else clock.after
        ask(time, lambda *one: ran.append(one), time, number)
    clock.run()
    assert ran == sorted((time, number) for number, (_, time) in enumerate(calls))


def test_rounding_is_above_that_of_long_sums_and_below_any_event() -> None:
    tenths = sum(0.1 for _ in range(10_000))
    assert abs(tenths - 1_000) < ROUNDING_CYCLES < 1e-3


def test_what_it_calls_after_each() -> None:
    clock, seen = Clock(0.0), list[float]()
    clock.at(0.5, int)
    clock.after(1.25, int)
    clock.run(lambda: seen.append(clock.now))
    assert seen == [pytest.approx(0.5), pytest.approx(1.25)]
