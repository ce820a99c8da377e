"""Tests of perfmodel.fluid.tasks; times worked by hand."""

import pytest

from perfmodel.fluid.tasks import Profile, Task, run_tasks


def compute(time_s: float, *after: int) -> Task:
    return Task("compute", 0, "", Profile(time_s), after)


def move(time_s: float, carried: float, *after: int, priority: int = 0, link: int = 0) -> Task:
    return Task("dp", 0, "", Profile(time_s, ((link, carried),)), after, priority)


def ends(*tasks: Task) -> list[float]:
    return list(run_tasks(tasks, [1.0, 1.0]).end_s)


def test_tasks_follow_each_other() -> None:
    assert ends(compute(1.0), compute(2.0, 0), compute(4.0, 0, 1)) == pytest.approx([1, 3, 7])


def test_transfer_alone_takes_its_own_time() -> None:
    assert ends(move(2.0, 1.0)) == pytest.approx([2.0])


def test_transfers_that_fill_a_link_halve_each_other() -> None:
    assert ends(move(2.0, 2.0), move(2.0, 2.0)) == pytest.approx([4.0, 4.0])


def test_transfers_that_leave_room_do_not_disturb_each_other() -> None:
    assert ends(move(2.0, 1.0), move(2.0, 1.0)) == pytest.approx([2.0, 2.0])
    assert ends(move(2.0, 2.0), move(2.0, 2.0, link=1)) == pytest.approx([2.0, 2.0])


def test_more_urgent_transfer_stops_the_other_and_lets_it_go_on() -> None:
    found = ends(move(4.0, 4.0, priority=2), compute(1.0), move(2.0, 2.0, 1, priority=0))
    assert found == pytest.approx([6.0, 1.0, 3.0])


def test_compute_and_transfers_run_side_by_side() -> None:
    run = run_tasks([compute(3.0), move(2.0, 2.0), compute(1.0, 0, 1)], [1.0])
    assert run.end_s == pytest.approx((3.0, 2.0, 4.0))
    assert run.start_s == pytest.approx((0.0, 0.0, 3.0))
    assert run.time_s == pytest.approx(4.0)


def test_compute_is_not_slowed_by_transfers_that_slow_each_other() -> None:
    found = ends(compute(3.0), move(2.0, 2.0), move(2.0, 2.0), compute(1.0, 0))
    assert found == pytest.approx([3.0, 4.0, 4.0, 4.0])


def test_transfers_of_one_link_that_start_apart_share_what_they_have_in_common() -> None:
    # Alone from 0 to 1, both at half the rate from 1 to 3, the later one alone from 3 on.
    found = ends(move(2.0, 2.0), compute(1.0), move(2.0, 2.0, 1))
    assert found == pytest.approx([3.0, 1.0, 4.0])


def test_no_tasks_take_no_time() -> None:
    assert run_tasks([], []).time_s == 0.0


def test_task_that_waits_for_a_later_one_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^task 0 must come after what it waits for$"):
        run_tasks([compute(1.0, 1), compute(1.0)], [])
