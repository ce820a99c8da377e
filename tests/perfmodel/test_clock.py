"""Tests of perfmodel.clock: events in the order of their times."""

import pytest

from perfmodel.clock import Clock


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


def test_what_it_calls_after_each() -> None:
    clock, seen = Clock(0.0), list[float]()
    clock.at(0.5, int)
    clock.after(1.25, int)
    clock.run(lambda: seen.append(clock.now))
    assert seen == [pytest.approx(0.5), pytest.approx(1.25)]
