"""Tests of perfmodel.network.fluid.order."""

import random

from hypothesis import given
from hypothesis import strategies as st

from perfmodel.network.fluid.order import Step, service_order
from perfmodel.network.fluid.task import PATIENT, Profile, Task
from tests.examples import examples
from tests.perfmodel.network.fluid.test_tasks import random_tasks


def task(*after: int, effort: float = 0.0, priority: int = 0) -> Task:
    loads = () if effort else ((0, 1.0),)
    return Task("mp", 0, "", Profile(1.0, loads), after, effort, priority)


def test_tasks_stand_where_they_begin_in_operations() -> None:
    tasks = [task(effort=5.0), task(0), task(effort=2.0), task(2), task(3, effort=9.0), task(4)]
    assert service_order(tasks) == [Step(i) for i in (0, 2, 3, 4, 1, 5)]


def test_of_tasks_that_begin_together_the_more_urgent_comes_first() -> None:
    assert service_order([task(priority=1), task(priority=0)]) == [Step(1), Step(0)]


def test_task_never_stands_before_what_it_waits_for() -> None:
    assert service_order([task(priority=1), task(0, priority=0)]) == [Step(0), Step(1)]


def test_what_is_not_urgent_opens_where_it_begins_and_ends_where_it_is_needed() -> None:
    # 0 computes; 1 may begin then, and is needed by 4; 3 is sent meanwhile.
    tasks = [
        task(effort=1.0),
        task(0, priority=PATIENT),
        task(0, effort=1.0),
        task(2),
        task(1, 2, effort=1.0),
    ]
    found = service_order(tasks)
    # It is needed where 3 begins, so it ends before that.
    assert found.index(Step(1, ends=False)) < found.index(Step(1)) < found.index(Step(3))
    late = [*tasks[:4], task(3, effort=1.0), task(1, 4, effort=1.0)]
    found = service_order(late)
    assert found.index(Step(3)) < found.index(Step(1)) < found.index(Step(5))


def test_what_nobody_needs_ends_when_the_next_like_it_may_begin_and_the_last_in_the_end() -> None:
    tasks = [
        task(effort=1.0),
        task(0, priority=PATIENT),
        task(0),
        task(2, effort=1.0),
        task(1, 3, priority=PATIENT),
        task(3),
        task(5, effort=1.0),
    ]
    found = service_order(tasks)
    assert found.index(Step(2)) < found.index(Step(1)) < found.index(Step(4, ends=False))
    assert found[-1] == Step(4)


@examples(100)
@given(seed=st.integers(0, 2**32))
def test_every_task_stands_once_after_what_it_waits_for(seed: int) -> None:
    tasks = random_tasks(seed)
    order = service_order(tasks)
    place = {step.task: number for number, step in enumerate(order) if step.ends}
    assert sorted(step.task for step in order if step.ends) == list(range(len(tasks)))
    opened = [step.task for step in order if not step.ends]
    assert sorted(opened) == [i for i, one in enumerate(tasks) if one.priority >= PATIENT]
    for number, step in enumerate(order):
        assert all(place[before] < number for before in tasks[step.task].after)
        assert number <= place[step.task]


@examples(50)
@given(seed=st.integers(0, 2**32))
def test_no_time_and_no_size_changes_the_order(seed: int) -> None:
    tasks, rng = random_tasks(seed), random.Random(seed)
    other = [
        one._replace(
            profile=Profile(
                one.profile.time_s * rng.uniform(0.1, 9.0),
                tuple((link, load * rng.uniform(0.1, 9.0)) for link, load in one.profile.loads),
            ),
        )
        for one in tasks
    ]
    assert service_order(other) == service_order(tasks)
