"""Tests of tests.calls."""

import sys

from .calls import calls


def test_calls_of_python_and_of_c_count() -> None:
    def one() -> int:
        return abs(-1)

    assert calls(lambda: [one() for _ in range(10)]) - calls(list) >= 20


def test_work_of_each_with_each_is_seen() -> None:
    def work(size: int) -> int:
        return sum(max(a, b) for a in range(size) for b in range(size))

    assert calls(lambda: work(40)) > 3.5 * calls(lambda: work(20))


def test_the_former_profiler_is_there_again() -> None:
    before = sys.getprofile()
    calls(list)
    assert sys.getprofile() is before
