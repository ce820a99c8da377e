"""Tests of studies.study.front."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from studies.study.front import Front

figures = st.lists(st.tuples(*[st.integers(0, 4).map(float)] * 3), max_size=12)


def naive(points: list[tuple[float, ...]]) -> set[tuple[float, ...]]:
    def reached(one: tuple[float, ...]) -> bool:
        return any(
            other != one and all(a <= b for a, b in zip(other, one, strict=True))
            for other in points
        )

    return {one for one in points if not reached(one)}


@given(st.lists(figures, max_size=4))
def test_a_front_has_what_no_other_point_reaches(batches: list[list[tuple[float, ...]]]) -> None:
    front, every = Front(3), [one for batch in batches for one in batch]
    for batch in batches:
        front.add(batch)
    assert sorted(map(tuple, front.figures.tolist())) == sorted(naive(every))
    assert [one for one in every if front.has(one)] == [one for one in every if one in naive(every)]


@given(figures, figures)
def test_a_front_reaches_what_is_no_better_than_one_of_its_points(
    points: list[tuple[float, ...]], others: list[tuple[float, ...]]
) -> None:
    front = Front(3)
    front.add(points)
    found = front.reaches(np.array(others).reshape(-1, 3))
    assert found.tolist() == [
        any(all(a <= b for a, b in zip(one, other, strict=True)) for one in points)
        for other in others
    ]
    kept = naive(points)
    assert [front.has(one) for one in others] == [one in kept for one in others]
