"""Tests of perfmodel.collectives.replay, and with it of every schedule."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.collectives.algorithm import ALGORITHMS, Algorithm
from perfmodel.collectives.replay import replay
from perfmodel.collectives.schedule import PATTERNS, Schedule, ScheduleBuilder
from perfmodel.collectives.select import build_schedule
from perfmodel.network.run import run_collective
from perfmodel.topology.parse import FABRICS, shared_topology
from tests.examples import examples

GROUPS = {
    "wafer": [range(20)],
    "one switch": [[0, 1, 2, 3]],
    "pair": [[7, 8]],
    "unequal": [[0, 1, 2, 5, 9]],
    "equal in two": [[1, 0, 6, 7]],
    "one on each": [[0, 4, 8, 12, 16]],
    "four at once": [[k, k + 4, k + 8, k + 12, k + 16] for k in range(4)],
    "mixed at once": [[0, 1], [2, 9, 4], [5, 6, 13, 14]],
}


def schedule(topology: str = "fred-a", pattern: str = "all_reduce") -> Schedule:
    return build_schedule(shared_topology(topology), pattern, [range(20)], 1e6)


@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS.keys())
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("topology", FABRICS)
def test_every_member_ends_with_every_contribution_once(
    topology: str, pattern: str, groups: list[list[int]]
) -> None:
    replay(build_schedule(shared_topology(topology), pattern, groups, 1e6))


@pytest.mark.parametrize("size", ["1x2", "2x1", "1x7", "7x1", "2x2", "3x5", "8x2"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_meshes_of_other_sizes(size: str, pattern: str) -> None:
    mesh = shared_topology(f"mesh:{size}")
    replay(build_schedule(mesh, pattern, [range(mesh.npus)], 1e6))


@examples(60)
@given(
    topology=st.sampled_from(FABRICS),
    pattern=st.sampled_from(PATTERNS),
    order=st.permutations(range(20)),
    sizes=st.lists(st.integers(2, 8), min_size=1, max_size=4),
)
def test_any_groups(topology: str, pattern: str, order: list[int], sizes: list[int]) -> None:
    ends = [0, *accumulate(sizes)]
    groups = [order[start:end] for start, end in pairwise(ends) if end <= len(order)]
    replay(build_schedule(shared_topology(topology), pattern, groups, 1e6))


def recursive_doubling(
    builder: ScheduleBuilder, members: Sequence[int], chunk_bytes: float, _pattern: str
) -> None:
    """Have both of a pair send all that they have, at each distance."""
    shard = builder.add_shard(members[0], chunk_bytes)
    for distance in (1, 2):
        pairs = ((one, members[i ^ distance], [shard]) for i, one in enumerate(members))
        builder.exchange(pairs, "reduce")


def test_two_may_exchange_the_same_shard_without_waiting_for_each_other() -> None:
    doubling = Algorithm("recursive doubling", recursive_doubling, ("all_reduce",))
    wafer = shared_topology("fred-c", "ideal")
    with ALGORITHMS.lending("doubling", doubling):
        one = build_schedule(wafer, "all_reduce", [range(4)], 1e6, "doubling")
        took_s = run_collective(wafer, "all_reduce", 1e6, range(4), 1, "doubling").time_s
    replay(one)
    assert [transfer.after for transfer in one.transfers] == [
        (),
        (),
        (),
        (),
        (1,),
        (0,),
        (3,),
        (2,),
    ]
    # Two links of 20 ns, and 15 cycles of the switch between them.
    assert took_s == pytest.approx(2 * (1e6 / 3e12 + 40e-9 + 15 * 512 / 600e9), rel=1e-9)
    alone = replace(one, messages=tuple(replace(each, step=-1) for each in one.transfers))
    with pytest.raises(
        ValueError, match=r"^transfer 1 must send .* does not wait for \[0\] at NPU"
    ):
        replay(alone)


def test_missing_transfer_is_noticed() -> None:
    good = schedule()
    broken = replace(good, messages=good.messages[:-1])
    with pytest.raises(
        ValueError, match=r"^NPU \d+ must end with all of shard \d+; misses \[.*\]$"
    ):
        replay(broken)


def test_missing_dependency_is_noticed() -> None:
    good = schedule()
    number = next(i for i, transfer in enumerate(good.transfers) if transfer.after)
    hasty = replace(good.transfers[number], after=())
    broken = replace(good, messages=(*good.messages[:number], hasty, *good.messages[number + 1 :]))
    message = (
        rf"^transfer {number} must send complete data, but does not wait for \[.*\] at NPU .*$"
    )
    with pytest.raises(ValueError, match=message):
        replay(broken)


def test_contribution_added_twice_is_noticed() -> None:
    good = schedule()
    first = good.transfers[0]
    broken = replace(good, messages=(first, first, *good.messages[1:]))
    message = (
        r"^transfer 1 must add each contribution once, but NPU 1 has some of shard \d+ already$"
    )
    with pytest.raises(ValueError, match=message):
        replay(broken)


def test_sending_nothing_is_noticed() -> None:
    good = build_schedule(shared_topology("fred-a"), "broadcast", [range(20)], 1e6, "ring")
    broken = replace(good, messages=good.messages[1:])
    message = r"^transfer 0 must send complete data, but sends nothing at NPU 1, shard 0$"
    with pytest.raises(ValueError, match=message):
        replay(broken)


def test_lost_all_to_all_shard_is_noticed() -> None:
    good = schedule(pattern="all_to_all")
    broken = replace(good, messages=good.messages[1:])
    with pytest.raises(ValueError, match=r"^NPU 1 must end with all of shard 0; misses \[0\]$"):
        replay(broken)


def test_reduce_that_misses_a_member_is_noticed() -> None:
    good = schedule("fred-c", pattern="reduce")
    broken = replace(good, messages=(*good.messages[1:2], *good.messages[2:]))
    with pytest.raises(ValueError, match=r"must end with all of shard 0; misses \[19\]|wait for"):
        replay(broken)


def test_schedule_with_passes_as_one_cannot_be_replayed() -> None:
    lockstep = build_schedule(
        shared_topology("fred-a"), "all_reduce", [range(20)], 1e6, lockstep=True
    )
    message = r"^a schedule must be built without lockstep to have every message$"
    with pytest.raises(ValueError, match=message):
        replay(lockstep)
