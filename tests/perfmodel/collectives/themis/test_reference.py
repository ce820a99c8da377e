"""Themis by two implementations, of which one is written from the description alone."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.collectives.themis.network import QueueDimension
from perfmodel.collectives.themis.phases import phases_of
from perfmodel.collectives.themis.plan import ChunkPlan
from perfmodel.collectives.themis.queues import serve
from perfmodel.collectives.themis.run import Queuing, run_chunks
from tests.examples import examples

from . import reference

SIZES = (2, 4, 8, 16)
RATES = (25_000_000_000, 50_000_000_000, 100_000_000_000, 400_000_000_000)


@examples(40)
@given(
    dimensions=st.lists(
        st.tuples(st.sampled_from(SIZES), st.sampled_from(RATES)), min_size=1, max_size=4
    ),
    count=st.integers(1, 40),
    intra=st.sampled_from(["fifo", "scf"]),
)
def test_orders_and_times_are_the_same(
    dimensions: list[tuple[int, int]], count: int, intra: str
) -> None:
    chunk = 1 << 24
    ours = [QueueDimension(npus, float(rate)) for npus, rate in dimensions]
    plans, services = run_chunks(ours, chunk * count, "all_reduce", Queuing("themis", count, intra))
    found = reference.orders(dimensions, chunk, count)
    assert [[*one.order] for one in plans] == found
    expected = reference.time_s(dimensions, chunk, found, intra)
    assert max(one.done_s for one in services) == pytest.approx(expected, rel=1e-12)


def test_any_orders_take_the_same_time() -> None:
    rng = random.Random(3)
    dimensions = [(8, 50_000_000_000), (4, 100_000_000_000), (2, 50_000_000_000)]
    found = [rng.sample(range(3), 3) for _ in range(12)]
    ours = [QueueDimension(npus, float(rate)) for npus, rate in dimensions]
    chunks = [phases_of(ChunkPlan(1 << 20, tuple(one)), ours, "all_reduce") for one in found]
    times: dict[str, float] = {}
    for intra in ("fifo", "scf"):
        times[intra] = max(one.done_s for one in serve(chunks, ours, intra))
        expected = reference.time_s(dimensions, 1 << 20, found, intra)
        assert times[intra] == pytest.approx(expected, rel=1e-12)
    assert times["fifo"] != times["scf"]
