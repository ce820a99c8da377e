"""Tests of perfmodel.network.prepared."""

import pytest

from perfmodel.network.prepared import Request, Size, prepare
from perfmodel.network.run import profile, run_collective
from perfmodel.topology.parse import shared_topology

WAFER = shared_topology("fred-c")
GROUP = tuple(range(20))


def test_a_size_has_the_chunks_of_the_model_or_those_asked_for() -> None:
    fixed = Size(10.0, lambda size: min(size, 4.0))
    assert (fixed.count, fixed.piece_bytes) == (3, 4.0)
    assert (fixed.times(3).size_bytes, fixed.times(3).count) == (30.0, 8)
    asked = Size(10.0, lambda size: size, 5)
    assert (asked.count, asked.piece_bytes, asked.times(2).piece_bytes) == (5, 2.0, 4.0)


@pytest.mark.parametrize("size_bytes", [1.0, 1e6, 1e9])
def test_stages_follow_when_sources_know_that_the_one_before_has_arrived(
    size_bytes: float,
) -> None:
    names = {"reduce": "direct", "broadcast": "multicast"}
    parts = [
        profile(WAFER, pattern, size_bytes, [GROUP], name)[0] for pattern, name in names.items()
    ]
    both, _ = profile(WAFER, "all_reduce", size_bytes, [GROUP], "reduce:direct+broadcast:multicast")
    assert parts[0].ack_s > 0
    assert both.time_s == pytest.approx(parts[0].time_s + parts[0].ack_s + parts[1].time_s)
    assert both.ack_s == parts[1].ack_s
    carried = {link: 0.0 for part in parts for link, _ in part.loads}
    for part in parts:
        for link, count in part.loads:
            carried[link] += count
    assert dict(both.loads) == pytest.approx(carried)


def test_a_stage_of_whole_vectors_takes_the_time_of_all_of_them() -> None:
    found = run_collective(WAFER, "all_to_all", 1e6, algorithm="whole_all_gather:ring")
    gathered = run_collective(WAFER, "all_gather", 20e6, algorithm="ring")
    assert found.time_s == gathered.time_s
    assert found.bytes_per_npu == pytest.approx(gathered.bytes_per_npu)
    assert found.bus_bandwidth_bytes_per_s == pytest.approx(19 / 20 * 1e6 / found.time_s)
    assert found.algorithm == "all-gather of whole vectors by ring"


def test_other_destinations_go_before_the_first_stage_alone() -> None:
    def time_s(changes: int) -> float:
        request = Request(
            "all_reduce", (GROUP,), "reduce:direct+broadcast:direct", "fluid", changes=changes
        )
        return prepare(WAFER, request).time_s(Size(1.0, lambda size: size))

    latency_s = WAFER.latency_s(WAFER.hops((0,), (19,)))
    assert time_s(1) - time_s(0) == pytest.approx(2 * latency_s)
