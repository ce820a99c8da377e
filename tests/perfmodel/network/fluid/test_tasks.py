"""Tests of perfmodel.network.fluid.tasks; times worked by hand, and what must not take less."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.network.fluid.task import PATIENT, Profile, Task
from perfmodel.network.fluid.tasks import Run, Simulation
from tests.examples import examples

LINKS = 3


def compute(time_s: float, *after: int, place: int = 0) -> Task:
    return Task("compute", place, "", Profile(time_s), after, effort=time_s)


def move(
    time_s: float, carried: float, *after: int, priority: int = 0, link: int = 0, place: int = 0
) -> Task:
    return Task("dp", place, "", Profile(time_s, ((link, carried),)), after, priority=priority)


def run(*tasks: Task, scale: float = 1.0) -> Run:
    return Simulation(tasks, [1.0] * LINKS).run(scale)


def ends(*tasks: Task) -> list[float]:
    return list(run(*tasks).end_s)


def test_tasks_follow_each_other() -> None:
    assert ends(compute(1.0), compute(2.0, 0), compute(4.0, 0, 1)) == pytest.approx([1, 3, 7])


def test_transfer_alone_takes_its_own_time() -> None:
    assert ends(move(2.0, 1.0)) == pytest.approx([2.0])


def test_compute_and_transfers_run_side_by_side() -> None:
    found = run(compute(3.0), move(2.0, 2.0), compute(1.0, 0, 1))
    assert found.end_s == pytest.approx((3.0, 2.0, 4.0))
    assert found.start_s == pytest.approx((0.0, 0.0, 3.0))
    assert found.time_s == pytest.approx(4.0)


def test_scale_multiplies_compute_alone() -> None:
    tasks = (compute(3.0), move(2.0, 2.0, 0), compute(1.0, 1))
    assert run(*tasks, scale=0.5).end_s == pytest.approx((1.5, 3.5, 4.0))


def test_link_serves_one_transfer_of_a_queue_after_the_other() -> None:
    assert ends(move(2.0, 2.0), move(2.0, 2.0)) == pytest.approx([2.0, 4.0])


def test_link_that_has_room_serves_the_next_one_early() -> None:
    # Half of the link is left; the second takes its own time all the same.
    assert ends(move(2.0, 1.0), move(2.0, 1.0)) == pytest.approx([2.0, 2.0])


def test_transfers_on_other_links_do_not_disturb_each_other() -> None:
    assert ends(move(2.0, 2.0), move(2.0, 2.0, link=1)) == pytest.approx([2.0, 2.0])


def test_transfer_waits_only_for_the_links_that_it_needs() -> None:
    both = Task("dp", 0, "", Profile(1.0, ((0, 1.0), (1, 1.0))))
    found = ends(move(4.0, 4.0), both, move(3.0, 3.0, link=1))
    assert found == pytest.approx([4.0, 5.0, 4.0])


def test_kept_link_serves_what_other_queues_put_between() -> None:
    # Stage 0 sends twice without a pause; what stage 1 sends meanwhile is served between.
    first, other, second = move(2.0, 2.0), move(1.0, 1.0, place=1), move(2.0, 2.0, 0)
    assert ends(first, other, second) == pytest.approx([2.0, 1.0, 5.0])


def test_other_queues_fit_in_where_a_queue_pauses() -> None:
    tasks = (move(2.0, 2.0), move(1.0, 1.0, place=1), compute(3.0, 0), move(2.0, 2.0, 2))
    assert ends(*tasks) == pytest.approx([2.0, 1.0, 5.0, 7.0])


def test_late_transfer_of_another_queue_is_not_waited_for() -> None:
    # In the layout stage 1 sends before stage 0 does again; it takes longer to get there.
    late = compute(9.0, place=1)._replace(effort=0.5)
    tasks = (move(1.0, 1.0), late, move(1.0, 1.0, 1, place=1), compute(1.0, 0), move(1.0, 1.0, 3))
    assert ends(*tasks) == pytest.approx([1.0, 9.0, 10.0, 2.0, 3.0])


def test_urgent_transfer_does_not_wait_for_one_that_is_not() -> None:
    slow = move(4.0, 4.0, priority=PATIENT)
    found = ends(slow, compute(1.0), move(2.0, 2.0, 1), compute(9.0, 2))
    assert found[2] == pytest.approx(3.0)


def test_what_is_not_urgent_waits_for_all_urgent_ones_until_it_is_needed() -> None:
    start, slow = compute(1.0), move(4.0, 4.0, 0, priority=PATIENT)
    urgent = [compute(1.0, 0), move(2.0, 2.0, 2), compute(1.0, 3)]
    assert ends(start, slow, *urgent, compute(1.0, 1, 4))[1] == pytest.approx(1 + 4 + 2)
    # The next urgent one comes after it is needed, and waits for it.
    needed = [compute(1.0, 1), move(2.0, 2.0, 2)]
    assert ends(start, slow, *needed) == pytest.approx([1.0, 5.0, 6.0, 8.0])


def test_what_waits_for_nothing_is_served_at_the_start() -> None:
    found = ends(move(4.0, 4.0, priority=PATIENT), compute(1.0), move(2.0, 2.0, 1))
    assert found == pytest.approx([4.0, 1.0, 3.0])


def test_what_is_not_urgent_waits_for_the_same_of_a_stage_that_is_sure_to_begin_first() -> None:
    first = move(4.0, 4.0, 0, priority=PATIENT, place=1)
    tasks = [compute(1.0, place=1), first, compute(1.0, 0), move(4.0, 4.0, 2, priority=PATIENT)]
    assert ends(*tasks) == pytest.approx([1.0, 5.0, 2.0, 9.0])


def test_what_is_not_urgent_does_not_wait_for_the_same_of_a_stage_that_may_come_later() -> None:
    first = move(4.0, 4.0, 0, priority=PATIENT, place=1)
    late = compute(9.0, place=1)._replace(effort=1.0)
    tasks = [late, first, compute(2.0), move(4.0, 4.0, 2, priority=PATIENT)]
    assert ends(*tasks) == pytest.approx([9.0, 13.0, 2.0, 6.0])


def test_no_tasks_take_no_time() -> None:
    assert Simulation([], []).run().time_s == 0.0


def test_task_that_waits_for_a_later_one_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^task 0 must come after task 1, for which it waits$"):
        Simulation([compute(1.0, 1), compute(1.0)], [])


def random_tasks(seed: int) -> list[Task]:
    rng = random.Random(seed)
    tasks: list[Task] = []
    for number in range(rng.randint(2, 24)):
        after = tuple(sorted(rng.sample(range(number), min(number, rng.choice([0, 1, 1, 2])))))
        place = rng.randrange(3)
        if rng.random() < 0.4:
            tasks.append(compute(rng.choice([0.0, 1.0, 3.0]), *after, place=place))
            continue
        links = rng.sample(range(LINKS), rng.randint(1, LINKS))
        loads = tuple((link, rng.choice([0.5, 1.0, 4.0])) for link in links)
        alone_s = max(load for _, load in loads) + rng.choice([0.0, 0.5])
        profile = Profile(alone_s, loads)
        tasks.append(Task("mp", place, "", profile, after, priority=rng.randrange(5)))
    return tasks


def end_s(tasks: Sequence[Task], capacities: Sequence[float], scale: float) -> tuple[float, ...]:
    return Simulation(tasks, capacities).run(scale).end_s


@examples(200)
@given(
    seed=st.integers(0, 2**32),
    change=st.sampled_from(["compute", "bandwidth", "latency", "bytes"]),
    factor=st.floats(1.0, 8.0),
)
def test_no_task_ends_sooner_where_anything_takes_longer(
    seed: int, change: str, factor: float
) -> None:
    tasks, rng = random_tasks(seed), random.Random(seed)
    capacities, scale = [1.0] * LINKS, 1.0
    before = end_s(tasks, capacities, scale)
    one = rng.randrange(len(tasks))
    profile = tasks[one].profile
    if change == "compute":
        scale = factor
    elif change == "bandwidth":
        capacities[rng.randrange(LINKS)] /= factor
    elif change == "latency":
        longer = Profile(profile.time_s * factor, profile.loads)
        tasks[one] = tasks[one]._replace(profile=longer)
    else:
        loads = tuple((link, factor * load) for link, load in profile.loads)
        tasks[one] = tasks[one]._replace(profile=Profile(factor * profile.time_s, loads))
    after = end_s(tasks, capacities, scale)
    assert all(late >= soon * (1 - 1e-12) for soon, late in zip(before, after, strict=True))


@examples(100)
@given(seed=st.integers(0, 2**32))
def test_tasks_wait_for_each_other_and_take_their_time(seed: int) -> None:
    tasks = random_tasks(seed)
    found = run(*tasks)
    for task, start, end in zip(tasks, found.start_s, found.end_s, strict=True):
        assert start == max((found.end_s[before] for before in task.after), default=0.0)
        assert end >= start + task.profile.time_s


@examples(100)
@given(seed=st.integers(0, 2**32), stages=st.integers(1, 3), urgent=st.booleans())
def test_link_that_is_kept_busy_carries_no_more_than_it_can(
    seed: int, stages: int, urgent: bool
) -> None:
    # Each stage sends all the time, so what they end with is at least all bytes of the link.
    rng = random.Random(seed)
    tasks: list[Task] = []
    last: list[tuple[int, ...]] = [()] * stages
    for number in range(30):
        stage = number % stages
        size = rng.choice([1.0, 2.0])
        priority = 0 if urgent else PATIENT
        tasks.append(move(size, size, *last[stage], priority=priority, place=stage))
        last[stage] = (number,)
    carried = sum(task.profile.loads[0][1] for task in tasks)
    behind = sum(task.profile.loads[0][1] for task in tasks[-stages:])
    assert run(*tasks).time_s >= carried - behind
