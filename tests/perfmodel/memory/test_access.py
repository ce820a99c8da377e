"""Tests of perfmodel.memory.access: what it takes to move bytes from and to remote memory."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.memory.access import Tier
from perfmodel.memory.file import MemoryFile

POOL: dict[str, Any] = {
    "memory-type": "HIERARCHICAL_MEMORY_POOL",
    "remote-mem-latency": 800,
    "remote-mem-bw": 100,
    "num-remote-mem-groups": 8,
    "num-out-node-switches": 8,
    "out-node-bw": 50,
    "in-node-bw": 256,
    "num-nodes": 4,
    "num-npus-per-node": 2,
    "piece-size": 1000,
}


def tier(**changes: Any) -> Tier:
    changed = {key.replace("_", "-"): value for key, value in changes.items()}
    return Tier(MemoryFile.model_validate(POOL | changed))


def test_stages_with_as_many_lanes_take_the_published_shape() -> None:
    """T = sum of the stages + (pieces - 1) of the slowest, pieces = bytes / (lanes x piece)."""
    one = tier(num_remote_mem_groups=1, num_out_node_switches=1)
    stages = [1000 / rate for rate in (100, 50, 256)]
    expected = 800 + sum(stages) + (64 - 1) * max(stages)
    assert one.access([[0]], 64_000).time_ns == pytest.approx(expected, rel=1e-12)


def test_more_lanes_work_side_by_side() -> None:
    # The fabric of the node is the slowest now: 800 / 100 and 400 / 50 are more than 256.
    stages = [1000 / rate for rate in (100, 50, 256)]
    expected = 800 + stages[0] + stages[1] + 64_000 / 256
    assert tier().access([[0]], 64_000).time_ns == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("joined", "pool", "node"), [(0, 8 * 64_000, 2 * 64_000), (1, 2 * 64_000, 2 * 64_000)]
)
def test_switches_copy_what_a_group_loads(joined: int, pool: float, node: float) -> None:
    groups = [[0, 2, 4, 6], [1, 3, 5, 7]]
    found = tier(in_switch_collectives=joined).access(groups, 64_000)
    assert found.loads["pool", 0] == pool
    assert [found.loads["node", k] for k in range(4)] == [node] * 4
    assert [found.loads["npu", k] for k in range(8)] == [64_000] * 8


def test_members_of_a_node_load_once_with_joining_switches() -> None:
    apart, joined = (tier(in_switch_collectives=one).access([range(8)], 1e9) for one in (0, 1))
    assert (apart.loads["node", 0], joined.loads["node", 0]) == (2e9, 1e9)
    narrow = {"remote_mem_bw": 10}
    times = [
        tier(in_switch_collectives=one, **narrow).access([range(8)], 1e9).time_ns for one in (0, 1)
    ]
    # Eight times the bytes through 80 bytes per ns, or once, which the node's fabric outlasts not.
    pieces = 1000 / 50 + 1000 / 256
    assert times == pytest.approx([800 + pieces + 8e9 / 80, 800 + pieces + 1e9 / 80], rel=1e-9)


@pytest.mark.parametrize(
    ("kind", "busy"),
    [
        ("PER_NPU_MEMORY_EXPANSION", {("npu", 0): 600, ("npu", 1): 600, ("npu", 2): 600}),
        ("PER_NODE_MEMORY_EXPANSION", {("node", 0): 1200, ("node", 1): 600}),
        ("MEMORY_POOL", {("pool", 0): 1800}),
    ],
)
def test_ports_serve_one_request_after_the_other(
    kind: str, busy: dict[tuple[str, int], int]
) -> None:
    data = {"memory-type": kind, "remote-mem-latency": 100, "remote-mem-bw": 2}
    data |= {"num-nodes": 2, "num-npus-per-node": 2}
    found = Tier(MemoryFile.model_validate(data)).access([[0, 1, 2]], 1000)
    assert {link: carried / 2 for link, carried in found.loads.items()} == busy
    assert found.time_ns == max(busy.values())


_SLOWER = {
    "remote_mem_bw": -1,
    "out_node_bw": -1,
    "in_node_bw": -1,
    "num_remote_mem_groups": -1,
    "num_out_node_switches": -1,
    "remote_mem_latency": 1,
    "piece_size": 1,
    "bytes": 1,
}


@given(
    st.fixed_dictionaries({key: st.integers(1, 1000) for key in _SLOWER}),
    st.sampled_from(sorted(_SLOWER)),
    st.integers(1, 1000),
    st.sampled_from([0, 1]),
    st.sampled_from([[[0]], [[0, 1]], [[0, 2], [1, 3]], [range(8)]]),
)
def test_nothing_is_faster_that_is_more_or_slower(
    sizes: dict[str, int], key: str, more: int, joined: int, groups: list[list[int]]
) -> None:
    def time_ns(values: dict[str, int]) -> float:
        given = {name: one for name, one in values.items() if name != "bytes"}
        one = tier(in_switch_collectives=joined, **given)
        found = one.access(groups, values["bytes"])
        for link, carried in found.loads.items():  # no link carries more than it can
            assert carried / one.bytes_per_ns(link) <= found.time_ns * (1 + 1e-12)
        return found.time_ns

    other = sizes | {key: sizes[key] + more}
    slower, faster = (other, sizes) if _SLOWER[key] > 0 else (sizes, other)
    assert time_ns(slower) >= time_ns(faster) * (1 - 1e-12)
