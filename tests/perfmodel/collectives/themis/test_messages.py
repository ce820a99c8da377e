"""Tests of perfmodel.collectives.themis.messages."""

from pathlib import Path

import pytest

from perfmodel.collectives.replay import replay
from perfmodel.collectives.select import build_schedule, candidates
from perfmodel.collectives.themis.messages import chunk_schedule
from perfmodel.collectives.themis.plan import POLICIES
from perfmodel.collectives.themis.run import Queuing
from perfmodel.network.queued import run_queued
from perfmodel.network.run import run_collective
from perfmodel.topology.parse import parse_topology

from .test_plan import PATTERNS

BLOCKS = str(Path(__file__).parents[1] / "blocks.yaml")


@pytest.mark.parametrize("topology", [BLOCKS, "mesh:3x2", "fred-a"], ids=["blocks", "mesh", "fred"])
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("policy", POLICIES)
def test_every_npu_ends_with_what_it_should(topology: str, pattern: str, policy: str) -> None:
    fabric = parse_topology(topology)
    schedule = chunk_schedule(fabric, pattern, 2.0**20, how=Queuing(policy, 5))
    replay(schedule)


def test_the_schedule_by_name_is_that_of_all_chunks() -> None:
    fabric = parse_topology("fred-a")
    schedule = build_schedule(fabric, "all_reduce", [[0, 1], [4, 5, 8, 9]], 1.0, "themis")
    replay(schedule)
    assert len(schedule.transfers) == 64 * (2 * 2 + 2 * 4 * 2)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_messages_carry_the_bytes_of_the_plan(pattern: str) -> None:
    fabric = parse_topology(BLOCKS)
    schedule = chunk_schedule(fabric, pattern, 2.0**20, how=Queuing(chunks=7))
    sent = [0.0] * fabric.npus
    for one in schedule.transfers:
        sent[one.sources[0]] += one.payload_bytes
    whole = run_queued(fabric, pattern, 2.0**20, how=Queuing(chunks=7)).bytes_per_npu
    assert sent == pytest.approx([whole] * fabric.npus, rel=1e-4)  # chunks of whole bytes


def test_a_chunk_follows_the_one_that_its_dimension_served_before() -> None:
    fabric = parse_topology("fred-d")
    group = [0, 1]
    schedule = chunk_schedule(fabric, "reduce_scatter", 8.0, group, Queuing(chunks=3, intra="fifo"))
    assert [one.after for one in schedule.transfers] == [(), (), (1,), (0,), (3,), (2,)]


@pytest.mark.parametrize("policy", POLICIES)
def test_orders_as_one_part_load_links_like_the_chunks(policy: str) -> None:
    fabric = parse_topology(BLOCKS, "ideal")
    found = run_collective(fabric, "all_reduce", 2.0**32, algorithm=policy)
    queued = run_queued(fabric, "all_reduce", 2.0**32, how=Queuing(policy))
    assert found.bytes_per_npu == pytest.approx(queued.bytes_per_npu, rel=1e-3)
    assert 0.8 * queued.time_s < found.time_s < 1.02 * queued.time_s


def test_auto_does_not_try_orders_of_dimensions() -> None:
    fabric = parse_topology(BLOCKS)
    assert not {*candidates(fabric, "all_reduce", [range(12)])} & {*POLICIES}
