"""Tests of perfmodel.collectives.themis.plan."""

import re
from collections import Counter
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fred_hw.errors import InputError
from perfmodel.collectives.themis.network import QueueDimension
from perfmodel.collectives.themis.phases import phases_of
from perfmodel.collectives.themis.plan import POLICIES, plan
from tests.examples import examples

EQUAL = [QueueDimension(8, 50e9)] * 3
NETWORKS = st.lists(
    st.builds(
        QueueDimension,
        st.integers(2, 9),
        st.sampled_from([25e9, 50e9, 100e9, 400e9]),
        st.just(0.0),
        st.sampled_from(["ring", "line", "fully_connected", "switch"]),
    ),
    min_size=1,
    max_size=4,
)
KNOWN = ", ".join(POLICIES)
PATTERNS = ("all_reduce", "reduce_scatter", "all_gather")


def orders(*args: object, **kwargs: object) -> list[tuple[int, ...]]:
    return [one.order for one in plan(*args, **kwargs)]  # type: ignore[arg-type]


def test_fixed_orders() -> None:
    assert set(orders(EQUAL, 1 << 20, 6, policy="dimension_order")) == {(0, 1, 2)}
    assert orders(EQUAL, 1 << 20, 4, policy="round_robin") == [
        (0, 1, 2),
        (1, 2, 0),
        (2, 0, 1),
        (0, 1, 2),
    ]


def test_chunks_are_whole_bytes_that_differ_by_one_at_most() -> None:
    sizes = [one.size_bytes for one in plan(EQUAL, 1000, 64)]
    assert (sum(sizes), len(sizes), {*sizes}) == (1000, 64, {15, 16})


def test_a_network_that_is_balanced_takes_the_fixed_order() -> None:
    # 7/8 / 8 of the bytes of the second dimension at an eighth of the rate: loads stay equal.
    balanced = [QueueDimension(8, 400e9), QueueDimension(8, 50e9)]
    assert {*orders(balanced, 1 << 30)} == {(0, 1)}


def test_what_is_short_outside_cannot_be_shifted_there() -> None:
    narrow = [QueueDimension(8, 400e9), QueueDimension(8, 5e9)]
    assert {*orders(narrow, 1 << 30)} == {(0, 1)}


def test_an_all_gather_is_a_reduce_scatter_turned_round() -> None:
    scatter = orders(EQUAL, 1 << 30, pattern="reduce_scatter")
    assert orders(EQUAL, 1 << 30, pattern="all_gather") == [one[::-1] for one in scatter]
    assert orders(EQUAL, 1 << 30, pattern="all_gather", compatible=True) != [
        one[::-1] for one in scatter
    ]


def test_the_gap_denominator_decides_what_is_almost_equal() -> None:
    always = orders(EQUAL, 1 << 30, gap_denominator=1 << 40)
    never = orders(EQUAL, 1 << 30, gap_denominator=1)
    assert Counter(never)[0, 1, 2] > Counter(always)[0, 1, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"policy": "themes"},
            f"algorithm: must be one of {KNOWN}, not 'themes'; did you mean 'themis'?",
        ),
        ({"size_bytes": 63}, "chunks: must be at most 63, one for each byte of an NPU, not 64"),
        (
            {"pattern": "all_gather", "size_bytes": 512 * 10},
            "chunks: must be at most 10, one for each byte of an NPU, not 64",
        ),
        ({"chunks": 0}, "chunks: must be from 1 to 16384, not 0"),
        ({"chunks": 16385}, "chunks: must be from 1 to 16384, not 16385"),
    ],
    ids=["policy", "bytes", "gathered bytes", "none", "many"],
)
def test_refusals(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        plan(EQUAL, **{"size_bytes": 1 << 20, **arguments})  # type: ignore[arg-type]


@examples(60)
@given(
    dimensions=NETWORKS,
    chunks=st.integers(1, 40),
    pattern=st.sampled_from(PATTERNS),
    policy=st.sampled_from([*POLICIES]),
)
def test_every_chunk_visits_each_dimension_and_no_byte_is_lost(
    dimensions: list[QueueDimension], chunks: int, pattern: str, policy: str
) -> None:
    npus = prod(one.npus for one in dimensions)
    size = npus * 4096
    found = plan(dimensions, size, chunks, pattern, policy)
    assert all(sorted(one.order) == [*range(len(dimensions))] for one in found)
    sent = sum(phase.sent_bytes for one in found for phase in phases_of(one, dimensions, pattern))
    halves = 2 if pattern == "all_reduce" else 1
    assert sent == halves * size // npus * (npus - 1)
    if policy != "themis_flex":
        assert len(found) == chunks


@examples(40)
@given(dimension=NETWORKS.map(lambda found: found[:1]), policy=st.sampled_from([*POLICIES]))
def test_one_dimension_leaves_no_choice(dimension: list[QueueDimension], policy: str) -> None:
    assert {*orders(dimension, 1 << 20, 16, policy=policy)} == {(0,)}


@examples(40)
@given(dimensions=NETWORKS)
def test_themis_loads_the_busiest_dimension_less_or_by_a_chunk_more(
    dimensions: list[QueueDimension],
) -> None:
    def busiest(policy: str, chunks: int) -> float:
        loads = [0.0] * len(dimensions)
        for one in plan(dimensions, 1 << 30, chunks, "reduce_scatter", policy):
            for phase in phases_of(one, dimensions, "reduce_scatter"):
                loads[phase.dimension] += float(phase.sent_bytes)
        return max(b / one.bytes_per_s for b, one in zip(loads, dimensions, strict=True))

    chunk_s = (1 << 24) / min(one.bytes_per_s for one in dimensions)
    assert busiest("themis", 64) <= busiest("dimension_order", 64) + chunk_s
