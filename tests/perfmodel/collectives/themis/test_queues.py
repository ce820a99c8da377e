"""Tests of perfmodel.collectives.themis.queues."""

import itertools
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fred_hw.errors import InputError
from perfmodel.collectives.themis.network import QueueDimension, ideal_s
from perfmodel.collectives.themis.phases import Phase, phases_of
from perfmodel.collectives.themis.plan import ChunkPlan
from perfmodel.collectives.themis.queues import Service, serve
from perfmodel.collectives.themis.run import Queuing, run_chunks
from tests.examples import examples

from .test_plan import NETWORKS, PATTERNS


def phase(dimension: int, sent: int, before: int = 0, steps: int = 0) -> Phase:
    return Phase(dimension, "reduce_scatter", Fraction(before), Fraction(sent), steps)


def end_s(services: list[Service]) -> float:
    return max(one.done_s for one in services)


TWO = [QueueDimension(2, 1.0, 1.0), QueueDimension(2, 1.0, 1.0)]


def test_a_dimension_serves_one_chunk_at_a_time() -> None:
    chunks = [[phase(0, 3), phase(1, 2)], [phase(0, 3), phase(1, 5)]]
    found = [
        (one.chunk, one.phase.dimension, one.begin_s, one.end_s)
        for one in serve(chunks, TWO, "fifo")
    ]
    assert sorted(found) == [
        (0, 0, 0.0, 3.0),
        (0, 1, 3.0, 5.0),
        (1, 0, 3.0, 6.0),
        (1, 1, 6.0, 11.0),
    ]


@pytest.mark.parametrize(("intra", "second"), [("fifo", 1), ("scf", 2)])
def test_the_smallest_chunk_or_the_first_is_served_next(intra: str, second: int) -> None:
    chunks = [[phase(0, 4, before=9)], [phase(0, 4, before=8)], [phase(0, 4, before=2)]]
    order = [one.chunk for one in serve(chunks, TWO, intra)]
    assert order[:2] == [0, second]


def test_of_equal_chunks_the_last_that_came_is_served_next() -> None:
    chunks = [[phase(0, 4, before=8)] for _ in range(3)]
    assert [one.chunk for one in serve(chunks, TWO, "scf")] == [0, 2, 1]
    assert [one.chunk for one in serve(chunks, TWO, "fifo")] == [0, 1, 2]


@pytest.mark.parametrize(("latency", "end"), [("occupancy", 12.0), ("pipelined", 10.0)])
def test_latency_holds_up_the_dimension_or_the_chunk_alone(latency: str, end: float) -> None:
    chunks = [[phase(0, 4, steps=2)], [phase(0, 4, steps=2)]]
    assert end_s(serve(chunks, TWO, "fifo", latency)) == end


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"intra": "sfc"}, "intra: must be one of fifo, scf, not 'sfc'; did you mean 'scf'?"),
        ({"latency": "no"}, "latency: must be one of occupancy, pipelined, not 'no'"),
    ],
    ids=["intra", "latency"],
)
def test_refusals(option: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        serve([], TWO, **option)


def test_smallest_first_is_not_always_better() -> None:
    dimensions = [QueueDimension(4, 100e9, 22e-9)] * 2
    times = [
        end_s(run_chunks(dimensions, 2**30, "all_reduce", Queuing(intra=intra))[1])
        for intra in ("fifo", "scf")
    ]
    assert times[0] < 0.99 * times[1]


@examples(60)
@given(
    dimensions=NETWORKS,
    chunks=st.integers(1, 24),
    pattern=st.sampled_from(PATTERNS),
    intra=st.sampled_from(["fifo", "scf"]),
    latency=st.sampled_from(["occupancy", "pipelined"]),
    policy=st.sampled_from(["dimension_order", "round_robin", "themis", "themis_flex"]),
)
def test_services_keep_the_rules_of_queues(
    dimensions: list[QueueDimension],
    chunks: int,
    pattern: str,
    intra: str,
    latency: str,
    policy: str,
) -> None:
    late = [
        QueueDimension(d.npus, d.bytes_per_s, 1e-6 * i, d.kind) for i, d in enumerate(dimensions)
    ]
    how = Queuing(policy, chunks, intra, latency)
    _, services = run_chunks(late, 1 << 26, pattern, how)
    for number in range(len(late)):
        own = [one for one in services if one.phase.dimension == number]
        assert all(a.end_s <= b.begin_s for a, b in itertools.pairwise(own))
    by_chunk: dict[int, list[Service]] = {}
    for one in services:
        by_chunk.setdefault(one.chunk, []).append(one)
    for own in by_chunk.values():
        assert [one.number for one in own] == [*range(len(own))]
        assert all(a.done_s <= b.begin_s for a, b in itertools.pairwise(own))
    assert end_s(services) >= 0.999 * ideal_s(late, 1 << 26, pattern)


@examples(40)
@given(dimensions=NETWORKS, chunks=st.sampled_from([16, 64]), pattern=st.sampled_from(PATTERNS))
def test_themis_is_slower_than_the_fixed_order_by_one_chunk_at_most(
    dimensions: list[QueueDimension], chunks: int, pattern: str
) -> None:
    fixed, themis = (
        run_chunks(dimensions, 1 << 26, pattern, Queuing(policy, chunks))
        for policy in ("dimension_order", "themis")
    )
    size = max(one.size_bytes for one in fixed[0])
    alone_s = max(
        sum(
            float(one.sent_bytes) / dimensions[one.dimension].bytes_per_s
            for one in phases_of(ChunkPlan(size, order), dimensions, pattern)
        )
        for order in itertools.permutations(range(len(dimensions)))
    )
    assert end_s(themis[1]) <= end_s(fixed[1]) + alone_s


def test_equal_times_are_equal_whatever_they_are_sums_of() -> None:
    # As floating-point numbers three tenths are more than 0.3, and dimension 0 would end first.
    dimensions = [QueueDimension(2, 10.0)] * 3
    chunks = [[phase(0, 3), phase(2, 1)], *[[phase(1, 1)]] * 2, [phase(1, 1), phase(2, 1)]]
    last = [one.chunk for one in serve(chunks, dimensions, "fifo") if one.phase.dimension == 2]
    assert last == [3, 0]
