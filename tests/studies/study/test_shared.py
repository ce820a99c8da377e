"""Tests of studies.study.shared."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from studies.study.shared import Shared
from studies.study.space import Space

ROOTS = ("a", "b", "c")

groups = st.lists(
    st.tuples(st.sets(st.sampled_from(ROOTS), min_size=1), st.integers(1, 4)),
    min_size=1,
    max_size=4,
)


@given(groups, st.sets(st.sampled_from(ROOTS)), st.data())
def test_each_point_has_the_value_of_its_own_fields(
    given_groups: list[tuple[set[str], int]], roots: set[str], data: st.DataObject
) -> None:
    space = Space(
        [
            [{f"{root}.{number}": step for root in sorted(names)} for step in range(count)]
            for number, (names, count) in enumerate(given_groups)
        ]
    )
    calls: list[tuple[int, ...]] = []

    def fields(number: int) -> tuple[int, ...]:
        return tuple(
            int(str(one)) if name.partition(".")[0] in roots else -1
            for name, one in sorted(space[number].items())
        )

    def find(number: int) -> tuple[int, ...]:
        calls.append(fields(number))
        return fields(number)

    numbers = data.draw(st.lists(st.integers(0, len(space) - 1), min_size=1, max_size=20))
    shared = Shared(space, roots, find)
    for _ in range(2):
        found = shared.each(np.array(numbers))
        assert [tuple(row) for row in found.tolist()] == [fields(number) for number in numbers]
    steps = {
        tuple(
            number // stride % len(group)
            for stride, group in strides(space)
            if any(name.partition(".")[0] in roots for name in group[0])
        )
        for number in numbers
    }
    assert len(calls) == len(steps)


def strides(space: Space) -> list[tuple[int, Any]]:
    found, stride = [], 1
    for group in reversed(space.groups):
        found.append((stride, group))
        stride *= len(group)
    return found
