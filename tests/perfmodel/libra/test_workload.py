"""Tests of perfmodel.libra.workload."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.libra.workload import COLLECTIVES, Workload, collective_bytes, summed


@pytest.mark.parametrize(
    ("kind", "sent"),
    [
        # 64 B over groups of 4, 1 and 2, by hand.
        ("all_reduce", (2 * 64 * 3 / 4, 0, 2 * 16 / 2)),
        ("reduce_scatter", (64 * 3 / 4, 0, 16 / 2)),
        ("all_gather", (64 * 2 * 3, 0, 64)),  # outermost first: 64 B, then 128 B
        ("all_to_all", (64 * 3 / 4, 0, 64 / 2)),
    ],
)
def test_bytes_of_a_collective(kind: str, sent: tuple[float, ...]) -> None:
    assert collective_bytes(kind, 64.0, (4, 1, 2)) == sent


def test_slowest_dimension_decides_each_collective() -> None:
    work = Workload("w", 1.0, ((8.0, 2.0), (0.0, 6.0)))
    assert work.time_s((4.0, 2.0)) == 1.0 + max(8 / 4, 2 / 2) + 6 / 2


def test_unused_dimension_may_have_no_bandwidth() -> None:
    assert Workload("w", 1.0, ((8.0, 0.0),)).time_s((4.0, 0.0)) == 3.0


_CALLS = st.lists(
    st.tuples(
        st.sampled_from(COLLECTIVES),
        st.floats(0, 1e12),
        st.sampled_from([(1, 1), (2, 1), (1, 4), (2, 4), (8, 3)]),
    ),
    max_size=6,
)


@given(_CALLS, st.tuples(st.floats(0.1, 1e3), st.floats(0.1, 1e3)))
def test_summed_collectives_take_as_long_as_their_parts(
    calls: list[tuple[str, float, tuple[int, ...]]], rates: tuple[float, float]
) -> None:
    each = tuple(collective_bytes(*one) for one in calls)
    joint = Workload("w", 0.0, summed(calls)).time_s(rates)
    assert joint == pytest.approx(Workload("w", 0.0, each).time_s(rates), rel=1e-9)
    assert len(summed(calls)) <= len({(kind, groups) for kind, _, groups in calls})
